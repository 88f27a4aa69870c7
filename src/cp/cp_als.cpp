// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/cp/cp_als.hpp"

#include <utility>

#include "cp/cp_als_run.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/tensor/compact.hpp"
#include "tensor/copied.hpp"

namespace polyad {

using namespace detail;

AnyFormatOptions format_options(CpAlsOptions const& options) {
  AnyFormatOptions format;
  if (options.rank > 0) format.rank = options.rank;
  format.iterations   = expected_iterations(options.max_iterations, options.tolerance);
  format.time_limit_s = options.time_limit_s;
  return format;
}

template <class Scalar, class Space>
CpAlsRun<Scalar, Space>::CpAlsRun(Space const& space,
                                  std::shared_ptr<detail::ErasedFormat<Scalar, Space> const> X,
                                  CpAlsOptions const& options, FactorMatrices<Scalar, Space> const& start,
                                  std::shared_ptr<detail::SharedRows<Scalar, Space>> const& ranks)
    : CpAlsRun(space, std::move(X), options, detail::copied(space, start), ranks) {}
template <class Scalar, class Space>
CpAlsRun<Scalar, Space>::CpAlsRun(Space const& space,
                                  std::shared_ptr<detail::ErasedFormat<Scalar, Space> const> X,
                                  CpAlsOptions const& options, FactorMatrices<Scalar, Space>&& start,
                                  std::shared_ptr<detail::SharedRows<Scalar, Space>> const& ranks)
    : m_body(std::make_unique<detail::CpAlsBody<Scalar, Space>>(space, X, options, start, ranks)) {}
template <class Scalar, class Space>
CpAlsRun<Scalar, Space>::CpAlsRun(CpAlsRun&&) noexcept = default;
template <class Scalar, class Space>
CpAlsRun<Scalar, Space>::~CpAlsRun() = default;

template <class Scalar, class Space>
bool CpAlsRun<Scalar, Space>::is_running() const {
  return m_body->is_running();
}
template <class Scalar, class Space>
int CpAlsRun<Scalar, Space>::iterations() const {
  return m_body->iterations_done();
}
template <class Scalar, class Space>
void CpAlsRun<Scalar, Space>::launch() {
  m_body->launch();
}
template <class Scalar, class Space>
void CpAlsRun<Scalar, Space>::finish(CpAlsCallback const& callback) {
  m_body->finish(callback);
}
template <class Scalar, class Space>
CpAlsState CpAlsRun<Scalar, Space>::state() const {
  return m_body->state();
}

template <class Scalar, class Space>
CpAlsState CpAlsRun<Scalar, Space>::state_without_factors() const {
  return m_body->state_without_factors();
}

template <class Scalar, class Space>
FactorMatrices<Scalar, Space> const& CpAlsRun<Scalar, Space>::factors() const {
  return m_body->factors();
}
template <class Scalar, class Space>
std::vector<double> CpAlsRun<Scalar, Space>::factor_rows(int n, count_t first, count_t count) const {
  return m_body->factor_rows(n, first, count);
}

template <class Scalar, class Space>
void CpAlsRun<Scalar, Space>::restore(CpAlsState const& state) {
  m_body->restore(state);
}
template <class Scalar, class Space>
CpAlsResult<Scalar, Space> CpAlsRun<Scalar, Space>::take_result() {
  return m_body->take_result();
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
  CpAlsRun<Scalar, Space> run(space, X, options, std::move(start));
  while (run.is_running()) {
    run.launch();
    run.finish(callback);
  }
  return run.take_result();
}

template <class Scalar, class Index, class Space>
CpAlsResult<Scalar, Space> cp_als(Space const& space, AnyFormat<Scalar, Index, Space> const& X,
                                  CpAlsOptions const& options, CpAlsCallback const& callback) {
  count_t const rank = options.rank == 0 ? X.rank() : options.rank;
  FactorMatrices<Scalar, Space> start(space, X.extents(), static_cast<count_t>(checked_rank(rank)));
  expect_stored_rows(options.rows, X.extents());
  random_start(space, start, options);
  CpAlsOptions scaled = options;
  scaled.scale_start  = true;
  return cp_als(space, X, scaled, std::move(start), callback);
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

#define POLYAD_CP_ALS_RUN(Scalar) template class CpAlsRun<Scalar, Kokkos::DefaultExecutionSpace>
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
POLYAD_EACH_SCALAR(, POLYAD_RANDOM_START);
POLYAD_EACH_SCALAR(, POLYAD_CP_ALS_RUN);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_CP_ALS);

}  // namespace polyad
