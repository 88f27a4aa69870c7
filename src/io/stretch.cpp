// SPDX-License-Identifier: BSD-3-Clause
#include "io/stretch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <system_error>

#include "io/binary_kind.hpp"
#include "io/decoder.hpp"
#include "io/pten.hpp"
#include "io/raw_input.hpp"
#include "io/tns_reader.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

std::string text_of(Words const& words, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::memcpy(text.data(), words.data(), bytes);
  return text;
}

/// The text of the error without its place.
std::string reason_of(InputError const& error) {
  InputError const place(error.file(), error.line(), error.column(), "");
  return std::string(error.what()).substr(std::string(place.what()).size());
}

/// Checks that all parts see the same file, before each reads its own part.
void expect_one_file(std::filesystem::path const& path, Stretch const& stretch) {
  std::error_code failed;
  bool const is_file = std::filesystem::is_regular_file(path, failed);
  auto const bytes   = is_file ? std::filesystem::file_size(path, failed) : 0;
  auto const all     = stretch.of_all({is_file ? 1U : 0U, failed ? 0U : bytes});
  for (std::size_t k = 1; k < all.size(); ++k)
    if (all[k] != all[0])
      throw InputError(path.string(), 0, 0,
                       "is not the same file on ranks 0 and " + std::to_string(k) +
                           "; put it where every machine sees it");
}

/// The first part reads everything. The others get an empty list and the facts.
TensorFile read_by_first(std::filesystem::path const& path, ReadOptions const& options,
                         Stretch const& stretch) {
  TensorFile file;
  std::optional<Fault> fault;
  if (stretch.part == 0) try {
      file = read_tensor(path, options);
    } catch (InputError const& error) {
      fault = Fault{error.line(), error.column(), reason_of(error)};
    }
  stretch.throw_first(path.string(), fault);
  auto const& report      = file.report;
  Words words             = {static_cast<std::uint64_t>(file.tensor.order()),
                             static_cast<std::uint64_t>(report.dialect),
                             static_cast<std::uint64_t>(report.compression),
                             static_cast<std::uint64_t>(report.index_base),
                             report.zeros,
                             report.lines,
                             report.text_bytes,
                             report.file_bytes,
                             std::bit_cast<std::uint64_t>(report.seconds)};
  std::size_t const facts = words.size();
  words.resize(facts + most_modes, 0);
  std::copy(file.tensor.extents.begin(), file.tensor.extents.end(), words.begin() + std::ptrdiff_t(facts));
  words = stretch.of_all(words)[0];
  if (stretch.part == 0) return file;
  file.report      = {static_cast<Dialect>(words[1]),
                      static_cast<Compression>(words[2]),
                      static_cast<int>(words[3]),
                      words[4],
                      words[5],
                      words[6],
                      words[7],
                      std::bit_cast<double>(words[8])};
  auto const begin = words.begin() + std::ptrdiff_t(facts);
  file.tensor.extents.assign(begin, begin + static_cast<std::ptrdiff_t>(words[0]));
  if (std::any_of(file.tensor.extents.begin(), file.tensor.extents.end(),
                  [](std::uint64_t extent) { return extent > std::numeric_limits<std::uint32_t>::max(); }))
    file.tensor.indices.emplace<1>();
  return file;
}

/// Whether the text lies in the file as it is.
bool is_plain_text(std::filesystem::path const& path) {
  RawInput input(path);
  return !input.whole().empty() && recognise(input) == Compression::none;
}

}  // namespace

void Stretch::throw_first(std::string const& file, std::optional<Fault> const& own) const {
  Words mine = {0, 0, 0, 0};
  if (own) mine = {1, own->line, own->column, own->reason.size()};
  auto const all   = of_all(mine);
  auto const first = std::find_if(all.begin(), all.end(), [](Words const& words) { return words[0] != 0; });
  if (first == all.end()) return;
  Words text(((*first)[3] + 7) / 8, 0);
  if (first - all.begin() == part) std::memcpy(text.data(), own->reason.data(), own->reason.size());
  text = of_all(text)[static_cast<std::size_t>(first - all.begin())];
  throw InputError(file, (*first)[1], (*first)[2], text_of(text, (*first)[3]));
}

TensorFile read_tensor_part(std::filesystem::path const& path, ReadOptions const& options,
                            FilePart const& part) {
  POLYAD_EXPECTS(part.part >= 0 && part.part < part.parts, "part ", part.part, " of ", part.parts);
  Stretch const stretch{part};
  if (stretch.is_whole()) return read_tensor(path, options);
  expect_one_file(path, stretch);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return read_by_first(path, options, stretch);
  auto const binary = recognise_binary(path);
  if (binary && options.index_base == 1) return read_tensor(path, options);  // refuses it, on every part
  if (!binary && is_plain_text(path)) return read_tns(path, options, stretch);
  if (binary == Dialect::pten) return read_pten(path, options, stretch);
  return read_by_first(path, options, stretch);
}

}  // namespace polyad::io
