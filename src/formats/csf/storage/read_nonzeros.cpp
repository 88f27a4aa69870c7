// SPDX-License-Identifier: BSD-3-Clause
// read_nonzeros of the CSF family: a nonzero's ancestors are found by bisection, level by level.
#include "formats/csf/storage/b_csf.hpp"
#include "formats/csf/storage/csf.hpp"
#include "formats/csf/storage/hb_csf.hpp"
#include "formats/walks/nonzero_reader.hpp"
#include "polyad/core/instances.hpp"

namespace polyad::detail {
namespace {

template <class Scalar, class Index>
struct TreeNonzeros {
  Index const* indices[max_order]{};
  Index const* pointers[max_order]{};
  count_t nodes[max_order]{};
  Scalar const* values;
  Kokkos::Array<int, max_order> modes;
  int order;
  int pointer_levels;

  template <class Space>
  explicit TreeNonzeros(CsfTree<Scalar, Index, Space> const& tree)
      : values(tree.values.data()),
        modes(tree.modes),
        order(tree.order),
        pointer_levels(tree.pointer_levels) {
    for (int l = 0; l < order; ++l) {
      indices[l]  = tree.indices[l].data();
      pointers[l] = tree.pointers[l].data();
      nodes[l]    = tree.nodes(l);
    }
  }

  [[nodiscard]] KOKKOS_FUNCTION Scalar read(count_t p, count_t* index) const {
    // From the leaf up. Levels without pointers have an index for each nonzero.
    count_t node = p;
    for (int l = order - 1; l >= 0; --l) {
      if (l < pointer_levels) node = last_at_most(pointers[l], nodes[l], node);
      index[modes[l]] = indices[l][node];
    }
    return values[p];
  }
};

}  // namespace

template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, Csf<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block) {
  NonzeroReader<Space, Scalar>(space, X, first, block)
      .piece(TreeNonzeros<Scalar, Index>(X.tree()), X.tree().nnz());
}

template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, BCsf<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block) {
  NonzeroReader<Space, Scalar>(space, X, first, block)
      .piece(TreeNonzeros<Scalar, Index>(X.tree(0).tree), X.nnz());
}

template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, HbCsf<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block) {
  NonzeroReader<Space, Scalar> reader(space, X, first, block);
  auto const& groups = X.groups(0);
  for (auto const* tree : {&groups.coo, &groups.csl.tree, &groups.b_csf.tree})
    reader.piece(TreeNonzeros<Scalar, Index>(*tree), tree->nnz());
}

POLYAD_EACH_OF(Csf, POLYAD_READ_NONZEROS);
POLYAD_EACH_OF(BCsf, POLYAD_READ_NONZEROS);
POLYAD_EACH_OF(HbCsf, POLYAD_READ_NONZEROS);

}  // namespace polyad::detail
