// SPDX-License-Identifier: BSD-3-Clause
// fill_start: what a FastTucker model starts from.
#pragma once

#include <cstdint>

#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad {

/// A start of either sign, whose interactions have a tenth of the given deviation, with rows of A^(n) about
/// as long as those of C^(n). In all modes but the two longest the columns of C^(n) have means, all the same
/// and nine tenths of their squares: the model starts as an interaction of two modes that is much the same in
/// the rows of the others. (With means of zero in all modes the products of N - 1 of them are all chance, and
/// nothing was learned of planted tensors of order 6; with means of chance a column whose mean is near zero
/// starts late.) The same bits on every backend. Waits for `space`.
template <class Scalar, class Space>
void fill_start(Space const& space, FastTuckerModel<Scalar, Space> const& model, double deviation,
                std::uint64_t seed);

}  // namespace polyad
