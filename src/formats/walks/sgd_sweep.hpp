// SPDX-License-Identifier: BSD-3-Clause
// The kernels of the FastTucker sweeps (formats/format.hpp), for any Source of fibers
// (formats/walks/fiber_products.hpp). FastTucker and FasterTucker_COO take fibers of one nonzero.
// FasterTucker_B-CSF and FasterTucker take trees whose leaf is the mode at hand (Li et al., section IV-E,
// Algorithms 4 and 5). With e = x - a . w:
//
//   factors   a fiber: p, w = B p; a nonzero: a += step (e w - ridge a), with atomics: others add to the row
//   cores     a nonzero: J R multiply-adds, e a' p, summed by a team over a tile of nonzeros at a time
//
// Multiply-adds: J R per fiber (factors), J R per nonzero (cores), and (N - 1) J R per nonzero if rows of C
// are formed. Bytes: s_r + s_o per nonzero and s_o per level, N rows gathered; for the factors one row added.
#pragma once

#include <Kokkos_Core.hpp>

#include "dense/transposed_product.hpp"
#include "formats/walks/fiber_products.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/kernel/chunk_walk.hpp"
#include "polyad/kernel/machine.hpp"
#include "polyad/kernel/segmented_reduce.hpp"

namespace polyad::detail {

/// Registers for six teams a multiprocessor, as the other walks have them (docs/developer/decisions.md).
using SgdBounds = Kokkos::LaunchBounds<device_team_threads, 6>;

/// Reads a lane's columns of a row that other threads may be adding to, as Li et al. intend: any mixture of
/// old and new elements will do. The race is intended. Relaxed atomic loads are scalar, and would cost an
/// epoch 6 to 23 % on a host (docs/developer/campaigns.md). ThreadSanitizer leaves out this function.
template <class Row, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Row read_contended_row(Scalar const* row, Columns own) {
  return Row(row, own);
}

template <class Space, class Scalar, int Block, class Source>
struct SgdFactorSweep {
  using Row = TinyVec<Space, Scalar, Block>;

  Source source;
  LevelRows<Scalar> factors;
  Scalar const* transposed;  // B', R x J
  count_t transposed_stride;
  Scalar* A;  // I_n x J
  count_t A_stride;
  int columns;  // J
  int rank;     // R
  Scalar step;
  Scalar ridge;
  bool share;
  int level;  // level of the scratch pad

  /// w = B p, each lane its columns.
  KOKKOS_FORCEINLINE_FUNCTION void form_w(Scalar const* p, Scalar* w, int lane) const {
    for (int first = 0; first < columns; first += Block) {
      Columns const own = columns_or_none<Row>(first, columns, lane);
      row_times_matrix<Row>(p, rank, transposed, transposed_stride, own).store(w, own);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void update(count_t i, Scalar const* w, int lane) const {
    count_t const k = source.leaf(i);
    Scalar* const a = A + k * A_stride;
    Scalar sum      = 0;
    for (int first = 0; first < columns; first += Block) {
      Columns const own = columns_or_none<Row>(first, columns, lane);
      sum += Row(w, own).dot(read_contended_row<Row>(a, own), own);
    }
    Scalar const e = source.value(i) - sum_over_lanes<Row::lanes>(sum);
    for (int first = 0; first < columns; first += Block) {
      Columns const own = columns_or_none<Row>(first, columns, lane);
      Row change(Scalar(0));
      change.multiply_add(step * e, Row(w, own));
      change.multiply_add(-step * ridge, read_contended_row<Row>(a, own));
      // Any thread may have a nonzero of this row.
      AddAtomically<Scalar>{A, A_stride, own, lane, columns - first}(k, change);
    }
  }

  /// Walks fiber by fiber. The threads of a warp then form their products together, whatever the lengths of
  /// their fibers.
  KOKKOS_FUNCTION void walk(count_t bin, Scalar* p, Scalar* w, int lane) const {
    count_t i         = source.begin(bin);
    count_t const end = source.begin(bin + 1);
    if (i == end) return;
    auto at = source.start(bin);
    while (i < end) {
      form_fiber_product<Row>(source, at, i, factors, rank, Block, p, lane);
      form_w(p, w, lane);
      count_t const stop = share ? Kokkos::min(source.fiber_end(at, i), end) : i + 1;
      for (; i < stop; ++i) update(i, w, lane);
      if (i < end) source.advance(at, i);
    }
  }

  /// A source may define another order of the bins.
  [[nodiscard]] KOKKOS_FUNCTION count_t walked(count_t bin) const {
    if constexpr (requires { source.walked(bin); })
      return source.walked(bin);
    else
      return bin;
  }

  /// Entries of the pad per thread.
  [[nodiscard]] KOKKOS_FUNCTION int pad() const {
    return pad_row<Scalar>(rank, Block) + pad_row<Scalar>(columns, Block);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto const bytes = (member.team_size() * pad()) * sizeof(Scalar);
    auto* const rows =
        static_cast<Scalar*>(member.team_scratch(level).get_shmem_aligned(bytes, row_alignment));
    Scalar* const p      = rows + member.team_rank() * pad();
    Scalar* const w      = p + pad_row<Scalar>(rank, Block);
    count_t const league = member.league_rank();
    count_t const bin    = league * member.team_size() + member.team_rank();
    if (bin >= source.bins()) return;
    count_t const own = walked(bin);
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes),
                         [&](int const lane) { walk(own, p, w, lane); });
  }
};

/// The number of partial sums gives an H200 four teams per multiprocessor
/// (make_transposed_product_workspace). These teams may use all registers, and so have more rows under way at
/// the same time.
using SgdCoreBounds = Kokkos::LaunchBounds<device_team_threads, 4>;

/// Level is the level of the scratch pad. It is a template parameter because the compiler has to know the
/// kind of memory. Otherwise every access to the pad becomes a generic one (docs/developer/decisions.md).
template <class Space, class Scalar, int Block, class Source, int Level>
struct SgdCoreSweep {
  using Row  = TinyVec<Space, Scalar, Block>;
  using Sums = TileSums<Space, Scalar, Block>;

  Source source;
  LevelRows<Scalar> factors;
  Scalar const* A;  // I_n x J
  count_t A_stride;
  int columns;  // J
  int rank;     // R
  bool share;
  Sums tile;
  int depth;          // nonzeros that a thread contributes to a tile
  count_t bins_each;  // bins that a thread walks
  TransposedProductWorkspace<Space> sums;

  /// The position of a thread's walk.
  struct Walk {
    typename Source::Cursor at;
    count_t next;
    count_t end;
    count_t fiber_end;  // end of the fiber whose p is in the pad; when `next` gets here, form p again
  };

  [[nodiscard]] KOKKOS_FUNCTION count_t first_bin(count_t thread) const {
    return Kokkos::min(thread * bins_each, source.bins());
  }

  /// A thread's rows of the tile of A: the rows a of its next nonzeros, and zeros after the last one.
  KOKKOS_FORCEINLINE_FUNCTION void fill_A(Walk const& walk, Scalar* tile_A, int lane) const {
    constexpr int batch = rows_in_flight<Space>(4);
    for (int first = 0; first < columns; first += Block) {
      Columns const own = columns_or_none<Row>(first, columns, lane);
      for (int d = 0; d < depth; d += batch) {
        Row a[batch];
        unrolled<batch>([&](auto u) {
          count_t const i = walk.next + (d + u);
          a[u]            = i < walk.end ? Row(A + source.leaf(i) * A_stride, own) : Row(Scalar(0));
        });
        unrolled<batch>([&](auto u) {
          if (d + u < depth) a[u].store(tile_A + (d + u) * tile.J, own);
        });
      }
    }
  }

  /// A lane's columns of a row of p, or of a row in the tile of G. Blocks are whole there, and columns right
  /// of R are not used.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Columns whole(int first, int lane) const {
    return {Row::columns(first, rank, lane).first, Row::width};
  }

  /// A row of the tile of G: e p of the next nonzero, and zeros after the last one. A lane reads and writes
  /// only its own columns of p, so lanes need not wait for each other.
  KOKKOS_FORCEINLINE_FUNCTION void fill_G(Walk& walk, Scalar* p, Scalar* row, int lane) const {
    if (walk.next == walk.end) {
      for (int first = 0; first < rank; first += Block) Row(Scalar(0)).store(row, whole(first, lane));
      return;
    }
    count_t const i   = walk.next;
    count_t const k   = source.leaf(i);
    Scalar const x    = source.value(i);
    bool const is_new = !share || i == walk.fiber_end;  // p belongs to the fiber before
    Scalar sum        = 0;
    for (int first = 0; first < rank; first += Block) {
      Columns const own = columns_or_none<Row>(first, rank, lane);
      Row const c       = factors.template row<Row>(factors.levels, k, own);
      Row const product =
          is_new ? fiber_product<Row>(source, walk.at, i, factors, own) : Row(p, whole(first, lane));
      if (is_new) product.store(p, whole(first, lane));
      sum += product.dot(c, own);
    }
    Scalar const e = x - sum_over_lanes<Row::lanes>(sum);
    for (int first = 0; first < rank; first += Block) {
      Row change(Scalar(0));
      change.multiply_add(e, Row(p, whole(first, lane)));
      change.store(row, whole(first, lane));
    }
    if (is_new) walk.fiber_end = Kokkos::min(source.fiber_end(walk.at, i), walk.end);
    ++walk.next;
    if (walk.next < walk.end) source.advance(walk.at, walk.next);
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const team = member.team_size();
    int const rows = team * depth;
    auto* const tile_G =
        static_cast<Scalar*>(member.team_scratch(Level).get_shmem_aligned(pad_bytes(team), row_alignment));
    Scalar* const tile_A = tile_G + rows * tile.R;
    Scalar* const p      = tile_A + rows * tile.J + member.team_rank() * pad_row<Scalar>(rank, Block);
    double* const output = &sums(member.league_rank(), 0, 0);
    int const stride     = sums.extent_int(2);

    count_t const league       = member.league_rank();
    count_t const first_thread = league * team;
    count_t longest            = 0;  // the longest walk of the team
    for (int t = 0; t < team; ++t) {
      count_t const thread = first_thread + t;
      longest = Kokkos::max(longest, source.begin(first_bin(thread + 1)) - source.begin(first_bin(thread)));
    }
    count_t const thread = first_thread + member.team_rank();
    Walk walk;
    walk.next      = source.begin(first_bin(thread));
    walk.end       = source.begin(first_bin(thread + 1));
    walk.fiber_end = walk.next;
    if (walk.next < walk.end) walk.at = source.start(first_bin(thread));

    // One tile at least: the sums of a team without nonzeros are zeros.
    for (count_t done = 0; done == 0 || done < longest; done += depth) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Row::lanes), [&](int const lane) {
        int const first = member.team_rank() * depth;
        fill_A(walk, tile_A + first * tile.J, lane);
        for (int d = 0; d < depth; ++d) fill_G(walk, p, tile_G + (first + d) * tile.R, lane);
      });
      member.team_barrier();
      tile.add(member, tile_A, tile_G, rows, done == 0, output, stride);
      member.team_barrier();
    }
  }

  [[nodiscard]] KOKKOS_FUNCTION std::ptrdiff_t pad_bytes(int team) const {
    return tile.pad_bytes(team * depth) +
           static_cast<std::ptrdiff_t>(team * pad_row<Scalar>(rank, Block)) * sizeof(Scalar);
  }
};

template <class Scalar, class Space>
LevelRows<Scalar> level_rows(FastTuckerModel<Scalar, Space> const& model,
                             FactorMatrices<Scalar, Space> const& C,
                             Kokkos::Array<int, max_order> const& modes, SgdForm form) {
  return form.intermediates ? LevelRows<Scalar>(C, modes) : LevelRows<Scalar>(model, modes);
}

/// Throws UsageError unless the arguments of a sweep fit each other and the kernels.
template <class Scalar, class Space>
void expect_sgd_arguments(Extents const& extents, FastTuckerModel<Scalar, Space> const& model,
                          FactorMatrices<Scalar, Space> const& C, int mode,
                          SgdWorkspace<Scalar, Space> const& workspace) {
  expect_mode(mode, extents);
  POLYAD_EXPECTS(extents == model.extents(), "the tensor is ", to_string(extents), " but the model is ",
                 to_string(model.extents()));
  expect_factors(C, extents);
  POLYAD_EXPECTS(C.rank() == model.rank(), "C has ", C.rank(), " columns, the model's rank is ",
                 model.rank());
  POLYAD_EXPECTS(workspace.P.extent(0) == model.columns(mode) && workspace.P.extent(1) == model.rank(),
                 "the workspace is not of mode ", mode);
  for (int n = 0; n < extents.order(); ++n)
    for (auto const& matrix : {C[n], model.A(n), model.B(n)}) expect_packed_rows<Scalar, Space>(matrix);
}

/// The factor sweep on a source whose levels, the leaf's last, belong to `modes`.
template <class Index, class Space, class Scalar, class Source>
void sweep_factors(Space const& space, Source const& source, Kokkos::Array<int, max_order> const& modes,
                   FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                   SgdStep rates, SgdForm form, SgdWorkspace<Scalar, Space> const& workspace) {
  int const mode = modes[model.order() - 1];
  auto const& A  = model.A(mode);
  auto const J   = A.extent_int(1);
  auto const R   = static_cast<int>(model.rank());
  with_fiber_block<Space, Index>(std::max(A.extent(1), model.rank()), [&](auto block) {
    using Kernel        = SgdFactorSweep<Space, Scalar, block(), Source>;
    constexpr int lanes = Kernel::Row::lanes;
    int const team      = team_threads<Space>(lanes);
    Kernel kernel{source,
                  level_rows(model, C, modes, form),
                  workspace.transposed.data(),
                  workspace.transposed.stride(0),
                  A.data(),
                  A.stride(0),
                  J,
                  R,
                  static_cast<Scalar>(rates.step),
                  static_cast<Scalar>(rates.ridge),
                  form.share_fibers,
                  0};
    auto policy  = team_policy<SgdBounds>(space, LaunchShape{ceil_div(source.bins(), team), team, lanes});
    kernel.level = set_pad(policy, static_cast<std::ptrdiff_t>(team * kernel.pad()) * sizeof(Scalar));
    detail::launch("polyad::sgd_factor_sweep", policy, kernel);
  });
}

/// The core sweep likewise: workspace.P = sum of e a' p.
template <class Index, class Space, class Scalar, class Source>
void sweep_cores(Space const& space, Source const& source, Kokkos::Array<int, max_order> const& modes,
                 FastTuckerModel<Scalar, Space> const& model, FactorMatrices<Scalar, Space> const& C,
                 SgdForm form, SgdWorkspace<Scalar, Space> const& workspace) {
  int const mode = modes[model.order() - 1];
  auto const& A  = model.A(mode);
  with_fiber_block<Space, Index>(model.rank(), [&](auto block) {
    auto const launch = [&](auto level) {
      using Kernel        = SgdCoreSweep<Space, Scalar, block(), Source, level()>;
      constexpr int lanes = Kernel::Row::lanes;
      int const team      = team_threads<Space>(lanes);
      typename Kernel::Sums const tile(A.extent(1), model.rank());
      tile.expect_room(workspace.sums);
      // There are as many teams as partial sums, each with a chunk of the bins. A tile has at most 32 KiB and
      // 128 nonzeros. On a host it has at most 64, which fit its first-level cache.
      count_t const teams = std::min(workspace.sums.extent(0), ceil_div(source.bins(), team));
      constexpr int bytes = 32 * 1024, nonzeros = items_per_thread<Space>(128, 64);
      Kernel const kernel{source,
                          level_rows(model, C, modes, form),
                          A.data(),
                          A.stride(0),
                          A.extent_int(1),
                          static_cast<int>(model.rank()),
                          form.share_fibers,
                          tile,
                          std::clamp(bytes / static_cast<int>(tile.pad_bytes(1)) / team, 1, nonzeros / team),
                          ceil_div(source.bins(), teams * team),
                          workspace.sums};
      auto policy = team_policy<SgdCoreBounds>(space, LaunchShape{teams, team, lanes});
      if (set_pad(policy, kernel.pad_bytes(team)) != level()) return false;
      detail::launch("polyad::sgd_core_sweep", policy, kernel);
      add_sums(space, workspace.sums, teams, 1.0, workspace.P);
      return true;
    };
    if (!launch(std::integral_constant<int, 0>{})) launch(std::integral_constant<int, 1>{});
  });
}

}  // namespace polyad::detail
