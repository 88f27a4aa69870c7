// SPDX-License-Identifier: BSD-3-Clause
#include "io/archive/npz_names.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "io/archive/npy.hpp"
#include "io/names/row_names.hpp"
#include "io/quoted.hpp"
#include "io/streams/file_bytes.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

void add_bytes(ZipWriter& zip, std::string const& name, std::string_view type, std::uint64_t count,
               std::string_view bytes) {
  std::string const header = npy_header({count}, type);
  zip.add(name + ".npy", header.size() + bytes.size(), [&](ZipWriter::Sink const& sink) {
    sink(header);
    sink(bytes);
  });
}

/// Texts, one after the other, and their ends.
void add_texts(ZipWriter& zip, std::string const& texts, std::string const& ends, std::string_view bytes,
               std::vector<std::uint64_t> const& where) {
  add_bytes(zip, texts, "u1", bytes.size(), bytes);
  add_bytes(zip, ends, "i8", where.size(),
            {reinterpret_cast<char const*>(where.data()), where.size() * sizeof(std::uint64_t)});
}

/// The arrays of an archive that hold names.
class NameArrays {
public:
  NameArrays(RawInput const& input, std::vector<ZipMember> const& members, ReadMemory& memory)
      : m_input(input), m_members(members), m_memory(memory) {}

  /// A vector of these kinds of elements; nothing if there is none of that name.
  template <class Element>
  std::optional<std::vector<Element>> read(std::string const& name, std::string_view kinds) const {
    auto const member = std::find_if(m_members.begin(), m_members.end(),
                                     [&](ZipMember const& m) { return m.name == name + ".npy"; });
    if (member == m_members.end()) return std::nullopt;
    auto const content = open_member(m_input, *member, m_memory);
    auto const array   = parse_npy(m_input.name(), member->name, {content.data(), content.size()});
    if (kinds.find(array.kind) == std::string_view::npos || array.shape.size() != 1 ||
        (sizeof(Element) == 1 && array.bytes != 1))
      refuse(name, "is not a vector of " + std::string(sizeof(Element) > 1 ? "integers"
                                                       : kinds == "b"      ? "booleans"
                                                                           : "bytes"));
    m_memory.take(in_quotes(name) + " of " + m_input.name(), array.size() * sizeof(Element));
    std::vector<Element> elements(array.size());
    array.with_type([&](auto type) {
      using Stored = decltype(type);
      for (std::uint64_t k = 0; k < elements.size(); ++k) {
        auto const stored = element_at<Stored>(array.elements.data(), k);
        if constexpr (std::is_signed_v<Stored>)
          if (stored < 0) refuse(name, "has a number below 0");
        elements[k] = static_cast<Element>(stored);
      }
    });
    return elements;
  }

  /// Texts and their ends, `count` of them; nothing if there are none.
  std::optional<std::pair<std::string, std::vector<std::uint64_t>>> read_texts(std::string const& texts,
                                                                               std::string const& ends_name,
                                                                               std::uint64_t count) const {
    auto bytes = read<std::uint8_t>(texts, "u");
    auto ends  = read<std::uint64_t>(ends_name, "iu");
    if (bytes.has_value() != ends.has_value())
      refuse(bytes ? texts : ends_name, "is there without " + in_quotes(bytes ? ends_name : texts));
    if (!bytes) return std::nullopt;
    if (ends->size() != count)
      refuse(ends_name, "has " + std::to_string(ends->size()) + " numbers, not " + std::to_string(count));
    std::string all(bytes->begin(), bytes->end());
    if (!do_ends_fit(all, *ends))
      refuse(ends_name,
             "does not increase up to the " + std::to_string(all.size()) + " bytes of " + in_quotes(texts));
    if (!are_utf8(all, *ends)) refuse(texts, "has a text that is not UTF-8");
    return std::pair(std::move(all), std::move(*ends));
  }

  [[noreturn]] void refuse(std::string const& array, std::string const& reason) const {
    throw InputError(m_input.name(), 0, 0, in_quotes(array) + " " + reason);
  }

private:
  RawInput const& m_input;
  std::vector<ZipMember> const& m_members;
  ReadMemory& m_memory;
};

}  // namespace

void add_names(ZipWriter& zip, RowNames const& names) {
  if (names.index_base >= 0) {
    std::int64_t const base = names.index_base;
    add_bytes(zip, "index_base", "i8", 1, {reinterpret_cast<char const*>(&base), sizeof base});
  }
  ModeLabels modes;
  std::vector<std::uint8_t> texts;
  for (auto const& mode : names.labels) {
    modes.add(mode.name);
    texts.push_back(mode.is_text ? 1 : 0);
  }
  if (!modes.bytes.empty()) add_texts(zip, "mode_names", "mode_name_ends", modes.bytes, modes.ends);
  if (std::count(texts.begin(), texts.end(), 1) > 0) add_booleans(zip, "text_labels", texts);
  for (std::size_t n = 0; n < names.labels.size(); ++n)
    if (auto const& mode = names.labels[n]; mode.has_rows())
      add_texts(zip, "labels_" + std::to_string(n), "label_ends_" + std::to_string(n), mode.bytes, mode.ends);
}

void add_booleans(ZipWriter& zip, std::string const& name, std::vector<std::uint8_t> const& booleans) {
  add_bytes(zip, name, "b1", booleans.size(),
            {reinterpret_cast<char const*>(booleans.data()), booleans.size()});
}

RowNames read_names(RawInput const& input, std::vector<ZipMember> const& members, ReadMemory& memory,
                    std::vector<std::uint64_t> const& extents) {
  NameArrays const arrays(input, members, memory);
  RowNames names;
  if (auto const base = arrays.read<std::uint64_t>("index_base", "iu")) {
    if (base->size() != 1 || base->front() > 1) arrays.refuse("index_base", "is not 0 or 1");
    names.index_base = static_cast<int>(base->front());
  }
  std::uint64_t const order = extents.size();
  Labels labels(order);
  bool any = false;
  if (auto modes = arrays.read_texts("mode_names", "mode_name_ends", order)) {
    any = true;
    ModeLabels const of_modes{{}, std::move(modes->first), std::move(modes->second)};
    for (std::size_t n = 0; n < order; ++n) labels[n].name = of_modes.label(n);
  }
  for (std::size_t n = 0; n < order; ++n) {
    std::string const mode = std::to_string(n);
    auto found             = arrays.read_texts("labels_" + mode, "label_ends_" + mode, extents[n]);
    if (!found) continue;
    any             = true;
    labels[n].bytes = std::move(found->first);
    labels[n].ends  = std::move(found->second);
  }
  if (!any) return names;
  auto const texts = read_booleans(input, members, memory, "text_labels", order);
  for (std::size_t n = 0; n < texts.size(); ++n) labels[n].is_text = texts[n] != 0;
  names.labels = std::move(labels);
  return names;
}

std::vector<std::uint8_t> read_booleans(RawInput const& input, std::vector<ZipMember> const& members,
                                        ReadMemory& memory, std::string const& name, std::uint64_t count) {
  NameArrays const arrays(input, members, memory);
  auto booleans = arrays.read<std::uint8_t>(name, "b");
  if (!booleans) return {};
  if (booleans->size() != count)
    arrays.refuse(name,
                  "has " + std::to_string(booleans->size()) + " elements, not " + std::to_string(count));
  for (auto& is : *booleans) is = is != 0 ? 1 : 0;
  return std::move(*booleans);
}

}  // namespace polyad::io
