// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer: coordinate text of any dialect, plain or packed. Differential: serial and parallel reading and
// chunks of 1 to 64 bytes must give the same tensor or the same error. What was read, written as extended
// FROSTT and read again must be the same to the last bit (one input in 64: a file on disk costs a hundred
// parses).
#include <cstdint>
#include <cstring>
#include <string>

#include "fuzz_file.hpp"
#include "fuzz_packed.hpp"
#include "io/text/text_blocks.hpp"
#include "io/text/tns_reader.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/tensor_file.hpp"

namespace {

using namespace polyad::io;

struct Outcome {
  TensorFile file;
  std::string error;
  bool too_large = false;
};

Outcome read(std::string const& path, ReadOptions const& options) {
  Outcome outcome;
  try {
    outcome.file = read_tns(path, options);
  } catch (polyad::InputError const& error) {
    outcome.error = error.what();
  } catch (polyad::MemoryError const&) {
    outcome.too_large = true;
  }
  return outcome;
}

bool same(CoordinateList const& a, CoordinateList const& b) {
  return a.extents == b.extents && a.indices == b.indices && a.values.size() == b.values.size() &&
         (a.values.empty() ||
          std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(double)) == 0);
}

/// Whether the text is read in chunks of a byte within a second: it is short and of few lines, or its first
/// line is too long.
bool is_read_soon(std::string const& path) {
  auto const takes_long = [](polyad::fuzz::TextSize const& text) {
    return text.lines > 20'000 || (text.lines > 0 && text.bytes > std::uint64_t{1} << 20);
  };
  auto const is_too_long = [](polyad::fuzz::TextSize const& text) {
    return text.lines == 0 && text.bytes > TextBlocks::longest_line;
  };
  auto const text = polyad::fuzz::unpacked_size(
      path, [&](auto const& so_far) { return takes_long(so_far) || is_too_long(so_far); });
  return text.bytes <= std::uint64_t{1} << 20 ? !takes_long(text) : is_too_long(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static polyad::fuzz::File const file("text");
  if (size == 0) return 0;
  // The first byte chooses how to read, so that the corpus covers the options.
  ReadOptions options;
  options.index_base       = static_cast<int>(data[0] % 3) - 1;
  options.allow_non_finite = (data[0] & 4) != 0;
  options.drop_zeros       = (data[0] & 8) != 0;
  options.threads          = 1;
  options.chunk_bytes      = std::size_t{1} << 20;
  options.memory_bytes     = polyad::fuzz::most_memory;
  file.fill(data + 1, size - 1);
  if (!is_read_soon(file.path())) return 0;
  Outcome const whole = read(file.path(), options);
  options.chunk_bytes = 1 + data[0] % 64;
  // Threads cost a hundred times a small parse: one input in 64 starts some.
  options.threads   = data[0] >= 252 ? 3 : 1;
  Outcome const cut = read(file.path(), options);
  // Small chunks take more memory than the text.
  if (whole.too_large || cut.too_large) return 0;
  polyad::fuzz::expect(whole.error == cut.error, "the error depends on chunks or threads");
  polyad::fuzz::expect(same(whole.file.tensor, cut.file.tensor), "the tensor depends on chunks or threads");
  if (data[0] % 64 == 60 && whole.error.empty()) {
    static std::string const copy_path = polyad::fuzz::own_folder() / "copy.tns";
    write_tensor(copy_path, whole.file.tensor, {.dialect = Dialect::extended_frostt, .threads = 1});
    Outcome const copy = read(copy_path, {.index_base = 1, .allow_non_finite = true, .threads = 1});
    polyad::fuzz::expect(copy.error.empty(), copy.error.c_str());
    polyad::fuzz::expect(same(whole.file.tensor, copy.file.tensor),
                         "written and read again, the tensor differs");
  }
  return 0;
}
