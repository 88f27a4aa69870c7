// SPDX-License-Identifier: BSD-3-Clause
// Reads observed entries, learns from nine tenths of them and predicts the others:
//   example_completion ENTRIES J R
// The same source runs on one core, on many or on a GPU: Kokkos' default execution space decides.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <polyad/io/tns_reader.hpp>
#include <polyad/polyad.hpp>
#include <span>
#include <variant>
#include <vector>

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s ENTRIES J R\n", argv[0]);
    return 2;
  }
  // The program owns Kokkos, not the library.
  Kokkos::ScopeGuard const kokkos(argc, argv);
  using Space = Kokkos::DefaultExecutionSpace;
  using Index = std::uint32_t;
  Space const space;

  auto const list         = polyad::io::read_tns(argv[1]).tensor;
  auto const& indices     = std::get<polyad::io::UninitializedVector<Index>>(list.indices);
  std::size_t const order = list.extents.size();
  std::vector<Index> known_at, hidden_at;
  std::vector<double> known, hidden;
  for (std::size_t p = 0; p < list.values.size(); ++p) {
    bool const hide = polyad::counter_uniform(0, 100, p, 0) < 0.1;
    auto& at        = hide ? hidden_at : known_at;
    at.insert(at.end(), &indices[p * order], &indices[p * order] + order);
    (hide ? hidden : known).push_back(list.values[p]);
  }
  polyad::Extents const extents{std::span<std::uint64_t const>(list.extents)};
  auto const upload = [&](std::vector<Index> const& at, std::vector<double> const& values) {
    return polyad::upload<float, Index>(space, extents, std::span<Index const>(at),
                                        std::span<double const>(values));
  };

  // Mean and biases first; the factors explain what they leave.
  polyad::FastTuckerData<float, Index, Space> const data{
      upload(known_at, known), upload(hidden_at, hidden), {}};
  std::vector<std::uint64_t> const J(order, std::strtoull(argv[2], nullptr, 10));
  polyad::FastTuckerModel<float, Space> model(space, extents, J, std::strtoull(argv[3], nullptr, 10), true);
  polyad::fit_biases(space, data.train, {}, model);
  auto const rest = polyad::without_biases(space, data.train, model);
  polyad::FastTuckerOptions options;
  auto const X =
      polyad::any_format(space, rest, {.rank = model.rank(), .needs = polyad::needs_of(options.optimizer)});
  auto const sums          = polyad::make_error_sums(space, data.validation.nnz());
  auto const hidden_errors = [&] {
    return polyad::errors(space, model, polyad::make_intermediates(space, model), data.validation, {}, sums);
  };
  std::printf("biases alone: RMSE %.4f on hidden entries\n", hidden_errors().rmse);

  double const left = std::sqrt(X.norm_squared() / static_cast<double>(X.nnz()));
  polyad::fill_start(space, model, left, 0);
  options.max_epochs = 10;
  options.patience   = 10;  // keep the best epoch
  // Each row has many flights, late for reasons of their own: one says little, and no share is needed.
  options.shrinkage = {.observations = 30, .share = 0};
  auto const result =
      polyad::fast_tucker(space, X, data, options, model, [](polyad::FastTuckerEpoch const& epoch) {
        std::printf("epoch %2d: RMSE %.4f known, %.4f hidden\n", epoch.epoch, epoch.train.rmse,
                    epoch.validation.rmse);
        return true;  // false would end the run
      });
  std::printf("RMSE %.4f on hidden entries after epoch %d\n", hidden_errors().rmse, result.kept_epoch);
  return 0;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
