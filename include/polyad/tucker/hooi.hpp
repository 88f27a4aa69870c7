// SPDX-License-Identifier: BSD-3-Clause
// Tucker decomposition by higher-order orthogonal iteration (HOOI; De Lathauwer, De Moor & Vandewalle, SIAM
// J. Matrix Anal. Appl. 21(4), 2000; Kolda & Bader, SIAM Review 51(3), 2009, Figure 4.4), for any storage
// format with an SpTTMc:
//
//   for n = 0 ... N - 1:  Y = X times U^(m)' along every mode m != n    (SpTTMc: I_n x product of other R_m)
//                         U^(n) = the R_n leading left singular vectors of Y
//   G = U^(N-1)' Y, the core
//
// The U have orthonormal columns, so that ||X - G x U||^2 = ||X||^2 - ||G||^2, which gives the fit.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "polyad/formats/any_format.hpp"

namespace polyad {

/// Of the search for leading singular vectors by a randomised range finder (Halko, Martinsson & Tropp, SIAM
/// Review 53(2), 2011, algorithms 4.4 and 5.1).
struct LeadingVectorsOptions {
  count_t oversampling = 8;  // Halko et al. recommend 5 to 10
  int max_iterations   = 100;
  double tolerance     = 1e-12;  // stop when the captured squares grow by less, relatively
};

struct TuckerOptions {
  std::vector<count_t> ranks;  // R_0, ..., R_{N-1}
  int max_iterations            = 50;
  double tolerance              = 1e-6;  // stop when the fit changes by less; 0 never does
  double time_limit_s           = std::numeric_limits<double>::infinity();
  std::uint64_t seed            = 0;  // of the random start
  LeadingVectorsOptions vectors = {};
};

struct TuckerIteration {
  int iteration  = 0;  // from 1
  double fit     = 0;  // 1 - ||X - G x U|| / ||X||
  double delta   = 0;
  double seconds = 0;
};

template <class Scalar, class Space>
struct TuckerResult {
  std::vector<FactorMatrix<Scalar, Space>> factors;  // U^(n): I_n x R_n, orthonormal columns
  FactorMatrix<Scalar, Space> core;  // G unfolded: R_{N-1} x the product of the others, R_{N-2} fastest
  double fit     = 0;
  bool converged = false;
  std::string reason;  // "converged", "iterations", "time limit" or "stopped"
  std::vector<TuckerIteration> iterations;
};

/// Orthonormal bases of counter_uniform(seed, n, i, r). Waits for `space`.
/// \throws UsageError; MemoryError
template <class Scalar, class Space>
std::vector<FactorMatrix<Scalar, Space>> random_tucker_start(Space const& space, Extents const& extents,
                                                             TuckerOptions const& options);

/// Factors with orthonormal columns for tucker_hooi. Beyond the rank of X_(n) they are random directions.
/// Takes up to 150 iterations of nvecs a mode. Waits for `space`.
/// \throws UsageError when the ranks do not match; MemoryError
template <class Scalar, class Index, class Space>
std::vector<FactorMatrix<Scalar, Space>> hosvd_tucker_start(Space const& space,
                                                            CooTensor<Scalar, Index, Space> const& tensor,
                                                            TuckerOptions const& options);

/// Called after each iteration; false ends the run.
using TuckerCallback = std::function<bool(TuckerIteration const&)>;

/// HOOI from factors with orthonormal columns, which are overwritten (mode 0's plays no part but as a guess).
/// Waits for `space`.
/// \throws UsageError when ranks or shapes do not match or the format has no SpTTMc; MemoryError before an
///         output of SpTTMc that does not fit is allocated; NumericalError when the tensor is zero or not
///         finite
template <class Scalar, class Index, class Space>
TuckerResult<Scalar, Space> tucker_hooi(Space const& space, AnyFormat<Scalar, Index, Space> const& X,
                                        TuckerOptions const& options,
                                        std::vector<FactorMatrix<Scalar, Space>> const& start,
                                        TuckerCallback const& callback = {});

/// The same of a tensor in any format of one's own, or of the library's by its class.
template <TtmcFormat F>
TuckerResult<typename F::scalar_type, typename F::space_type> tucker_hooi(
    typename F::space_type const& space, F const& X, TuckerOptions const& options,
    std::vector<FactorMatrix<typename F::scalar_type, typename F::space_type>> const& start,
    TuckerCallback const& callback = {}) {
  return tucker_hooi(space, any_format(space, X), options, start, callback);
}

}  // namespace polyad
