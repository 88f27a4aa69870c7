// SPDX-License-Identifier: BSD-3-Clause
// Options and entries of a run on implicit feedback (FastTuckerOptions::implicit).
#pragma once

#include "fast_tucker/entries.hpp"
#include "polyad/fast_tucker/fast_tucker_options.hpp"

namespace polyad::detail {

/// R of a run on implicit feedback, unless the options have one.
inline constexpr count_t implicit_rank = 32;

/// The options as they are, or with the changes for implicit feedback: no biases, cores that stay as they
/// start, and a ridge.
[[nodiscard]] FastTuckerOptions settled(FastTuckerOptions options, int order);

/// \throws UsageError for options that implicit feedback excludes, with the reason
void expect_implicit_options(FastTuckerOptions const& options);

/// Waits for `space`. \throws UsageError, on all ranks, for a value below 0 or NaN
template <class Scalar, class Index, class Space>
void expect_implicit_values(Space const& space, TrainingSet<Scalar, Index, Space> const& X,
                            RunRanks const& ranks);

}  // namespace polyad::detail
