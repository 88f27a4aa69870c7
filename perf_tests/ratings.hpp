// SPDX-License-Identifier: BSD-3-Clause
// Ratings like those of Netflix, generated on the device of the benchmarks: users x items x days, a skewed
// choice of users and items, sessions of five items on one day, no item rated twice by one user. A rating is
// 3.6 + effects of the user, the item and the day + an interaction of rank 8 + noise of deviation 0.75,
// rounded and cut to 1 ... 5. The part that a model can learn is therefore known, and so is the part that it
// cannot.
#pragma once

#include "tensors.hpp"

namespace polyad::perf {

/// Entries in random order, distinct ones in the two sets.
struct Ratings {
  Tensor<double> train;
  Tensor<double> test;
};

/// At most `train` + `test` ratings, or fewer if there are not enough pairs of a user and an item: both sets
/// are then smaller in proportion. Waits for `space`.
/// \throws UsageError unless there are three modes of one row or more and an entry for training; MemoryError
Ratings make_ratings(Space const& space, Extents const& extents, count_t train, count_t test,
                     std::uint64_t seed);

}  // namespace polyad::perf
