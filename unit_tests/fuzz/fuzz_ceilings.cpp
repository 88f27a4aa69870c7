// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer: measured ceilings in the cache folder. In the input, @I stands for the identity that a file must
// have. Whatever is read is plausible, and written and read again it is the same.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/format_choice/ceilings_file.hpp"
#include "fuzz_file.hpp"

namespace {

using namespace polyad;
using polyad::fuzz::expect;

void check(Ceilings::Curve const& curve) {
  expect(!curve.empty(), "a curve without points");
  double before = 0;
  for (auto const& [size, rate] : curve) {
    expect(size > before && std::isfinite(size) && rate > 0 && std::isfinite(rate),
           "a point is not plausible");
    before = size;
  }
}

bool same(Ceilings const& a, Ceilings const& b) {
  return a.is_device == b.is_device && a.simd_bytes == b.simd_bytes && a.copy == b.copy &&
         a.gather == b.gather && a.atomic_add == b.atomic_add && a.atomic_add_rows == b.atomic_add_rows &&
         a.from_host == b.from_host;
}

/// What a file of this backend begins with, without the brace.
std::string identity(std::filesystem::path const& path, cli::BackendReport const& backend) {
  cli::write_ceilings(path, backend, 8, {});
  std::ifstream file(path);
  auto json = nlohmann::ordered_json::parse(file);
  for (char const* key :
       {"is_device", "simd_bytes", "copy", "from_host", "gather", "atomic_add", "atomic_add_rows"})
    json.erase(key);
  std::string const text = json.dump();
  return text.substr(1, text.size() - 2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static fuzz::File const file("ceilings");
  static cli::BackendReport const backend{"OpenMP", 2, "a processor"};
  static auto const path       = fuzz::own_folder() / "ceilings.json";
  static std::string const own = identity(path, backend);
  file.fill(fuzz::with_token({reinterpret_cast<char const*>(data), size}, "@I", own));
  auto const ceilings = cli::read_ceilings(file.path(), backend, 8);
  if (!ceilings) return 0;
  for (auto const* curve : {&ceilings->gather, &ceilings->atomic_add, &ceilings->atomic_add_rows})
    check(*curve);
  expect(ceilings->copy > 0 && ceilings->from_host > 0 && ceilings->concurrency == 2, "no rates");
  // A file on disk costs many parses.
  if (size % 64 == 1) {
    cli::write_ceilings(path, backend, 8, *ceilings);
    auto const again = cli::read_ceilings(path, backend, 8);
    expect(again && same(*again, *ceilings), "written and read again, the ceilings differ");
  }
  return 0;
}
