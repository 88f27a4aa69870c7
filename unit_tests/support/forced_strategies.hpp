// SPDX-License-Identifier: BSD-3-Clause
// Each strategy of the families of formats (their *_tuning.hpp), forced, for the tests and for polyad_perf's
// comparison: MTTKRPs in float with 32-bit indices, for any order and one block of columns. Those that a
// backend does not take are compiled here and nowhere else.
//
//   X(space, coo)                       the format, built for the strategy
//   X.add(space, factors, mode, V, w)   V (I_mode x R) = the MTTKRP; w is X.make_workspace(space, R)
//   X.residual(space, C, mode, G, w)    the residual sweep, for R up to the block; of alto and blco
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>

#include "formats/blco/build/build_alto.hpp"
#include "formats/blco/build/build_blco.hpp"
#include "formats/blco/kernels/mttkrp_alto.hpp"
#include "formats/blco/kernels/mttkrp_blco.hpp"
#include "formats/coo/kernels/mttkrp_sorted.hpp"
#include "formats/csf/kernels/mttkrp_tree.hpp"
#include "formats/csf/storage/b_csf.hpp"

namespace polyad::test {

template <class Space, int Block>
struct Forced {
  using Index   = std::uint32_t;
  using Row     = TinyVec<Space, float, Block>;
  using Coo     = CooTensor<float, Index, Space>;
  using Factors = FactorMatrices<float, Space>;
  using Matrix  = FactorMatrix<float, Space>;

  /// All blocks of a rank are of one width; the last may be cut off.
  static ColumnBlocks blocks_of(count_t rank) {
    return {0, static_cast<int>(ceil_div(rank, static_cast<count_t>(Block))), static_cast<int>(rank)};
  }
  /// Calls f(std::integral_constant<int, Width>, blocks): with the one block on a device, and on a host with
  /// those of a rank, since walks that have CutColumns serve no others.
  template <class F>
  static void for_each_block(count_t rank, F&& f) {
    if constexpr (is_device_space<Space>)
      f(std::integral_constant<int, Block>{}, blocks_of(rank));
    else
      for_each_column_block(checked_rank(rank), f);
  }
  static detail::ResidualTerm<float> residual_of(Matrix const& C) {
    return {C.data(), static_cast<count_t>(C.stride(0))};
  }

  template <class Strategy>
  struct OfAlto {
    using Format         = detail::Alto<float, Index, Space>;
    using workspace_type = typename Format::workspace_type;
    static std::string name() { return std::string("alto:walk=") + Strategy::walk; }

    Format X;
    OfAlto(Space const& space, Coo const& coo, detail::AltoOptions const& options = {})
        : X(Format::template build_for<Strategy>(space, coo, options)) {}
    [[nodiscard]] workspace_type make_workspace(Space const& space, count_t rank) const {
      return X.make_workspace(space, rank);
    }
    void add(Space const& space, Factors const& factors, int mode, Matrix const& V,
             workspace_type const& workspace) const {
      walk(space, factors, mode, V, workspace, detail::ProductTerm());
    }
    void residual(Space const& space, Factors const& C, int mode, Matrix const& G,
                  workspace_type const& workspace) const {
      walk(space, C, mode, G, workspace, residual_of(C[mode]));
    }

  private:
    template <class Term>
    void walk(Space const& space, Factors const& factors, int mode, Matrix const& V,
              workspace_type const& workspace, Term const& term) const {
      auto const operands = alto_operands(Strategy(), space, X, factors, mode, workspace, V);
      detail::launch_alto<Row>(Strategy(), space, X, X.values().data(), operands, mode,
                               blocks_of(factors.rank()), term);
      finish_alto(Strategy(), space, X, mode, workspace, V);
    }
  };

  template <class Strategy>
  struct OfBlco {
    using Format         = detail::Blco<float, Index, Space>;
    using workspace_type = typename Format::workspace_type;
    static std::string name() { return std::string("blco:walk=") + Strategy::walk; }

    Format X;
    OfBlco(Space const& space, Coo const& coo)
        : X(Format::template build_for<Strategy>(
              space, coo,
              {.resolution =
                   Strategy::has_chunks ? detail::Resolution::privatised : detail::Resolution::registers})) {}
    [[nodiscard]] workspace_type make_workspace(Space const& space, count_t rank) const {
      return X.make_workspace(space, rank);
    }
    void add(Space const& space, Factors const& factors, int mode, Matrix const& V,
             workspace_type const& workspace) const {
      walk(space, factors, mode, V, workspace, detail::ProductTerm());
    }
    void residual(Space const& space, Factors const& C, int mode, Matrix const& G,
                  workspace_type const& workspace) const {
      walk(space, C, mode, G, workspace, residual_of(C[mode]));
    }

  private:
    template <class Term>
    void walk(Space const& space, Factors const& factors, int mode, Matrix const& V,
              workspace_type const& workspace, Term const& term) const {
      auto const nonzeros = X.blocks().nonzeros();
      auto const blocks   = blocks_of(factors.rank());
      if constexpr (Strategy::has_chunks) {
        detail::walk_all_chunks(space, X, mode, workspace, V, [&] {
          detail::launch_chunks<Row, any_order>(space, X, nonzeros, factors, mode, blocks, workspace, V,
                                                term);
        });
      } else {
        detail::zero_matrix(space, V);
        detail::BlcoOutput<float> const output{V.data(), static_cast<count_t>(V.stride(0)), V.extent(0),
                                               mode};
        detail::add_tiles<Row, any_order>(space, nonzeros, X.options(), factors, X.resolve(space, mode),
                                          blocks, output, term);
      }
    }
  };

  /// Strategy: SumFibers or MultiplyEach.
  template <template <int> class Kind>
  struct OfTrees {
    using Strategy       = Kind<detail::csf_batch<Row>>;
    using Format         = detail::BCsf<float, Index, Space>;
    using workspace_type = NoWorkspace;
    static std::string name() {
      return std::string("b-csf:fibers=") + (Strategy::sums_fibers ? "summed" : "each");
    }

    Format X;
    OfTrees(Space const& space, Coo const& coo) : X(Format::build(space, coo, {})) {}
    [[nodiscard]] workspace_type make_workspace(Space const&, count_t) const { return {}; }
    void add(Space const& space, Factors const& factors, int mode, Matrix const& V,
             workspace_type const&) const {
      for_each_block(factors.rank(), [&](auto block, ColumnBlocks blocks) {
        using BlockRow = TinyVec<Space, float, block()>;
        using Kernel =
            detail::MttkrpTree<BlockRow, Index, any_order, Kind<detail::csf_batch<BlockRow>>, false>;
        detail::clear_rows<Space, float, Index, block()>(space, X.cleared(mode), blocks, V);
        detail::launch_bins<Kernel, false, any_order>("polyad::forced_tree", space, X.tree(mode).tree,
                                                      X.tree(mode).bins, factors, blocks, V);
      });
    }
  };

  /// Strategy: HoistRuns or HoistNothing.
  template <template <int> class Kind>
  struct OfSorted {
    using Strategy       = Kind<detail::sorted_batch<Row>>;
    using Format         = detail::Sorted<float, Index, Space>;
    using workspace_type = NoWorkspace;
    static std::string name() {
      return std::string("sorted:runs=") + (Strategy::hoists ? "hoisted" : "each");
    }

    Format X;
    OfSorted(Space const& space, Coo const& coo)
        : X(Format::build(space, coo, {.storage = detail::SortedOptions::Storage::copies, .block_rows = 0})) {
    }
    [[nodiscard]] workspace_type make_workspace(Space const&, count_t) const { return {}; }
    void add(Space const& space, Factors const& factors, int mode, Matrix const& V,
             workspace_type const&) const {
      detail::zero_matrix(space, V);
      for_each_block(factors.rank(), [&](auto block, ColumnBlocks blocks) {
        using BlockRow = TinyVec<Space, float, block()>;
        using Walk     = detail::SortedWalk<BlockRow, Index, any_order, Kind<detail::sorted_batch<BlockRow>>>;
        auto const& copy = X.copy(mode);
        ChunkWalk const chunks{copy.nnz, copy.chunk, blocks};
        detail::launch_with_local_copy(
            "polyad::forced_sorted",
            chunks.template policy<BlockRow, detail::SortedBounds<float, any_order>>(space),
            detail::MttkrpInOrder<Walk, false>{
                {detail::SortedSource(copy),
                 OtherFactors<float, any_order>(factors, copy.modes),
                 {},
                 {detail::RowsAt<float>(V), {nullptr, nullptr, 0}, copy.block_rows > 0}},
                chunks});
      });
    }
  };

  /// Calls f(std::type_identity<one of them>()) for each.
  template <class F>
  static void for_each(F&& f) {
    f(std::type_identity<OfAlto<detail::AltoPrivateRows>>());
    f(std::type_identity<OfAlto<detail::AltoAtomics>>());
    f(std::type_identity<OfBlco<detail::BlcoTiled>>());
    f(std::type_identity<OfBlco<detail::BlcoChunked>>());
    f(std::type_identity<OfTrees<detail::SumFibers>>());
    f(std::type_identity<OfTrees<detail::MultiplyEach>>());
    f(std::type_identity<OfSorted<detail::HoistRuns>>());
    f(std::type_identity<OfSorted<detail::HoistNothing>>());
  }
};

}  // namespace polyad::test
