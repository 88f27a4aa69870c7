// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer: .pten files. The checksums are repaired first, so that the fuzzer gets past them. What was read,
// written and read again must be the same (one input in 16).
#include <cstdint>
#include <filesystem>
#include <string>

#include "fuzz_file.hpp"
#include "io/pten/pten.hpp"
#include "polyad/core/error.hpp"
#include "pten_checksums.hpp"

using namespace polyad::io;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static polyad::fuzz::File const file("pten");
  std::string bytes(reinterpret_cast<char const*>(data), size);
  // An odd length: as it is.
  if (size % 2 == 0) polyad::fuzz::mend_pten(bytes);
  file.fill(bytes);
  try {
    ReadOptions const options{.threads = 1, .memory_bytes = polyad::fuzz::most_memory};
    auto const read    = read_pten(file.path(), options);
    auto const& tensor = read.tensor;
    if (size % 16 == 2) {
      static std::filesystem::path const copy = polyad::fuzz::own_folder() / "copy.pten";
      write_pten(copy, tensor,
                 {.packed         = size % 32 == 2,
                  .block_nonzeros = 1 + size / 32 % 8,
                  .threads        = 1,
                  .names = {read.report.knows_index_base ? read.report.index_base : -1, read.labels}});
      auto const reread = read_pten(copy, options);
      auto const& again = reread.tensor;
      polyad::fuzz::expect(reread.labels == read.labels &&
                               reread.report.knows_index_base == read.report.knows_index_base &&
                               reread.report.index_base == read.report.index_base,
                           "written and read again, the names differ");
      polyad::fuzz::expect(
          again.extents == tensor.extents && again.indices == tensor.indices && again.values == tensor.values,
          "written and read again, the tensor differs");
    }
  } catch (polyad::InputError const&) {
  } catch (polyad::MemoryError const&) {
  }
  return 0;
}
