// SPDX-License-Identifier: BSD-3-Clause
// Tensors beyond 32 bits: nonzeros, rows times R, long fibers, rows that are not there. A tensor is made of
// formulas on the device, and the product is compared on some rows with sums in double over all nonzeros.
//
// They require a device of 140 GB, so all are hidden; docs/reliability.md has the command. ctest asks every
// source named test_* for a test case that is not hidden.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "formats/cost_model.hpp"
#include "polyad/polyad.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/format_list.hpp"

namespace polyad::test {
namespace {

using Tensor  = CooTensor<float, std::uint32_t, TestSpace>;
using Factors = FactorMatrices<float, TestSpace>;

Kokkos::RangePolicy<TestSpace, Kokkos::IndexType<count_t>> each(count_t count) {
  return {TestSpace(), 0, count};
}

/// Fills a tensor of three modes with nonzeros at places of their own, in no mode's order. Each is somewhere
/// in its own stretch of the linear positions.
struct FillNonzeros {
  Tensor::indices_type indices;
  Tensor::values_type values;
  count_t rows[3];
  count_t stretch;  // positions, for each nonzero

  KOKKOS_FUNCTION void operator()(count_t p) const {
    constexpr count_t prime = 2654435761;  // divides no number of nonzeros here: a permutation
    count_t const place     = p * prime % values.extent(0);
    auto const offset       = counter_uniform(7, 0, place, 0) * static_cast<double>(stretch);
    count_t position        = place * stretch + static_cast<count_t>(offset);
    for (int n = 2; n >= 0; --n) {
      indices(p, n) = static_cast<std::uint32_t>(position % rows[n]);
      position /= rows[n];
    }
    values(p) = static_cast<float>(counter_uniform(7, 1, place, 0) + 0.5);
  }
};

Tensor tensor_of(count_t I, count_t J, count_t K, count_t nnz) {
  TestSpace const space;
  auto const tensor = make_coo_tensor<float, std::uint32_t>(space, Extents{I, J, K}, nnz);
  Kokkos::parallel_for("polyad::test", each(nnz),
                       FillNonzeros{tensor.indices(), tensor.values(), {I, J, K}, I * J * K / nnz});
  space.fence("polyad::test");
  return tensor;
}

/// Every second nonzero is in row 7 of the first mode. The others spread over the rows from 8 on.
struct FillLongRow {
  Tensor::indices_type indices;
  Tensor::values_type values;
  count_t rows[3];

  KOKKOS_FUNCTION void operator()(count_t p) const {
    constexpr count_t prime = 2654435761;
    count_t const cell      = p / 2 * prime % (rows[1] * rows[2]);
    auto const other        = counter_uniform(7, 0, p, 0) * static_cast<double>(rows[0] - 8);
    indices(p, 0)           = p % 2 == 0 ? 7 : 8 + static_cast<std::uint32_t>(other);
    indices(p, 1)           = static_cast<std::uint32_t>(cell / rows[2]);
    indices(p, 2)           = static_cast<std::uint32_t>(cell % rows[2]);
    values(p)               = static_cast<float>(counter_uniform(7, 1, p, 0) + 0.5);
  }
};

/// The first columns of a product's row.
struct RowSums {
  static constexpr count_t columns = 4;
  double of_column[columns];

  KOKKOS_FUNCTION RowSums() {
    for (double& sum : of_column) sum = 0;
  }
  KOKKOS_FUNCTION RowSums& operator+=(RowSums const& other) {
    for (count_t r = 0; r < columns; ++r) of_column[r] += other.of_column[r];
    return *this;
  }
};

/// The terms of a mode's row of a product.
struct SumOfRow {
  using value_type = RowSums;

  Tensor::indices_type indices;
  Tensor::values_type values;
  FactorMatrix<float, TestSpace> left, right;  // factors of the other modes
  int mode;
  count_t row;
  KOKKOS_FUNCTION void operator()(count_t p, RowSums& sums) const {
    if (indices(p, mode) != row) return;
    for (count_t r = 0; r < RowSums::columns; ++r)
      sums.of_column[r] += static_cast<double>(values(p)) *
                           static_cast<double>(left(indices(p, mode == 0 ? 1 : 0), r)) *
                           static_cast<double>(right(indices(p, mode == 2 ? 1 : 2), r));
  }
};

std::vector<double> row_of(FactorMatrix<float, TestSpace> const& matrix, count_t i) {
  return to_host<float>(TestSpace(), FactorMatrix<float, TestSpace>(
                                         Kokkos::subview(matrix, Kokkos::make_pair(i, i + 1), Kokkos::ALL)));
}

/// Rows to look at: the first and the last one, and those of nonzero 0, of the last one and of number 2^31.
std::vector<count_t> some_rows(Tensor const& X, int mode) {
  std::vector<count_t> rows{0, X.extents()[mode] - 1};
  for (count_t const p : {count_t(0), X.nnz() - 1, std::min(X.nnz() - 1, count_t(1) << 31)}) {
    std::uint32_t index = 0;
    Kokkos::deep_copy(Kokkos::View<std::uint32_t, Kokkos::HostSpace>(&index),
                      Kokkos::subview(X.indices(), p, mode));
    rows.push_back(index);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

/// What the rows of a mode's product should be, some columns of them.
struct Expected {
  int mode;
  count_t row;
  std::vector<double> sums;
};

std::vector<Expected> expected_rows(Tensor const& X, Factors const& A) {
  std::vector<Expected> all;
  for (int n = 0; n < 3; ++n)
    for (count_t const row : some_rows(X, n)) {
      RowSums sums;
      Kokkos::parallel_reduce("polyad::test", each(X.nnz()),
                              SumOfRow{X.indices(), X.values(), A[n == 0 ? 1 : 0], A[n == 2 ? 1 : 2], n, row},
                              sums);
      all.push_back({n, row, {sums.of_column, sums.of_column + RowSums::columns}});
    }
  return all;
}

/// \param of_a_term  the error of one of a row's terms
void expect_product(AnyFormat<float, TestSpace> const& X, Factors const& A, std::vector<Expected> const& all,
                    double of_a_term) {
  TestSpace const space;
  auto workspace = X.make_workspace(space, A.rank());
  for (int n = 0; n < 3; ++n) {
    auto const V = make_factor_matrix<float>(space, "polyad::test_product", X.extents()[n], A.rank());
    mttkrp(space, X, A, n, workspace, V);
    space.fence("polyad::test");
    double const terms     = static_cast<double>(X.nnz()) / static_cast<double>(X.extents()[n]);
    double const tolerance = std::max(1e-5, of_a_term * terms);
    for (auto const& expected : all) {
      if (expected.mode != n) continue;
      CAPTURE(n, expected.row, tolerance);
      auto const row = row_of(V, expected.row);
      for (std::size_t r = 0; r < expected.sums.size(); ++r)
        CHECK(std::abs(row[r] - expected.sums[r]) <= tolerance * expected.sums[r]);
    }
  }
}

/// Compares the product of every format that fits, in a section of its own: -c "streamed-blco" runs that one.
/// What does not fit is refused by a MemoryError. Floats that are added one by one lose digits, and so do,
/// more slowly, sums of a few terms: in rows of 4.3 million terms `streamed-blco` was wrong by 1.1e-4. `auto`
/// avoids these formats for such rows.
/// \param long_rows  for tensors with rows in which some formats lose digits: these are left out
void expect_products(Tensor X, count_t rank, bool copies_fit,
                     std::optional<detail::RowLengths> const& long_rows = {}) {
  TestSpace const space;
  Factors const A(space, X.extents(), rank);
  fill_random(space, A, 3);
  auto const expected = expected_rows(X, A);
  for (auto const& name : list_of_formats()) {
    constexpr bool is_device = is_device_space<TestSpace>;
    auto const& costs        = *detail::find_format_costs(name);
    bool const adds_terms    = (is_device ? costs.terms_at_once.device : costs.terms_at_once.host) == 1;
    if (long_rows && detail::loses_digits(costs, is_device, sizeof(float), *long_rows)) continue;
    double const of_a_term = adds_terms ? 1e-9 : long_rows ? 0 : 5e-11;
    DYNAMIC_SECTION(name) {
      AnyFormatOptions options;
      options.format = name;
      options.rank   = rank;
      try {
        auto const format = any_format(space, X, options);
        std::cout << X.nnz() << " nonzeros, " << name << ": " << format.storage_bytes() << " bytes, built in "
                  << format.build_seconds() << " s" << std::endl;
        expect_product(format, A, expected, of_a_term);
      } catch (MemoryError const& error) {
        CHECK_FALSE(copies_fit);
        CHECK(name != "coo-scratch");  // it has no copy
        std::cout << name << ": " << error.what() << std::endl;
      } catch (UsageError const& error) {  // some formats then require 64-bit coordinates
        CHECK(X.nnz() > std::numeric_limits<std::uint32_t>::max());
        std::cout << name << ": " << error.what() << std::endl;
      }
    }
  }
}

TEST_CASE("large: 2^31 + 1 nonzeros, every format that fits", "[.][large][nnz31]") {
  expect_products(tensor_of(count_t(1) << 20, 1000, 4099, (count_t(1) << 31) + 1), 4, false);
}

TEST_CASE("large: 2^32 + 512 nonzeros, every format that fits", "[.][large][nnz32]") {
  expect_products(tensor_of(count_t(1) << 20, 1000, 8209, (count_t(1) << 32) + 512), 4, false);
}

TEST_CASE("large: rows times R beyond 2^32", "[.][large][rows]") {
  expect_products(tensor_of((count_t(1) << 28) + 7, 50, 60, 1'000'003), 20, false);
}

TEST_CASE("large: 2^31 rows of which three are used", "[.][large][empty_rows]") {
  TestSpace const space;
  count_t const rows = (count_t(1) << 31);
  std::vector<std::uint32_t> indices;
  std::vector<double> values;
  for (count_t const i : {count_t(0), rows / 2 + 5, rows - 1})
    for (std::uint32_t j = 0; j < 40; ++j)
      for (std::uint32_t k = j % 3; k < 30; k += 3) {
        indices.insert(indices.end(), {static_cast<std::uint32_t>(i), j, k});
        values.push_back(1 + 0.125 * (j % 5));
      }
  expect_products(upload<float, std::uint32_t>(space, Extents{rows, 40, 30}, indices, values), 4, false);
}

TEST_CASE("large: a fiber of 10^8 nonzeros", "[.][large][fiber]") {
  // Nonzeros at every place of two fibers: the heaviest rows of two modes have 10^8 of them.
  expect_products(tensor_of(2, 1, 100'000'000, 200'000'000), 16, true, detail::RowLengths{100'000'000, 1e8});
}

TEST_CASE("large: a row of 2 x 10^7 nonzeros among short ones", "[.][large][long_row]") {
  TestSpace const space;
  constexpr count_t nnz = 40'000'000;
  auto const X          = make_coo_tensor<float, std::uint32_t>(space, Extents{100'000, 2000, 30'011}, nnz);
  Kokkos::parallel_for("polyad::test", each(nnz),
                       FillLongRow{X.indices(), X.values(), {100'000, 2000, 30'011}});
  space.fence("polyad::test");
  expect_products(X, 16, true, detail::RowLengths{nnz / 2, static_cast<double>(nnz) / 100'000});
}

TEST_CASE("large: CP-ALS of 2^31 + 1 nonzeros", "[.][large][cp_als]") {
  TestSpace const space;
  auto X = tensor_of(count_t(1) << 20, 1000, 4099, (count_t(1) << 31) + 1);
  CpAlsOptions options;
  options.rank           = 4;
  options.max_iterations = 3;
  options.tolerance      = 0;
  auto const format      = any_format(space, std::move(X), format_options(options));
  std::cout << format.chosen() << " " << format.chosen_because() << std::endl;
  auto const result = cp_als(space, format, options);
  // Values are 1 on average, at one of 2000 places.
  std::cout << "fit " << result.fit << std::endl;
  CHECK(std::isfinite(result.fit));
  CHECK(result.fit > 1e-4);
  CHECK(result.fit < 1e-3);
}

}  // namespace
}  // namespace polyad::test
