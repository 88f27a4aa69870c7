// SPDX-License-Identifier: BSD-3-Clause
// The facts by which a checkpoint of CP-ALS recognises its run.
#pragma once

#include <vector>

#include "cp/run_updates.hpp"
#include "cp/shared_rows.hpp"
#include "polyad/core/per_mode.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/io/checkpoint.hpp"

namespace polyad::detail {

/// A checkpoint with these facts alone.
/// \param ranks  null: X is the whole tensor
template <class Scalar, class Space>
[[nodiscard]] io::Checkpoint facts_of_run(ErasedFormat<Scalar, Space> const& X, CpAlsOptions const& options,
                                          SharedRows<Scalar, Space> const* ranks) {
  io::Checkpoint facts;
  facts.precision    = sizeof(Scalar) == sizeof(float) ? "f32" : "f64";
  facts.format       = X.name();
  facts.seed         = options.seed;
  facts.rank         = options.rank;
  facts.rows         = options.rows;
  facts.nnz          = ranks ? ranks->nnz() : X.nnz();
  facts.norm_squared = ranks ? ranks->norm_squared() : X.norm_squared();
  bool is_plain      = true;
  for (int n = 0; n < X.extents().order(); ++n) {
    count_t const rows = ranks ? ranks->rows(n) : X.extents()[n];
    facts.extents.push_back(options.rows.empty() ? rows : of_mode(options.rows, n).extent());
    auto const update = update_of_mode(options.updates, n);
    facts.penalties.push_back(update.penalty());
    is_plain = is_plain && update.penalty() == 0 && update.own() == nullptr;
  }
  if (is_plain) facts.penalties.clear();
  return facts;
}

}  // namespace polyad::detail
