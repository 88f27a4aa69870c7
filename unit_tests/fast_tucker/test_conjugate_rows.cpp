// SPDX-License-Identifier: BSD-3-Clause
// Rows of implicit feedback by steps of conjugate gradients, against the same steps in long double on
// matrices that are formed, and against the solutions.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "fast_tucker/optimizers/gradients.hpp"
#include "fast_tucker/oracle.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/fast_tucker/predict.hpp"
#include "polyad/formats/capability.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/format_list.hpp"
#include "support/instances.hpp"

namespace polyad::test {
namespace {

using LongVector = std::vector<long double>;

long double product_of(LongVector const& a, LongVector const& b) {
  long double sum = 0;
  for (std::size_t r = 0; r < a.size(); ++r) sum += a[r] * b[r];
  return sum;
}

/// A mode of a problem: M c = y for each row, and the c that is there.
struct ConjugateOracle {
  std::size_t R = 0;
  LongVector H;                       // R x R
  std::vector<LongVector> M, y, c;    // for each row
  std::vector<std::size_t> nonzeros;  // for each row
  std::vector<bool> has_positive;

  ConjugateOracle(HostModel const& host, HostTensor const& X, std::size_t mode, double alpha, double ridge,
                  bool per_entry)
      : R(host.rank()), H(R * R, 1) {
    auto const C        = oracle_intermediates(host);
    std::size_t const I = X.extents[mode];
    for (std::size_t m = 0; m < X.order(); ++m) {
      if (m == mode) continue;
      LongVector gram(R * R);
      for (std::size_t k = 0; k < X.extents[m]; ++k)
        for (std::size_t r = 0; r < R; ++r)
          for (std::size_t s = 0; s < R; ++s) gram[r * R + s] += C(m, k, r).value * C(m, k, s).value;
      for (std::size_t i = 0; i < R * R; ++i) H[i] *= gram[i];
    }
    M.assign(I, H);
    y.assign(I, LongVector(R));
    c.assign(I, LongVector(R));
    nonzeros.assign(I, 0);
    has_positive.assign(I, false);
    for (std::size_t p = 0; p < X.nnz(); ++p) {
      std::size_t const k = X.index(p, mode);
      ++nonzeros[k];
      if (X.values[p] <= 0) continue;
      has_positive[k] = true;
      LongVector product(R, 1);
      for (std::size_t m = 0; m < X.order(); ++m)
        for (std::size_t r = 0; r < R && m != mode; ++r) product[r] *= C(m, X.index(p, m), r).value;
      for (std::size_t r = 0; r < R; ++r) {
        y[k][r] += (1 + alpha * X.values[p]) * product[r];
        for (std::size_t s = 0; s < R; ++s) M[k][r * R + s] += alpha * X.values[p] * product[r] * product[s];
      }
    }
    for (std::size_t k = 0; k < I; ++k)
      for (std::size_t r = 0; r < R; ++r) {
        M[k][r * R + r] += per_entry ? ridge * static_cast<double>(nonzeros[k]) : ridge;
        c[k][r] = C(mode, k, r).value;
      }
  }

  [[nodiscard]] LongVector times(std::size_t k, LongVector const& v) const {
    LongVector result(R);
    for (std::size_t r = 0; r < R; ++r)
      for (std::size_t s = 0; s < R; ++s) result[r] += M[k][r * R + s] * v[s];
    return result;
  }
  /// c after these steps. Rows without a positive nonzero are zero.
  [[nodiscard]] LongVector after_steps(std::size_t k, int steps) const {
    if (!has_positive[k]) return LongVector(R);
    LongVector x = c[k], residual = y[k];
    auto const Mx = times(k, x);
    for (std::size_t r = 0; r < R; ++r) residual[r] -= Mx[r];
    LongVector v            = residual;
    long double squares     = product_of(residual, residual);
    long double const least = 1e-34L * (squares + product_of(Mx, Mx));
    for (int step = 0; step < steps && squares > least; ++step) {
      auto const Mv            = times(k, v);
      long double const length = squares / product_of(v, Mv);
      for (std::size_t r = 0; r < R; ++r) {
        x[r] += length * v[r];
        residual[r] -= length * Mv[r];
      }
      long double const next = product_of(residual, residual);
      for (std::size_t r = 0; r < R; ++r) v[r] = residual[r] + next / squares * v[r];
      squares = next;
    }
    return x;
  }
  /// The solution, by elimination.
  [[nodiscard]] LongVector solution(std::size_t k) const {
    if (!has_positive[k]) return LongVector(R);
    auto system = M[k];
    auto x      = y[k];
    for (std::size_t i = 0; i < R; ++i)
      for (std::size_t j = i + 1; j < R; ++j) {
        long double const l = system[j * R + i] / system[i * R + i];
        for (std::size_t s = i; s < R; ++s) system[j * R + s] -= l * system[i * R + s];
        x[j] -= l * x[i];
      }
    for (std::size_t i = R; i-- > 0;) {
      for (std::size_t s = i + 1; s < R; ++s) x[i] -= system[i * R + s] * x[s];
      x[i] /= system[i * R + i];
    }
    return x;
  }
  /// The loss of a row, but for a constant: c' M c - 2 c' y.
  [[nodiscard]] long double loss(std::size_t k, LongVector const& x) const {
    return product_of(x, times(k, x)) - 2 * product_of(x, y[k]);
  }
};

/// Makes the columns of a matrix orthogonal and of length sqrt(squares).
void make_orthogonal(HostMatrix& B, double squares) {
  for (std::size_t r = 0; r < B.columns; ++r) {
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t s = 0; s < r; ++s) {
        long double dot = 0;
        for (std::size_t j = 0; j < B.rows; ++j) dot += static_cast<long double>(B(j, r)) * B(j, s);
        for (std::size_t j = 0; j < B.rows; ++j) B(j, r) -= static_cast<double>(dot / squares * B(j, s));
      }
    long double length = 0;
    for (std::size_t j = 0; j < B.rows; ++j) length += static_cast<long double>(B(j, r)) * B(j, r);
    for (std::size_t j = 0; j < B.rows; ++j) B(j, r) *= static_cast<double>(std::sqrt(squares / length));
  }
}

struct ConjugateCase {
  std::size_t R;
  int steps;
  double alpha   = 2;
  double ridge   = 1;
  bool per_entry = false;
  double squares = 1;
};

/// c = B' a of the rows that a format finds.
template <class F, class Scalar>
std::vector<LongVector> conjugate_rows(TestSpace const& space, F const& X,
                                       FastTuckerModel<Scalar, TestSpace> const& model, HostModel const& host,
                                       std::size_t mode, ConjugateOracle const& oracle,
                                       ConjugateCase const& of) {
  int const n     = static_cast<int>(mode);
  count_t const R = model.rank(), J = model.columns(n);
  auto const C = make_intermediates(space, model);
  auto const A = make_factor_matrix<Scalar>(space, "polyad::test", model.extents()[n], J);
  Kokkos::deep_copy(A, std::numeric_limits<Scalar>::quiet_NaN());
  auto const transposed = make_factor_matrix<Scalar>(space, "polyad::test", R, J);
  scaled_transpose(space, 1.0, model.B(n), transposed);
  Kokkos::View<Scalar*, TestSpace::device_type> const sums("sums", row_sums_size(X.nnz(), R));
  RowProblem<Scalar, TestSpace> problem{model.B(n),   transposed, of.ridge * of.squares,
                                        of.per_entry, of.squares, sums};
  std::vector<double> H(oracle.H.begin(), oracle.H.end());
  problem.alpha     = of.alpha;
  problem.others    = decltype(problem.others)("others", R, R);
  problem.steps     = of.steps;
  problem.rounded   = make_factor_matrix<Scalar>(space, "polyad::test", R, R);
  auto const others = Kokkos::create_mirror_view(problem.others);
  for (count_t r = 0; r < R; ++r)
    for (count_t s = 0; s < R; ++s) others(r, s) = H[r * R + s];
  Kokkos::deep_copy(problem.others, others);
  from_host<Scalar>(space, H, problem.rounded);
  least_squares_rows(space, X, C, n, problem, X.make_row_workspace(space), A);
  space.fence("polyad::test");
  auto const a = flat(A);
  std::vector<LongVector> found(model.extents()[n], LongVector(R));
  for (std::size_t k = 0; k < found.size(); ++k)
    for (std::size_t r = 0; r < R; ++r)
      for (std::size_t j = 0; j < J; ++j)
        found[k][r] += static_cast<long double>(a[k * J + j]) * host.B[mode](j, r);
  return found;
}

/// Each row is that of the oracle's steps, up to `relative` of its length, and no row raises its loss.
template <class Scalar>
void expect_steps(HostTensor const& X, ConjugateCase const& of, long double relative) {
  TestSpace const space;
  Random random(7 * of.R + X.order());
  auto host = random_model(random, X.extents, of.R, of.R, false);
  for (auto& B : host.B) make_orthogonal(B, of.squares);
  auto const model    = to_device<Scalar>(space, host);
  auto const coo      = to_device<Scalar, std::uint32_t>(space, X);
  auto const sorted   = Sorted<Scalar, std::uint32_t, TestSpace>::build(space, coo, {.block_rows = 0});
  auto const permuted = CooPermuted<Scalar, std::uint32_t, TestSpace>::build(space, coo, {});
  for (std::size_t mode = 0; mode < X.order(); ++mode) {
    CAPTURE(X.name, X.extents, of.R, of.steps, of.alpha, of.ridge, of.per_entry, of.squares, mode,
            sizeof(Scalar));
    ConjugateOracle const oracle(host, X, mode, of.alpha, of.ridge, of.per_entry);
    auto const expect = [&](auto const& format) {
      auto const found = conjugate_rows(space, format, model, host, mode, oracle, of);
      std::string wrong;
      for (std::size_t k = 0; k < found.size(); ++k) {
        // Rows with chunks of their own are solved for.
        bool const is_long  = oracle.nonzeros[k] >= 2 * row_chunk(of.R);
        auto const expected = is_long ? oracle.solution(k) : oracle.after_steps(k, of.steps);
        long double off = 0, length = 0;
        for (std::size_t r = 0; r < of.R; ++r) {
          off += (found[k][r] - expected[r]) * (found[k][r] - expected[r]);
          length += expected[r] * expected[r] + oracle.c[k][r] * oracle.c[k][r];
        }
        if (!oracle.has_positive[k]) length = 0;
        bool const is_near       = std::sqrt(off) <= relative * std::sqrt(length);
        long double const before = oracle.loss(k, oracle.c[k]), after = oracle.loss(k, found[k]);
        bool const is_lower =
            after <= before + relative * (std::abs(before) + std::abs(oracle.loss(k, expected)));
        if ((!is_near || !is_lower) && wrong.empty())
          wrong = "row " + std::to_string(k) + " of " + std::to_string(oracle.nonzeros[k]) +
                  " nonzeros is off by " + std::to_string(static_cast<double>(std::sqrt(off / length))) +
                  ", its loss goes from " + std::to_string(static_cast<double>(before)) + " to " +
                  std::to_string(static_cast<double>(after));
      }
      REQUIRE(wrong == "");
    };
    expect(sorted);
    expect(permuted);
  }
}

/// Counts from 0 to 3 at random places, which may repeat; the last row of each mode has none.
HostTensor counts(std::vector<std::uint64_t> const& extents, std::size_t nnz) {
  Random random(nnz + extents[0]);
  auto fewer = extents;
  for (auto& extent : fewer) --extent;
  auto X    = random_tensor(random, fewer, nnz);
  X.name    = "counts";
  X.extents = extents;
  for (double& x : X.values) x = std::floor(2 * std::abs(x)) - 1;
  return X;
}

TEST_CASE("rows by conjugate gradients are those of the same steps", "[fast_tucker][implicit]") {
  auto const X = counts({23, 31}, 300);
  for (std::size_t const R : {1, 2, 3, 4, 5, 8, 11, 16, 17, 31, 32, 33, 50, 64, 65, 96, 127, 130}) {
    expect_steps<double>(X, {R, 3}, 1e-9L);
    expect_steps<float>(X, {R, 3}, 2e-3L);
  }
  for (int const steps : {1, 2, 5}) {
    expect_steps<double>(X, {20, steps}, 1e-9L);
    expect_steps<float>(X, {20, steps}, 2e-3L);
  }
  expect_steps<double>(X, {20, 3, 40, 100, false, 4}, 1e-9L);
  expect_steps<double>(X, {20, 3, 2, 0.5, true, 0.25}, 1e-9L);
  expect_steps<float>(X, {40, 3, 2, 0.5, true}, 2e-3L);
}

TEST_CASE("rows by conjugate gradients with context modes", "[fast_tucker][implicit]") {
  for (auto const& extents : std::vector<std::vector<std::uint64_t>>{{9, 12, 5}, {6, 7, 4, 5}})
    for (std::size_t const R : {3, 9, 24, 40}) {
      expect_steps<double>(counts(extents, 250), {R, 3}, 1e-9L);
      expect_steps<float>(counts(extents, 250), {R, 3, 2, 10}, 5e-3L);
    }
}

TEST_CASE("rows by conjugate gradients may be long, or empty", "[fast_tucker][implicit]") {
  // Rows of 700, of about 1,500, and of about 3,000 nonzeros. The latter have chunks of their own for R = 3.
  expect_steps<double>(counts({2, 700}, 700), {6, 3}, 1e-9L);
  expect_steps<float>(counts({2, 700}, 700), {40, 3}, 2e-3L);
  expect_steps<double>(counts({3, 900}, 3000), {3, 3}, 1e-9L);
  expect_steps<double>(counts({2, 900}, 3000), {3, 3}, 1e-9L);
  expect_steps<float>(counts({2, 900}, 3000), {3, 3, 2, 50}, 2e-3L);
  expect_steps<double>(counts({5, 4}, 0), {12, 3}, 0);
}

TEST_CASE("many steps of conjugate gradients lead to the solution", "[fast_tucker][implicit]") {
  for (std::size_t const R : {1, 4, 10, 33}) {
    auto const X = counts({20, 15, 6}, 200);
    TestSpace const space;
    Random random(R);
    auto host = random_model(random, X.extents, R, R, false);
    for (auto& B : host.B) make_orthogonal(B, 1);
    auto const model  = to_device<double>(space, host);
    auto const sorted = Sorted<double, std::uint32_t, TestSpace>::build(
        space, to_device<double, std::uint32_t>(space, X), {.block_rows = 0});
    ConjugateCase const of{R, 400, 2, 5};
    for (std::size_t mode = 0; mode < X.order(); ++mode) {
      ConjugateOracle const oracle(host, X, mode, of.alpha, of.ridge, of.per_entry);
      auto const found = conjugate_rows(space, sorted, model, host, mode, oracle, of);
      long double off = 0, length = 0;
      for (std::size_t k = 0; k < found.size(); ++k) {
        auto const expected = oracle.solution(k);
        for (std::size_t r = 0; r < R; ++r) {
          off += (found[k][r] - expected[r]) * (found[k][r] - expected[r]);
          length += expected[r] * expected[r];
        }
      }
      CAPTURE(R, mode, static_cast<double>(off), static_cast<double>(length));
      CHECK(off <= 1e-18L * length);
    }
  }
}

FastTuckerData<double, std::uint32_t, TestSpace> counts_data(HostTensor const& X, bool on_host) {
  TestSpace const space;
  FastTuckerData<double, std::uint32_t, TestSpace> data;
  data.train = to_device<double, std::uint32_t>(space, X);
  if (!on_host) return data;
  data.train_on_host = download<HostOf<TestSpace>>(space, data.train);
  data.train         = {};
  return data;
}

TEST_CASE("a fit by conjugate gradients reaches the loss of exact rows", "[fast_tucker][implicit]") {
  TestSpace const space;
  for (auto const& extents : std::vector<std::vector<std::uint64_t>>{{90, 70}, {40, 30, 6}}) {
    auto const data = counts_data(counts(extents, 900), false);
    FastTuckerOptions options;
    options.implicit   = 5;
    options.ridge      = 3;
    options.rank       = 20;
    options.max_epochs = 15;
    options.cg_steps   = 0;
    double const exact = *fast_tucker(space, data, options).history.back().objective;
    options.cg_steps   = 3;
    auto const result  = fast_tucker(space, data, options);
    double last        = std::numeric_limits<double>::infinity();
    for (auto const& epoch : result.history) {
      CHECK(*epoch.objective <= last * (1 + 1e-12));
      last = *epoch.objective;
    }
    CAPTURE(extents, exact, last);
    CHECK(last != exact);
    CHECK(std::abs(last - exact) < 0.01 * exact);
  }
}

TEST_CASE("all formats and numbers of threads take the same steps", "[fast_tucker][implicit]") {
  auto const X = counts({50, 30, 4}, 700);
  FastTuckerOptions options;
  options.implicit   = 5;
  options.ridge      = 3;
  options.rank       = 20;
  options.max_epochs = 3;
  AnyFormatOptions formats;
  double objective = 0;
  for (auto const& format : list_of_formats({Capability::row_least_squares})) {
    formats.format    = format;
    auto const data   = counts_data(X, format_offers(format, Capability::streaming));
    auto const result = fast_tucker(TestSpace(), data, options, {}, formats);
    if (objective == 0) objective = *result.history.back().objective;
    CAPTURE(format);
    CHECK(std::abs(*result.history.back().objective - objective) < 1e-9 * objective);
  }
  formats.format = "sorted";
  std::vector<double> first;
  for (auto const& space : instances_of<TestSpace>({1, 2, 5})) {
    auto const A = flat(fast_tucker(space, counts_data(X, false), options, {}, formats).model.A(0));
    if (first.empty()) first = A;
    CHECK(A == first);
  }
}

}  // namespace
}  // namespace polyad::test
