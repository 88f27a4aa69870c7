// SPDX-License-Identifier: BSD-3-Clause
// tucker (tucker/tucker.hpp) of a tensor whose rows several ranks divide between them.
#pragma once

#include "formats/row_owners.hpp"
#include "polyad/tucker/tucker.hpp"

namespace polyad::detail {

/// \throws UsageError unless there are N ranks, each from 1 to I_n and to the product of the others;
///         MemoryError when the size of the core does not fit 64 bits
void expect_tucker_ranks(Extents const& extents, std::vector<count_t> const& ranks);

/// HOOI from the random start of options.seed, which does not depend on the division. For each mode a rank
/// forms its rows of Y and of U^(n). All ranks add up Y' Q and small matrices, and get the other rows of
/// U^(n). All get the same result. Waits for `space`.
/// \throws as tucker
template <class Scalar, class Index, class Space>
TuckerResult<Scalar, Space> divided_tucker(Space const& space, DividedTensor<Scalar, Index, Space> const& X,
                                           TuckerOptions const& options, TuckerCallback const& callback);

}  // namespace polyad::detail
