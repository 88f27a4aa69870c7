// SPDX-License-Identifier: BSD-3-Clause
#include "io/text/stretch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <stdexcept>
#include <system_error>

#include "io/binary_kind.hpp"
#include "io/dialects/registry.hpp"
#include "io/readers.hpp"
#include "io/streams/decoder.hpp"
#include "io/streams/raw_input.hpp"
#include "io/text/tns_reader.hpp"
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

/// Checks that all parts see the same file, of the same size.
void expect_one_file(std::string const& name, bool is_file, std::uint64_t bytes, FileRange const& stretch) {
  auto const all = stretch.of_all({is_file ? 1U : 0U, bytes});
  for (std::size_t k = 1; k < all.size(); ++k)
    if (all[k] != all[0])
      throw InputError(name, 0, 0,
                       "is not the same file on ranks 0 and " + std::to_string(k) +
                           "; put it where every machine sees it");
}

/// How a part ended: without an error, or with which exception.
enum Ending : std::uint64_t { well, input_error, usage_error, memory_error, no_memory, other_error };

std::string memory_reason(MemoryError const& error) {
  MemoryError const rest(error.array(), error.bytes(), "");
  return std::string(error.what()).substr(std::string(rest.what()).size());
}

std::uint64_t number_of_dialect(Dialect dialect) {
  return std::ranges::find(dialects(), dialect) - dialects().begin();
}

/// The first part reads everything. The others get an empty list and the same facts.
TensorFile read_by_first(RawInput* input, ReadOptions const& options, FileRange const& stretch) {
  TensorFile file;
  if (stretch.part == 0) file = read_tensor(*input, options);
  auto const& report      = file.report;
  Words words             = {static_cast<std::uint64_t>(file.tensor.order()),
                             number_of_dialect(report.dialect),
                             static_cast<std::uint64_t>(report.compression),
                             static_cast<std::uint64_t>(report.index_base),
                             report.knows_index_base ? 1U : 0U,
                             report.zeros,
                             report.lines,
                             report.text_bytes,
                             report.file_bytes,
                             std::bit_cast<std::uint64_t>(report.seconds)};
  std::size_t const facts = words.size();
  words.resize(facts + most_modes, 0);
  std::copy(file.tensor.extents.begin(), file.tensor.extents.end(), words.begin() + facts);
  words = stretch.of_all(words)[0];
  if (stretch.part == 0) return file;
  file.report      = {dialects()[words[1]],
                      static_cast<Compression>(words[2]),
                      static_cast<int>(words[3]),
                      words[4] != 0,
                      words[5],
                      words[6],
                      words[7],
                      words[8],
                      std::bit_cast<double>(words[9]),
                      {},
                      false};
  auto const begin = words.begin() + facts;
  file.tensor.extents.assign(begin, begin + words[0]);
  if (std::any_of(file.tensor.extents.begin(), file.tensor.extents.end(),
                  [](std::uint64_t extent) { return extent > std::numeric_limits<std::uint32_t>::max(); }))
    file.tensor.indices.emplace<1>();
  return file;
}

TensorFile read_stretch(RawInput& input, ReadOptions const& options, FileRange const& stretch) {
  expect_one_file(input.name(), input.has_places(), input.size(), stretch);
  if (!input.has_places()) return read_by_first(&input, options, stretch);
  auto const binary = recognise_binary(input);
  if (!binary && recognise(input) != Compression::none) return read_by_first(&input, options, stretch);
  auto const dialect = binary ? binary : recognise_dialect(input, options);
  if (!dialect) return read_tns(input, options, stretch);
  if (!dialect->definition().reads_parts) return read_by_first(&input, options, stretch);
  expect_options_fit(input, *dialect, options);
  auto file = dialect->definition().read(input, options, stretch);
  expect_base_fits(input, file.report, options);
  return file;
}

TensorFile read_stretch(std::filesystem::path const& path, ReadOptions const& options,
                        FileRange const& stretch) {
  std::error_code failed;
  bool const is_file = std::filesystem::is_regular_file(path, failed);
  auto const bytes   = is_file ? std::filesystem::file_size(path, failed) : 0;
  expect_one_file(path.string(), is_file, failed ? 0 : bytes, stretch);
  // A pipe has one reader: the first part.
  std::optional<RawInput> input;
  if (is_file || stretch.part == 0) input.emplace(path);
  return is_file ? read_stretch(*input, options, stretch)
                 : read_by_first(input ? &*input : nullptr, options, stretch);
}

/// \param from  a path or an open file
template <class From>
TensorFile read_part(From& from, ReadOptions const& options, FilePart const& part) {
  POLYAD_EXPECTS(part.part >= 0 && part.part < part.parts, "part ", part.part, " of ", part.parts);
  FileRange const stretch{part};
  if (stretch.is_whole()) return read_tensor(from, options);
  try {
    auto file = read_stretch(from, options, stretch);
    stretch.finish();
    return file;
  } catch (...) {
    stretch.fail();
  }
}

}  // namespace

std::vector<Words> FileRange::of_all(Words const& own) const {
  if (is_whole()) return {own};
  agree({well, 0, 0, 0}, "");
  return share(own);
}

void FileRange::finish() const {
  if (!is_whole()) agree({well, 0, 0, 0}, "");
}

void FileRange::fail() const {
  if (is_whole() || m_is_over) throw;
  Words own = {other_error, 0, 0, 0};
  std::string text;
  try {
    throw;
  } catch (InputError const& error) {
    own  = {input_error, error.line(), error.column(), error.file().size()};
    text = error.file() + reason_of(error);
  } catch (MemoryError const& error) {
    own  = {memory_error, error.bytes(), 0, error.array().size()};
    text = error.array() + memory_reason(error);
  } catch (UsageError const& error) {
    own[0] = usage_error;
    text   = error.what();
  } catch (std::bad_alloc const&) {
    own[0] = no_memory;
  } catch (std::exception const& error) {
    text = error.what();
  } catch (...) {
    text = "an unknown exception";
  }
  agree(own, text);
  throw;  // not reached: at least this part has failed
}

/// All parts call this together. \param own  the ending, two numbers, and the bytes of `text` that are a name
void FileRange::agree(Words const& own, std::string const& text) const {
  Words head = own;
  head.push_back(text.size());
  auto const heads = share(head);
  auto const first =
      std::find_if(heads.begin(), heads.end(), [](Words const& words) { return words[0] != well; });
  if (first == heads.end()) return;
  m_is_over           = true;
  std::uint64_t bytes = 0;
  for (Words const& words : heads) bytes = std::max(bytes, words[4]);
  Words told((bytes + 7) / 8, 0);
  std::memcpy(told.data(), text.data(), text.size());
  std::size_t const rank = first - heads.begin();
  auto const first_text  = text_of(share(told)[rank], (*first)[4]);
  std::string const name = first_text.substr(0, (*first)[3]), reason = first_text.substr((*first)[3]);
  switch ((*first)[0]) {
    case input_error:
      throw InputError(name, (*first)[1], (*first)[2], reason);
    case memory_error:
      throw MemoryError(name, (*first)[1], reason);
    case usage_error:
      throw UsageError(reason);
    case no_memory:
      throw MemoryError("reading part " + std::to_string(rank + 1) + " of the file", 0,
                        "an allocation failed");
    default:
      throw std::runtime_error(reason);
  }
}

void FileRange::throw_first(std::string const& file, std::optional<Fault> const& own) const {
  if (own) throw InputError(file, own->line, own->column, own->reason);
  finish();
}

TensorFile read_tensor_part(std::filesystem::path const& path, ReadOptions const& options,
                            FilePart const& part) {
  return read_part(path, options, part);
}

TensorFile read_tensor_part(RawInput& input, ReadOptions const& options, FilePart const& part) {
  return read_part(input, options, part);
}

}  // namespace polyad::io
