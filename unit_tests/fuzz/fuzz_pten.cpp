// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer: .pten files. The checksums are mended first, so that the fuzzer gets behind them. What was
// read, written and read again must be the same (one input in 16).
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "fuzz_file.hpp"
#include "io/file_bytes.hpp"
#include "io/pten.hpp"
#include "io/pten_format.hpp"
#include "polyad/core/error.hpp"

namespace {

using namespace polyad::io;

void put_crc(std::string& bytes, std::size_t at, std::uint32_t crc) {
  for (std::size_t k = 0; k < 4; ++k) bytes[at + k] = static_cast<char>(crc >> 8 * k & 0xFF);
}

/// Puts right checksums wherever the header and the heads of the blocks say that there are some.
void mend(std::string& bytes) {
  if (bytes.size() < pten::header_bytes(1)) return;
  std::uint64_t const header = element_at<std::uint32_t>(bytes.data() + 12, 0);
  if (header < 8 || header > bytes.size()) return;
  put_crc(bytes, header - 4, crc32c(0, std::string_view(bytes).substr(0, header - 4)));
  std::uint64_t block = 0;
  for (std::uint64_t at = header; at + pten::block_head_bytes <= bytes.size(); ++block) {
    auto const size = element_at<std::uint64_t>(bytes.data() + at, 0);
    if (size > bytes.size() - at - pten::block_head_bytes) break;
    std::string_view const view(bytes);
    put_crc(bytes, at + 8, crc32c(0, view.substr(at + pten::block_head_bytes, size)));
    put_crc(bytes, at + 12, pten::head_crc(block, view.substr(at, 12)));
    at += pten::block_head_bytes + size;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static polyad::fuzz::File const file("pten");
  std::string bytes(reinterpret_cast<char const*>(data), size);
  // An odd length: as it is.
  if (size % 2 == 0) mend(bytes);
  file.fill(bytes);
  try {
    ReadOptions const options{.threads = 1, .memory_bytes = polyad::fuzz::most_memory};
    auto const tensor = read_pten(file.path(), options).tensor;
    if (size % 16 == 2) {
      static std::filesystem::path const copy = polyad::fuzz::own_folder() / "copy.pten";
      write_pten(copy, tensor, {.packed = size % 32 == 2, .block_nonzeros = 1 + size / 32 % 8, .threads = 1});
      auto const again = read_pten(copy, options).tensor;
      polyad::fuzz::expect(
          again.extents == tensor.extents && again.indices == tensor.indices && again.values == tensor.values,
          "written and read again, the tensor differs");
    }
  } catch (polyad::InputError const&) {
  } catch (polyad::MemoryError const&) {
  }
  return 0;
}
