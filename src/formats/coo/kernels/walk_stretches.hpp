// SPDX-License-Identifier: BSD-3-Clause
// The operations of streamed-sorted. They run the kernels of `sorted` on one stretch of the mode's copy after
// the other.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "core/space_instances.hpp"
#include "formats/coo/costs/sorted_tuning.hpp"
#include "formats/coo/kernels/least_squares/row_problem.hpp"
#include "formats/coo/storage/row_starts.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "formats/coo/storage/streamed_sorted.hpp"
#include "polyad/core/error.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

template <class Shorts, class Indices>
struct LengthenIndices {
  Shorts shorts;
  count_t modes;
  Indices indices;
  KOKKOS_FUNCTION void operator()(count_t p) const {
    for (count_t m = 0; m < modes; ++m) indices(m + 1, p) = shorts(m, p);
  }
};

/// Fills row 0 of the indices.
template <class Starts, class Indices>
struct FillRows {
  Starts starts;
  count_t first, last;  // rows
  count_t begin;        // the begin of the stretch
  Indices indices;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    using Index   = typename Indices::non_const_value_type;
    indices(0, i) = static_cast<Index>(row_of_position(starts.data(), first, last, begin + i));
  }
};

/// Enqueues the copy of a stretch, unless the buffer holds it, and the kernels that make whole indices of it.
/// \param rows  those of the stretch
/// \param with_rows  whether the indices of the mode itself are needed, too
template <class Scalar, class Index, class Space>
void send(StretchBuffers<Scalar, Index, Space> const& buffers, StretchBuffer<Scalar, Index, Space>& buffer,
          StreamedSorted<Scalar, Index, Space> const& X, StretchRows const& rows, bool with_rows) {
  using Range                = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Buffer               = StretchBuffer<Scalar, Index, Space>;
  using Indices              = decltype(buffer.indices);
  StreamChunk const& stretch = rows.nonzeros;
  count_t const nnz          = stretch.end - stretch.begin;
  if (!(buffer.holds == stretch)) {
    auto const& copy  = X.copy(stretch.mode);
    auto const from   = Kokkos::make_pair(stretch.begin, stretch.end);
    auto const to     = Kokkos::make_pair(count_t(0), nnz);
    auto const shorts = copy.shorts.extent(0);
    for (count_t m = 0; m < shorts; ++m)
      Kokkos::deep_copy(buffer.instance, Kokkos::subview(buffer.shorts, m, to),
                        Kokkos::subview(copy.shorts, m, from));
    for (count_t m = shorts + 1; m < static_cast<count_t>(X.extents().order()); ++m)
      Kokkos::deep_copy(buffer.instance, Kokkos::subview(buffer.indices, m, to),
                        Kokkos::subview(copy.indices, m, from));
    Kokkos::deep_copy(buffer.instance, Kokkos::subview(buffer.values, to),
                      Kokkos::subview(copy.values, from));
    if (shorts > 0)
      Kokkos::parallel_for(
          "polyad::lengthen_indices", Range(buffer.instance, 0, nnz),
          LengthenIndices<typename Buffer::Shorts, Indices>{buffer.shorts, shorts, buffer.indices});
    buffer.holds    = stretch;
    buffer.has_rows = false;
  }
  if (!with_rows || buffer.has_rows) return;
  auto const& starts = buffers.starts[stretch.mode];
  using Starts       = std::remove_cvref_t<decltype(starts)>;
  Kokkos::parallel_for(
      "polyad::fill_rows", Range(buffer.instance, 0, nnz),
      FillRows<Starts, Indices>{starts, rows.first, rows.last, stretch.begin, buffer.indices});
  buffer.has_rows = true;
}

/// A stretch as kernels see it: in a buffer, or, without a buffer, all of the mode's copy in host memory.
template <class Scalar, class Index, class Space>
SortedCopy<Scalar, Index, Space> as_copy(Space const& space, StreamedSorted<Scalar, Index, Space> const& X,
                                         StreamChunk const& stretch,
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
  auto const tuning = tuning_of(X, stretch.mode, copy.nnz);
  copy.rows         = tuning.rows;
  copy.chunk        = tuning.chunk(space, X.deterministic());
  copy.hoist        = X.extents().order() > 2 && tuning.hoist();
  copy.borders      = X.deterministic() ? Borders::merge : Borders::atomics;
  return copy;
}

/// Calls f(rows, b) for all stretches of a mode. Those that fit a buffer are sent to buffer b. Does not wait.
template <class Scalar, class Index, class Space, class F>
void for_each_rows(Space const& space, StreamedSorted<Scalar, Index, Space> const& X,
                   StretchBuffers<Scalar, Index, Space>& work, int mode, bool with_rows, F const& f) {
  auto const& list     = work.stretches[mode];
  bool const backwards = work.backwards;
  work.backwards       = !backwards;
  for (std::size_t step = 0; step < list.size(); ++step) {
    std::size_t const s = backwards ? list.size() - 1 - step : step;
    auto const& rows    = list[s];
    auto& buffer        = work.buffers[s % stretch_buffers];
    count_t const nnz   = rows.nonzeros.end - rows.nonzeros.begin;
    if (nnz > 0 && nnz <= work.capacity) send(work, buffer, X, rows, with_rows);
    // The first kernels wait for the factors and the zeroed output. The copies need not wait.
    if (step < stretch_buffers) enqueue_after(buffer.instance, space);
    f(rows, s % stretch_buffers);
  }
  for (auto const& buffer : work.buffers) enqueue_after(space, buffer.instance);
}

/// Calls f(instance, copy, b) for all nonzeros of a mode, including their own rows. They come in stretches. A
/// row that is longer than a buffer comes in pieces. Does not wait.
template <class Scalar, class Index, class Space, class F>
void for_each_piece(Space const& space, StreamedSorted<Scalar, Index, Space> const& X,
                    StreamedSortedWorkspace<Scalar, Index, Space> const& workspace, int mode, F const& f) {
  auto& work = *workspace.held;
  for_each_rows(space, X, work, mode, true, [&](StretchRows const& rows, std::size_t b) {
    auto& buffer = work.buffers[b];
    for (count_t begin = rows.nonzeros.begin; begin < rows.nonzeros.end; begin += work.capacity) {
      StretchRows piece    = rows;
      piece.nonzeros.begin = begin;
      piece.nonzeros.end   = std::min(rows.nonzeros.end, begin + work.capacity);
      send(work, buffer, X, piece, true);
      f(buffer.instance, as_copy(buffer.instance, X, piece.nonzeros, &buffer), b);
    }
  });
}

template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, StreamedSorted<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode,
            StreamedSortedWorkspace<Scalar, Index, Space>& work, FactorMatrix<Scalar, Space> const& V) {
  expect_mttkrp_arguments(X.extents(), factors, mode, V);
  work.made_for.expect(X.identity(), factors.rank(), X.name);
  zero_matrix(space, V);
  if (X.nnz() == 0) return;
  using Copy = SortedCopy<Scalar, Index, Space>;
  for_each_piece(space, X, work, mode, [&](Space const& on, Copy const& copy, std::size_t b) {
    mttkrp(on, Sorted<Scalar, Index, Space>::of_copy(X.identity(), X.extents(), copy), factors, mode,
           work.borders[b], V);
  });
}

template <class Space, class Scalar, class Index>
void residual_mttkrp(Space const& space, StreamedSorted<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode,
                     ResidualWorkspace<Scalar, StreamedSortedWorkspace<Scalar, Index, Space>, Space>& work,
                     FactorMatrix<Scalar, Space> const& G) {
  expect_residual_arguments(X.extents(), C, mode, G);
  work.format.made_for.expect(X.identity(), C.rank(), X.name);
  zero_matrix(space, G);
  if (X.nnz() == 0) return;
  using Copy              = SortedCopy<Scalar, Index, Space>;
  count_t const residuals = work.residuals.extent(0) / stretch_buffers;  // residuals per buffer
  for_each_piece(space, X, work.format, mode, [&](Space const& on, Copy const& copy, std::size_t b) {
    ResidualWorkspace<Scalar, SortedWorkspace<Scalar, Index, Space>, Space> own;
    own.format    = work.format.borders[b];
    own.residuals = Kokkos::subview(work.residuals, Kokkos::make_pair(b * residuals, (b + 1) * residuals));
    residual_mttkrp(on, Sorted<Scalar, Index, Space>::of_copy(X.identity(), X.extents(), copy), C, mode, own,
                    G);
  });
}

template <class Space, class Scalar, class Index>
void least_squares_rows(Space const& space, StreamedSorted<Scalar, Index, Space> const& X,
                        FactorMatrices<Scalar, Space> const& C, int mode,
                        RowProblem<Scalar, Space> const& problem, RowStarts<Space> const& starts,
                        FactorMatrix<Scalar, Space> const& A, RowShrinkage const& shrinkage) {
  expect_row_problem(X, C, mode, problem, starts, A, shrinkage);
  auto& work = X.buffers();
  for_each_rows(space, X, work, mode, false, [&](StretchRows const& rows, std::size_t b) {
    auto const& buffer         = work.buffers[b];
    StreamChunk const& stretch = rows.nonzeros;
    bool const fits            = stretch.end - stretch.begin <= work.capacity;
    SolvedRows const range{starts[mode].data() + rows.first,
                           rows.last - rows.first,
                           stretch.begin,
                           stretch.end,
                           fits ? stretch.begin : count_t(0),
                           rows.first};
    solve_stretch(buffer.instance, as_copy(buffer.instance, X, stretch, fits ? &buffer : nullptr), C, range,
                  problem,
                  FactorMatrix<Scalar, Space>(
                      Kokkos::subview(A, Kokkos::make_pair(rows.first, rows.last), Kokkos::ALL)),
                  shrinkage);
  });
}

#define POLYAD_STREAMED_SORTED_OPERATIONS(Scalar, Index)                                           \
  POLYAD_MTTKRP(StreamedSorted, Scalar, Index);                                                    \
  POLYAD_RESIDUAL_MTTKRP(StreamedSorted, Scalar, Index);                                           \
  template void least_squares_rows(                                                                \
      CompiledSpace const&, StreamedSorted<Scalar, Index, CompiledSpace> const&,                   \
      FactorMatrices<Scalar, CompiledSpace> const&, int, RowProblem<Scalar, CompiledSpace> const&, \
      RowStarts<CompiledSpace> const&, FactorMatrix<Scalar, CompiledSpace> const&, RowShrinkage const&)

}  // namespace polyad::detail
