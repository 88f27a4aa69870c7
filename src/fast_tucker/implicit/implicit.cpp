// SPDX-License-Identifier: BSD-3-Clause
#include "fast_tucker/implicit/implicit.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>

#include "polyad/core/error.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"

namespace polyad {

using namespace detail;
namespace {

/// The smallest value; minus infinity if a value is not a number or is infinite.
template <class Scalar>
struct SmallestValue {
  Scalar const* values;
  KOKKOS_FUNCTION void operator()(count_t p, double& least) const {
    auto const x         = static_cast<double>(values[p]);
    constexpr double inf = Kokkos::Experimental::infinity_v<double>;
    double const number  = x < inf ? x : -inf;  // NaN compares with nothing
    least                = number < least ? number : least;
  }
};

template <class Scalar, class Index, class Space>
double smallest_value(Space const& space, CooTensor<Scalar, Index, Space> const& X) {
  double least = 0;
  if (X.nnz() == 0) return least;
  Kokkos::parallel_reduce("polyad::smallest_value",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, X.nnz()),
                          SmallestValue<Scalar>{X.values().data()}, Kokkos::Min<double>(least));
  return least;
}

}  // namespace

FastTuckerOptions detail::settled(FastTuckerOptions options, int order) {
  if (!options.implicit) return options;
  options.biases       = false;
  options.update_cores = false;
  if (!options.ridge) options.ridge = implicit_ridge(*options.implicit, order);
  if (options.rank == 0 && options.columns.empty()) options.rank = implicit_rank;
  return options;
}

void detail::expect_implicit_options(FastTuckerOptions const& options) {
  if (!options.implicit) {
    POLYAD_EXPECTS(options.cg_steps == FastTuckerOptions().cg_steps, options.cg_steps,
                   " steps of conjugate gradients are for implicit feedback");
    return;
  }
  double const alpha = *options.implicit;
  POLYAD_EXPECTS(alpha > 0 && std::isfinite(alpha),
                 "implicit feedback weighs a value x by 1 + alpha x, with an alpha above 0, not ", alpha);
  auto const& facts = facts_of(options.optimizer);
  POLYAD_EXPECTS(facts.needs_of_format(Capability::row_least_squares),
                 "implicit feedback needs als: ", facts.name,
                 " sums over the entries alone, without the cells that were not seen");
  POLYAD_EXPECTS(options.bias.time_mode < 0 && options.bias.drift.empty(),
                 "implicit feedback has no biases that could drift over time: the scores only rank rows. "
                 "Give time as a mode of the context");
  POLYAD_EXPECTS(!options.shrinkage,
                 "implicit feedback takes a ridge, not a shrinkage: the shrinkage counts a row's "
                 "observations, and here all cells of a row are observations");
  POLYAD_EXPECTS(
      std::find(options.targets.begin(), options.targets.end(), RowTarget::one) == options.targets.end(),
      "implicit feedback draws no rows to one: its ridge draws them to zero");
  POLYAD_EXPECTS(options.range.lowest == -std::numeric_limits<double>::infinity() &&
                     options.range.highest == std::numeric_limits<double>::infinity(),
                 "implicit feedback does not clip: its scores only rank rows");
  POLYAD_EXPECTS(options.patience == 0,
                 "implicit feedback has no patience: the errors of entries that were seen do not say which "
                 "epoch ranks best");
  POLYAD_EXPECTS(options.core_ridge == 0,
                 "implicit feedback leaves the core matrices as they start, without a ridge");
}

template <class Scalar, class Index, class Space>
void detail::expect_implicit_values(Space const& space, TrainingSet<Scalar, Index, Space> const& X,
                                    RunRanks const& ranks) {
  double least = 0;
  X.for_each_stretch(space, [&](Space const& on, CooTensor<Scalar, Index, Space> const& stretch,
                                count_t /*first*/) { least = std::min(least, smallest_value(on, stretch)); });
  least = -ranks.largest(-least);
  POLYAD_EXPECTS(std::isfinite(least), "implicit feedback takes finite numbers, but a value is not one");
  POLYAD_EXPECTS(least >= 0, "implicit feedback takes counts or strengths of at least 0, but a value is ",
                 least, ": a dislike cannot be a weight. Leave such entries out");
}

#define POLYAD_IMPLICIT(Scalar, Index)          \
  template void detail::expect_implicit_values( \
      Kokkos::DefaultExecutionSpace const&,     \
      TrainingSet<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, RunRanks const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_IMPLICIT);

}  // namespace polyad
