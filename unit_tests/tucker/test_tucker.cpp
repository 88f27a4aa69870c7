// SPDX-License-Identifier: BSD-3-Clause
// HOOI: leading singular vectors of matrices whose singular values are known; exact tensors of low rank;
// factors with orthonormal columns, and a fit that is that of the model made of them.
#include "polyad/tucker/tucker.hpp"

#include <Kokkos_Core.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "formats/fcoo/storage/fcoo.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/tensor/compact.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/format_list.hpp"
#include "support/host_models.hpp"
#include "support/kokkos_events.hpp"
#include "support/message_of.hpp"
#include "support/oracle.hpp"
#include "support/tensor_with_empty_rows.hpp"
#include "tucker/leading_vectors.hpp"

namespace polyad::test {
namespace {

using Matrix = FactorMatrix<double, TestSpace>;

Matrix uploaded(HostMatrix const& host) {
  return WatchedMatrix<double>(TestSpace(), RowLayout::padded, host).matrix();
}

/// The largest entry of U'U - 1.
double off_orthonormal(std::vector<double> const& U, std::size_t columns) {
  double worst = 0;
  for (std::size_t a = 0; a < columns; ++a)
    for (std::size_t b = 0; b < columns; ++b) {
      long double sum = 0;
      for (std::size_t i = 0; i < U.size() / columns; ++i)
        sum += static_cast<long double>(U[i * columns + a]) * U[i * columns + b];
      worst = std::max(worst, static_cast<double>(std::abs(sum - (a == b ? 1 : 0))));
    }
  return worst;
}

/// An orthonormal set of columns by Gram-Schmidt in long double.
std::vector<std::vector<long double>> orthonormal_columns(Random& random, std::size_t rows,
                                                          std::size_t columns) {
  std::vector<std::vector<long double>> Q;
  for (std::size_t c = 0; c < columns; ++c) {
    std::vector<long double> q(rows);
    for (auto& entry : q) entry = random_number(random);
    for (int pass = 0; pass < 2; ++pass)
      for (auto const& before : Q) {
        long double dot = 0;
        for (std::size_t i = 0; i < rows; ++i) dot += q[i] * before[i];
        for (std::size_t i = 0; i < rows; ++i) q[i] -= dot * before[i];
      }
    long double norm = 0;
    for (auto const entry : q) norm += entry * entry;
    for (auto& entry : q) entry /= std::sqrt(norm);
    Q.push_back(q);
  }
  return Q;
}

TEST_CASE("leading vectors of matrices with known singular values", "[tucker]") {
  struct Shape {
    std::size_t rows, columns, rank;
  };
  TestSpace const space;
  for (auto const shape : {Shape{60, 25, 4}, Shape{25, 60, 4}, Shape{9, 9, 9}, Shape{40, 6, 6},
                           Shape{5, 50, 5}, Shape{30, 30, 1}}) {
    CAPTURE(shape.rows, shape.columns, shape.rank);
    Random random(shape.rows);
    std::size_t const least = std::min(shape.rows, shape.columns);
    auto const left         = orthonormal_columns(random, shape.rows, least);
    auto const right        = orthonormal_columns(random, shape.columns, least);
    HostMatrix Y(shape.rows, shape.columns);
    for (std::size_t i = 0; i < shape.rows; ++i)
      for (std::size_t j = 0; j < shape.columns; ++j) {
        long double sum = 0;
        for (std::size_t k = 0; k < least; ++k) sum += left[k][i] * std::pow(0.8L, k) * right[k][j];
        Y(i, j) = static_cast<double>(sum);
      }
    LeadingVectors<double, TestSpace> vectors(space);
    auto const U = make_factor_matrix<double>(space, "polyad::test", shape.rows, shape.rank);
    vectors.orthonormalize(uploaded(random_matrix(random, shape.rows, shape.rank)), U);
    CHECK(off_orthonormal(to_host<double>(space, U), shape.rank) < 1e-13);
    double const captured = vectors.find(uploaded(Y), U);
    double expected       = 0;
    for (std::size_t k = 0; k < shape.rank; ++k) expected += std::pow(0.8, 2.0 * static_cast<double>(k));
    CHECK(std::abs(captured - expected) < 1e-10 * expected);
    auto const found = to_host<double>(space, U);
    CHECK(off_orthonormal(found, shape.rank) < 1e-12);
    // In order and up to a sign: |u_k . left_k| = 1. The angle is the root of what the squares lack.
    for (std::size_t k = 0; k < shape.rank; ++k) {
      long double dot = 0;
      for (std::size_t i = 0; i < shape.rows; ++i) dot += left[k][i] * found[i * shape.rank + k];
      CHECK(std::abs(std::abs(dot) - 1) < 1e-9L);
    }
  }
}

TEST_CASE("an orthonormal basis of dependent and of zero columns is filled up", "[tucker]") {
  TestSpace const space;
  Random random(5);
  auto host = random_matrix(random, 20, 4);
  for (std::size_t i = 0; i < 20; ++i) {
    host(i, 2) = 2 * host(i, 0) - host(i, 1);
    host(i, 3) = 0;
  }
  LeadingVectors<double, TestSpace> vectors(space);
  auto const Q = make_factor_matrix<double>(space, "polyad::test", 20, 4);
  vectors.orthonormalize(uploaded(host), Q);
  auto const basis = to_host<double>(space, Q);
  CHECK(off_orthonormal(basis, 4) < 1e-13);
  // The first two columns lie in it.
  for (std::size_t c = 0; c < 2; ++c) {
    long double inside = 0, whole = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      long double dot = 0;
      for (std::size_t i = 0; i < 20; ++i) dot += static_cast<long double>(basis[i * 4 + k]) * host(i, c);
      inside += dot * dot;
    }
    for (std::size_t i = 0; i < 20; ++i) whole += static_cast<long double>(host(i, c)) * host(i, c);
    CHECK(std::abs(inside - whole) < 1e-12L * whole);
  }
  vectors.orthonormalize(uploaded(HostMatrix(20, 4)), Q);
  CHECK(off_orthonormal(to_host<double>(space, Q), 4) < 1e-13);
}

template <class Scalar>
auto decompose(HostTensor const& tensor, TuckerOptions const& options) {
  TestSpace const space;
  auto const X =
      FCoo<Scalar, std::uint32_t, TestSpace>::build(space, to_device<Scalar, std::uint32_t>(space, tensor));
  return tucker(space, X, options);
}

/// Every cell of a dense tensor as a nonzero: core times random matrices.
HostTensor low_rank_tensor(std::vector<std::uint64_t> const& extents, std::vector<std::size_t> const& ranks) {
  Random random(extents[0]);
  std::size_t entries = 1;
  for (auto const rank : ranks) entries *= rank;
  std::vector<double> core(entries);
  for (auto& entry : core) entry = random_number(random);
  std::vector<HostMatrix> A;
  for (std::size_t n = 0; n < extents.size(); ++n) A.push_back(random_matrix(random, extents[n], ranks[n]));
  HostTensor tensor{"of low rank", extents, {}, {}};
  for_each_cell(extents, [&](std::vector<std::uint64_t> const& cell, std::size_t) {
    double sum = 0;
    for (std::size_t e = 0; e < entries; ++e) {
      double term        = core[e];
      std::size_t digits = e;
      for (std::size_t n = extents.size(); n > 0; digits /= ranks[n]) {
        --n;
        term *= A[n](cell[n], digits % ranks[n]);
      }
      sum += term;
    }
    tensor.indices.insert(tensor.indices.end(), cell.begin(), cell.end());
    tensor.values.push_back(sum);
  });
  return tensor;
}

TEST_CASE("hooi: a tensor of low rank is found", "[tucker]") {
  TuckerOptions options;
  options.ranks    = {3, 2, 4};
  auto const three = decompose<double>(low_rank_tensor({12, 9, 11}, {3, 2, 4}), options);
  CHECK(three.fit > 1 - 1e-12);
  CHECK(three.reason == StopReason::rounding);  // the tolerance requires 1e-9, but nothing is left
  options.ranks = {2, 3, 2, 2};
  CHECK(decompose<double>(low_rank_tensor({6, 7, 5, 4}, {2, 3, 2, 2}), options).fit > 1 - 1e-12);
  CHECK(decompose<float>(low_rank_tensor({6, 7, 5, 4}, {2, 3, 2, 2}), options).fit > 1 - 1e-6);
  options.ranks = {3, 3};
  CHECK(decompose<double>(low_rank_tensor({10, 8}, {3, 3}), options).fit > 1 - 1e-12);
}

TEST_CASE("hooi: the fit is that of the model", "[tucker]") {
  TestSpace const space;
  for (std::size_t const order : {3, 4}) {
    auto const tensor = distinct(small_tensor(Kind::one_long_slice, order));
    TuckerOptions options;
    options.ranks          = order == 3 ? std::vector<count_t>{3, 3, 1} : std::vector<count_t>{3, 2, 1, 4};
    options.tolerance      = 0;
    options.max_iterations = 6;
    auto const result      = decompose<double>(tensor, options);
    REQUIRE(result.history.size() == 6);
    for (std::size_t k = 1; k < 6; ++k)  // HOOI never loses fit, but for rounding
      CHECK(result.history[k].fit > result.history[k - 1].fit - 1e-10);
    std::vector<std::vector<double>> U;
    for (auto const& factor : result.model.factors) U.push_back(to_host<double>(space, factor));
    for (std::size_t n = 0; n < order; ++n) CHECK(off_orthonormal(U[n], options.ranks[n]) < 1e-12);
    CHECK(std::abs(result.fit - oracle_fit(tensor, on_host(result.model))) < 1e-12);
    CHECK(result.fit_error < 1e-12);
  }
}

TEST_CASE("hooi: ranks whose product exceeds 2^20", "[tucker][figures]") {
  // Order 6: a single nonzero's model is exact.
  std::vector<std::uint64_t> const extents{17, 17, 17, 17, 17, 18};
  HostTensor const tensor{"one nonzero", extents, {3, 4, 5, 6, 7, 8}, {2.5}};
  TuckerOptions options;
  options.ranks          = {16, 16, 16, 16, 17, 2};
  options.max_iterations = 1;
  auto const result      = decompose<float>(tensor, options);
  CHECK(result.model.core.extent(1) == 1114112);
  CHECK(result.fit > 1 - 1e-6);
}

TEST_CASE("hooi: one buffer holds the products of all modes", "[tucker]") {
  DeviceMemoryAccount const account;
  if (!account.counts()) POLYAD_SKIP("a profiling tool has the hooks that count memory");
  Random random(4);
  auto const tensor = random_tensor(random, {40000, 40000, 40000}, 3000);
  TestSpace const space;
  auto const coo = to_device<double, std::uint32_t>(space, tensor);
  auto const X   = FCoo<double, std::uint32_t, TestSpace>::build(space, coo);
  TuckerOptions options;
  options.ranks            = {3, 3, 3};
  options.max_iterations   = 1;
  options.vectors          = {0, 1, 1e-3};
  auto start               = random_tucker_start<double>(space, X.extents(), options);
  count_t const with_start = account.in_use();
  static_cast<void>(tucker(space, X, options, std::move(start)));  // no copy of it
  // Y takes 40,000 rows of ten doubles, padding included. In addition to one such array there are two
  // matrices of four columns and two megabytes of partial sums.
  CHECK(account.peak() < with_start + 3 * 40000 * 10 * sizeof(double));
}

TEST_CASE("hooi: an iteration allocates nothing", "[tucker][guards]") {
  TestSpace const space;
  auto const coo = to_device<double, std::uint32_t>(space, distinct(small_tensor(Kind::shuffled, 4)));
  for (auto const& name : list_of_formats({Capability::ttmc})) {
    CAPTURE(name);
    TuckerOptions options;
    options.ranks          = {2, 1, 4, 3};
    options.max_iterations = 4;
    options.tolerance      = 0;
    auto format            = format_options(options);
    format.format          = name;
    auto const X           = any_format(space, coo, format);
    KokkosEvents events;
    std::vector<std::string> allocations{"not seen"};
    // Kokkos may let its own scratch grow in the first iterations.
    static_cast<void>(tucker(space, X, options, [&](TuckerIteration const& iteration) {
      if (iteration.iteration == 2) events.forget();
      if (iteration.iteration == 4) allocations = events.lines(Event::Kind::allocation);
      return true;
    }));
    CHECK(allocations == std::vector<std::string>{});
  }
}

TEST_CASE("wide products of transposed matrices agree with the oracle", "[tucker]") {
  TestSpace const space;
  Random random(12);
  for (auto const& [J, R] : {std::pair<std::size_t, std::size_t>{4099, 3}, {5, 8200}, {4096, 2}}) {
    CAPTURE(J, R);
    auto const A        = random_matrix(random, 37, J);
    auto const G        = random_matrix(random, 37, R);
    auto const expected = oracle_product_of_transposed(A, G);
    WatchedMatrix<double> const D(space, RowLayout::padded, J, R);
    wide_transposed_product(space, uploaded(A), uploaded(G), make_wide_product_workspace(space, J, R),
                            D.matrix());
    CHECK(violation<double>(expected, D.read(), 1) == "");
    CHECK(D.trespasses() == 0);
  }
}

TEST_CASE("hooi: what does not fit is refused", "[tucker]") {
  auto const tensor  = distinct(small_tensor(Kind::shuffled, 3));
  auto const refused = [&](std::vector<count_t> ranks) {
    TuckerOptions options;
    options.ranks = std::move(ranks);
    CHECK_THROWS_AS(decompose<double>(tensor, options), UsageError);
  };
  refused({2, 2});
  refused({2, 2, 0});
  refused({2, 2, 18});
  refused({2, 3, 7});  // more than 2 x 3
  // 64 bits do not hold the product of the ranks.
  std::vector<std::uint64_t> const long_modes(7, 1 << 19);
  HostTensor const sparse{"one nonzero", long_modes, {0, 0, 0, 0, 0, 0, 0}, {1}};
  TuckerOptions options;
  options.ranks.assign(7, largest_rank);
  CHECK(
      message_of<MemoryError>([&] { decompose<double>(sparse, options); }) ==
      "the core, 4096 x 4096 x 4096 x 4096 x 4096 x 4096 x 4096, needs 18446744073709551615 bytes: more than "
      "2^64 bytes");
  options.ranks = {1, 1, 1};
  CHECK_THROWS_AS(decompose<double>(small_tensor(Kind::empty, 3), options), NumericalError);
  auto broken      = tensor;
  broken.values[3] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(decompose<double>(broken, options), NumericalError);
  options.max_iterations = 1;
  auto const one         = decompose<double>(tensor, options);
  CHECK(one.reason == StopReason::max_iterations);
}

}  // namespace
TEST_CASE("Tucker of the rows that occur is that of all rows", "[tucker]") {
  TestSpace const space;
  auto const host  = tensor_with_empty_rows();
  auto const X     = to_device<double, std::uint32_t>(space, host);
  auto const small = compact(space, X, {.least_rows = 0, .empty_share = 0.5});
  TuckerOptions options{.ranks = {3, 2, 3}, .max_iterations = 5, .tolerance = 0, .seed = 7};
  auto stored = options;
  stored.rows = small.rows;
  for (bool const hosvd : {false, true}) {
    auto const begin = hosvd ? hosvd_tucker_start(space, small.tensor, stored)
                             : random_tucker_start<double>(space, small.tensor.extents(), stored);
    TuckerStart<double, TestSpace> all;
    for (int n = 0; n < 3; ++n)
      all.push_back(
          look_up_rows<double, TestSpace>(space, begin[n], small.rows[n], StoredRows(X.extents()[n])));
    auto const found = tucker(space, small.tensor, stored, begin);
    auto const whole = tucker(space, X, options, all);
    CHECK(std::abs(found.fit - whole.fit) < 1e-9);
    REQUIRE(found.model.rows == small.rows);
    auto const a = on_host(found.model), b = on_host(whole.model);
    double worst = 0;
    for (std::size_t p = 0; p < host.nnz(); ++p) {
      std::vector<std::uint64_t> row(3), at(3);
      for (std::size_t n = 0; n < 3; ++n) {
        row[n] = host.index(p, n);
        at[n]  = small.rows[n].position(row[n]);
      }
      worst = std::max(worst, static_cast<double>(std::abs(a.at(at) - b.at(row))));
    }
    CHECK(worst < 1e-8);
  }
  stored.ranks       = {10, 5, 2};
  auto const message = message_of([&] { (void)tucker(space, small.tensor, stored); });
  REQUIRE(message == "rank 10 of mode 0: only 9 of its 90 rows occur");
}

}  // namespace polyad::test
