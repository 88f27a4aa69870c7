// SPDX-License-Identifier: BSD-3-Clause
// What the contract of formats (formats/format.hpp) promises besides the numbers: names, sizes, norms,
// errors.
#include <Kokkos_Core.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "formats/registry.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {
namespace {

template <class Scalar, class Index>
void expect_described(HostTensor const& tensor) {
  TestSpace const space;
  auto const coo     = to_device<Scalar, Index>(space, tensor);
  long double square = 0;
  for (double const value : tensor.values) square += static_cast<long double>(value) * value;
  for_each_format<Scalar, Index, TestSpace>([&](auto format) {
    using F   = typename decltype(format)::type;
    F const X = F::build(space, coo, {});
    CAPTURE(F::name, tensor.name, sizeof(Scalar), sizeof(Index));
    CHECK(X.extents() == coo.extents());
    CHECK(X.nnz() == tensor.nnz());
    CHECK(std::abs(X.norm_squared() - square) <= 1e-12L * square);
    CHECK((tensor.nnz() == 0 || X.storage_bytes() >= tensor.nnz() * sizeof(Scalar)));
  });
}

TEST_CASE("formats: extents, nonzeros, norm", "[formats]") {
  for (Kind const kind : all_kinds)
    for (std::size_t const order : {1, 2, 3, 5, 16}) {
      expect_described<float, std::uint32_t>(small_tensor(kind, order));
      expect_described<double, std::uint64_t>(small_tensor(kind, order));
    }
}

template <class Scalar, class Index>
void expect_coo_sizes(std::size_t order) {
  TestSpace const space;
  auto const tensor   = small_tensor(Kind::shuffled, order);
  auto const coo      = to_device<Scalar, Index>(space, tensor);
  std::size_t const N = order, P = tensor.nnz(), s_r = sizeof(Scalar), s_o = sizeof(Index);
  CAPTURE(N, s_r, s_o);
  auto const permuted = CooPermuted<Scalar, Index, TestSpace>::build(space, coo);
  CHECK(permuted.storage_bytes() == P * (s_r + 2 * N * s_o));  // GenTen, section 6
  CHECK((CooScratch<Scalar, Index, TestSpace>::build(space, coo).storage_bytes()) == P * (s_r + N * s_o));
  CHECK((CooTinyVec<Scalar, Index, TestSpace>::build(space, coo).storage_bytes()) == P * (s_r + N * s_o));
  // The formula is what is there.
  std::size_t bytes = permuted.coo().values().size() * s_r + permuted.coo().indices().size() * s_o;
  for (std::size_t n = 0; n < N; ++n) {
    auto const& permutation = permuted.permutation(static_cast<int>(n));
    bytes += permutation.size() * sizeof(permutation(0));
  }
  CHECK(permuted.storage_bytes() == bytes);
}

TEST_CASE("formats: bytes of the COO formats", "[formats]") {
  for (std::size_t const order : {1, 3, 4, 16}) {
    expect_coo_sizes<float, std::uint32_t>(order);
    expect_coo_sizes<float, std::uint64_t>(order);
    expect_coo_sizes<double, std::uint32_t>(order);
    expect_coo_sizes<double, std::uint64_t>(order);
  }
}

TEST_CASE("formats: names are known, distinct and found", "[formats]") {
  std::set<std::string> names;
  std::size_t count = 0;
  for_each_format<double, std::uint32_t, TestSpace>([&](auto format) {
    names.insert(decltype(format)::type::name);
    ++count;
  });
  CHECK(names.size() == count);
  for (char const* const name : {"coo-scratch", "coo-tiny-vec", "coo-permuted"})
    CHECK(names.count(name) == 1);
  for (auto const& name : names) {
    CHECK(format_names().find(name) != std::string::npos);
    std::string found;
    with_format<double, std::uint32_t, TestSpace>(
        name, [&](auto format) { found += decltype(format)::type::name; });
    CHECK(found == name);
  }
}

TEST_CASE("formats: an unknown name is refused with the known ones", "[formats]") {
  for (std::string const name : {"", "coo", "coo-permuted ", "COO-PERMUTED"}) {
    auto const call = [&] {
      with_format<double, std::uint32_t, TestSpace>(name, [](auto) { FAIL("called"); });
    };
    CHECK(message_of(call) == "unknown format '" + name + "'; known are " + format_names());
  }
}

TEST_CASE("formats: shapes that do not match are refused by every format", "[formats]") {
  TestSpace const space;
  using Scalar      = double;
  using Factors     = FactorMatrices<Scalar, TestSpace>;
  auto const tensor = small_tensor(Kind::shuffled, 3);
  auto const coo    = to_device<Scalar, std::uint32_t>(space, tensor);
  Extents const extents{29, 23, 17};
  auto const output = [&](count_t rows, count_t rank) {
    return make_factor_matrix<Scalar>(space, "polyad::test", rows, rank);
  };
  for_each_format<Scalar, std::uint32_t, TestSpace>([&](auto format) {
    using F = typename decltype(format)::type;
    CAPTURE(F::name);
    F const X    = F::build(space, coo, {});
    auto scratch = X.make_workspace(space, 4);
    Factors const factors(space, extents, 4);
    CHECK_NOTHROW(mttkrp(space, X, factors, 0, scratch, output(29, 4)));
    CHECK_THROWS_AS(mttkrp(space, X, factors, -1, scratch, output(29, 4)), UsageError);
    CHECK_THROWS_AS(mttkrp(space, X, factors, 3, scratch, output(29, 4)), UsageError);
    CHECK_THROWS_AS(mttkrp(space, X, factors, 1, scratch, output(29, 4)), UsageError);
    CHECK_THROWS_AS(mttkrp(space, X, factors, 0, scratch, output(29, 5)), UsageError);
    CHECK_THROWS_AS(mttkrp(space, X, Factors(space, Extents{29, 23}, 4), 0, scratch, output(29, 4)),
                    UsageError);
    CHECK_THROWS_AS(mttkrp(space, X, Factors(space, Extents{29, 23, 18}, 4), 0, scratch, output(29, 4)),
                    UsageError);
    CHECK_THROWS_AS(mttkrp(space, X, Factors(), 0, scratch, output(29, 4)), UsageError);
    Factors ragged(space, extents, 4);
    ragged[2] = output(17, 5);
    CHECK_THROWS_AS(mttkrp(space, X, ragged, 0, scratch, output(29, 4)), UsageError);
    space.fence("polyad::test");
  });
}

TEST_CASE("formats: a NaN among the values reaches its own row and no other", "[formats]") {
  TestSpace const space;
  auto tensor         = small_tensor(Kind::runs_at_borders, 3);
  std::size_t const p = 390;  // in a row of several nonzeros, inside a chunk
  tensor.values[p]    = std::numeric_limits<double>::quiet_NaN();
  Random random(1);
  auto const factors = to_device<double>(space, random_factors(random, tensor.extents, 5));
  auto const coo     = to_device<double, std::uint32_t>(space, tensor);
  for_each_format<double, std::uint32_t, TestSpace>([&](auto format) {
    using F      = typename decltype(format)::type;
    F const X    = F::build(space, coo, {});
    auto scratch = X.make_workspace(space, 5);
    CHECK(std::isnan(X.norm_squared()));
    for (std::size_t mode = 0; mode < 3; ++mode) {
      WatchedMatrix<double> V(space, RowLayout::padded, tensor.extents[mode], 5);
      mttkrp(space, X, factors, static_cast<int>(mode), scratch, V.matrix());
      auto const entries = V.read();
      CAPTURE(F::name, mode);
      bool own_row_only = true;
      for (std::size_t e = 0; e < entries.size(); ++e)
        own_row_only = own_row_only && std::isnan(entries[e]) == (e / 5 == tensor.index(p, mode));
      CHECK(own_row_only);
    }
  });
}

}  // namespace
}  // namespace polyad::test
