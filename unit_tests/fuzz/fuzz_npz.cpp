// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer: npz archives, as a model and as a tensor.
#include <cstdint>

#include "fuzz_file.hpp"
#include "io/npz.hpp"
#include "io/tensor_npz.hpp"
#include "polyad/core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static polyad::fuzz::File const file("npz");
  file.fill(data, size);
  try {
    (void)polyad::io::read_tensor_npz(file.path(), {.threads = 1, .memory_bytes = polyad::fuzz::most_memory});
  } catch (polyad::InputError const&) {
  } catch (polyad::MemoryError const&) {
  }
  try {
    (void)polyad::io::read_npz(file.path());
  } catch (polyad::InputError const&) {
  }
  return 0;
}
