// SPDX-License-Identifier: BSD-3-Clause
// Stops CP-ALS after ten iterations with a checkpoint, and continues it in a second run. The fits are the
// same to the last bit:
//   example_checkpoint
#include <cstdint>
#include <cstdio>
#include <exception>
#include <polyad/polyad.hpp>

int main(int argc, char** argv) try {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::DefaultExecutionSpace const space;
  auto const tensor = polyad::uniform_tensor<double, std::uint32_t>(space, {60, 70, 80}, 20'000, 0);
  // A fixed order of summation: without it the last bits differ from run to run.
  auto const X = polyad::any_format(space, tensor, {.rank = 4, .deterministic = true});

  polyad::CpAlsOptions const whole{.max_iterations = 20, .tolerance = 0};
  auto first           = whole;
  first.max_iterations = 10;
  first.checkpoint     = "example.ckpt";
  auto second          = whole;
  second.resume        = first.checkpoint;

  double const expected = polyad::cp_als(space, X, whole).fit;
  static_cast<void>(polyad::cp_als(space, X, first));
  auto const resumed = polyad::cp_als(space, X, second);
  std::printf("fit %.15f in one run\nfit %.15f with %zu iterations after the checkpoint\n", expected,
              resumed.fit, resumed.history.size());
  return expected == resumed.fit ? 0 : 1;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
