// SPDX-License-Identifier: BSD-3-Clause
// Stops CP-ALS after ten iterations, keeps its state, and goes on in a second run. The fits are the same to
// the last bit:
//   example_checkpoint
#include <cstdint>
#include <cstdio>
#include <exception>
#include <polyad/polyad.hpp>

int main(int argc, char** argv) try {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  using Space = Kokkos::DefaultExecutionSpace;
  Space const space;
  auto const tensor = polyad::uniform_tensor<double, std::uint32_t>(space, {60, 70, 80}, 20'000, 0);
  // A fixed order of summation: without it the last bits differ from run to run.
  auto const X     = polyad::any_format(space, tensor, {.rank = 4, .deterministic = true});
  auto const start = [&] {
    polyad::FactorMatrices<double, Space> factors(space, X.extents(), 4);
    polyad::fill_random(space, factors, 0);
    return factors;
  };
  polyad::CpAlsOptions options{.rank = 4, .max_iterations = 20, .tolerance = 0};

  auto const advance = [](auto& run) {
    while (run.is_running()) {
      run.launch();
      run.finish({});
    }
  };
  polyad::CpAlsRun<double, Space> whole(space, X, options, start());
  advance(whole);

  options.max_iterations = 10;
  polyad::CpAlsRun<double, Space> first(space, X, options, start());
  advance(first);
  polyad::CpAlsState const state = first.state();  // io::Checkpoint has its fields, for a file

  options.max_iterations = 20;
  polyad::CpAlsRun<double, Space> second(space, X, options, start());
  second.restore(state);
  advance(second);

  double const expected = whole.take_result().fit;
  double const resumed  = second.take_result().fit;
  std::printf("fit %.15f in one run\nfit %.15f after iteration %d was restored\n", expected, resumed,
              state.iteration);
  return expected == resumed ? 0 : 1;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
