// SPDX-License-Identifier: BSD-3-Clause
// Checks that a CP model fits into memory, before the tensor is read.
#pragma once

#include <algorithm>
#include <string>

#include "polyad/core/rank.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"

namespace polyad::cli {

/// Refuses a rank whose model alone exceeds the free memory. It counts the factors, the output of the
/// longest mode, which is freed before the end copies a factor, the Gram matrices, their product and its
/// scratch.
/// \throws MemoryError
template <class Scalar, class Space>
void expect_model_fits(Space const& space, Extents const& extents, count_t rank) {
  std::string const what = "a model of rank " + std::to_string(rank);
  auto const order       = static_cast<count_t>(extents.order());
  count_t rows           = 0;
  count_t longest        = 0;
  auto const add         = [&](count_t a, count_t b) {
    count_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) static_cast<void>(checked_product(what, ~count_t(0), 2));
    return sum;
  };
  for (int n = 0; n < extents.order(); ++n) {
    rows    = add(rows, extents[n]);
    longest = std::max(longest, extents[n]);
  }
  count_t const columns = output_columns<Scalar, Kokkos::DefaultExecutionSpace>(rank);
  count_t const dense   = checked_product(
      what,
      add(checked_product(what, rows, padded_rank<Scalar>(rank)), checked_product(what, longest, columns)),
      sizeof(Scalar));
  count_t const grams = checked_product(what, checked_product(what, rank, rank),
                                        (order + (rank > 128 ? 4 : 3)) * sizeof(double));
  expect_fits(space, what, add(dense, grams), 1);
}

}  // namespace polyad::cli
