// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer: GenTen's and SPLATT's binary files. Text, npz and .pten have targets of their own: what is
// recognised as one of them is not read here as such, but as a foreign binary that must be refused.
#include <cstdint>
#include <optional>

#include "fuzz_file.hpp"
#include "io/binary_kind.hpp"
#include "io/foreign/foreign_binary.hpp"
#include "io/readers.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/tensor_file.hpp"

namespace {

using namespace polyad::io;

using Reader = TensorFile (*)(RawInput&, ReadOptions const&);

bool is_refused(Reader read, std::string const& path) {
  try {
    RawInput input(path);
    (void)read(input, ReadOptions{.threads = 1, .memory_bytes = polyad::fuzz::most_memory});
  } catch (polyad::InputError const&) {
    return true;
  } catch (polyad::MemoryError const&) {
    return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static polyad::fuzz::File const file("binary");
  file.fill(data, size);
  auto const kind = recognise_binary(file.path());
  if (kind == Dialect::genten_binary || kind == Dialect::splatt_binary) {
    (void)is_refused(read_tensor, file.path());
  } else {
    polyad::fuzz::expect(is_refused(read_genten_binary, file.path()), "GenTen's reader takes other files");
    polyad::fuzz::expect(is_refused(read_splatt_binary, file.path()), "SPLATT's reader takes other files");
  }
  return 0;
}
