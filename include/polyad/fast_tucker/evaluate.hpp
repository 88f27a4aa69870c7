// SPDX-License-Identifier: BSD-3-Clause
// evaluate measures the recommendations of a FastTucker model on test entries. The definitions of the metrics
// are those of fast_tucker/evaluation.hpp.
#pragma once

#include "polyad/core/instances.hpp"
#include "polyad/fast_tucker/evaluation.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad {

template <class Space>
class Communicator;

/// Waits for `space`. The numbers do not depend on blocks or threads.
/// \param test  of the model's order, of any extents; indices beyond the model's contribute neither bias nor
///              factors
/// \param seen  the training set, of the model's order and of any extents; without entries: nothing is left
///              out, and there are neither `popular`, novelty nor classes of users
/// \throws UsageError when shapes do not match, an option makes no sense or a coordinate is outside;
///         NumericalError when a prediction or a test value is not finite; MemoryError
template <class Scalar, class Index, class Space>
[[nodiscard]] Evaluation evaluate(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                  CooTensor<Scalar, Index, Space> const& test,
                                  EvaluationOptions const& options,
                                  CooTensor<Scalar, Index, Space> const& seen);

/// The same on several ranks, each of which ranks items for some of the users. All ranks call it, get the
/// result of one rank, and throw alike. One rank evaluates its sets as they are.
/// \param model  on all ranks
/// \param test   some of the entries, which all ranks together have once; whole extents. So is `seen`
template <class Scalar, class Index, class Space>
[[nodiscard]] Evaluation evaluate(Communicator<Space> const& ranks,
                                  FastTuckerModel<Scalar, Space> const& model,
                                  CooTensor<Scalar, Index, Space> const& test,
                                  EvaluationOptions const& options,
                                  CooTensor<Scalar, Index, Space> const& seen);

#define POLYAD_EVALUATE(Scalar, Index)                                                                   \
  template Evaluation evaluate(CompiledSpace const&, FastTuckerModel<Scalar, CompiledSpace> const&,      \
                               CooTensor<Scalar, Index, CompiledSpace> const&, EvaluationOptions const&, \
                               CooTensor<Scalar, Index, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_EVALUATE);

}  // namespace polyad
