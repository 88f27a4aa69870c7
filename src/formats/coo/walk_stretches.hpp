// SPDX-License-Identifier: BSD-3-Clause
// The operations of streamed-sorted: stretch after stretch of the mode's copy, the kernels being those of
// `sorted`. Stretches of the MTTKRP and of the residual sweep begin and end anywhere: the rows at their ends
// are added to an output of zeros. Stretches of least squares are whole rows.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "core/space_instances.hpp"
#include "formats/coo/row_problem.hpp"
#include "formats/coo/sorted.hpp"
#include "formats/coo/sorted_tuning.hpp"
#include "formats/coo/streamed_sorted.hpp"
#include "polyad/core/error.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// Enqueues the copy of a stretch, unless the buffer holds it.
template <class Scalar, class Index, class Space>
void send(StretchBuffer<Scalar, Index, Space>& buffer, StreamedSorted<Scalar, Index, Space> const& X,
          Stretch const& stretch) {
  Stretch with_rows  = stretch;
  with_rows.has_rows = true;
  if (buffer.holds == stretch || buffer.holds == with_rows) return;
  auto const& copy = X.copy(stretch.mode);
  auto const from  = Kokkos::make_pair(stretch.begin, stretch.end);
  auto const to    = Kokkos::make_pair(count_t(0), stretch.end - stretch.begin);
  for (count_t m = stretch.has_rows ? 0 : 1; m < static_cast<count_t>(X.extents().order()); ++m)
    Kokkos::deep_copy(buffer.instance, Kokkos::subview(buffer.indices, m, to),
                      Kokkos::subview(copy.indices, m, from));
  Kokkos::deep_copy(buffer.instance, Kokkos::subview(buffer.values, to), Kokkos::subview(copy.values, from));
  buffer.holds = stretch;
}

/// A stretch as kernels see it, in a buffer or, where there is none, all of the mode's copy in host memory.
template <class Scalar, class Index, class Space>
SortedCopy<Scalar, Index, Space> as_copy(Space const& space, StreamedSorted<Scalar, Index, Space> const& X,
                                         Stretch const& stretch,
                                         StretchBuffer<Scalar, Index, Space> const* buffer) {
  using Copy        = SortedCopy<Scalar, Index, Space>;
  auto const& whole = X.copy(stretch.mode);
  Copy copy;
  copy.modes = whole.modes;
  copy.nnz   = stretch.end - stretch.begin;
  if (buffer != nullptr) {
    copy.indices = buffer->indices;
    copy.values  = buffer->values;
  } else {  // a device reads pinned memory by its address
    copy.indices = typename Copy::indices_type(whole.indices.data(), whole.indices.extent(0), X.nnz());
    copy.values  = typename Copy::values_type(whole.values.data(), X.nnz());
  }
  double const share    = static_cast<double>(copy.nnz) / static_cast<double>(std::max<count_t>(X.nnz(), 1));
  auto const of_stretch = [&](count_t all) {
    return std::max<count_t>(1, static_cast<count_t>(share * static_cast<double>(all)));
  };
  copy.rows = of_stretch(whole.rows);
  SortedTuning<Space, Scalar> const tuning{copy.nnz, copy.rows, of_stretch(whole.runs)};
  copy.chunk = tuning.chunk(space, false);
  copy.hoist = X.extents().order() > 2 && tuning.hoist();
  return copy;
}

/// Calls f(instance, copy, b) for stretches of all nonzeros of a mode, each in buffer b. Does not wait.
template <class Scalar, class Index, class Space, class F>
void for_each_piece(Space const& space, StreamedSorted<Scalar, Index, Space> const& X,
                    StreamedSortedWorkspace<Scalar, Index, Space> const& work, int mode, F const& f) {
  POLYAD_EXPECTS(work.held, "a workspace without buffers");
  count_t const length = work.held->capacity, count = ceil_div(X.nnz(), length);
  for (count_t s = 0; s < count; ++s) {
    auto& buffer = work.held->buffers[s % 2];
    Stretch const stretch{mode, s * length, std::min(X.nnz(), (s + 1) * length), true};
    send(buffer, X, stretch);
    // The first kernels wait for the factors and the zeroed output; their copies need not.
    if (s < 2) enqueue_after(buffer.instance, space);
    f(buffer.instance, as_copy(buffer.instance, X, stretch, &buffer), s % 2);
  }
  for (auto const& buffer : work.held->buffers) enqueue_after(space, buffer.instance);
}

template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, StreamedSorted<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode,
            StreamedSortedWorkspace<Scalar, Index, Space>& work, FactorMatrix<Scalar, Space> const& V) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  zero_matrix(space, V);
  if (X.nnz() == 0) return;
  using Copy = SortedCopy<Scalar, Index, Space>;
  for_each_piece(space, X, work, mode, [&](Space const& on, Copy const& copy, count_t /*b*/) {
    SortedWorkspace<Scalar, Index, Space> none;
    mttkrp(on, Sorted<Scalar, Index, Space>::of_copy(X.extents(), copy), factors, mode, none, V);
  });
}

template <class Space, class Scalar, class Index>
void residual_mttkrp(Space const& space, StreamedSorted<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode,
                     ResidualWorkspace<Scalar, StreamedSortedWorkspace<Scalar, Index, Space>, Space>& work,
                     FactorMatrix<Scalar, Space> const& G) {
  expect_residual_arguments(X.extents(), C, mode, G);
  zero_matrix(space, G);
  if (X.nnz() == 0) return;
  using Copy              = SortedCopy<Scalar, Index, Space>;
  count_t const residuals = work.residuals.extent(0) / 2;  // of a buffer
  for_each_piece(space, X, work.format, mode, [&](Space const& on, Copy const& copy, count_t b) {
    ResidualWorkspace<Scalar, SortedWorkspace<Scalar, Index, Space>, Space> own;
    own.residuals = Kokkos::subview(work.residuals, Kokkos::make_pair(b * residuals, (b + 1) * residuals));
    residual_mttkrp(on, Sorted<Scalar, Index, Space>::of_copy(X.extents(), copy), C, mode, own, G);
  });
}

template <class Space, class Scalar, class Index>
void least_squares_rows(Space const& space, StreamedSorted<Scalar, Index, Space> const& X,
                        FactorMatrices<Scalar, Space> const& C, int mode,
                        RowProblem<Scalar, Space> const& problem, RowStarts<Space> const& starts,
                        FactorMatrix<Scalar, Space> const& A, RowShrinkage const& shrinkage) {
  expect_row_problem(X.extents(), C, mode, problem, starts, A, shrinkage);
  auto& buffers       = X.buffers();
  auto const& begins  = X.copy(mode).starts;  // on the host
  count_t const rows  = X.extents()[mode];
  count_t const limit = buffers.capacity;
  count_t stretches   = 0;
  for (count_t first = 0; first < rows; ++stretches) {
    // As many rows as the buffer holds: the last one that ends within it, rows without nonzeros included.
    auto const* const past =
        std::upper_bound(begins.data() + first + 1, begins.data() + rows + 1, begins(first) + limit);
    auto last       = static_cast<count_t>(past - begins.data()) - 1;
    bool const fits = last > first;
    last            = std::max(last, first + 1);
    auto& buffer    = buffers.buffers[stretches % 2];
    Stretch const stretch{mode, begins(first), begins(last), false};
    if (fits && stretch.begin < stretch.end) send(buffer, X, stretch);
    if (stretches < 2) enqueue_after(buffer.instance, space);
    auto const copy = as_copy(buffer.instance, X, stretch, fits ? &buffer : nullptr);
    solve_stretch(
        buffer.instance, copy, fits ? stretch.begin : count_t(0), C, of_mode(starts, mode).data() + first,
        last - first, problem,
        FactorMatrix<Scalar, Space>(Kokkos::subview(A, Kokkos::make_pair(first, last), Kokkos::ALL)),
        shrinkage);
    first = last;
  }
  for (auto const& buffer : buffers.buffers) enqueue_after(space, buffer.instance);
}

#define POLYAD_STREAMED_SORTED_OPERATIONS(Scalar, Index)                                                \
  template void mttkrp(Kokkos::DefaultExecutionSpace const&,                                            \
                       StreamedSorted<Scalar, Index, Kokkos::DefaultExecutionSpace> const&,             \
                       FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, int,               \
                       StreamedSortedWorkspace<Scalar, Index, Kokkos::DefaultExecutionSpace>&,          \
                       FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&);                     \
  template void residual_mttkrp(                                                                        \
      Kokkos::DefaultExecutionSpace const&,                                                             \
      StreamedSorted<Scalar, Index, Kokkos::DefaultExecutionSpace> const&,                              \
      FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, int,                                \
      ResidualWorkspace<Scalar, StreamedSortedWorkspace<Scalar, Index, Kokkos::DefaultExecutionSpace>,  \
                        Kokkos::DefaultExecutionSpace>&,                                                \
      FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&);                                      \
  template void least_squares_rows(Kokkos::DefaultExecutionSpace const&,                                \
                                   StreamedSorted<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, \
                                   FactorMatrices<Scalar, Kokkos::DefaultExecutionSpace> const&, int,   \
                                   RowProblem<Scalar, Kokkos::DefaultExecutionSpace> const&,            \
                                   RowStarts<Kokkos::DefaultExecutionSpace> const&,                     \
                                   FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&,          \
                                   RowShrinkage const&)

}  // namespace polyad::detail
