// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer: GenTen's and SPLATT's binary files.
#include <cstdint>

#include "fuzz_file.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/tensor_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static polyad::fuzz::File const file("binary");
  file.fill(data, size);
  try {
    (void)polyad::io::read_tensor(file.path(), {.threads = 1});
  } catch (polyad::InputError const&) {
  } catch (polyad::MemoryError const&) {
  }
  return 0;
}
