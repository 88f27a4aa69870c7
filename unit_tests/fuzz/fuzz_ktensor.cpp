// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer: models as text. What was read, written and read again must be the same (one input in 16).
#include <cstdint>
#include <filesystem>

#include "fuzz_file.hpp"
#include "fuzz_packed.hpp"
#include "io/models/ktensor_text.hpp"
#include "polyad/core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static polyad::fuzz::File const file("ktensor");
  file.fill(data, size);
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;
  auto const is_long                 = [](auto const& text) { return text.bytes > most_bytes; };
  if (is_long(polyad::fuzz::unpacked_size(file.path(), is_long))) return 0;
  try {
    auto const model = polyad::io::read_ktensor_text(file.path());
    if (size % 16 != 1) return 0;
    static std::filesystem::path const copy = polyad::fuzz::own_folder() / "copy.ktns";
    polyad::io::write_ktensor_text(copy, model);
    polyad::fuzz::expect(polyad::io::read_ktensor_text(copy) == model,
                         "written and read again, the model differs");
  } catch (polyad::InputError const&) {
  } catch (polyad::MemoryError const&) {
  }
  return 0;
}
