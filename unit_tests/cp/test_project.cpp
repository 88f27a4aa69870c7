// SPDX-License-Identifier: BSD-3-Clause
// Projected rows, against every set of active bounds in long double.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <vector>

#include "polyad/cp/project.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/exact_rows.hpp"
#include "support/host_models.hpp"
#include "support/message_of.hpp"
#include "support/oracle.hpp"
#include "support/update_runs.hpp"

namespace polyad::test {
namespace {

template <class Scalar>
Ktensor<Scalar, TestSpace> drawn_model(std::vector<std::uint64_t> const& extents,
                                       std::vector<double> const& weights) {
  TestSpace const space;
  Ktensor<Scalar, TestSpace> model{weights,
                                   {space, Extents(std::span<count_t const>(extents)), weights.size()}};
  fill_random(space, model.factors, 5);
  space.fence("polyad::test");
  return model;
}

/// The objective of rows and the least one, for the columns of A times their weights.
template <class Scalar>
void expect_least(HostTensor tensor, Ktensor<Scalar, TestSpace> const& model, int mode) {
  CAPTURE(mode, model.weights, sizeof(Scalar));
  for (double& value : tensor.values) value = static_cast<double>(static_cast<Scalar>(value));
  TestSpace const space;
  auto const n           = static_cast<std::size_t>(mode);
  auto const found       = project(space, model, summed_in_fixed_order<Scalar>(tensor), mode);
  auto const c           = model.constraints.empty() ? Constraints() : model.constraints[n];
  auto M                 = on_host(model);
  std::size_t const rank = M.rank;
  auto const weights     = M.weights;
  M.factors[n].assign(tensor.extents[n] * rank, 0.0L);
  M.extents[n] = tensor.extents[n];
  std::fill(M.weights.begin(), M.weights.end(), 1.0L);
  auto [V, H] = oracle_problem(tensor, M, n);  // the problem of B = A diag(lambda)
  for (std::size_t r = 0; r < rank; ++r) {
    for (std::size_t s = 0; s < rank; ++s) H(r, s) *= weights[r] * weights[s];
    for (std::size_t k = 0; k < tensor.extents[n]; ++k) V[k * rank + r] *= weights[r];
  }
  auto const rows     = flat(found.rows);
  long double squared = 0, least = 0, got = 0;
  for (double const value : tensor.values) squared += static_cast<long double>(value) * value;
  for (std::size_t k = 0; k < tensor.extents[n]; ++k) {
    std::vector<long double> const row(rows.begin() + static_cast<std::ptrdiff_t>(k * rank),
                                       rows.begin() + static_cast<std::ptrdiff_t>((k + 1) * rank));
    for (long double const entry : row) CHECK((entry >= c.lower && entry <= c.upper));
    got += row_objective(H, &V[k * rank], c, row);
    least += row_objective(H, &V[k * rank], c, exact_row(H, &V[k * rank], c, row));
  }
  double const tolerance = sizeof(Scalar) == 4 ? 1e-5 : 1e-12;
  CHECK(static_cast<double>((got - least) / squared) < tolerance);
  CHECK(std::abs(found.objective - static_cast<double>(squared / 2 + got)) <
        10 * tolerance * static_cast<double>(squared));
}

TEST_CASE("Project: rows of new slices are the exact minimum, whatever the constraints and weights", "[cp]") {
  std::vector<std::uint64_t> const extents{6, 5, 7};
  for (int mode = 0; mode < 3; ++mode) {
    auto of_slices                            = extents;
    of_slices[static_cast<std::size_t>(mode)] = 9;
    auto const tensor                         = noisy_tensor(of_slices);
    for (auto const& weights : std::vector<std::vector<double>>{{1, 1, 1}, {3, 0.3, 1e-3}, {2, -1.5, 0}})
      for (auto const& c :
           {Constraints{}, Constraints{.lower = 0}, Constraints{.lower = -0.5, .upper = 0.25},
            Constraints{.l1 = 0.5, .ridge = 0.25}, Constraints{.lower = 0.125, .upper = 2, .l1 = 0.25}}) {
        auto model = drawn_model<double>(extents, weights);
        if (c != Constraints()) model.constraints.assign(3, c);
        expect_least<double>(tensor, model, mode);
      }
    auto floats        = drawn_model<float>(extents, {1, 2, 0.5});
    floats.constraints = std::vector<Constraints>(3, Constraints{.lower = 0});
    expect_least<float>(tensor, floats, mode);
  }
}

TEST_CASE("Project: the slices of a model have its rows", "[cp]") {
  auto const tensor     = noisy_tensor({9, 7, 8});
  auto options          = updated_by({nonnegative(exact_inner)}, 3, 400);
  options.kkt_tolerance = 1e-9;
  auto const model      = run_with<double>(tensor, options).model;
  auto const found      = project(TestSpace(), model, summed_in_fixed_order<double>(tensor), 0);
  auto const a = flat(found.rows), b = flat(model.factors[0]);
  double most = 0;
  for (std::size_t e = 0; e < a.size(); ++e) most = std::max(most, std::abs(a[e] - b[e]));
  CHECK(most < 1e-5);
}

TEST_CASE("Project: what does not fit is refused", "[cp]") {
  TestSpace const space;
  auto const X       = summed_in_fixed_order<double>(noisy_tensor({9, 7, 8}));
  auto const message = [&](Ktensor<double, TestSpace> const& model, int mode) {
    return message_of([&] { static_cast<void>(project(space, model, X, mode)); });
  };
  auto model = drawn_model<double>({9, 7, 6}, {1, 1});
  CHECK(message(model, 0).find("mode 2 of the tensor has 8 rows, and the model's has 6") !=
        std::string::npos);
  CHECK(message(model, 2) == "nothing was thrown");
  CHECK(message(model, 3).find("modes 0 to 2") != std::string::npos);
  CHECK(message(model, -1).find("modes 0 to 2") != std::string::npos);
  CHECK(message(drawn_model<double>({9, 7}, {1}), 0).find("has 2 modes") != std::string::npos);
  model.constraints = {Constraints{.lower = 0}};
  CHECK(message(model, 2).find("constraints of 1 modes") != std::string::npos);
  model.constraints.assign(3, Constraints{.lower = 2, .upper = 1});
  CHECK(message(model, 2).find("no number is between") != std::string::npos);
}

}  // namespace
}  // namespace polyad::test
