// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/cp/cp_als.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "core/space_instances.hpp"
#include "cp/cp_als_run.hpp"
#include "cp/fixed_modes.hpp"
#include "cp/run_cp_als.hpp"
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

template <class Scalar, class Space>
CpAlsResult<Scalar, Space> detail::run_cp_als(Space const& space,
                                              std::shared_ptr<ErasedFormat<Scalar, Space> const> const& X,
                                              CpAlsOptions const& options,
                                              MakeStart<Scalar, Space> const& start,
                                              std::shared_ptr<SharedRows<Scalar, Space>> const& ranks,
                                              CpAlsCallback const& callback) {
  using Body            = CpAlsBody<Scalar, Space>;
  auto const of_the_run = run_options_of(options);
  auto const make       = [&](Space const& instance, std::uint64_t seed) {
    return std::make_unique<RunLoop<Body>>(of_the_run, ranks, instance, X, options, start(instance, seed),
                                           ranks);
  };
  if (options.restarts == 1) return make(space, options.seed)->run(callback);
  bool const one_by_one = ranks || X->can(Capability::streaming);  // a streamed tensor uses all free memory
  std::vector<Space> instances{space};
  if (!one_by_one) instances = make_instances(space, instances_side_by_side<Space>(options.restarts));
  space.fence("polyad::cp_als");  // X is ready on all instances
  return Restarts<Body, Space>(instances, options.seed, options.restarts, make).run(callback);
}

template <class Scalar, class Index, class Space>
CpAlsResult<Scalar, Space> cp_als(Space const& space, AnyFormat<Scalar, Index, Space> const& X,
                                  CpAlsOptions const& options, FactorMatrices<Scalar, Space> const& start,
                                  CpAlsCallback const& callback) {
  return cp_als(space, X, options, detail::copied(space, start), callback);
}

template <class Scalar, class Index, class Space>
CpAlsResult<Scalar, Space> cp_als(Space const& space, AnyFormat<Scalar, Index, Space> const& X,
                                  CpAlsOptions const& options, FactorMatrices<Scalar, Space>&& start,
                                  CpAlsCallback const& callback) {
  if (options.restarts <= 1)
    return run_cp_als<Scalar, Space>(
        space, X.inside(), options, [&](Space const&, std::uint64_t) { return std::move(start); }, nullptr,
        callback);
  POLYAD_EXPECTS(!options.fixed_modes.empty(), options.restarts,
                 " starts are random: leave the given start out");
  expect_factors(start, X.extents());
  expect_fixed_modes(options, X.extents().order());
  CpAlsOptions scaled   = options;
  scaled.scale_start    = true;
  auto const with_fixed = [&](Space const& instance, std::uint64_t seed) {
    FactorMatrices<Scalar, Space> drawn(instance, X.extents(), start.rank());
    CpAlsOptions of_seed = options;
    of_seed.seed         = seed;
    random_start(instance, drawn, of_seed);
    for (int const n : options.fixed_modes) copy_matrix(instance, drawn[n], start[n]);
    return drawn;
  };
  return run_cp_als<Scalar, Space>(space, X.inside(), scaled, with_fixed, nullptr, callback);
}

template <class Scalar, class Index, class Space>
CpAlsResult<Scalar, Space> cp_als(Space const& space, AnyFormat<Scalar, Index, Space> const& X,
                                  CpAlsOptions const& options, CpAlsCallback const& callback) {
  auto const rank = static_cast<count_t>(checked_rank(options.rank == 0 ? X.rank() : options.rank));
  expect_stored_rows(options.rows, X.extents());
  expect_start_of_fixed(options);
  CpAlsOptions scaled = options;
  scaled.scale_start  = true;
  auto const start    = [&](Space const& instance, std::uint64_t seed) {
    FactorMatrices<Scalar, Space> random(instance, X.extents(), rank);
    CpAlsOptions of_seed = options;
    of_seed.seed         = seed;
    random_start(instance, random, of_seed);
    return random;
  };
  return run_cp_als<Scalar, Space>(space, X.inside(), scaled, start, nullptr, callback);
}

template <class Scalar, class Space>
void random_start(Space const& space, FactorMatrices<Scalar, Space> const& factors,
                  CpAlsOptions const& options) {
  expect_updates(options.updates, factors.order());
  fill_random(space, factors, options.rows, options.seed);
  for (int n = 0; n < factors.order(); ++n)
    move_random_within<Scalar, Space>(space, update_of_mode(options.updates, n), n, factors[n]);
  space.fence("polyad::random_start");
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
#define POLYAD_RUN_CP_ALS(Scalar)                                                        \
  template CpAlsResult<Scalar, Kokkos::DefaultExecutionSpace> detail::run_cp_als(        \
      Kokkos::DefaultExecutionSpace const&,                                              \
      std::shared_ptr<ErasedFormat<Scalar, Kokkos::DefaultExecutionSpace> const> const&, \
      CpAlsOptions const&, MakeStart<Scalar, Kokkos::DefaultExecutionSpace> const&,      \
      std::shared_ptr<SharedRows<Scalar, Kokkos::DefaultExecutionSpace>> const&, CpAlsCallback const&)
#define POLYAD_RANDOM_START(Scalar)                                                              \
  template void random_start(Kokkos::DefaultExecutionSpace const&,                               \
                             FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&,       \
                             CpAlsOptions const&);                                               \
  template void move_within_bounds(Kokkos::DefaultExecutionSpace const&,                         \
                                   FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, \
                                   CpAlsOptions const&)
#define POLYAD_CP_ALS(Scalar, Index)                                                                        \
  template CpAlsResult<Scalar, Kokkos::DefaultExecutionSpace> cp_als(                                       \
      Kokkos::DefaultExecutionSpace const&, AnyFormat<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
      CpAlsOptions const&, FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&,                    \
      CpAlsCallback const&);                                                                                \
  template CpAlsResult<Scalar, Kokkos::DefaultExecutionSpace> cp_als(                                       \
      Kokkos::DefaultExecutionSpace const&, AnyFormat<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
      CpAlsOptions const&, FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace>&&, CpAlsCallback const&);  \
  template CpAlsResult<Scalar, Kokkos::DefaultExecutionSpace> cp_als(                                       \
      Kokkos::DefaultExecutionSpace const&, AnyFormat<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
      CpAlsOptions const&, CpAlsCallback const&)
POLYAD_EACH_SCALAR(, POLYAD_RUN_CP_ALS);
POLYAD_EACH_SCALAR(, POLYAD_RANDOM_START);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_CP_ALS);

}  // namespace polyad
