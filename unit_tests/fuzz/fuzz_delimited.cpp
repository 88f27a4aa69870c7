// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer: tables of text, plain or packed. The first two bytes choose how to read. Differential: serial
// and parallel reading and blocks of 1 to 64 bytes must give the same tensor and labels, or the same error.
// What was read, written as .pten and read again must be the same, labels included (one input in 64).
#include <cstdint>
#include <cstring>
#include <string>

#include "fuzz_file.hpp"
#include "fuzz_packed.hpp"
#include "io/delimited/delimited_reader.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/tensor_file.hpp"

namespace {

using namespace polyad::io;

struct Outcome {
  TensorFile file;
  std::string error;
  bool is_no_table = false;
  bool too_large   = false;
};

Outcome read(std::string const& path, ReadOptions const& options) {
  Outcome outcome;
  try {
    RawInput input(path);
    auto const layout   = find_table(input, options);
    outcome.is_no_table = !layout;
    if (layout) outcome.file = read_delimited(input, options, *layout);
  } catch (polyad::InputError const& error) {
    outcome.error = error.what();
  } catch (polyad::UsageError const& error) {  // options that do not fit the table
    outcome.error = error.what();
  } catch (polyad::MemoryError const&) {
    outcome.too_large = true;
  }
  return outcome;
}

bool same(TensorFile const& a, TensorFile const& b) {
  auto const &x = a.tensor, &y = b.tensor;
  return x.extents == y.extents && x.indices == y.indices && x.values.size() == y.values.size() &&
         (x.values.empty() ||
          std::memcmp(x.values.data(), y.values.data(), x.values.size() * sizeof(double)) == 0);
}

DelimitedOptions table_options(unsigned first, unsigned second) {
  static char const* const delimiters[] = {"", "", ",", "\t", ";", "|", "::", " "};
  DelimitedOptions table;
  table.delimiter = delimiters[first % 8];
  if (first / 8 % 4 == 1) table.header = true;
  if (first / 8 % 4 == 2) table.header = false;
  if (second % 4 == 1) table.columns = {"0", "1"};
  if (second % 4 == 2) table.columns = {"user", "item"};
  if (second / 4 % 4 == 1) table.value = "none";
  if (second / 4 % 4 == 2) table.value = "2";
  unsigned const time = second / 16 % 4;
  if (time > 0) {
    static char const* const columns[] = {"0", "1", "time"};
    static constexpr TimeUnit units[]  = {TimeUnit::day, TimeUnit::hour, TimeUnit::week};
    table.time                         = columns[time - 1];
    table.time_unit                    = units[time - 1];
  }
  return table;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static polyad::fuzz::File const file("delimited");
  if (size < 2) return 0;
  ReadOptions options;
  options.table            = table_options(data[0], data[1]);
  options.allow_non_finite = (data[0] & 32) != 0;
  options.drop_zeros       = (data[0] & 64) != 0;
  options.threads          = 1;
  options.memory_bytes     = polyad::fuzz::most_memory;
  file.fill(data + 2, size - 2);
  // Blocks of a byte take long for much text.
  constexpr std::uint64_t most_text = std::uint64_t{1} << 16;
  auto const is_long                = [](auto const& text) { return text.bytes > most_text; };
  if (is_long(polyad::fuzz::unpacked_size(file.path(), is_long))) return 0;
  Outcome const whole = read(file.path(), options);
  options.chunk_bytes = 1 + data[0] % 64;
  // Threads cost a hundred times a small parse: one input in 64 starts some.
  options.threads   = data[1] >= 252 ? 3 : 1;
  Outcome const cut = read(file.path(), options);
  // Small blocks take more memory than the text.
  if (whole.too_large || cut.too_large) return 0;
  polyad::fuzz::expect(whole.is_no_table == cut.is_no_table, "whether it is a table depends on blocks");
  polyad::fuzz::expect(whole.error == cut.error, "the error depends on blocks or threads");
  if (whole.is_no_table || !whole.error.empty()) return 0;
  polyad::fuzz::expect(same(whole.file, cut.file), "the tensor depends on blocks or threads");
  polyad::fuzz::expect(whole.file.labels == cut.file.labels, "labels depend on blocks or threads");
  if (size % 64 == 0) {
    static std::string const copy_path = polyad::fuzz::own_folder() / "copy.pten";
    write_tensor(copy_path, whole.file.tensor,
                 {.dialect = Dialect::pten, .threads = 1, .labels = whole.file.labels});
    auto const copy = read_tensor(copy_path, {.allow_non_finite = true, .threads = 1});
    polyad::fuzz::expect(same(whole.file, copy), "written and read again, the tensor differs");
    polyad::fuzz::expect(whole.file.labels == copy.labels, "written and read again, labels differ");
  }
  return 0;
}
