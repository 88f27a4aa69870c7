// SPDX-License-Identifier: BSD-3-Clause
// Least squares for rows: the rows found are minima, as their gradient shows.
#include <Kokkos_Core.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "fast_tucker/optimizers/gradients.hpp"
#include "fast_tucker/oracle.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "polyad/fast_tucker/predict.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/instances.hpp"
#include "support/long_rows.hpp"

namespace polyad::test {
namespace {

/// The rows of A^(mode) that a format finds for a model whose other parts are given.
template <class F, class Scalar>
std::vector<double> rows_found(TestSpace const& space, F const& X,
                               FastTuckerModel<Scalar, TestSpace> const& model, int mode, double ridge,
                               bool per_entry, RowShrinkage const& shrinkage = {}, double squares = 0,
                               bool in_chunks = false) {
  auto const C = make_intermediates(space, model);
  auto const transposed =
      make_factor_matrix<Scalar>(space, "polyad::test", model.rank(), model.columns(mode));
  auto const A =
      make_factor_matrix<Scalar>(space, "polyad::test", model.extents()[mode], model.columns(mode));
  Kokkos::deep_copy(A, std::numeric_limits<Scalar>::quiet_NaN());
  scaled_transpose(space, 1.0, model.B(mode), transposed);
  Kokkos::View<Scalar*, TestSpace::device_type> sums;
  if (in_chunks) sums = decltype(sums)("sums", row_sums_size(X.nnz(), model.rank()));
  least_squares_rows(space, X, C, mode, {model.B(mode), transposed, ridge, per_entry, squares, sums},
                     X.make_row_workspace(space), A, shrinkage);
  space.fence("polyad::test");
  return flat(A);
}

/// w = B p of every observation of one mode, and the sums of the magnitudes of their terms.
struct OracleRows {
  std::vector<long double> w, terms;  // P x J
};
OracleRows oracle_rows(HostModel const& host, HostTensor const& X, std::size_t mode) {
  std::size_t const J = host.A[mode].columns, R = host.rank();
  auto const C = oracle_intermediates(host);
  OracleRows rows{std::vector<long double>(X.nnz() * J), std::vector<long double>(X.nnz() * J)};
  for (std::size_t p = 0; p < X.nnz(); ++p)
    for (std::size_t r = 0; r < R; ++r) {
      long double product = 1, terms = 1;
      for (std::size_t m = 0; m < X.order(); ++m) {
        if (m == mode) continue;
        product *= C(m, X.index(p, m), r).value;
        terms *= C(m, X.index(p, m), r).magnitude;
      }
      for (std::size_t j = 0; j < J; ++j) {
        rows.w[p * J + j] += host.B[mode](j, r) * product;
        rows.terms[p * J + j] += std::abs(host.B[mode](j, r)) * terms;
      }
    }
  return rows;
}

/// At a minimum of sum (x - a . w)^2 + ridge |a|^2 + shrink |B' a - target|^2, w = B p, the sums of x w and
/// of (a . w) w + ridge a + shrink B (B' a - target) cancel; shrink is a row's unit (nonzeros + share n).
/// With a backward stable solution what is left is rounding of the system's entries: `relative` times the
/// terms.
template <class Scalar>
void expect_minimum(HostModel const& host, HostTensor const& X, std::size_t mode, OracleRows const& oracle,
                    double ridge, bool per_entry, std::vector<double> const& rows, long double relative,
                    double nonzeros = 0, double share = 0, double target = 0) {
  std::size_t const J = host.A[mode].columns;
  std::vector<long double> gradient(rows.size()), terms(rows.size());
  std::vector<std::size_t> counts(X.extents[mode]);
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    std::size_t const k = X.index(p, mode);
    ++counts[k];
    long double const* const w       = oracle.w.data() + p * J;
    long double const* const w_terms = oracle.terms.data() + p * J;
    long double prediction = 0, prediction_terms = 0;
    for (std::size_t j = 0; j < J; ++j) {
      prediction += rows[k * J + j] * w[j];
      prediction_terms += std::abs(rows[k * J + j]) * w_terms[j];
    }
    for (std::size_t j = 0; j < J; ++j) {
      gradient[k * J + j] += (prediction - X.values[p]) * w[j];
      terms[k * J + j] += (prediction_terms + std::abs(X.values[p])) * w_terms[j];
    }
  }
  for (std::size_t k = 0; k < counts.size(); ++k)
    for (std::size_t r = 0; r < host.rank(); ++r) {
      long double const shrink = nonzeros + share * static_cast<double>(counts[k]);
      long double c = 0, c_magnitude = 0;
      for (std::size_t j = 0; j < J; ++j) {
        long double const term = static_cast<long double>(rows[k * J + j]) * host.B[mode](j, r);
        c += term;
        c_magnitude += std::abs(term);
      }
      for (std::size_t j = 0; j < J; ++j) {
        gradient[k * J + j] += shrink * host.B[mode](j, r) * (c - target);
        terms[k * J + j] += shrink * std::abs(host.B[mode](j, r)) * (c_magnitude + target);
      }
    }
  // One assertion for all: those of Catch take longer than what they look at.
  std::string wrong;
  for (std::size_t k = 0; k < counts.size(); ++k)
    for (std::size_t j = 0; j < J; ++j) {
      double const weight   = per_entry ? ridge * static_cast<double>(counts[k]) : ridge;
      double const a        = rows[k * J + j];
      long double const off = gradient[k * J + j] + weight * a;
      bool const right      = counts[k] == 0 && target == 0
                                  ? a == 0
                                  : std::abs(off) <= relative * (terms[k * J + j] + weight * std::abs(a));
      if (!right && wrong.empty())
        wrong = "a(" + std::to_string(k) + ", " + std::to_string(j) + ") = " + std::to_string(a) + ", of " +
                std::to_string(counts[k]) + " observations, is off by " + std::to_string(off);
    }
  REQUIRE(wrong == "");
}

/// Makes the columns of a matrix orthogonal and of length sqrt(squares).
void orthogonalize(HostMatrix& B, double squares) {
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

struct Asked {
  double ridge    = 0;
  bool per_entry  = false;
  double nonzeros = 0, share = 0;  // a shrinkage whose unit is 3; J <= R then, so that B' a determines a
  double target  = 0;
  double squares = 0;  // B has orthogonal columns
};

template <class Scalar>
void expect_least_squares(HostTensor const& X, std::size_t J, std::size_t rank, Asked const& asked) {
  auto const [ridge, per_entry, nonzeros, share, target, squares] = asked;
  TestSpace const space;
  Random random(J + 10 * rank);
  std::size_t const order = X.order();
  auto host               = random_model(random, X.extents, J, rank, false);
  if (squares > 0)
    for (auto& B : host.B) orthogonalize(B, squares);
  auto const model    = to_device<Scalar>(space, host);
  auto const coo      = to_device<Scalar, std::uint32_t>(space, X);
  auto const built    = Sorted<Scalar, std::uint32_t, TestSpace>::build(space, coo, {.block_rows = 0});
  auto const permuted = CooPermuted<Scalar, std::uint32_t, TestSpace>::build(space, coo, {});
  Kokkos::View<double, TestSpace::device_type> const unit("unit");
  Kokkos::deep_copy(unit, 3.0);
  RowShrinkage shrinkage;
  if (nonzeros > 0 || share > 0) shrinkage = {nonzeros, share, unit.data(), target};
  // A sum of at most 800 products whose factors took N J + R + N roundings, R and J more for the system, and
  // J for the elimination, which is backward stable for positive definite systems (Higham, theorem 10.4).
  long double const relative = gamma<Scalar>(2 * X.nnz() + 4 * (order * (J + order) + rank + J + order));
  for (std::size_t mode = 0; mode < order; ++mode) {
    CAPTURE(X.name, order, J, rank, asked.ridge, asked.per_entry, asked.nonzeros, asked.share, asked.target,
            asked.squares, mode, sizeof(Scalar));
    auto const oracle = oracle_rows(host, X, mode);
    auto const expect = [&](auto const& format, bool in_chunks) {
      CAPTURE(in_chunks);
      expect_minimum<Scalar>(host, X, mode, oracle, asked.ridge, asked.per_entry,
                             rows_found(space, format, model, static_cast<int>(mode), asked.ridge,
                                        asked.per_entry, shrinkage, asked.squares, in_chunks),
                             relative, 3 * asked.nonzeros, 3 * asked.share, asked.target);
    };
    expect(built, false);
    expect(permuted, false);
    if (row_sums_size(X.nnz(), rank) == 0) continue;
    expect(built, true);
    expect(permuted, true);
  }
}
template <class Scalar>
void expect_least_squares(Kind kind, std::size_t order, std::size_t J, std::size_t rank, Asked const& asked) {
  expect_least_squares<Scalar>(small_tensor(kind, order), J, rank, asked);
}

auto const kinds_of_rows = {Kind::runs_at_borders, Kind::one_long_slice, Kind::duplicates, Kind::hypersparse,
                            Kind::empty};

TEST_CASE("rows found by least squares minimise", "[fast_tucker]") {
  for (Kind const kind : kinds_of_rows) {
    expect_least_squares<double>(kind, 3, 3, 4, {0.5, false});
    expect_least_squares<double>(kind, 4, 2, 9, {2, true});
    expect_least_squares<float>(kind, 3, 5, 17, {5, false});
  }
  expect_least_squares<double>(Kind::shuffled, 2, 20, 33, {1, false});
  expect_least_squares<float>(Kind::shuffled, 5, 4, 70, {3, false});
  expect_least_squares<double>(Kind::shuffled, 16, 1, 2, {1, false});
}

TEST_CASE("rows found by least squares minimise with what draws them to zero or one", "[fast_tucker]") {
  for (Kind const kind : kinds_of_rows)
    for (double const target : {0, 1}) {
      expect_least_squares<double>(kind, 3, 3, 6, {0, false, 0.5, 0, target});
      expect_least_squares<double>(kind, 4, 2, 9, {0, false, 0.1, 0.1, target});
      expect_least_squares<float>(kind, 3, 5, 17, {0, false, 5, 0.1, target});
    }
}

TEST_CASE("with orthogonal columns of B the rows found minimise, too", "[fast_tucker]") {
  // Rows of one nonzero, of a few, of about as many as there are unknowns and of many more.
  for (Kind const kind : kinds_of_rows) {
    expect_least_squares<double>(kind, 3, 4, 4, {0.5, false, 0, 0, 0, 1});
    expect_least_squares<double>(kind, 4, 9, 6, {2, true, 0, 0, 0, 1.5});
    expect_least_squares<float>(kind, 3, 17, 17, {5, false, 0, 0, 0, 1});
    for (double const target : {0, 1}) {
      expect_least_squares<float>(kind, 3, 12, 8, {0, false, 5, 0.1, target, 1.5});
    }
  }
  for (Kind const kind : {Kind::one_long_slice, Kind::hypersparse}) {
    expect_least_squares<double>(kind, 3, 33, 33, {0, false, 5, 0.1, 1, 1});
    expect_least_squares<double>(kind, 2, 70, 70, {0, false, 0.5, 0, 0, 1});
  }
}

TEST_CASE("rows of several chunks minimise, too", "[fast_tucker]") {
  auto const X = tensor_with_long_rows();
  expect_least_squares<double>(X, 3, 5, {0.5, false});
  expect_least_squares<double>(X, 4, 16, {0, false, 5, 0.1, 1});
  expect_least_squares<double>(X, 5, 4, {0, false, 0.5, 0.1, 1, 1.5});
  expect_least_squares<double>(X, 21, 20, {2, true, 0, 0, 0, 1});  // 1,680 nonzeros
}

TEST_CASE("without a ridge, rows of too few observations are solved, too", "[fast_tucker]") {
  TestSpace const space;
  Random random(4);
  auto const X     = small_tensor(Kind::hypersparse, 3);  // mostly one observation a row, for 6 unknowns
  auto const host  = random_model(random, X.extents, 6, 8, false);
  auto const model = to_device<double>(space, host);
  auto const built =
      Sorted<double, std::uint32_t, TestSpace>::build(space, to_device<double, std::uint32_t>(space, X), {});
  auto const rows = rows_found(space, built, model, 1, 0, false);
  // The observation of a row that has one is met.
  std::vector<std::size_t> counts(X.extents[1]);
  for (std::size_t p = 0; p < X.nnz(); ++p) ++counts[X.index(p, 1)];
  auto met            = host;
  met.A[1].data       = rows;
  std::size_t checked = 0;
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    if (counts[X.index(p, 1)] != 1) continue;
    auto const prediction = oracle_interaction(met, X, p);
    CHECK(std::abs(prediction.value - X.values[p]) <= 1e-9L * (prediction.magnitude + 1));
    ++checked;
  }
  CHECK(checked > 20);
}

TEST_CASE("least squares for rows have the same bits for any number of threads", "[fast_tucker]") {
  bool const in_chunks = GENERATE(false, true);
  Random random(4);
  auto const X    = in_chunks ? tensor_with_long_rows() : small_tensor(Kind::one_long_slice, 3);
  auto const host = random_model(random, X.extents, 5, 8, false);
  std::vector<double> first;
  for (auto const& space : instances_of<TestSpace>({1, 2, 5})) {
    auto const model = to_device<float>(TestSpace(), host);
    auto const built = Sorted<float, std::uint32_t, TestSpace>::build(
        space, to_device<float, std::uint32_t>(TestSpace(), X), {});
    auto const rows = rows_found(space, built, model, 1, 0.5, false, {}, 0, in_chunks);
    if (first.empty()) first = rows;
    CHECK(rows == first);
  }
}

TEST_CASE("least squares for rows refuse locality blocks and negative ridges", "[fast_tucker]") {
  TestSpace const space;
  Random random(4);
  auto const X     = small_tensor(Kind::shuffled, 3);
  auto const model = to_device<double>(space, random_model(random, X.extents, 2, 3, false));
  auto const coo   = to_device<double, std::uint32_t>(space, X);
  using F          = Sorted<double, std::uint32_t, TestSpace>;
  CHECK_THROWS_AS(rows_found(space, F::build(space, coo, {.block_rows = 5}), model, 0, 1, false), UsageError);
  auto const built = F::build(space, coo, {.block_rows = 0});
  CHECK_THROWS_AS(rows_found(space, built, model, 0, -1, false), UsageError);
  CHECK_THROWS_AS(rows_found(space, built, model, 0, 1, false, {-1, 0, nullptr}), UsageError);
  CHECK_THROWS_AS(rows_found(space, built, model, 0, 1, false, {0, -1, nullptr}), UsageError);
}

TEST_CASE("least squares for rows refuse a workspace for sums that is too small", "[fast_tucker]") {
  TestSpace const space;
  Random random(4);
  auto const X     = tensor_with_long_rows();
  auto const model = to_device<double>(space, random_model(random, X.extents, 2, 3, false));
  auto const built = Sorted<double, std::uint32_t, TestSpace>::build(
      space, to_device<double, std::uint32_t>(space, X), {.block_rows = 0});
  Kokkos::View<double*, TestSpace::device_type> const sums("sums", row_sums_size(X.nnz(), 3) - 1);
  auto const transposed = make_factor_matrix<double>(space, "polyad::test", 3, 2);
  auto const A          = make_factor_matrix<double>(space, "polyad::test", X.extents[0], 2);
  CHECK_THROWS_AS(
      least_squares_rows(space, built, make_intermediates(space, model), 0,
                         {model.B(0), transposed, 1.0, false, 0, sums}, built.make_row_workspace(space), A),
      UsageError);
}

}  // namespace
}  // namespace polyad::test
