// SPDX-License-Identifier: BSD-3-Clause
// Shrinkage and starts of FastTucker. The unit is what its definition says, balancing leaves predictions
// alone, a core step minds the penalty, and noisy ratings of rows of any length are learned in few epochs,
// with columns to spare.
#include "fast_tucker/shrinkage.hpp"

#include <Kokkos_Core.hpp>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "fast_tucker/best_length.hpp"
#include "fast_tucker/optimizers/core_step.hpp"
#include "fast_tucker/planted.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"

namespace polyad::test {
namespace {

using Format = Sorted<double, std::uint32_t, TestSpace>;

/// C^(n) of a host model, or what it is of absolute values.
HostMatrix product_of(HostModel const& model, std::size_t n, bool magnitude) {
  HostMatrix C(model.A[n].rows, model.rank());
  for (std::size_t k = 0; k < C.rows; ++k)
    for (std::size_t r = 0; r < C.columns; ++r)
      for (std::size_t j = 0; j < model.A[n].columns; ++j) {
        double const term = model.A[n](k, j) * model.B[n](j, r);
        C(k, r) += magnitude ? std::abs(term) : term;
      }
  return C;
}

/// The mean square of column r of C^(n) over the observations.
long double square_of(HostTensor const& X, HostMatrix const& C, std::size_t n, std::size_t r) {
  long double sum = 0;
  for (std::size_t p = 0; p < X.nnz(); ++p)
    sum += static_cast<long double>(C(X.index(p, n), r)) * C(X.index(p, n), r);
  return sum / static_cast<long double>(X.nnz());
}

struct Squares {
  explicit Squares(std::size_t order, std::size_t J, std::size_t rank) {
    Random random(order);
    X                 = small_tensor(Kind::shuffled, order);
    host              = random_model(random, X.extents, J, rank, false);
    model             = to_device<double>(space, host);
    C                 = make_intermediates(space, model);
    auto const built  = Format::build(space, to_device<double, std::uint32_t>(space, X), {.block_rows = 0});
    auto const starts = built.make_row_workspace(space);
    squares           = ColumnSquares<double, TestSpace>(space, static_cast<int>(order), rank);
    for (std::size_t n = 0; n < order; ++n)
      squares.update(space, static_cast<int>(n), C[static_cast<int>(n)], starts[n], X.nnz(),
                     make_factor_matrix<double>(space, "polyad::test", X.extents[n], rank));
  }
  double unit(int n) const {
    squares.set_unit(space, n);
    double result = 0;
    Kokkos::View<double const, TestSpace::device_type, Kokkos::MemoryUnmanaged> const view(squares.unit());
    Kokkos::deep_copy(space, result, view);
    space.fence("polyad::test");
    return result;
  }
  TestSpace space;
  HostTensor X;
  HostModel host;
  FastTuckerModel<double, TestSpace> model;
  FactorMatrices<double, TestSpace> C;
  ColumnSquares<double, TestSpace> squares;
};

TEST_CASE("the unit of shrinkage is the sum of the products of mean squares", "[fast_tucker]") {
  for (std::size_t const order : {2, 3, 5}) {
    Squares const made(order, 3, 7);
    for (std::size_t n = 0; n < order; ++n) {
      long double expected = 0, magnitude = 0;
      for (std::size_t r = 0; r < 7; ++r) {
        long double product = 1, magnitudes = 1;
        for (std::size_t m = 0; m < order; ++m) {
          if (m == n) continue;
          product *= square_of(made.X, product_of(made.host, m, false), m, r);
          magnitudes *= square_of(made.X, product_of(made.host, m, true), m, r);
        }
        expected += product;
        magnitude += magnitudes;
      }
      // C has J roundings here and there and occurs twice in a square; then sums over the rows, N factors and
      // R terms.
      CAPTURE(order, n);
      CHECK(std::abs(made.unit(static_cast<int>(n)) - expected) <=
            gamma<double>(order * (8 * (order + 3) + made.X.nnz()) + 7) * magnitude);
    }
  }
}

TEST_CASE("balancing gives all modes one scale and leaves predictions alone", "[fast_tucker]") {
  Squares const made(3, 2, 5);
  auto const& space = made.space;
  for (int n = 0; n < 3; ++n) {  // scales far apart, by which the product stays as it is
    auto const factor = std::pow(100.0, n - 1);
    auto A            = flat(made.model.A(n));
    for (double& a : A) a *= factor;
    from_host<double>(space, A, made.model.A(n));
    form_intermediates(space, made.model, n, made.C);
  }
  auto const coo    = to_device<double, std::uint32_t>(space, made.X);
  auto const built  = Format::build(space, coo, {.block_rows = 0});
  auto const starts = built.make_row_workspace(space);
  auto const all    = [&](FactorMatrices<double, TestSpace> const& C) {
    Kokkos::View<double*, TestSpace::device_type> const predictions("predictions", coo.nnz());
    predict(space, made.model, C, coo, predictions);
    return flat(predictions);
  };
  auto const update = [&] {
    for (std::size_t n = 0; n < 3; ++n)
      made.squares.update(space, static_cast<int>(n), made.C[static_cast<int>(n)], starts[n], coo.nnz(),
                          make_factor_matrix<double>(space, "polyad::test", made.X.extents[n], 5));
  };
  auto const before = all(made.C);
  update();
  Kokkos::Array<bool, max_order> all_modes{};
  for (int n = 0; n < 3; ++n) all_modes[n] = true;
  made.squares.balance(space, made.model, made.C, all_modes);
  auto const unit   = made.unit(1);
  auto const after  = all(made.C);
  auto const formed = all(make_intermediates(space, made.model));  // A^(n) is scaled as C^(n) is
  for (std::size_t p = 0; p < before.size(); ++p) {
    REQUIRE(std::abs(after[p] - before[p]) <= 1e-12 * (std::abs(before[p]) + 100));
    REQUIRE(std::abs(formed[p] - before[p]) <= 1e-12 * (std::abs(before[p]) + 100));
  }
  std::vector<long double> sums;
  for (std::size_t n = 0; n < 3; ++n) {
    HostMatrix C(made.X.extents[n], 5);
    C.data = flat(made.C[static_cast<int>(n)]);
    sums.push_back(0);
    for (std::size_t r = 0; r < 5; ++r) sums.back() += square_of(made.X, C, n, r);
  }
  CHECK(std::abs(sums[1] / sums[0] - 1) < 1e-12L);
  CHECK(std::abs(sums[2] / sums[0] - 1) < 1e-12L);
  update();  // what was kept of the squares was scaled, too
  CHECK(std::abs(made.unit(1) / unit - 1) < 1e-12);
}

TEST_CASE("a step for the cores goes as far along its direction as loss and penalty require",
          "[fast_tucker]") {
  TestSpace const space;
  auto const data   = planted_entries(3, 12, 3000);
  auto const train  = to_device<double, std::uint32_t>(space, data.train);
  auto const X      = Format::build(space, train, {});
  auto const model  = start(space, data.train, 3, 4, data.deviation);
  auto const starts = X.make_row_workspace(space);
  auto workspace    = make_residual_workspace(space, X, 4);
  auto const G      = make_factor_matrix<double>(space, "polyad::test", 12, 4);
  auto const sums   = make_error_sums(space, train.nnz());
  Kokkos::View<double, TestSpace::device_type> const unit("unit");
  Kokkos::deep_copy(unit, 0.5 * data.deviation * data.deviation);
  RowPenalty<TestSpace> const penalty{{20, 0.3, unit.data()}, starts[1]};
  std::vector<double> counts(12);
  for (std::size_t p = 0; p < data.train.nnz(); ++p) ++counts[data.train.index(p, 1)];
  auto const loss = [&] {
    auto const C      = make_intermediates(space, model);
    double const rmse = errors(space, model, C, train, sums).rmse;
    double total      = rmse * rmse * static_cast<double>(train.nnz());
    auto const rows   = flat(C[1]);
    for (std::size_t i = 0; i < rows.size(); ++i)
      total += 0.5 * data.deviation * data.deviation * (20 + 0.3 * counts[i / 4]) * rows[i] * rows[i];
    return total;
  };
  expect_best_length(space, model.B(1), loss, [&] {
    core_step(space, X, model, 1, 0.0, make_intermediates(space, model), workspace,
              CoreStepWorkspace<double, TestSpace>(space, model, 1), G, penalty,
              detail::RowDistribution<double, TestSpace>(space, model.extents()));
  });
}

TEST_CASE("noisy ratings are learned within twelve epochs, with columns to spare", "[fast_tucker]") {
  TestSpace const space;
  // An interaction of rank 2 that a third mode modulates a little, and noise as large as it. Rows have from 5
  // observations on, more than a thousand in the third mode.
  Random random(5);
  std::vector<std::uint64_t> const extents{600, 120, 10};
  HostMatrix const users = random_matrix(random, 600, 2), items = random_matrix(random, 120, 2);
  HostMatrix const days = random_matrix(random, 10, 2);
  auto const entries    = [&](std::size_t nnz) {
    HostTensor X = random_tensor(random, extents, nnz);
    for (std::size_t p = 0; p < nnz; ++p) {
      // A square makes some users rate often and some hardly.
      auto const user  = X.index(p, 0) * X.index(p, 0) / 600;
      X.indices[p * 3] = user;
      double x         = 0;
      for (std::size_t r = 0; r < 2; ++r)
        x += 0.6 * users(user, r) * items(X.index(p, 1), r) * (1 + 0.2 * days(X.index(p, 2), r));
      X.values[p] = x + random_number(random);
    }
    return X;
  };
  auto const train = entries(24000), held = entries(6000);
  auto const data  = to_device<double, std::uint32_t>(space, train);
  auto const other = to_device<double, std::uint32_t>(space, held);
  auto const X     = Format::build(space, data, {.block_rows = 0});
  auto const left  = [&](count_t R, std::optional<double> ridge) {
    FastTuckerOptions options;
    options.max_epochs = 12;
    options.ridge      = ridge;
    auto const model = start(space, train, R, R, std::sqrt(X.norm_squared() / static_cast<double>(X.nnz())));
    return fit_to(space, X, {data, other, {}}, options, model, [](FastTuckerEpoch const&) { return true; })
        .history.back()
        .validation.rmse;
  };
  double const noise = std::sqrt(1.75);  // magnitudes are uniform from 1/2 to 2
  double const few = left(2, {}), many = left(12, {});
  CAPTURE(few, many);
  CHECK(few < 1.05 * noise);
  CHECK(many < 1.05 * noise);
  for (double const ridge : {5.0, 20.0, 50.0}) CHECK(left(12, ridge) > 1.1 * noise);
}

TEST_CASE("starts: cores are orthogonal, short modes' columns have one mean", "[fast_tucker]") {
  TestSpace const space;
  for (auto const& shape : {std::pair<count_t, count_t>(6, 6), {4, 9}, {9, 4}, {1, 3}, {3, 1}}) {
    count_t const J = shape.first, R = shape.second;  // clang's OpenMP captures no structured binding
    FastTuckerModel<double, TestSpace> const model(space, Extents{400, 30, 300, 20},
                                                   std::vector<count_t>(4, J), R, false);
    fill_start(space, model, 1.0, 3);
    CAPTURE(J, R);
    for (int n = 0; n < 4; ++n) {
      auto const B        = flat(model.B(n));
      count_t const count = std::min(J, R), size = std::max(J, R);
      auto const at = [&](count_t i, count_t k) { return J <= R ? B[i * R + k] : B[k * R + i]; };
      for (count_t i = 0; i < count; ++i)
        for (count_t l = 0; l < count; ++l) {
          double sum = 0;
          for (count_t k = 0; k < size; ++k) sum += at(i, k) * at(l, k);
          CHECK(std::abs(sum - (i == l ? static_cast<double>(size) / static_cast<double>(R) : 0.0)) < 1e-13);
        }
    }
    auto const C = make_intermediates(space, model);
    // c with R c^(2 N) = 0.1^2; the mean of a column of a short mode is sqrt(0.9) c, of a long one 0.
    double const c = std::pow(0.1 / std::sqrt(static_cast<double>(R)), 0.25);
    for (int n = 0; n < 4; ++n) {
      auto const rows = flat(C[n]);
      count_t const I = model.extents()[n];
      double squares  = 0;
      for (double const x : rows) squares += x * x;
      CHECK(std::sqrt(squares / static_cast<double>(rows.size())) > 0.8 * c);
      CHECK(std::sqrt(squares / static_cast<double>(rows.size())) < 1.25 * c);
      for (count_t r = 0; r < R && J >= R; ++r) {
        double mean = 0;
        for (count_t k = 0; k < I; ++k) mean += rows[k * R + r] / static_cast<double>(I);
        // Deviations of 0.316 c or of c, and rows in number: four of the mean's own.
        double const expected = I < 100 ? std::sqrt(0.9) * c : 0;
        CHECK(std::abs(mean - expected) <
              4 * (I < 100 ? 0.317 : 1.0) * c / std::sqrt(static_cast<double>(I)));
      }
    }
  }
}

}  // namespace
}  // namespace polyad::test
