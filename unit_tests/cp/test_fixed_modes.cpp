// SPDX-License-Identifier: BSD-3-Clause
// Fixed modes: they keep their bits and their order, the others are fitted to them.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <vector>

#include "io/temporary_folder.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/host_models.hpp"
#include "support/message_of.hpp"
#include "support/oracle.hpp"
#include "support/update_runs.hpp"

namespace polyad::test {
namespace {

/// The random start of a seed, with columns of different norms, which a run would sort.
template <class Scalar>
FactorMatrices<Scalar, TestSpace> uneven_start(HostTensor const& X, count_t rank) {
  TestSpace const space;
  FactorMatrices<Scalar, TestSpace> const start(space, Extents(std::span<count_t const>(X.extents)), rank);
  fill_random(space, start, 3);
  for (int n = 0; n < start.order(); ++n) {
    auto numbers = to_host<Scalar>(space, start[n]);
    for (std::size_t e = 0; e < numbers.size(); ++e) numbers[e] *= 0.1 + static_cast<double>(e % rank);
    from_host<Scalar>(space, numbers, start[n]);
  }
  return start;
}

/// Weights into the first of the factors that are free.
OracleModel without_weights(OracleModel M, std::size_t mode) {
  for (std::size_t e = 0; e < M.factors[mode].size(); ++e) M.factors[mode][e] *= M.weights[e % M.rank];
  std::fill(M.weights.begin(), M.weights.end(), 1.0L);
  return M;
}

template <class Scalar>
void expect_fixed(std::vector<int> const& fixed, UpdateList const& updates) {
  CAPTURE(fixed, updates.size(), sizeof(Scalar));
  TestSpace const space;
  auto tensor = noisy_tensor({9, 7, 8});
  for (double& value : tensor.values) value = static_cast<double>(static_cast<Scalar>(value));
  auto const start    = uneven_start<Scalar>(tensor, 3);
  auto options        = updated_by(updates, 3, 30);
  options.fixed_modes = fixed;
  auto const result   = cp_als(space, summed_in_fixed_order<Scalar>(tensor), options, start);
  auto const host     = on_host(result.model);
  for (int const n : fixed) CHECK(flat(result.model.factors[n]) == flat(start[n]));
  CHECK(std::abs(result.fit - static_cast<double>(oracle_fit(tensor, host))) < update_rounding<Scalar>);
  CHECK(std::abs(result.history.back().fit - result.fit) < update_rounding<Scalar>);
  for (std::size_t k = 1; k < result.history.size(); ++k) {
    double const before = result.history[k - 1].objective;
    CHECK(result.history[k].objective <= before + update_rounding<Scalar> * std::max(1.0, before));
  }
  // The last free mode is at its minimum.
  int last = 2;
  while (std::find(fixed.begin(), fixed.end(), last) != fixed.end()) --last;
  if (!updates.empty()) return;
  auto const M      = without_weights(host, static_cast<std::size_t>(last));
  auto const [V, H] = oracle_problem(tensor, M, static_cast<std::size_t>(last));
  long double most = 0, size = 0;
  for (std::size_t e = 0; e < V.size(); ++e) {
    long double left = V[e];
    for (std::size_t s = 0; s < 3; ++s)
      left -= M.factors[static_cast<std::size_t>(last)][e / 3 * 3 + s] * H(s, e % 3);
    most = std::max(most, std::abs(left));
    size = std::max(size, std::abs(V[e]));
  }
  CHECK(static_cast<double>(most / size) < update_rounding<Scalar>);
}

TEST_CASE("Fixed modes: they keep their bits, and the others are at their minimum", "[cp]") {
  for (auto const& fixed : std::vector<std::vector<int>>{{0}, {1}, {2}, {0, 2}, {2, 1}, {0, 1}}) {
    expect_fixed<double>(fixed, {});
    expect_fixed<float>(fixed, {});
    expect_fixed<double>(fixed, {nonnegative(2)});
    expect_fixed<double>(fixed, {nonnegative(exact_inner)});
    expect_fixed<double>(fixed, {constrained({.lower = 0, .upper = 30})});
    expect_fixed<double>(fixed, {ridge(0.5)});
  }
}

TEST_CASE("Fixed modes: a penalty may be left out for them", "[cp]") {
  expect_fixed<double>({0}, {{}, constrained({.l1 = 0.25}), ridge(0.5)});
}

TEST_CASE("Fixed modes: without iterations the fit is that of the start", "[cp]") {
  TestSpace const space;
  auto const tensor   = noisy_tensor({9, 7, 8});
  auto const start    = uneven_start<double>(tensor, 3);
  auto options        = updated_by({}, 3, 0);
  options.fixed_modes = {1};
  auto const result   = cp_als(space, summed_in_fixed_order<double>(tensor), options, start);
  OracleModel const M = on_host(Ktensor<double, TestSpace>{std::vector<double>(3, 1.0), start});
  CHECK(std::abs(result.fit - static_cast<double>(oracle_fit(tensor, M))) <
        update_rounding<double> * (1 + std::abs(result.fit)));
}

TEST_CASE("Fixed modes: several starts draw the others", "[cp]") {
  TestSpace const space;
  auto const tensor   = noisy_tensor({9, 7, 8});
  auto const X        = summed_in_fixed_order<double>(tensor);
  auto const start    = uneven_start<double>(tensor, 3);
  auto options        = updated_by({nonnegative()}, 3, 2);
  options.fixed_modes = {1};
  options.restarts    = 4;
  auto const result   = cp_als(space, X, options, start);
  REQUIRE(result.restarts.size() == 4);
  CHECK(flat(result.model.factors[1]) == flat(start[1]));
  CHECK(result.restarts[0].fit != result.restarts[1].fit);
  for (auto const& run : result.restarts) CHECK(run.fit <= result.fit);
}

TEST_CASE("Fixed modes: a run continues from its checkpoint to the same bits", "[cp]") {
  TestSpace const space;
  auto const tensor = noisy_tensor({9, 7, 8});
  auto const X      = summed_in_fixed_order<double>(tensor);
  auto const start  = uneven_start<double>(tensor, 3);
  for (auto const& updates : {UpdateList{}, UpdateList{nonnegative(2)}, UpdateList{ridge(0.5)}}) {
    TemporaryFolder const folder;
    auto options        = updated_by(updates, 3, 4);
    options.fixed_modes = {0, 2};
    options.checkpoint  = folder / "c";
    static_cast<void>(cp_als(space, X, options, start));
    options.max_iterations = 9;
    options.checkpoint.clear();
    auto const a   = cp_als(space, X, options, start);
    options.resume = folder / "c";
    auto const b   = cp_als(space, X, options);
    CHECK(a.fit == b.fit);
    for (int n = 0; n < 3; ++n) CHECK(flat(a.model.factors[n]) == flat(b.model.factors[n]));
    options.fixed_modes = {0};
    auto const message  = message_of<InputError>([&] { static_cast<void>(cp_als(space, X, options)); });
    CHECK(message.find("mode 2: fixed") != std::string::npos);
  }
}

TEST_CASE("Fixed modes: what cannot be is refused", "[cp]") {
  TestSpace const space;
  auto const tensor  = noisy_tensor({9, 7, 8});
  auto const X       = summed_in_fixed_order<double>(tensor);
  auto const start   = uneven_start<double>(tensor, 3);
  auto const message = [&](std::vector<int> const& fixed, UpdateList const& updates = {}) {
    auto options        = updated_by(updates, 3, 2);
    options.fixed_modes = fixed;
    return message_of([&] { static_cast<void>(cp_als(space, X, options, start)); });
  };
  CHECK(message({0, 1, 2}).find("all 3 modes are fixed") != std::string::npos);
  CHECK(message({1, 1}).find("mode 1 twice") != std::string::npos);
  CHECK(message({3}).find("modes 0 to 2") != std::string::npos);
  CHECK(message({-1}).find("modes 0 to 2") != std::string::npos);
  CHECK(message({0}, {constrained({.upper = 1e-9}), {}, {}}).find("violates the bounds") !=
        std::string::npos);
  auto options        = updated_by({}, 3, 2);
  options.fixed_modes = {1};
  CHECK(message_of([&] { static_cast<void>(cp_als(space, X, options)); }).find("needs a start") !=
        std::string::npos);
  options.rows = {StoredRows(9), StoredRows(9, {0, 1, 2, 3, 4, 5, 6}), StoredRows(8)};
  CHECK(message_of([&] {
          static_cast<void>(cp_als(space, X, options, start));
        }).find("does not store all of its rows") != std::string::npos);
}

}  // namespace
}  // namespace polyad::test
