// SPDX-License-Identifier: BSD-3-Clause
// tucker: the Tucker decomposition by higher-order orthogonal iteration (HOOI; De Lathauwer, De Moor &
// Vandewalle, SIAM J. Matrix Anal. Appl. 21(4), 2000; Kolda & Bader, SIAM Review 51(3), 2009, Figure 4.4),
// for any storage format with an SpTTMc:
//
//   for n = 0 ... N - 1:  Y = X times U^(m)' along every mode m != n    (SpTTMc: I_n x product of other R_m)
//                         U^(n) = the R_n leading left singular vectors of Y
//   G = U^(N-1)' Y, the core
//
// The U have orthonormal columns, so that ||X - G x U||^2 = ||X||^2 - ||G||^2, which gives an iteration's
// fit.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "polyad/core/memory_plan.hpp"
#include "polyad/core/stop_reason.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/formats/tensor_by_rank.hpp"
#include "polyad/tensor/tucker_model.hpp"
#include "polyad/tucker/tucker_options.hpp"

namespace polyad {

struct TuckerIteration {
  int iteration  = 0;  // from 1
  double fit     = 0;  // 1 - ||X - G x U|| / ||X||
  double delta   = 0;
  double seconds = 0;
};

template <class Scalar, class Space>
struct TuckerResult {
  TuckerModel<Scalar, Space> model;  // U with orthonormal columns
  std::vector<TuckerIteration> history;
  int iterations    = 0;  // that have ended, those before a checkpoint included
  StopReason reason = StopReason::max_iterations;
  double fit        = 0;  // that of the model in its precision, not the last iteration's number
  double fit_error  = 0;  // a bound for the rounding error of `fit`
};

/// Factors to start from: U^(n) (I_n x R_n) with orthonormal columns.
template <class Scalar, class Space>
using TuckerStart = std::vector<FactorMatrix<Scalar, Space>>;

/// U^(n) (I_n x R_n): an orthonormal basis of the columns counter_uniform(options.seed, n, i, r), r < R_n.
/// Waits for `space`.
/// \throws UsageError when N < 2 or options.ranks do not fit the extents; MemoryError
template <class Scalar, class Space>
[[nodiscard]] TuckerStart<Scalar, Space> random_tucker_start(Space const& space, Extents const& extents,
                                                             TuckerOptions const& options);

/// The R_n leading left singular vectors of X_(n) as U^(n) (I_n x R_n), with orthonormal columns. Beyond the
/// rank of X_(n) they are random directions. Takes up to 150 iterations of nvecs per mode. Waits for `space`.
/// \throws UsageError as random_tucker_start; MemoryError
template <class Scalar, class Index, class Space>
[[nodiscard]] TuckerStart<Scalar, Space> hosvd_tucker_start(Space const& space,
                                                            CooTensor<Scalar, Index, Space> const& tensor,
                                                            TuckerOptions const& options);

/// Called after each iteration; false ends the run.
using TuckerCallback = std::function<bool(TuckerIteration const&)>;

/// The requirements for a format: any_format(space, coo, format_options(options)).
[[nodiscard]] AnyFormatOptions format_options(TuckerOptions const& options);

/// Adds the memory of such a run to the plan: the start, the build of the usual format, the iterations and
/// the model's file.
/// \param nnz    that of the tensor
/// \param hosvd  whether the start is that of hosvd_tucker_start, not the random one
/// \param coordinates  those of the tensor, which the program releases once the format is built
template <class Scalar, class Index, class Space>
void plan_tucker(MemoryPlan& plan, Space const& space, Extents const& extents, count_t nnz,
                 TuckerOptions const& options, bool hosvd, MemoryPlan::Held coordinates);

/// The same for one of several ranks, from the exchange of the nonzeros on (distributed/distribute.hpp). The
/// plan has this rank's part of them, which stays in host memory.
/// \param owned  the result of owned_rows
template <class Scalar, class Index, class Space>
void plan_tucker(MemoryPlan& plan, Space const& space, Extents const& extents, OwnedRows const& owned,
                 TuckerOptions const& options);

/// HOOI. Waits for `space`.
/// \param start  It is copied, unless it is handed over by std::move: then the result overwrites its Views,
///               and all that share them. The factor of mode 0 is only a first guess, unless there are 0
///               iterations. Without a start: random_tucker_start
/// \throws UsageError when ranks or shapes do not match, X holds duplicates, a limit of the options is
///         negative or not a number, or the format has no SpTTMc; MemoryError before an output of SpTTMc
///         that does not fit is allocated; InputError when options.resume is damaged or of another run;
///         WriteError when a checkpoint cannot be written; NumericalError for a tensor of zeros, which
///         has no fit, or of numbers that are not finite
template <class Scalar, class Space>
[[nodiscard]] TuckerResult<Scalar, Space> tucker(Space const& space, AnyFormat<Scalar, Space> const& X,
                                                 TuckerOptions const& options,
                                                 TuckerStart<Scalar, Space> const& start,
                                                 TuckerCallback const& callback = {});
template <class Scalar, class Space>
[[nodiscard]] TuckerResult<Scalar, Space> tucker(Space const& space, AnyFormat<Scalar, Space> const& X,
                                                 TuckerOptions const& options,
                                                 TuckerStart<Scalar, Space>&& start,
                                                 TuckerCallback const& callback = {});
template <class Scalar, class Space>
[[nodiscard]] TuckerResult<Scalar, Space> tucker(Space const& space, AnyFormat<Scalar, Space> const& X,
                                                 TuckerOptions const& options,
                                                 TuckerCallback const& callback = {});

/// The same for a tensor that ranks divide among themselves (distribute_rows of distributed/distribute.hpp),
/// from the random start. A rank forms its rows of Y and U^(n). All ranks add up Y' Q (D x L, L = R_n +
/// oversampling) and L x L matrices. They get the rows of U^(n) (all-gather), whole models and the same
/// result. If a callback returns false on one rank, the run ends on all. Any number of ranks may resume a
/// checkpoint, in any format.
/// \throws as above, on all ranks alike if one of them lacks memory or cannot write or read a checkpoint
template <class Scalar, class Space>
[[nodiscard]] TuckerResult<Scalar, Space> tucker(Space const& space, TensorByRank<Scalar, Space> const& X,
                                                 TuckerOptions const& options,
                                                 TuckerCallback const& callback = {});

/// The same for coordinates, in the format that any_format chooses. `rest` are optional start and callback.
/// \throws UsageError for duplicates too
template <class Scalar, class Index, class Space, class... Rest>
[[nodiscard]] TuckerResult<Scalar, Space> tucker(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                                                 TuckerOptions const& options, Rest&&... rest) {
  return tucker(space, any_format(space, X, format_options(options)), options, std::forward<Rest>(rest)...);
}

/// The same for a user-defined format.
template <OwnFormat F, class... Rest>
  requires TtmcFormat<F>
[[nodiscard]] TuckerResult<typename F::scalar_type, typename F::space_type> tucker(
    typename F::space_type const& space, F const& X, TuckerOptions const& options, Rest&&... rest) {
  return tucker(space, any_format(space, X), options, std::forward<Rest>(rest)...);
}

}  // namespace polyad
