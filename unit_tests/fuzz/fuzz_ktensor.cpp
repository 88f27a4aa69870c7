// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer: models as text.
#include <cstdint>

#include "fuzz_file.hpp"
#include "io/ktensor_text.hpp"
#include "polyad/core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static polyad::fuzz::File const file("ktensor");
  file.fill(data, size);
  try {
    (void)polyad::io::read_ktensor_text(file.path());
  } catch (polyad::InputError const&) {
  } catch (polyad::MemoryError const&) {
  }
  return 0;
}
