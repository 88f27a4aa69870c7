// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/clean_list.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "io/binary_kind.hpp"
#include "io/delimited/delimited_reader.hpp"
#include "io/streams/decoder.hpp"
#include "io/text/text_blocks.hpp"
#include "io/text/text_header.hpp"
#include "io/text/tokens.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

/// The first nonzero at each place: a hash table of positions, at most half full.
template <class Index, class Position>
class Places {
public:
  Places(Index const* indices, std::uint64_t order, std::uint64_t nnz)
      : m_indices(indices), m_order(order), m_slots(std::bit_ceil(2 * nnz + 1), vacant) {}

  /// The first nonzero with the coordinates of p, which is p itself if there was none.
  std::uint64_t first_at(std::uint64_t p) {
    std::uint64_t const mask = m_slots.size() - 1;
    for (std::uint64_t slot = hash(p) & mask;; slot = (slot + 1) & mask) {
      Position& held = m_slots[slot];
      if (held == vacant) {
        held = static_cast<Position>(p);
        return p;
      }
      if (std::equal(row(p), row(p) + m_order, row(held))) return held;
    }
  }

  [[nodiscard]] Index const* row(std::uint64_t p) const { return m_indices + p * m_order; }

private:
  static constexpr Position vacant = std::numeric_limits<Position>::max();

  [[nodiscard]] std::uint64_t hash(std::uint64_t p) const {
    // The finaliser of splitmix64, index after index.
    std::uint64_t z = 0;
    for (std::uint64_t n = 0; n < m_order; ++n) {
      z += row(p)[n] + 0x9E3779B97F4A7C15;
      z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
      z = (z ^ z >> 27) * 0x94D049BB133111EB;
      z ^= z >> 31;
    }
    return z;
  }

  Index const* m_indices;
  std::uint64_t m_order;
  std::vector<Position> m_slots;
};

/// Calls f(Places, indices) for the list.
template <class List, class F>
auto with_places(List& list, F&& f) {
  std::uint64_t const order = list.order();
  return std::visit(
      [&](auto& indices) {
        using Index = typename std::remove_cvref_t<decltype(indices)>::value_type;
        if (list.nnz() < std::numeric_limits<std::uint32_t>::max())
          return f(Places<Index, std::uint32_t>(indices.data(), order, list.nnz()), indices);
        return f(Places<Index, std::uint64_t>(indices.data(), order, list.nnz()), indices);
      },
      list.indices);
}

}  // namespace

std::optional<DuplicatePair> first_duplicate(CoordinateList const& list) {
  return with_places(list, [&](auto places, auto const&) -> std::optional<DuplicatePair> {
    for (std::uint64_t p = 0; p < list.nnz(); ++p)
      if (std::uint64_t const first = places.first_at(p); first != p) return DuplicatePair{first, p};
    return std::nullopt;
  });
}

std::uint64_t count_duplicates(CoordinateList const& list) {
  return with_places(list, [&](auto places, auto const&) {
    std::uint64_t count = 0;
    for (std::uint64_t p = 0; p < list.nnz(); ++p) count += places.first_at(p) != p ? 1 : 0;
    return count;
  });
}

void drop_values(CoordinateList& list, std::function<bool(double)> const& unwanted) {
  std::uint64_t const order = list.order();
  std::visit(
      [&](auto& indices) {
        std::uint64_t kept = 0;
        for (std::uint64_t p = 0; p < list.values.size(); ++p) {
          if (unwanted(list.values[p])) continue;
          std::copy_n(indices.data() + p * order, order, indices.data() + kept * order);
          list.values[kept++] = list.values[p];
        }
        indices.resize(kept * order);
        list.values.resize(kept);
      },
      list.indices);
}

std::uint64_t merge_duplicates(CoordinateList& list, Duplicates what) {
  if (what == Duplicates::keep) return 0;
  return with_places(list, [&](auto places, auto& indices) {
    std::uint64_t const order = list.order();
    std::uint64_t kept        = 0;
    // A nonzero is moved before it is entered, so that the table has only final positions.
    for (std::uint64_t p = 0; p < list.nnz(); ++p) {
      if (p != kept) {
        std::copy_n(places.row(p), order, indices.data() + kept * order);
        list.values[kept] = list.values[p];
      }
      std::uint64_t const first = places.first_at(kept);
      if (first == kept) {
        ++kept;
      } else {
        double const held = list.values[first], added = list.values[kept];
        double const sum = held + added;
        if (what == Duplicates::sum && std::isinf(sum) && std::isfinite(held) && std::isfinite(added))
          throw NumericalError("the sum of nonzero " + std::to_string(p + 1) +
                               " and those at its place before it exceeds the range of a double");
        list.values[first] = what == Duplicates::sum ? sum : added;
      }
    }
    std::uint64_t const merged = list.nnz() - kept;
    indices.resize(kept * order);
    list.values.resize(kept);
    return merged;
  });
}

std::optional<std::uint64_t> line_of_nonzero(std::filesystem::path const& path, std::uint64_t nonzero) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  RawInput input(path);
  if (recognise_binary(input) || find_table(input, {})) return std::nullopt;
  ReadMemory memory;
  TextBlocks blocks(input, recognise(input), std::size_t{1} << 20, memory);
  LeadingBlocks leading(blocks);
  std::optional<Fault> fault;
  auto const header = read_text_header(leading, -1, -1, fault);
  if (!header || fault) return std::nullopt;
  auto held          = leading.release(header->lines);
  std::uint64_t line = header->lines, seen = 0;
  auto const next = [&]() -> std::optional<TextBlock> {
    if (held.empty()) return blocks.next();
    auto block = std::move(held.front());
    held.pop_front();
    return block;
  };
  TextBuffer buffer;
  while (auto block = next()) {
    blocks.load(*block, buffer);
    for (std::string_view rest = block->text; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
      ++line;
      std::string_view text = without_return(rest.substr(0, rest.find('\n')));
      if (!holds_nothing(take_token(text)) && seen++ == nonzero) return line;
    }
  }
  return std::nullopt;
}

}  // namespace polyad::io
