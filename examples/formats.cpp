// SPDX-License-Identifier: BSD-3-Clause
// Asks for every storage format of one tensor what it would take, and builds the one that is the best:
//   example_formats
#include <cstdio>
#include <exception>
#include <polyad/polyad.hpp>

int main(int argc, char** argv) try {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::DefaultExecutionSpace const space;
  auto const tensor = polyad::uniform_tensor<double, std::uint32_t>(space, {300, 400, 500}, 200'000, 0);

  auto const chosen = polyad::any_format(space, tensor, {.rank = 16, .iterations = 50});
  for (auto const& candidate : chosen.candidates())
    std::printf("%-14s %6.1f MB, needs %6.1f MB\n", candidate.name.c_str(),
                static_cast<double>(candidate.bytes) * 1e-6,
                static_cast<double>(candidate.need_bytes) * 1e-6);
  std::printf("chosen: %s, %.1f MB stored\n", chosen.chosen().c_str(),
              static_cast<double>(chosen.storage_bytes()) * 1e-6);

  // A format can be named, with its options. With only 1 MB in addition to the tensor nothing fits, which a
  // typed error reports.
  auto const named = polyad::any_format(space, tensor, {.format = "sorted:copies"});
  std::printf("named: %s\n", named.chosen().c_str());
  try {
    (void)polyad::any_format(space, tensor, {.may_stream = false, .memory_bytes = 1'000'000});
  } catch (polyad::MemoryError const& error) {
    std::printf("refused: %s\n", error.what());
  }
  return 0;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
