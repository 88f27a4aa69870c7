// SPDX-License-Identifier: BSD-3-Clause
// SpTTMc against the oracle for every order, with matrices of different widths and rows of every layout, and
// what it refuses; semi-sparse tensors: chains of SpTTM, MTTKRP, conversion, norm.
#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "formats/fcoo/build/build_flagged.hpp"
#include "formats/fcoo/kernels/kronecker_terms.hpp"
#include "formats/fcoo/kernels/spttmc.hpp"
#include "formats/fcoo/kernels/sum_flagged.hpp"
#include "formats/fcoo/storage/fcoo.hpp"
#include "polyad/formats/semi_sparse.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"
#include "support/oracle.hpp"

namespace polyad::test {

/// The format's terms with packs of Count nonzeros, on any backend.
template <class Terms, int Count>
struct KroneckerInPacks : Terms {
  static constexpr int batch = Count;
};

namespace {

template <class Scalar>
using Matrices = std::vector<FactorMatrix<Scalar, TestSpace>>;

template <class Scalar>
Matrices<Scalar> upload_matrices(HostFactors const& host, RowLayout layout) {
  TestSpace const space;
  Matrices<Scalar> result;
  for (auto const& matrix : host)
    result.push_back(
        WatchedMatrix<Scalar>(space, layout, matrix, std::numeric_limits<double>::quiet_NaN()).matrix());
  space.fence("polyad::test");
  return result;
}

HostFactors matrices_of(Random& random, HostTensor const& tensor, std::vector<std::size_t> const& columns,
                        double (*number)(Random&) = random_number) {
  HostFactors result;
  for (std::size_t n = 0; n < tensor.order(); ++n)
    result.push_back(random_matrix(random, tensor.extents[n], columns[n], number));
  return result;
}

template <class Scalar, class Index>
void expect_spttmc(HostTensor const& tensor, std::vector<std::size_t> const& columns, std::size_t mode,
                   RowLayout layout, int threadlen) {
  CAPTURE(tensor.name, columns, mode, static_cast<int>(layout), threadlen, sizeof(Scalar), sizeof(Index));
  TestSpace const space;
  Random random(mode + tensor.nnz());
  auto const host = matrices_of(random, tensor, columns);
  auto const U    = upload_matrices<Scalar>(host, layout);
  auto const X =
      FCoo<Scalar, Index, TestSpace>::build(space, to_device<Scalar, Index>(space, tensor), {threadlen, {}});
  auto const expected = oracle_spttmc(tensor, host, mode);
  WatchedMatrix<Scalar> const Y(space, layout, expected.rows, expected.columns);
  spttmc(space, X, U, static_cast<int>(mode), Y.matrix());
  CHECK(violation<Scalar>(expected, Y.read(), tensor.order()) == "");
  CHECK(Y.trespasses() == 0);
}

TEST_CASE("spttmc agrees with the oracle", "[formats][fcoo][spttmc]") {
  // Widths of the tiles' edges: of the last matrix, and of the one before it.
  constexpr std::array<std::size_t, 12> widths{4, 1, 8, 3, 16, 9, 2, 33, 5, 7, 32, 12};
  constexpr std::array<int, 4> threadlens{8, 16, 32, 64};
  std::size_t number = 0;
  for (std::size_t const order : {2, 3, 4, 5, 6})
    for (Kind const kind : all_kinds) {
      auto const tensor = small_tensor(kind, order);
      for (std::size_t mode = 0; mode < order; ++mode) {
        ++number;
        std::vector<std::size_t> columns;
        for (std::size_t n = 0; n < order; ++n) {
          auto const width = widths[(number * 5 + n * 7) % widths.size()];
          columns.push_back(order <= 3 ? width : order == 4 ? 1 + width % 9 : 1 + width % 4);
        }
        auto const layout   = kernel_layout<TestSpace>(number);
        int const threadlen = threadlens[number % 4];
        expect_spttmc<float, std::uint32_t>(tensor, columns, mode, layout, threadlen);
        expect_spttmc<double, std::uint32_t>(tensor, columns, mode, layout, threadlen);
        if (number % 3 == 0) expect_spttmc<float, std::uint64_t>(tensor, columns, mode, layout, threadlen);
        if (number % 3 == 1) expect_spttmc<double, std::uint64_t>(tensor, columns, mode, layout, threadlen);
      }
    }
}

TEST_CASE("spttmc: every width of the last two matrices", "[formats][fcoo][spttmc]") {
  auto const tensor = small_tensor(Kind::runs_at_borders, 3);
  for (std::size_t const last : {1, 2, 4, 7, 8, 9, 12, 16, 17, 20, 32, 36, 40, 65})
    for (std::size_t const before : {1, 2, 3, 4, 5, 8, 9, 17}) {
      expect_spttmc<float, std::uint32_t>(tensor, {1, before, last}, 0, RowLayout::padded, 64);
      expect_spttmc<double, std::uint32_t>(tensor, {before, last, 1}, 2, RowLayout::padded, 16);
    }
}

/// Exactly, with teams of several threads and packs of Count nonzeros on any backend.
template <class Scalar, int Block, int Count>
void expect_exact_team(HostTensor const& tensor, int threadlen, int team, std::size_t before,
                       std::size_t last) {
  CAPTURE(threadlen, team, before, last, Count, Block, sizeof(Scalar));
  using Terms =
      KroneckerInPacks<detail::KroneckerTerms<TinyVec<TestSpace, Scalar, Block>, std::uint32_t, 2>, Count>;
  using Kernel = detail::SumFlagged<Scalar, std::uint32_t, Terms>;
  TestSpace const space;
  Random random(last);
  auto const host = matrices_of(random, tensor, {1, before, last}, random_integer);
  auto const U    = upload_matrices<Scalar>(host, RowLayout::padded);
  auto const coo  = to_device<Scalar, std::uint32_t>(space, tensor);
  auto const X    = make_flagged(space, coo, mode_first(3, 0), 1, FCooRows::of_mode, threadlen);
  auto expected   = oracle_spttmc(tensor, host, 0);
  expected.magnitude.assign(expected.magnitude.size(), 0);
  // Zero instead of the list of cleared rows.
  WatchedMatrix<Scalar> const Y(space, RowLayout::padded, expected.rows, expected.columns, 0);
  Terms terms{{{},
               X.values.data(),
               Y.matrix().data(),
               static_cast<count_t>(Y.matrix().stride(0)),
               (static_cast<int>(last) + Block - 1) / Block,
               (static_cast<int>(before) + Terms::tile - 1) / Terms::tile}};
  for (std::size_t m = 0; m < 2; ++m) {
    terms.matrices.data[m] = U[m + 1].data();
    terms.matrices.index[m] =
        X.indices.data() + (X.product_mode(0) == static_cast<int>(m + 1) ? 0 : X.indices.stride(0));
    terms.matrices.stride[m]  = static_cast<unsigned>(U[m + 1].stride(0));
    terms.matrices.columns[m] = static_cast<int>(U[m + 1].extent(1));
  }
  ChunkWalk const chunks{
      X.nnz, static_cast<count_t>(threadlen),
      ColumnBlocks{0, terms.tiles_last * terms.tiles_before, static_cast<int>(expected.columns)}};
  auto policy = team_policy(space, chunks.shape(team, Terms::lanes));
  policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::Heads::bytes(team)));
  Kokkos::parallel_for("polyad::test", policy,
                       Kernel{terms, detail::FlaggedSegments<std::uint32_t>(X), chunks});
  CHECK(violation<Scalar>(expected, Y.read(), 3) == "");
  CHECK(Y.trespasses() == 0);
}

TEST_CASE("spttmc: segments at the borders of partitions and teams", "[formats][fcoo][spttmc]") {
  Random random(9);
  for (std::size_t const length : {1, 3, 17, 64, 150}) {
    HostTensor tensor{"rows", {40, 13, 17}, {}, {}};
    for (std::size_t p = 0; p < 620; ++p) {
      tensor.indices.insert(tensor.indices.end(),
                            {p / length % 40, random_below(random, 13), random_below(random, 17)});
      tensor.values.push_back(random_integer(random));
    }
    std::vector<int> teams{1};
    if (is_device_space<TestSpace>)
      teams = {1, 2, 16};
    else
      for (int const team : {2, 4})
        if (team <= TestSpace().concurrency()) teams.push_back(team);
    for (int const team : teams)
      for (int const threadlen : {8, 64}) {
        expect_exact_team<float, 8, 2>(tensor, threadlen, team, 9, 12);
        expect_exact_team<double, 16, 2>(tensor, threadlen, team, 3, 16);
      }
  }
}

TEST_CASE("spttmc: what does not fit is refused", "[formats][fcoo][spttmc]") {
  TestSpace const space;
  auto const tensor = small_tensor(Kind::shuffled, 3);
  auto const X =
      FCoo<float, std::uint32_t, TestSpace>::build(space, to_device<float, std::uint32_t>(space, tensor));
  auto const matrix = [&](count_t rows, count_t columns) {
    return make_factor_matrix<float>(space, "polyad::test", rows, columns);
  };
  Matrices<float> const U{matrix(29, 4), matrix(23, 3), matrix(17, 5)};
  CHECK(make_spttmc_output(space, X.extents(), U, 0).extent(1) == 15);
  CHECK_NOTHROW(spttmc(space, X, U, 0, matrix(29, 15)));
  CHECK_THROWS_AS(spttmc(space, X, U, 0, matrix(29, 12)), UsageError);
  CHECK_THROWS_AS(spttmc(space, X, U, 0, matrix(28, 15)), UsageError);
  CHECK_THROWS_AS(spttmc(space, X, U, 3, matrix(29, 15)), UsageError);
  CHECK_THROWS_AS(spttmc(space, X, Matrices<float>{U[0], U[1]}, 0, matrix(29, 15)), UsageError);
  CHECK_THROWS_AS(spttmc(space, X, Matrices<float>{U[0], matrix(24, 3), U[2]}, 0, matrix(29, 15)),
                  UsageError);
  CHECK_THROWS_AS(spttmc(space, X, Matrices<float>{U[0], matrix(23, 0), U[2]}, 0, matrix(29, 0)), UsageError);
  CHECK_THROWS_AS(
      spttmc(space, X, Matrices<float>{matrix(29, 1), matrix(23, 1100), matrix(17, 1100)}, 0, matrix(29, 4)),
      UsageError);
  // 29 rows of 2^38 columns, which exist as numbers only.
  using View = FactorMatrix<float, TestSpace>;
  Matrices<float> const wide{U[0], View(U[1].data(), 23, count_t(1) << 19),
                             View(U[2].data(), 17, count_t(1) << 19)};
  try {
    static_cast<void>(make_spttmc_output(space, X.extents(), wide, 0));
    FAIL("nothing was thrown");
  } catch (MemoryError const& error) {
    CHECK(error.array() == "the output of SpTTMc on mode 0, 29 rows of 524288 x 524288 columns,");
    CHECK(error.bytes() == (count_t(29) << 40));
  }
  // A product beyond 64 bits; and one matrix that no kernel takes.
  Matrices<float> const five(5, View(U[1].data(), 23, count_t(1) << 19));
  CHECK(message_of<MemoryError>(
            [&] { static_cast<void>(make_spttmc_output(space, Extents{23, 23, 23, 23, 23}, five, 4)); }) ==
        "the output of SpTTMc on mode 4, 23 rows of 524288 x 524288 x 524288 x 524288 columns, needs "
        "18446744073709551615 bytes: more than 2^64 bytes");
  Matrices<float> const widest{U[0], View(U[1].data(), 23, count_t(1) << 20), U[2]};
  CHECK_THROWS_AS(make_spttmc_output(space, X.extents(), widest, 0), UsageError);
  space.fence("polyad::test");
}

TEST_CASE("spttmc: more than 2^20 columns", "[formats][fcoo][spttmc]") {
  Random random(20);
  auto const three = random_tensor(random, {3, 140, 150, 160}, 6);
  expect_spttmc<float, std::uint32_t>(three, {1, 96, 97, 113}, 0, RowLayout::padded, 8);  // 1,052,256
  auto const six = random_tensor(random, {2, 17, 17, 17, 17, 17}, 5);
  expect_spttmc<double, std::uint32_t>(six, {1, 16, 16, 16, 16, 17}, 0, RowLayout::padded, 8);
  expect_spttmc<float, std::uint64_t>(six, {1, 16, 16, 16, 17, 16}, 0, RowLayout::padded, 8);
}

TEST_CASE("spttmc: tiles that go to several launches", "[formats][fcoo][spttmc]") {
  TestSpace const space;
  Random random(21);
  auto const tensor        = random_tensor(random, {20, 9, 8, 7, 6}, 300);
  auto const host          = matrices_of(random, tensor, {1, 2, 3, 20, 37});
  auto const U             = upload_matrices<double>(host, RowLayout::padded);
  auto const coo           = to_device<double, std::uint32_t>(space, tensor);
  auto const X             = make_flagged(space, coo, mode_first(5, 0), 1, FCooRows::of_mode, 8);
  auto const expected      = oracle_spttmc(tensor, host, 0);
  count_t const partitions = ceil_div(X.nnz, 8);
  // From one tile a launch to all 6 leads.
  for (count_t const tiles : {1, 2, 5, 9, 13, 1000}) {
    CAPTURE(tiles);
    WatchedMatrix<double> const Y(space, RowLayout::padded, expected.rows, expected.columns);
    kronecker_product(space, "polyad::test", X, {1, 2, 3, 4}, Matrices<double>(U.begin() + 1, U.end()), {},
                      Y.matrix(), tiles * partitions);
    CHECK(violation<double>(expected, Y.read(), 5) == "");
    CHECK(Y.trespasses() == 0);
  }
  CHECK(tiles_of_launch(1, 7, 100) == 98);   // whole leads
  CHECK(tiles_of_launch(20, 7, 100) == 5);   // a part of one
  CHECK(tiles_of_launch(200, 7, 100) == 1);  // one at least
  CHECK(tiles_of_launch(0, 7, 100) == 98);
}

// ---- semi-sparse tensors

using Cells = std::map<std::vector<std::uint64_t>, std::pair<long double, long double>>;  // value, magnitude

/// X x_mode U' as a dense loop over cells: {value, sum of the terms' absolute values}.
Cells times(Cells const& X, HostMatrix const& U, std::size_t mode) {
  Cells Y;
  for (auto const& [cell, number] : X)
    for (std::size_t r = 0; r < U.columns; ++r) {
      auto target   = cell;
      target[mode]  = r;
      auto& entry   = Y[target];
      long double u = U(cell[mode], r);
      entry.first += number.first * u;
      entry.second += number.second * std::abs(u);
    }
  return Y;
}
Cells cells_of(HostTensor const& tensor) {
  Cells X;
  for (std::size_t p = 0; p < tensor.nnz(); ++p) {
    std::vector<std::uint64_t> cell;
    for (std::size_t n = 0; n < tensor.order(); ++n) cell.push_back(tensor.index(p, n));
    X[cell].first += tensor.values[p];
    X[cell].second += std::abs(tensor.values[p]);
  }
  return X;
}

/// A chain of products along the given modes: every cell, the norm, and the MTTKRP on every mode.
template <class Scalar, class Index>
void expect_chain(HostTensor const& tensor, std::vector<std::size_t> const& modes,
                  std::vector<std::size_t> const& widths) {
  CAPTURE(tensor.name, modes, widths, sizeof(Scalar), sizeof(Index));
  TestSpace const space;
  Random random(modes[0] + widths[0]);
  auto const coo = to_device<Scalar, Index>(space, tensor);
  Cells expected = cells_of(tensor);
  SemiSparseTensor<Scalar, Index, TestSpace> Y;
  std::size_t most_terms = 1;
  for (std::size_t step = 0; step < modes.size(); ++step) {
    auto const host = random_matrix(random, tensor.extents[modes[step]], widths[step]);
    auto const U    = WatchedMatrix<Scalar>(space, RowLayout::padded, host).matrix();
    int const mode  = static_cast<int>(modes[step]);
    Y               = step == 0 ? spttm(space, coo, U, mode) : spttm(space, Y, U, mode);
    expected        = times(expected, host, modes[step]);
    most_terms += tensor.extents[modes[step]] + tensor.nnz();
  }
  for (std::size_t n = 0; n < tensor.order(); ++n) {
    auto const step = std::find(modes.begin(), modes.end(), n) - modes.begin();
    CHECK(Y.extents()[static_cast<int>(n)] == (step < static_cast<std::ptrdiff_t>(modes.size())
                                                   ? widths[static_cast<std::size_t>(step)]
                                                   : tensor.extents[n]));
  }
  auto const expanded = to_coo(space, Y);
  space.fence("polyad::test");
  auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), expanded.indices());
  auto const values  = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), expanded.values());
  REQUIRE(values.size() == expected.size());
  HostTensor stored{tensor.name + ", multiplied", {}, {}, {}};
  for (std::size_t n = 0; n < tensor.order(); ++n) stored.extents.push_back(Y.extents()[static_cast<int>(n)]);
  long double const unit = gamma<Scalar>(most_terms + modes.size());
  bool all_close         = true;
  long double square     = 0;
  for (std::size_t e = 0; e < values.size(); ++e) {
    std::vector<std::uint64_t> cell;
    for (std::size_t n = 0; n < tensor.order(); ++n) cell.push_back(indices(e, n));
    auto const found = expected.find(cell);
    REQUIRE(found != expected.end());
    all_close = all_close && std::abs(values(e) - found->second.first) <= unit * found->second.second;
    expected.erase(found);  // each cell once
    stored.indices.insert(stored.indices.end(), cell.begin(), cell.end());
    stored.values.push_back(static_cast<double>(values(e)));
    square += static_cast<long double>(values(e)) * values(e);
  }
  CHECK(all_close);
  CHECK(std::abs(norm_squared(space, Y) - square) <= 1e-12L * square);

  // Its MTTKRP is that of the values that it holds. Products of dense modes, a row's sum and the sum over
  // rows are each rounded to Scalar: some more roundings than of a sum of its entries' products.
  auto const host_factors = random_factors(random, stored.extents, 5);
  auto const factors      = to_device<Scalar>(space, host_factors);
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    CAPTURE(mode);
    auto oracle = oracle_mttkrp(stored, host_factors, mode);
    for (auto& terms : oracle.terms) terms += tensor.order() + 2;
    WatchedMatrix<Scalar> const V(space, kernel_layout<TestSpace>(mode), stored.extents[mode], 5);
    mttkrp(space, Y, factors, static_cast<int>(mode), V.matrix());
    CHECK(violation<Scalar>(oracle, V.read(), tensor.order()) == "");
    CHECK(V.trespasses() == 0);
  }
}

TEST_CASE("semi-sparse: chains of products", "[formats][fcoo][semi_sparse]") {
  for (Kind const kind :
       {Kind::one_nonzero, Kind::one_long_slice, Kind::duplicates, Kind::shuffled, Kind::hypersparse}) {
    expect_chain<double, std::uint32_t>(small_tensor(kind, 2), {1}, {3});
    expect_chain<double, std::uint32_t>(small_tensor(kind, 3), {2, 0}, {4, 3});
    expect_chain<float, std::uint32_t>(small_tensor(kind, 3), {0, 1}, {2, 5});
    expect_chain<double, std::uint64_t>(small_tensor(kind, 3), {1}, {7});
    expect_chain<float, std::uint64_t>(small_tensor(kind, 4), {3, 1}, {2, 4});
    expect_chain<double, std::uint32_t>(small_tensor(kind, 4), {1, 3, 0}, {2, 3, 2});
    expect_chain<float, std::uint32_t>(small_tensor(kind, 5), {4, 0, 2}, {2, 2, 3});
  }
}

TEST_CASE("semi-sparse: one plan for several matrices", "[formats][fcoo][semi_sparse]") {
  TestSpace const space;
  auto const tensor = small_tensor(Kind::duplicates, 3, random_integer);
  SpttmPlan<double, std::uint32_t, TestSpace> const plan(space,
                                                         to_device<double, std::uint32_t>(space, tensor), 1);
  Random random(3);
  for (std::size_t const width : {1, 5, 33}) {
    auto host = random_matrix(random, tensor.extents[1], width);
    for (auto& value : host.data) value = std::round(8 * value);  // so that all sums are exact
    auto const Y = plan.make_output(space, width);
    plan.multiply(space, WatchedMatrix<double>(space, RowLayout::padded, host).matrix(), Y);
    auto const cells   = times(cells_of(tensor), host, 1);
    auto const product = to_coo(space, Y);
    auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), product.indices());
    auto const values  = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), product.values());
    REQUIRE(values.size() == cells.size());
    for (std::size_t e = 0; e < values.size(); ++e) {
      auto const found = cells.find({indices(e, 0), indices(e, 1), indices(e, 2)});
      REQUIRE(found != cells.end());
      CHECK(values(e) == static_cast<double>(found->second.first));
    }
  }
  auto const Y = plan.make_output(space, 4);
  CHECK_THROWS_AS(plan.multiply(space, make_factor_matrix<double>(space, "polyad::test", 3, 4), Y),
                  UsageError);
}

TEST_CASE("semi-sparse: an empty tensor stays empty", "[formats][fcoo][semi_sparse]") {
  TestSpace const space;
  auto const coo = to_device<double, std::uint32_t>(space, small_tensor(Kind::empty, 3));
  auto const U   = [&](count_t rows, count_t columns) {
    return make_factor_matrix<double>(space, "polyad::test", rows, columns);
  };
  auto const Y = spttm(space, spttm(space, coo, U(17, 4), 2), U(23, 3), 1);
  CHECK(Y.rows() == 0);
  CHECK(Y.width() == 12);
  CHECK(norm_squared(space, Y) == 0);
  CHECK(to_coo(space, Y).nnz() == 0);
  WatchedMatrix<double> const V(space, RowLayout::padded, 29, 2);
  mttkrp(space, Y, FactorMatrices<double, TestSpace>(space, Extents{29, 3, 4}, 2), 0, V.matrix());
  CHECK(V.read() == std::vector<double>(58));
}

TEST_CASE("semi-sparse: what does not fit is refused", "[formats][fcoo][semi_sparse]") {
  TestSpace const space;
  auto const coo = to_device<double, std::uint32_t>(space, small_tensor(Kind::shuffled, 3));
  auto const U   = [&](count_t rows, count_t columns) {
    return make_factor_matrix<double>(space, "polyad::test", rows, columns);
  };
  CHECK_THROWS_AS(spttm(space, coo, U(17, 4), 1), UsageError);
  CHECK_THROWS_AS(spttm(space, coo, U(17, 0), 2), UsageError);
  auto const Y = spttm(space, coo, U(17, 4), 2);
  CHECK_THROWS_AS(spttm(space, Y, U(4, 4), 2), UsageError);   // dense already
  CHECK_THROWS_AS(spttm(space, Y, U(29, 4), 1), UsageError);  // rows
  CHECK_THROWS_AS(spttm(space, Y, U(23, 0), 1), UsageError);
  CHECK_THROWS_AS(spttm(space, Y, U(23, 4), 3), UsageError);
  auto const Z = spttm(space, Y, U(23, 2), 1);
  CHECK_THROWS_AS(spttm(space, Z, U(29, 2), 0), UsageError);  // the last sparse one
  using Tensor       = SemiSparseTensor<double, std::uint32_t, TestSpace>;
  auto const extents = Y.extents();
  CHECK_NOTHROW(Tensor(extents, {0, 1}, {2}, Y.coordinates(), Y.values()));
  CHECK_THROWS_AS(Tensor(extents, {0, 1}, {1}, Y.coordinates(), Y.values()), UsageError);
  CHECK_THROWS_AS(Tensor(extents, {0, 1}, {}, Y.coordinates(), Y.values()), UsageError);
  CHECK_THROWS_AS(Tensor(extents, {0}, {2}, Y.coordinates(), Y.values()), UsageError);
  CHECK_THROWS_AS(Tensor(extents, {0, 2}, {1}, Y.coordinates(), Y.values()), UsageError);
  FactorMatrices<double, TestSpace> const factors(space, Extents{29, 23, 5}, 2);
  CHECK_THROWS_AS(mttkrp(space, Y, factors, 0, U(29, 2)), UsageError);
  space.fence("polyad::test");
}

}  // namespace
}  // namespace polyad::test
