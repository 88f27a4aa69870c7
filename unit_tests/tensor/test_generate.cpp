// SPDX-License-Identifier: BSD-3-Clause
// Synthetic tensors: inside their extents, without duplicates, the same in every run, of the shape asked for.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "polyad/tensor/generate.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {
namespace {

template <class Scalar, class Index>
HostTensor on_host(CooTensor<Scalar, Index, TestSpace> const& tensor) {
  TestSpace().fence("polyad::test");
  HostTensor result;
  for (int n = 0; n < tensor.order(); ++n) result.extents.push_back(tensor.extents()[n]);
  auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), tensor.indices());
  for (std::size_t p = 0; p < tensor.nnz(); ++p)
    for (std::size_t n = 0; n < result.order(); ++n) result.indices.push_back(indices(p, n));
  result.values = flat(tensor.values());
  return result;
}

/// Every nonzero inside the extents, none twice, values in (0, 1] but for the few that were summed.
void expect_well_formed(HostTensor const& tensor, std::size_t wanted) {
  CAPTURE(tensor.nnz(), wanted);
  CHECK(tensor.nnz() <= wanted + wanted / 20);
  CHECK(tensor.nnz() >= wanted - wanted / 100);
  std::set<std::vector<std::uint64_t>> cells;
  std::size_t outside = 0, large = 0, not_positive = 0;
  for (std::size_t p = 0; p < tensor.nnz(); ++p) {
    std::vector<std::uint64_t> cell;
    for (std::size_t n = 0; n < tensor.order(); ++n) {
      cell.push_back(tensor.index(p, n));
      if (cell.back() >= tensor.extents[n]) ++outside;
    }
    cells.insert(cell);
    if (!(tensor.values[p] > 0)) ++not_positive;
    if (tensor.values[p] > 1) ++large;
  }
  CHECK(outside == 0);
  CHECK(not_positive == 0);
  CHECK(cells.size() == tensor.nnz());
  CHECK(large <= tensor.nnz() / 10);
}

/// Nonzeros of each row of a mode, most first.
std::vector<std::size_t> histogram(HostTensor const& tensor, std::size_t mode) {
  std::vector<std::size_t> counts(tensor.extents[mode]);
  for (std::size_t p = 0; p < tensor.nnz(); ++p) ++counts[tensor.index(p, mode)];
  std::sort(counts.rbegin(), counts.rend());
  return counts;
}

TEST_CASE("generate: uniform tensors of every order", "[tensor]") {
  TestSpace const space;
  for (std::size_t order = 1; order <= 16; ++order) {
    std::vector<count_t> sizes;
    for (std::size_t n = 0; n < order; ++n) sizes.push_back(n == 0 ? 100000 : 3 + n);
    Extents const extents{std::span<count_t const>(sizes)};
    expect_well_formed(on_host(uniform_tensor<float, std::uint32_t>(space, extents, 2000, 1)), 2000);
  }
  auto const wide = uniform_tensor<double, std::uint64_t>(space, Extents{count_t(1) << 40, 50}, 2000, 1);
  expect_well_formed(on_host(wide), 2000);
  auto const rows       = on_host(wide);
  std::uint64_t largest = 0;
  for (std::size_t p = 0; p < rows.nnz(); ++p) largest = std::max(largest, rows.index(p, 0));
  CHECK(largest > (count_t(1) << 39));  // beyond 32 bits, spread over the mode
}

TEST_CASE("generate: uniform means that all rows have about as many nonzeros", "[tensor]") {
  TestSpace const space;
  auto const tensor =
      on_host(uniform_tensor<double, std::uint32_t>(space, Extents{20, 3000, 3000}, 40000, 5));
  auto const counts = histogram(tensor, 0);
  // Binomial: 2000 a row with a standard deviation of 44; six of them.
  CHECK(counts.front() < 2270);
  CHECK(counts.back() > 1730);
}

TEST_CASE("generate: the seed decides, and nothing else", "[tensor]") {
  TestSpace const space;
  PowerLawOptions options;
  options.skew      = {1.0, 0.5, 1.5};
  options.fiber_run = 3;
  options.seed      = 7;
  Extents const extents{500, 400, 300};
  auto const first = on_host(power_law_tensor<double, std::uint32_t>(space, extents, 5000, options));
  auto const again = on_host(power_law_tensor<double, std::uint32_t>(space, extents, 5000, options));
  CHECK((first.indices == again.indices));
  CHECK((first.values == again.values));
  auto const wide = on_host(power_law_tensor<double, std::uint64_t>(space, extents, 5000, options));
  CHECK((first.indices == wide.indices));
  options.seed     = 8;
  auto const other = on_host(power_law_tensor<double, std::uint32_t>(space, extents, 5000, options));
  CHECK_FALSE((first.indices == other.indices));
}

TEST_CASE("generate: a power law gives the k-th most frequent row its share", "[tensor]") {
  TestSpace const space;
  PowerLawOptions options;
  options.skew = {1.0, 0, 2.0};
  auto const tensor =
      on_host(power_law_tensor<double, std::uint32_t>(space, Extents{1000, 100000, 50}, 50000, options));
  expect_well_formed(tensor, 50000);
  auto const nnz = static_cast<double>(tensor.nnz());
  // Density x^-s on [1, I + 1): the first row has log 2 / log(I + 1) for s = 1, (1 - 1/2) / (1 - 1/(I + 1))
  // for s = 2. Within six standard deviations, and a hundredth for the duplicates that were lost.
  auto const near = [&](std::size_t count, double share) {
    CAPTURE(count, share * nnz);
    CHECK(std::abs(static_cast<double>(count) - share * nnz) < 6 * std::sqrt(share * nnz) + 0.01 * nnz);
  };
  auto const mild = histogram(tensor, 0);
  near(mild[0], std::log(2.0) / std::log(1001.0));
  near(mild[1], std::log(1.5) / std::log(1001.0));
  auto const steep = histogram(tensor, 2);
  near(steep[0], 0.5 / (1 - 1.0 / 51));
  near(steep[1], (0.5 - 1.0 / 3) / (1 - 1.0 / 51));
  CHECK(histogram(tensor, 1)[0] < 20);  // uniform: one nonzero in two rows
}

TEST_CASE("generate: runs along a mode make fibers of about that length", "[tensor]") {
  TestSpace const space;
  PowerLawOptions options;
  options.fiber_run = 10;
  options.run_mode  = 1;
  auto const tensor =
      on_host(power_law_tensor<double, std::uint32_t>(space, Extents{3000, 2000, 3000}, 20000, options));
  expect_well_formed(tensor, 20000);
  std::set<std::vector<std::uint64_t>> fibers;
  for (std::size_t p = 0; p < tensor.nnz(); ++p) fibers.insert({tensor.index(p, 0), tensor.index(p, 2)});
  double const mean = static_cast<double>(tensor.nnz()) / static_cast<double>(fibers.size());
  CHECK((mean > 9 && mean < 11));
}

TEST_CASE("generate: a shape without room gives what it can hold", "[tensor]") {
  TestSpace const space;
  auto const full = on_host(uniform_tensor<double, std::uint32_t>(space, Extents{4, 5}, 1000, 1));
  CHECK(full.nnz() <= 20);
  CHECK(full.nnz() >= 15);
  CHECK(on_host(uniform_tensor<double, std::uint32_t>(space, Extents{4, 5}, 0, 1)).nnz() == 0);
}

TEST_CASE("generate: what cannot be is refused", "[tensor]") {
  TestSpace const space;
  Extents const extents{10, 10};
  auto const refuse = [&](PowerLawOptions const& options) {
    CHECK_THROWS_AS((power_law_tensor<double, std::uint32_t>(space, extents, 10, options)), UsageError);
  };
  PowerLawOptions options;
  options.skew[1] = -1;
  refuse(options);
  options           = {};
  options.fiber_run = 0;
  refuse(options);
  options          = {};
  options.run_mode = 2;
  refuse(options);
  CHECK_THROWS_AS((uniform_tensor<double, std::uint32_t>(space, Extents{10, 0}, 10, 1)), UsageError);
  CHECK_THROWS_AS((planted_tensor<double, std::uint32_t>(space, extents, 6, 2, 1)), UsageError);
  CHECK_THROWS_AS((planted_tensor<double, std::uint32_t>(space, extents, 0, 2, 1)), UsageError);
  CHECK_THROWS_AS((planted_tensor<double, std::uint32_t>(space, extents, 2, 0, 1)), UsageError);
  CHECK_THROWS_AS((uniform_tensor<double, std::uint32_t>(space, extents, count_t(1) << 50, 1)), MemoryError);
}

TEST_CASE("generate: a planted tensor is its model, cell by cell", "[tensor]") {
  TestSpace const space;
  for (std::size_t const order : {2, 3, 5}) {
    std::vector<count_t> const all{13, 17, 12, 15, 14};
    std::vector<count_t> const sizes(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(order));
    auto const planted =
        planted_tensor<double, std::uint32_t>(space, Extents(std::span<count_t const>(sizes)), 4, 3, 11);
    auto const tensor = on_host(planted.tensor);
    CAPTURE(order);
    CHECK(tensor.nnz() == 4 * static_cast<std::size_t>(std::pow(3, order)));
    std::vector<std::vector<double>> factors;
    for (std::size_t n = 0; n < order; ++n)
      factors.push_back(flat(planted.model.factors[static_cast<int>(n)]));
    // All nonzero cells of the model are here, so its squared norm is that of the tensor.
    std::set<std::vector<std::uint64_t>> cells;
    double worst = 0;
    for (std::size_t p = 0; p < tensor.nnz(); ++p) {
      std::vector<std::uint64_t> cell;
      double sum = 0;
      for (std::size_t r = 0; r < 4; ++r) {
        double product = planted.model.weights[r];
        for (std::size_t n = 0; n < order; ++n) product *= factors[n][tensor.index(p, n) * 4 + r];
        sum += product;
      }
      for (std::size_t n = 0; n < order; ++n) cell.push_back(tensor.index(p, n));
      cells.insert(cell);
      worst = std::max(worst, std::abs(sum - tensor.values[p]));
      REQUIRE(sum > 0);
    }
    CHECK(cells.size() == tensor.nnz());
    CHECK(worst < 1e-14);
    // Every row of a factor belongs to one component at most, every component has 3 rows.
    for (std::size_t n = 0; n < order; ++n)
      for (std::size_t r = 0; r < 4; ++r) {
        std::size_t used = 0;
        for (std::size_t i = 0; i < sizes[n]; ++i) {
          if (factors[n][i * 4 + r] == 0) continue;
          ++used;
          for (std::size_t other = 0; other < 4; ++other)
            if (other != r) REQUIRE(factors[n][i * 4 + other] == 0);
        }
        CHECK(used == 3);
      }
  }
}

}  // namespace
}  // namespace polyad::test
