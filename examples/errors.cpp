// SPDX-License-Identifier: BSD-3-Clause
// Catches the library's errors: each has a type, a text with the place or the sizes, and the tool's exit
// code:
//   example_errors
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <polyad/polyad.hpp>

int main(int argc, char** argv) try {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  using Space = Kokkos::DefaultExecutionSpace;
  Space const space;
  auto const report = [](char const* kind, polyad::Error const& error) {
    std::printf("%s, exit code %d: %s\n", kind, static_cast<int>(error.exit_code()), error.what());
  };

  std::ofstream("broken.tns") << "1 1 1 2.5\n1 2 one 3\n";
  try {
    (void)polyad::load_tensor(space, "broken.tns");
  } catch (polyad::InputError const& error) {
    report("input", error);
  }
  auto const tensor = polyad::uniform_tensor<double, std::uint32_t>(space, {10, 10}, 20, 0);
  try {
    (void)polyad::any_format(space, tensor, {.format = "sorteed"});
  } catch (polyad::UsageError const& error) {
    report("usage", error);
  }
  return 0;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
