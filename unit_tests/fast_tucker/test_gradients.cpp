// SPDX-License-Identifier: BSD-3-Clause
// Gradients of FastTucker against differences of the loss, and the product they are made of against the
// oracle.
#include "fast_tucker/optimizers/gradients.hpp"

#include <Kokkos_Core.hpp>
#include <cmath>

#include "fast_tucker/oracle.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "polyad/fast_tucker/predict.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

long double oracle_loss(HostModel const& model, HostTensor const& X) {
  long double sum = 0;
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    long double const e = X.values[p] - oracle_interaction(model, X, p).value;
    sum += e * e / 2;
  }
  return sum;
}

/// The loss is a quadratic function of any one entry of A^(n) or B^(n), so that its central difference is the
/// derivative exactly, whatever the step; what is left is the rounding of the two losses.
void expect_derivative(HostModel& model, HostTensor const& X, double& entry, double derivative) {
  constexpr double step    = 0.5;
  double const kept        = entry;
  entry                    = kept + step;
  long double const above  = oracle_loss(model, X);
  entry                    = kept - step;
  long double const below  = oracle_loss(model, X);
  entry                    = kept;
  long double const actual = (above - below) / (2 * step);
  // The gradient in double: about 100 roundings of terms that are no larger than the losses.
  CHECK(std::abs(derivative - actual) <= gamma<double>(1000) * (above + below));
}

TEST_CASE("gradients are those of the loss", "[fast_tucker]") {
  TestSpace const space;
  for (std::size_t const order : {3, 4, 5})
    for (Kind const kind : {Kind::runs_at_borders, Kind::duplicates}) {
      Random random(order);
      auto const X = small_tensor(kind, order);
      auto host    = random_model(random, X.extents, 3, 4, false);
      for (auto& B : host.B)
        for (double& entry : B.data) entry /= 4;
      auto const model = to_device<double>(space, host);
      auto const C     = make_intermediates(space, model);
      using F          = Sorted<double, std::uint32_t, TestSpace>;
      auto const built = F::build(space, to_device<double, std::uint32_t>(space, X), {});
      auto workspace   = make_residual_workspace(space, built, model.rank());
      for (int n = 0; n < model.order(); ++n) {
        auto const G = make_factor_matrix<double>(space, "polyad::test", model.extents()[n], model.rank());
        auto const dA =
            make_factor_matrix<double>(space, "polyad::test", model.extents()[n], model.columns(n));
        auto const dB = make_factor_matrix<double>(space, "polyad::test", model.columns(n), model.rank());
        residual_mttkrp(space, built, C, n, workspace, G);
        gradients(space, model, n, G, make_gradient_workspace(space, model, n), dA, dB);
        space.fence("polyad::test");
        CAPTURE(order, to_string(kind), n);
        auto const m  = static_cast<std::size_t>(n);
        auto const da = flat(dA), db = flat(dB);
        for (std::size_t i = 0; i < da.size(); i += 1 + da.size() / 5)
          expect_derivative(host, X, host.A[m].data[i], da[i]);
        for (std::size_t i = 0; i < db.size(); ++i) expect_derivative(host, X, host.B[m].data[i], db[i]);
      }
    }
}

template <class Scalar>
void expect_transposed_product(std::size_t rows, std::size_t J, std::size_t R) {
  CAPTURE(rows, J, R, sizeof(Scalar));
  TestSpace const space;
  Random random(rows + 100 * J + 10000 * R);
  auto const host_A          = random_matrix(random, rows, J);
  auto const host_G          = random_matrix(random, rows, R);
  constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
  WatchedMatrix<Scalar> const A(space, RowLayout::subview, host_A, nan_value);
  WatchedMatrix<Scalar> const G(space, RowLayout::padded, host_G, nan_value);
  WatchedMatrix<Scalar> const D(space, RowLayout::tight, J, R);  // NaN, which must not stay
  transposed_product(space, 2.0, A.matrix(), G.matrix(), make_transposed_product_workspace(space, J, R),
                     D.matrix());
  space.fence("polyad::test");
  auto expected = oracle_product_of_transposed(host_A, host_G);
  for (auto& value : expected.value) value *= 2;
  for (auto& magnitude : expected.magnitude) magnitude *= 2;
  CHECK(violation<Scalar, double>(expected, D.read(), 2) == "");
  CHECK(D.trespasses() == 0);
}

TEST_CASE("transposed products of all shapes", "[fast_tucker][dense]") {
  for (std::size_t const rows : {0, 1, 5, 31, 64, 257, 3000})
    for (std::size_t const J : {1, 3, 16, 33}) {
      expect_transposed_product<float>(rows, J, 1 + (rows + 7 * J) % 40);
      expect_transposed_product<double>(rows, J, 1 + (rows + 5 * J) % 40);
    }
  expect_transposed_product<float>(700, 130, 65);
  expect_transposed_product<double>(700, 130, 65);
  expect_transposed_product<float>(40000, 300, 17);  // several pieces as doubles
}

}  // namespace
}  // namespace polyad::test
