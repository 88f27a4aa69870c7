// SPDX-License-Identifier: BSD-3-Clause
// A ridge for the least squares of rows (RowLeastSquaresFormat) that lies on what a row is used for and grows
// with its nonzeros: with where the rows begin as their workspace, such a format may offer
//
//   least_squares_rows(space, f, C, mode, problem, starts, A, shrinkage)
//
// Beside |c|^2 with c = B' a, the row of C^(mode), the ridge on a depends on how C^(mode) is cut into A and
// B.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>

#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"

namespace polyad {

/// Per mode I_n + 1 positions; the nonzeros of row k are those from the k-th on to before the next one's.
template <class Space>
using RowStarts = std::array<Kokkos::View<count_t*, typename Space::device_type>, max_order>;

/// To the loss of a row of n nonzeros weight(n) |c|^2 is added.
struct RowShrinkage {
  double nonzeros    = 0;
  double share       = 0;
  double const* unit = nullptr;  // on the device; null: none of this

  /// unit (nonzeros + share n); on the device.
  [[nodiscard]] KOKKOS_FUNCTION double weight(count_t n) const {
    return *unit * (nonzeros + share * static_cast<double>(n));
  }
};

template <class F>
concept RowShrinkageFormat =
    RowLeastSquaresFormat<F> &&
    requires(typename F::space_type const& space, F const& format,
             FactorMatrices<typename F::scalar_type, typename F::space_type> const& C,
             RowProblem<typename F::scalar_type, typename F::space_type> const& problem,
             RowStarts<typename F::space_type> const& starts,
             FactorMatrix<typename F::scalar_type, typename F::space_type> const& A,
             RowShrinkage const& shrinkage) {
      { format.make_row_workspace(space) } -> std::same_as<RowStarts<typename F::space_type>>;
      { least_squares_rows(space, format, C, 0, problem, starts, A, shrinkage) } -> std::same_as<void>;
    };

}  // namespace polyad
