// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/cp/cp_als.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/space_instances.hpp"
#include "cp/fixed_modes.hpp"
#include "cp/held_tensor.hpp"
#include "cp/run/cp_als_run.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/io/checkpoint.hpp"
#include "polyad/tensor/compact.hpp"
#include "run/restarts.hpp"
#include "run/run_loop.hpp"
#include "run/run_options.hpp"
#include "tensor/copied.hpp"

namespace polyad {

using namespace detail;

AnyFormatOptions format_options(CpAlsOptions const& options) {
  AnyFormatOptions format;
  if (options.rank > 0) format.rank = options.rank;
  format.iterations   = options.restarts * expected_iterations(options.max_iterations, options.tolerance);
  format.time_limit_s = options.restarts * options.time_limit_s;
  if (!options.resume.empty()) format.format = io::read_checkpoint(options.resume).format;
  return format;
}

namespace {

/// A start for an instance; random ones use the seed. The run overwrites it. If one rank cannot make it, all
/// throw.
template <class Scalar, class Space>
using MakeStart = std::function<FactorMatrices<Scalar, Space>(Space const&, std::uint64_t seed)>;

/// Runs from one start or finds the best of several. The starts have the rows that this rank holds.
template <class Scalar, class Space>
CpAlsResult<Scalar, Space> run_cp_als(Space const& space, HeldTensor<Scalar, Space> const& X,
                                      CpAlsOptions const& options, MakeStart<Scalar, Space> const& start,
                                      CpAlsCallback const& callback) {
  using Body            = CpAlsBody<Scalar, Space>;
  auto const of_the_run = run_options_of(options);
  auto const make       = [&](Space const& instance, std::uint64_t seed) {
    return std::make_unique<RunLoop<Body>>(of_the_run, X.rows, instance, X, options, start(instance, seed));
  };
  if (options.restarts == 1) return make(space, options.seed)->run(callback);
  // A streamed tensor uses all free memory.
  bool const side_by_side = X.rows->runs_side_by_side() && !X.format->supports(Capability::streaming);
  std::vector<Space> instances{space};
  if (side_by_side) instances = make_instances(space, instances_side_by_side<Space>(options.restarts));
  space.fence("polyad::cp_als");  // X is ready on all instances
  return Restarts<Body, Space>(instances, options.seed, options.restarts, make).run(callback);
}

/// Fills factors of the rows that this rank holds.
template <class Scalar, class Space>
void fill_random_start(Space const& space, RowDistribution<Scalar, Space> const& rows,
                       CpAlsOptions const& options, std::uint64_t seed,
                       FactorMatrices<Scalar, Space> const& factors) {
  expect_updates(options.updates, factors.order());
  for (int n = 0; n < factors.order(); ++n)
    move_random_within<Scalar, Space>(space, update_of_mode(options.updates, n), n,
                                      rows.fill_random(space, n, factors[n], options.rows, seed));
  space.fence("polyad::random_start");
}

/// \throws UsageError: several starts are random, but for fixed modes
void expect_starts_vary(CpAlsOptions const& options) {
  POLYAD_EXPECTS(options.restarts <= 1 || !options.fixed_modes.empty(), options.restarts,
                 " starts are random: leave the given start out");
}

/// R of a run on X. \throws UsageError
template <class Scalar, class Space>
count_t rank_of(TensorByRank<Scalar, Space> const& X, CpAlsOptions const& options) {
  return checked_rank(options.rank == 0 ? X.format(0).rank() : options.rank);
}

}  // namespace

template <class Scalar, class Space>
CpAlsResult<Scalar, Space> cp_als(Space const& space, AnyFormat<Scalar, Space> const& X,
                                  CpAlsOptions const& options, FactorMatrices<Scalar, Space> const& start,
                                  CpAlsCallback const& callback) {
  return cp_als(space, X, options, detail::copied(space, start), callback);
}

template <class Scalar, class Space>
CpAlsResult<Scalar, Space> cp_als(Space const& space, AnyFormat<Scalar, Space> const& X,
                                  CpAlsOptions const& options, FactorMatrices<Scalar, Space>&& start,
                                  CpAlsCallback const& callback) {
  TensorByRank<Scalar, Space> const whole(space, X);
  HeldTensor<Scalar, Space> const held(whole);
  if (options.restarts <= 1)
    return run_cp_als<Scalar, Space>(
        space, held, options, [&](Space const&, std::uint64_t) { return std::move(start); }, callback);
  expect_starts_vary(options);
  expect_factors(start, X.extents());
  expect_fixed_modes(options, X.extents().order());
  CpAlsOptions scaled   = options;
  scaled.scale_start    = true;
  auto const with_fixed = [&](Space const& instance, std::uint64_t seed) {
    FactorMatrices<Scalar, Space> drawn(instance, X.extents(), start.rank());
    fill_random_start(instance, *held.rows, options, seed, drawn);
    for (int const n : options.fixed_modes) copy_matrix(instance, drawn[n], start[n]);
    return drawn;
  };
  return run_cp_als<Scalar, Space>(space, held, scaled, with_fixed, callback);
}

template <class Scalar, class Space>
CpAlsResult<Scalar, Space> cp_als(Space const& space, AnyFormat<Scalar, Space> const& X,
                                  CpAlsOptions const& options, CpAlsCallback const& callback) {
  return cp_als(space, TensorByRank<Scalar, Space>(space, X), options, callback);
}

template <class Scalar, class Space>
CpAlsResult<Scalar, Space> cp_als(Space const& space, TensorByRank<Scalar, Space> const& X,
                                  CpAlsOptions const& options, CpAlsCallback const& callback) {
  count_t const rank = rank_of(X, options);
  expect_stored_rows(options.rows, X.extents());
  expect_start_of_fixed(options);
  CpAlsOptions scaled = options;
  scaled.scale_start  = true;
  auto const start    = [&](Space const& instance, std::uint64_t seed) {
    return X.rows()->together([&] {
      FactorMatrices<Scalar, Space> random(instance, X.format(0).extents(), rank);
      fill_random_start(instance, *X.rows(), options, seed, random);
      return random;
    });
  };
  return run_cp_als<Scalar, Space>(space, HeldTensor<Scalar, Space>(X), scaled, start, callback);
}

template <class Scalar, class Space>
CpAlsResult<Scalar, Space> cp_als(Space const& space, TensorByRank<Scalar, Space> const& X,
                                  CpAlsOptions const& options, std::vector<std::vector<double>> start,
                                  CpAlsCallback const& callback) {
  auto const& rows    = *X.rows();
  int const order     = X.extents().order();
  count_t const rank  = rank_of(X, options);
  bool const is_drawn = options.restarts > 1;
  expect_starts_vary(options);
  expect_stored_rows(options.rows, X.extents());
  expect_fixed_modes(options, order);
  rows.on_root([&] {
    POLYAD_EXPECTS(std::ssize(start) == order, start.size(), " factors as the start of a tensor of order ",
                   order);
    return true;
  });
  start.resize(order);
  CpAlsOptions scaled = options;
  scaled.scale_start  = is_drawn || options.scale_start;
  auto const make     = [&](Space const& instance, std::uint64_t seed) {
    auto made = rows.together([&] {
      FactorMatrices<Scalar, Space> held(instance, X.format(0).extents(), rank);
      if (is_drawn) fill_random_start(instance, rows, options, seed, held);
      return held;
    });
    for (int n = 0; n < order; ++n) {
      if (!is_drawn || is_fixed(options, n)) rows.from_root(n, start[n], made[n]);
      if (!is_drawn) start[n] = {};
    }
    return made;
  };
  return run_cp_als<Scalar, Space>(space, HeldTensor<Scalar, Space>(X), scaled, make, callback);
}

template <class Scalar, class Space>
void random_start(Space const& space, FactorMatrices<Scalar, Space> const& factors,
                  CpAlsOptions const& options) {
  std::vector<count_t> rows;
  for (int n = 0; n < factors.order(); ++n) rows.push_back(factors[n].extent(0));
  Extents const extents{std::span<count_t const>(rows)};
  fill_random_start(space, RowDistribution<Scalar, Space>(space, extents), options, options.seed, factors);
}

template <class Scalar, class Space>
void move_within_bounds(Space const& space, FactorMatrices<Scalar, Space> const& factors,
                        CpAlsOptions const& options) {
  expect_updates(options.updates, factors.order());
  for (int n = 0; n < factors.order(); ++n) {
    auto const update = update_of_mode(options.updates, n);
    if (!update.constraints()) continue;
    auto numbers = to_host<Scalar>(space, factors[n]);
    move_columns_within(rounded_bounds<Scalar>(*update.constraints(), n), factors.rank(), numbers);
    from_host<Scalar>(space, numbers, factors[n]);
  }
}

namespace detail {
POLYAD_EACH_SCALAR(, POLYAD_CP_ALS_BODY);
}
#define POLYAD_RANDOM_START(Scalar)                                                                    \
  template void random_start(CompiledSpace const&, FactorMatrices<Scalar, CompiledSpace> const&,       \
                             CpAlsOptions const&);                                                     \
  template void move_within_bounds(CompiledSpace const&, FactorMatrices<Scalar, CompiledSpace> const&, \
                                   CpAlsOptions const&)
#define POLYAD_CP_ALS(Scalar)                                                                    \
  template CpAlsResult<Scalar, CompiledSpace> cp_als(                                            \
      CompiledSpace const&, AnyFormat<Scalar, CompiledSpace> const&, CpAlsOptions const&,        \
      FactorMatrices<Scalar, CompiledSpace> const&, CpAlsCallback const&);                       \
  template CpAlsResult<Scalar, CompiledSpace> cp_als(                                            \
      CompiledSpace const&, AnyFormat<Scalar, CompiledSpace> const&, CpAlsOptions const&,        \
      FactorMatrices<Scalar, CompiledSpace>&&, CpAlsCallback const&);                            \
  template CpAlsResult<Scalar, CompiledSpace> cp_als(CompiledSpace const&,                       \
                                                     AnyFormat<Scalar, CompiledSpace> const&,    \
                                                     CpAlsOptions const&, CpAlsCallback const&); \
  template CpAlsResult<Scalar, CompiledSpace> cp_als(CompiledSpace const&,                       \
                                                     TensorByRank<Scalar, CompiledSpace> const&, \
                                                     CpAlsOptions const&, CpAlsCallback const&); \
  template CpAlsResult<Scalar, CompiledSpace> cp_als(                                            \
      CompiledSpace const&, TensorByRank<Scalar, CompiledSpace> const&, CpAlsOptions const&,     \
      std::vector<std::vector<double>>, CpAlsCallback const&)
POLYAD_EACH_SCALAR(, POLYAD_RANDOM_START);
POLYAD_EACH_SCALAR(, POLYAD_CP_ALS);

}  // namespace polyad
