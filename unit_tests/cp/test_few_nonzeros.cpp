// SPDX-License-Identifier: BSD-3-Clause
// CP-ALS of tensors that have a few nonzeros, with bounds and penalties for any modes. Most rows are empty,
// so coordinate descent leaves components of which only rounding errors are there. No run may leave the range
// of its numbers for them.
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "polyad/core/error.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/oracle.hpp"
#include "support/update_runs.hpp"

namespace polyad::test {
namespace {

/// 1 to 5 nonzeros, of which all but the first may be zeros.
HostTensor tiny_tensor(Random& random, std::size_t order, int largest_exponent) {
  std::vector<std::uint64_t> extents;
  for (std::size_t n = 0; n < order; ++n) extents.push_back(1 + random_below(random, 6));
  auto tensor = distinct(random_tensor(random, extents, 1 + random_below(random, 5), random_number));
  for (double& value : tensor.values) {
    auto const range    = static_cast<std::uint64_t>(2 * largest_exponent + 1);
    auto const exponent = static_cast<int>(random_below(random, range)) - largest_exponent;
    bool const is_zero  = &value != tensor.values.data() && random_below(random, 4) == 0;
    value               = is_zero ? 0 : std::ldexp(value == 0 ? 1 : value, exponent);
  }
  return tensor;
}

/// Constraints of modes without penalties; they are least squares, bounded below by 0, or in a box.
UpdateList drawn_bounds(Random& random, std::size_t order, int sweeps) {
  UpdateList updates;
  for (std::size_t n = 0; n < order; ++n) {
    auto const kind = random_below(random, 6);
    if (kind < 2) updates.push_back(least_squares());
    if (kind == 2 || kind == 3) updates.push_back(nonnegative(sweeps));
    if (kind == 4) updates.push_back(constrained({.lower = -0.5, .upper = 2}, sweeps));
    if (kind == 5) updates.push_back(constrained({.lower = 0.25}, sweeps));
  }
  return updates;
}

/// Constraints with penalties; each mode has one, or two bounds.
UpdateList drawn_penalties(Random& random, std::size_t order, int sweeps) {
  UpdateList updates;
  for (std::size_t n = 0; n < order; ++n) {
    double const penalty = std::ldexp(1.0, static_cast<int>(random_below(random, 20)) - 10);
    auto const kind      = random_below(random, 5);
    if (kind == 0) updates.push_back(ridge(penalty));
    if (kind == 1) updates.push_back(constrained({.lower = 0, .ridge = penalty}, sweeps));
    if (kind == 2) updates.push_back(constrained({.l1 = penalty}, sweeps));
    if (kind == 3) updates.push_back(constrained({.lower = 0, .l1 = penalty, .ridge = penalty}, sweeps));
    if (kind == 4) updates.push_back(constrained({.lower = -1, .upper = 1}, sweeps));
  }
  return updates;
}

std::string text_of(HostTensor const& tensor, UpdateList const& updates) {
  std::string text = "extents";
  for (auto const extent : tensor.extents) text += " " + std::to_string(extent);
  for (std::size_t p = 0; p < tensor.nnz(); ++p) {
    text += "; ";
    for (std::size_t n = 0; n < tensor.order(); ++n) text += std::to_string(tensor.index(p, n)) + " ";
    text += Catch::Detail::stringify(tensor.values[p]);
  }
  for (auto const& update : updates) {
    auto const c = update.constraints().value_or(Constraints());
    text += "\n" + (update.constraints() ? std::to_string(c.lower) + " " + std::to_string(c.upper) : "free") +
            " l1 " + std::to_string(c.l1) + " ridge " + std::to_string(c.ridge + update.penalty());
  }
  return text;
}

template <class Scalar>
void expect_in_range(int draw) {
  Random random(static_cast<std::uint64_t>(draw));
  std::size_t const order   = 2 + random_below(random, 5);
  bool const is_wide        = random_below(random, 3) == 0;
  int const exponent        = !is_wide ? 6 : sizeof(Scalar) == sizeof(float) ? 20 : 60;
  auto tensor               = tiny_tensor(random, order, exponent);
  int const sweeps_drawn[4] = {1, 1, 3, exact_inner};
  int const sweeps          = sweeps_drawn[random_below(random, 4)];
  bool const is_penalised   = random_below(random, 3) == 0;
  auto const updates =
      is_penalised ? drawn_penalties(random, order, sweeps) : drawn_bounds(random, order, sweeps);
  auto options = updated_by(updates, 1 + static_cast<count_t>(random_below(random, 6)), 12);
  options.seed = static_cast<std::uint64_t>(draw);
  for (double& value : tensor.values) value = static_cast<double>(static_cast<Scalar>(value));
  CAPTURE(draw, sizeof(Scalar), options.rank, sweeps, text_of(tensor, updates));
  CpAlsResult<Scalar, TestSpace> result;
  try {
    result = run_with<Scalar>(tensor, options);
  } catch (NumericalError const& error) {
    FAIL_CHECK(error.what());
    return;
  }
  CHECK(std::isfinite(result.fit));
  CHECK(std::isfinite(result.objective));
  for (double const weight : result.model.weights) CHECK(std::isfinite(weight));
  bool are_finite = true;
  for (int n = 0; n < result.model.factors.order(); ++n)
    for (double const entry : flat(result.model.factors[n])) are_finite = are_finite && std::isfinite(entry);
  CHECK(are_finite);
}

TEST_CASE("CP-ALS: a few nonzeros under any bounds and penalties stay in the range of numbers", "[cp]") {
  for (int draw = 0; draw < 1500; ++draw) {
    expect_in_range<float>(draw);
    expect_in_range<double>(draw);
  }
}

TEST_CASE("CP-ALS: a component that vanishes under penalties within a few iterations becomes zero", "[cp]") {
  // Its size is squared in each iteration: 1e-49, 1e-129, and then below the smallest double.
  expect_in_range<double>(4927);
  expect_in_range<double>(5451);
}

}  // namespace
}  // namespace polyad::test
