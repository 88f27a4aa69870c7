// SPDX-License-Identifier: BSD-3-Clause
// streamed-sorted: the copies of `sorted` (formats/coo/storage/sorted.hpp) in host memory, for training sets
// larger than the device. Every operation sends the mode's copy in stretches of whole rows to four buffers on
// the device, in turn. Each buffer has an instance of the execution space. Some instances copy while others
// compute, and a long row delays only its own buffer. If a row is longer than a buffer, least squares read it
// from host memory. Other operations take it in pieces. So no row is too long.
//
// Bytes sent per nonzero: s_r, and for each of the other modes 2 if it has at most 65,536 rows, otherwise
// s_o. The device makes the mode's own indices from the starts of its rows. Walks alternate their direction,
// so a second walk of the same mode finds the last stretches in the buffers. Storage, in host memory: N (s_r
// + N s_o) bytes per nonzero, 2 for each of the other modes that is short, and 8 per row.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "formats/coo/kernels/least_squares/row_problem.hpp"
#include "formats/coo/storage/sorted_copy.hpp"
#include "formats/stored_tensor.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/formats/option_text.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad::detail {

struct StreamedSortedOptions {
  count_t buffer_bytes = 0;      // for all buffers; 0: a quarter of the free memory, but no more than pays
  bool deterministic   = false;  // the same bits at every run on one device, and on hosts at any thread count

  void read(OptionText& text) {
    text.read("buffer_bytes", buffer_bytes);
    text.read("deterministic", deterministic);
  }
  void serve(FormatRequest const& request) {
    if (buffer_bytes == 0) buffer_bytes = request.buffer_bytes;
  }
};

/// Modes with at most this many rows are short: their indices are sent in 16 bits.
inline constexpr count_t most_short_rows = count_t(1) << 16;

inline constexpr std::size_t stretch_buffers = 4;

/// Consecutive nonzeros of one mode's order.
struct StreamChunk {
  int mode                                                       = -1;
  count_t begin                                                  = 0;
  count_t end                                                    = 0;
  friend bool operator==(StreamChunk const&, StreamChunk const&) = default;
};

/// As many rows as fit a buffer, or a single longer row.
struct StretchRows {
  count_t first = 0;
  count_t last  = 0;  // one past
  StreamChunk nonzeros;
};

/// A buffer for stretches, and the stretch that is in it.
template <class Scalar, class Index, class Space>
struct StretchBuffer {
  using Shorts = Kokkos::View<std::uint16_t**, Kokkos::LayoutRight, typename Space::device_type>;
  Space instance;
  typename SortedCopy<Scalar, Index, Space>::indices_type indices;  // N x capacity
  Shorts shorts;                                                    // as sent, N - 1 x capacity at most
  typename SortedCopy<Scalar, Index, Space>::values_type values;
  StreamChunk holds;
  bool has_rows = false;  // the indices of the mode itself are there too
};

/// The buffers, which all operations of a format share.
template <class Scalar, class Index, class Space>
struct StretchBuffers {
  Space space;  // whose instances these are
  std::array<StretchBuffer<Scalar, Index, Space>, stretch_buffers> buffers;
  count_t capacity = 0;     // nonzeros in a buffer, whole packs
  RowStarts<Space> starts;  // where the rows of each mode begin
  std::array<std::vector<StretchRows>, max_order> stretches;
  bool backwards = false;  // direction of the next walk
};

template <class Scalar, class Index, class Space>
struct StreamedSortedWorkspace {
  WorkspaceOwner made_for;
  std::shared_ptr<StretchBuffers<Scalar, Index, Space>> held;
  std::span<StretchBuffer<Scalar, Index, Space>> buffers;  // held's
  // The borders of each buffer, if the order of the sums is fixed.
  std::array<SortedWorkspace<Scalar, Index, Space>, stretch_buffers> borders;
};

/// Copies of one format share their buffers: two operations on them may not run at the same time.
template <class Scalar, class Index, class Space>
class StreamedSorted : public StoredTensor {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = StreamedSortedOptions;
  using workspace_type = StreamedSortedWorkspace<Scalar, Index, Space>;
  using host_space     = HostOf<Space>;
  using Buffers        = StretchBuffers<Scalar, Index, Space>;
  using Pinned         = Kokkos::SharedHostPinnedSpace;  // a device copies from it while the host continues

  static constexpr char const* name = "streamed-sorted";
  static constexpr bool streams     = true;

  /// The copy of one mode, as SortedCopy has it, and where each row's nonzeros begin.
  struct HostCopy {
    Kokkos::Array<int, max_order> modes;
    Kokkos::View<Index**, Kokkos::LayoutRight, Pinned> indices;  // N x P
    Kokkos::View<std::uint16_t**, Kokkos::LayoutRight, Pinned>
        shorts;                             // those of the short ones of modes[1...]
    Kokkos::View<Scalar*, Pinned> values;   // P
    Kokkos::View<count_t*, Pinned> starts;  // I_n + 1
    count_t rows    = 0;                    // that occur
    count_t runs    = 0;                    // runs of equal indices of the first two of modes
    count_t longest = 0;                    // row
  };

  /// Built on the host, with 40 bytes per nonzero in addition to the tensor and the result. Waits for
  /// `space`.
  /// \throws MemoryError
  template <class From>
  static StreamedSorted build(Space const& space, CooTensor<Scalar, Index, From> const& coo,
                              options_type const& options = {}) {
    StreamedSorted format;
    format.m_options = options;
    if constexpr (std::is_same_v<From, host_space>)
      format.build_on_host(space, coo);
    else
      format.build_on_host(space, download<host_space>(space, coo));
    return format;
  }

  /// How many nonzeros have the coordinates of an earlier one.
  [[nodiscard]] count_t duplicates() const { return m_duplicates; }
  /// Bytes in host memory.
  [[nodiscard]] count_t storage_bytes() const {
    count_t const order = m_extents.order();
    count_t bytes       = order * m_nnz * nonzero_bytes();
    for (int n = 0; n < m_extents.order(); ++n)
      bytes += (m_extents[n] + 1) * sizeof(count_t) + m_nnz * short_modes(n) * sizeof(std::uint16_t);
    return bytes;
  }
  /// Bytes of a nonzero, with its indices in whole words.
  [[nodiscard]] count_t nonzero_bytes() const { return sizeof(Scalar) + m_extents.order() * sizeof(Index); }
  /// Bytes of a nonzero in a buffer.
  [[nodiscard]] count_t buffer_bytes() const {
    count_t most = 0;
    for (int n = 0; n < m_extents.order(); ++n) most = std::max(most, short_modes(n));
    return nonzero_bytes() + most * sizeof(std::uint16_t);
  }
  /// Bytes of a nonzero that are sent to the device for an operation on mode n.
  [[nodiscard]] count_t sent_bytes(int n) const {
    count_t const others = m_extents.order() - 1, few = short_modes(n);
    return sizeof(Scalar) + (others - few) * sizeof(Index) + few * sizeof(std::uint16_t);
  }
  /// The number of short modes other than n. They come first in the order of n's copy.
  [[nodiscard]] count_t short_modes(int n) const {
    count_t count = 0;
    for (int m = 0; m < m_extents.order(); ++m) count += m != n && m_extents[m] <= most_short_rows ? 1 : 0;
    return count;
  }
  [[nodiscard]] bool deterministic() const { return m_options.deterministic; }
  [[nodiscard]] HostCopy const& copy(int n) const { return m_copies[n]; }

  /// The buffers. Waits for `space` if it makes them. \throws MemoryError
  [[nodiscard]] workspace_type make_workspace(Space const& space, count_t rank) const;
  /// The starts of the rows on the device, and the buffers. \throws MemoryError
  [[nodiscard]] RowStarts<Space> make_row_workspace(Space const& space) const;

  /// The buffers that a workspace made. \throws UsageError if there are none
  [[nodiscard]] Buffers& buffers() const {
    POLYAD_EXPECTS(*m_buffers, "a workspace comes first: it makes the buffers of ", name);
    return **m_buffers;
  }

private:
  void build_on_host(Space const& space, CooTensor<Scalar, Index, host_space> const& coo);
  [[nodiscard]] std::shared_ptr<Buffers> const& ready(Space const& space) const;

  options_type m_options;
  count_t m_duplicates = 0;
  std::array<HostCopy, max_order> m_copies;
  // The format holds the buffers, since least squares have no workspace of their own for them.
  std::shared_ptr<std::shared_ptr<Buffers>> m_buffers = std::make_shared<std::shared_ptr<Buffers>>();
};

#define POLYAD_STREAMED_SORTED(Scalar, Index) template class StreamedSorted<Scalar, Index, CompiledSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_STREAMED_SORTED);

template <class F>
inline constexpr bool is_streamed_sorted = false;
template <class Scalar, class Index, class Space>
inline constexpr bool is_streamed_sorted<StreamedSorted<Scalar, Index, Space>> = true;
template <class F>
concept StreamsSorted = is_streamed_sorted<F>;

/// The contract's mttkrp (formats/format.hpp).
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, StreamedSorted<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode,
            StreamedSortedWorkspace<Scalar, Index, Space>& workspace, FactorMatrix<Scalar, Space> const& V);

/// Stored residuals are only those of the stretches in the buffers. \throws MemoryError
template <StreamsSorted F>
residual_workspace<F> make_residual_workspace(typename F::space_type const& space, F const& format,
                                              count_t rank) {
  using Scalar = typename F::scalar_type;
  residual_workspace<F> workspace{format.make_workspace(space, rank), {}};
  if (rank > full_block) {
    count_t const length = stretch_buffers * format.buffers().capacity;
    expect_fits(space, "the residuals", length, sizeof(Scalar));
    workspace.residuals = decltype(workspace.residuals)(uninitialized(space, "polyad::residuals"), length);
  }
  return workspace;
}

/// The residual sweep (formats/format.hpp).
template <class Space, class Scalar, class Index>
void residual_mttkrp(
    Space const& space, StreamedSorted<Scalar, Index, Space> const& X, FactorMatrices<Scalar, Space> const& C,
    int mode, ResidualWorkspace<Scalar, StreamedSortedWorkspace<Scalar, Index, Space>, Space>& workspace,
    FactorMatrix<Scalar, Space> const& G);

/// Least squares for the rows of one mode (formats/format.hpp): the bits of `sorted`.
template <class Space, class Scalar, class Index>
void least_squares_rows(Space const& space, StreamedSorted<Scalar, Index, Space> const& X,
                        FactorMatrices<Scalar, Space> const& C, int mode,
                        RowProblem<Scalar, Space> const& problem, RowStarts<Space> const& starts,
                        FactorMatrix<Scalar, Space> const& A, RowShrinkage const& shrinkage = {});

/// Least squares for the rows of a stretch. Defined in row_least_squares.hpp, and compiled with the kernels.
/// \param A  those rows
template <class Space, class Scalar, class Index>
void solve_stretch(Space const& space, SortedCopy<Scalar, Index, Space> const& stretch,
                   FactorMatrices<Scalar, Space> const& C, SolvedRows const& range,
                   RowProblem<Scalar, Space> const& problem, FactorMatrix<Scalar, Space> const& A,
                   RowShrinkage const& shrinkage);

/// The nonzeros (formats/format.hpp).
template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, StreamedSorted<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block);

}  // namespace polyad::detail
