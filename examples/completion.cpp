// SPDX-License-Identifier: BSD-3-Clause
// Reads observed entries, learns from nine tenths of them and reports the error on the others:
//   example_completion ENTRIES J R
// The same source runs on one core, on many or on a GPU: Kokkos' default execution space decides.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <polyad/polyad.hpp>

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s ENTRIES J R\n", argv[0]);
    return 2;
  }
  // The program, not the library, initialises Kokkos.
  Kokkos::ScopeGuard const kokkos(argc, argv);
  using Space = Kokkos::DefaultExecutionSpace;
  Space const space;

  auto const [known, hidden] = polyad::io::hold_out(polyad::io::read_tensor(argv[1]).tensor, 0.1, 0);
  polyad::FastTuckerData<float, std::uint32_t, Space> const data{
      .train      = polyad::io::to_coo_tensor<float>(space, known),
      .validation = polyad::io::to_coo_tensor<float>(space, hidden)};

  polyad::FastTuckerOptions options;
  options.columns    = {std::strtoull(argv[2], nullptr, 10)};
  options.rank       = std::strtoull(argv[3], nullptr, 10);
  options.max_epochs = 10;
  options.patience   = 10;  // keep the best epoch
  // Each row has many flights, late for reasons of their own: one says little, and no share is needed.
  options.shrinkage = polyad::Shrinkage{.observations = 30, .share = 0};

  auto const result = polyad::fast_tucker(space, data, options, [](polyad::FastTuckerEpoch const& epoch) {
    std::printf("epoch %2d: RMSE %.4f known, %.4f hidden\n", epoch.epoch, epoch.train.rmse,
                epoch.validation.rmse);
    return true;  // false would end the run
  });
  std::printf("RMSE %.4f on hidden entries after epoch %d\n",
              polyad::errors(space, result.model, data.validation).rmse, result.kept_epoch);
  return 0;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
