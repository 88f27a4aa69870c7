// SPDX-License-Identifier: BSD-3-Clause
// cp_als: the canonical polyadic decomposition by alternating least squares (Kolda & Bader, SIAM Review
// 51(3), 2009, Figure 3.3; GenTen, section 3), one function for every format and execution space.
//
//   for n = 0 ... N - 1:  V = MTTKRP(X, A, n);  A^(n) = V (Hadamard product of A^(m)'A^(m), m != n)^+
//
// This is least squares. CpAlsOptions::updates replaces it for all modes or for some of them
// (cp/factor_update.hpp).
//
// The columns are not normalised between updates. The Gram matrices contain their norms, and the R x R
// algebra divides by them. So an update reads and writes a factor only once. Up to rounding, the iterates are
// those of the normalised method; lambda is split off at the end. Powers of two keep the columns' norms near
// I_n^(1/4), already in the start. So nothing over- or underflows in floats at any order.
//
// An iteration allocates nothing, and the host waits once, for the numbers of the fit.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "polyad/core/instances.hpp"
#include "polyad/core/model_defect.hpp"
#include "polyad/core/stop_reason.hpp"
#include "polyad/cp/cp_als_options.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/formats/tensor_by_rank.hpp"
#include "polyad/tensor/ktensor.hpp"

namespace polyad {

/// The callback's argument after each iteration.
struct CpAlsIteration {
  int iteration;  // counts from 1
  double fit;     // 1 - ||X - M|| / ||X||, by a formula with rounding errors (CpAlsResult::fit has none)
  double delta;   // change of the fit since the iteration before; the fit itself in the first
  double seconds;
  std::map<std::string, double> phases;  // seconds; empty unless CpAlsOptions::time_phases
  double objective     = 0;              // as in CpAlsResult, by the formula of this fit
  double kkt_violation = 0;              // likewise
  int start            = 0;              // which of CpAlsOptions::restarts, counting from 0
};

template <class Scalar, class Space>
struct CpAlsResult {
  static_assert(detail::expect_compiled<Scalar, std::uint32_t, Space>());
  Ktensor<Scalar, Space> model;  // normalised, in canonical form
  std::vector<CpAlsIteration> history;
  int iterations         = 0;  // that have ended, those before a checkpoint included
  StopReason reason      = StopReason::max_iterations;
  double fit             = 0;  // fit of the model in its precision, not the last iteration's number
  double fit_error       = 0;  // a bound for the rounding error of `fit`
  count_t gram_fallbacks = 0;  // updates that took the pseudo-inverse
  ModelDefect defect     = ModelDefect::none;
  /// 1/2 ||X - M||^2 and the penalties of all modes; infinite if it is beyond the range of doubles.
  double objective = 0;
  /// The largest norm of a change of the model, over ||X||, by which the update of one entry improved the
  /// objective in the last iteration, by the first sweep of constrained(). 0 without bounds and penalties,
  /// NaN if no iteration of this run has ended.
  double kkt_violation = 0;
  /// With bounds or penalties: how many entries of each factor, and how many components, are exactly 0.
  std::vector<count_t> zeros       = {};
  std::vector<int> zero_components = {};
  /// All starts in their order; empty unless CpAlsOptions::restarts is above 1. The model is that of
  /// restarts[best_restart].
  std::vector<RestartSummary> restarts = {};
  std::size_t best_restart             = 0;
};

/// Called after each iteration; false ends the run, and all runs of several starts.
using CpAlsCallback = std::function<bool(CpAlsIteration const&)>;

/// The requirements of these options for a format: any_format(space, coo, format_options(options)). If
/// options.resume names a checkpoint, its format is required. \throws InputError if it is not one
[[nodiscard]] AnyFormatOptions format_options(CpAlsOptions const& options);

/// Fills factors of X's shape with the random start that cp_als has without a start: fill_random's numbers u
/// for the rows and the seed of the options. A mode with bounds gets lower + u (upper - lower), lower + u, or
/// upper - u. It is not scaled (CpAlsOptions::scale_start). Waits for `space`.
/// \throws UsageError when shapes do not match, or a bound is outside the range of Scalar
template <class Scalar, class Space>
void random_start(Space const& space, FactorMatrices<Scalar, Space> const& factors,
                  CpAlsOptions const& options);

/// For a start from elsewhere, such as nvecs: gives each column of a mode that must be nonnegative, or not
/// positive, the sign whose allowed part has the larger norm, and moves entries outside the bounds to the
/// nearest one. Works in host memory. Waits for `space`. \throws UsageError as random_start
template <class Scalar, class Space>
void move_within_bounds(Space const& space, FactorMatrices<Scalar, Space> const& factors,
                        CpAlsOptions const& options);

/// Factors X, which has N >= 2 modes and no duplicates: the squares of duplicates do not add up to the norm
/// of their sum. Waits for `space`.
/// \param start  A^(n) (I_n x R); the scale of its columns does not matter to least squares. It is copied,
///               unless it is handed over by std::move: then the result overwrites its Views, and all that
///               share them. Without a start: random_start, scaled if mode 0 has bounds or penalties
/// \throws UsageError when N < 2, X holds duplicates, shapes do not match (those of options.rows, too), no
///         rank is known, a limit of the options is negative or not a number, there are neither one nor N
///         updates, one is for another precision or space, the scale of the components could escape a
///         penalty, the start violates its bounds, several starts have a checkpoint, or a start without fixed
///         modes, or modes are fixed without a start, all of them, twice, or with rows that are not stored;
///         MemoryError before allocating; InputError when options.resume is damaged or of another run;
///         WriteError when a checkpoint cannot be written; NumericalError for a tensor of zeros, which has no
///         fit, when the norm of X or the fit is not a finite number (of several starts: of all, naming
///         each), or when ||X - M||^2 is negative by more than its rounding error (a user-defined format
///         then holds duplicates)
template <class Scalar, class Space>
[[nodiscard]] CpAlsResult<Scalar, Space> cp_als(Space const& space, AnyFormat<Scalar, Space> const& X,
                                                CpAlsOptions const& options,
                                                FactorMatrices<Scalar, Space> const& start,
                                                CpAlsCallback const& callback = {});
template <class Scalar, class Space>
[[nodiscard]] CpAlsResult<Scalar, Space> cp_als(Space const& space, AnyFormat<Scalar, Space> const& X,
                                                CpAlsOptions const& options,
                                                FactorMatrices<Scalar, Space>&& start,
                                                CpAlsCallback const& callback = {});
template <class Scalar, class Space>
[[nodiscard]] CpAlsResult<Scalar, Space> cp_als(Space const& space, AnyFormat<Scalar, Space> const& X,
                                                CpAlsOptions const& options   = {},
                                                CpAlsCallback const& callback = {});

/// The same for a tensor that ranks divide among themselves (distributed/distribute.hpp), from the random
/// start, which does not depend on their number. All ranks get the same history, fit and restarts, and rank 0
/// gets the whole model, which its memory must hold. The run ends on all ranks if a callback returns false on
/// one. Any number of ranks may resume a checkpoint.
/// \throws the exceptions above. If one rank lacks memory, or cannot write or read a checkpoint, all ranks
///         throw
template <class Scalar, class Space>
[[nodiscard]] CpAlsResult<Scalar, Space> cp_als(Space const& space, TensorByRank<Scalar, Space> const& X,
                                                CpAlsOptions const& options   = {},
                                                CpAlsCallback const& callback = {});
/// The same from a given start, which CpAlsOptions::fixed_modes need.
/// \param start  on rank 0 A^(n) (I_n x R, row-major) of each mode of the whole tensor; empty on the others.
///               It is copied, unless it is handed over by std::move: then the run releases it
template <class Scalar, class Space>
[[nodiscard]] CpAlsResult<Scalar, Space> cp_als(Space const& space, TensorByRank<Scalar, Space> const& X,
                                                CpAlsOptions const& options,
                                                std::vector<std::vector<double>> start,
                                                CpAlsCallback const& callback = {});

/// The same for coordinates, in the format that any_format chooses. `rest` are optional start and callback.
/// \throws UsageError for duplicates too: sum them first, or call any_format with Duplicates::sum
template <class Scalar, class Index, class Space, class... Rest>
[[nodiscard]] CpAlsResult<Scalar, Space> cp_als(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                                                CpAlsOptions const& options, Rest&&... rest) {
  return cp_als(space, any_format(space, X, format_options(options)), options, std::forward<Rest>(rest)...);
}

/// The same for a user-defined format.
template <OwnFormat F, class... Rest>
[[nodiscard]] CpAlsResult<typename F::scalar_type, typename F::space_type> cp_als(
    typename F::space_type const& space, F const& X, CpAlsOptions const& options, Rest&&... rest) {
  return cp_als(space, any_format(space, X), options, std::forward<Rest>(rest)...);
}

}  // namespace polyad
