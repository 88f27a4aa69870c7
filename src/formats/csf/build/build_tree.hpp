// SPDX-License-Identifier: BSD-3-Clause
// The builders of a CsfTree. The nonzeros are sorted by the levels' modes. Each nonzero gets a byte that says
// which nodes begin at it. Scans over these bytes write the levels.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <limits>

#include "formats/csf/storage/csf_tree.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/sort_by_mode.hpp"

namespace polyad::detail {

/// Where nodes begin: one byte per nonzero of a sorted tensor. It is the first level at which the nonzero
/// differs from the one before, or N if all indices are the same. A node of level l begins where the byte is
/// at most l.
template <class Space>
using NodeStarts = Kokkos::View<unsigned char*, typename Space::device_type>;

/// An array that is written before it is read. \throws MemoryError before allocating
template <class Number, class Space>
Kokkos::View<Number*, typename Space::device_type> make_csf_array(Space const& space, char const* what,
                                                                  count_t length) {
  expect_fits(space, what, length, sizeof(Number));
  return Kokkos::View<Number*, typename Space::device_type>(uninitialized(space, "polyad::csf"), length);
}

template <class Indices, class Permutation, class Starts>
struct FindNodeStarts {
  Indices indices;
  Permutation permutation;
  Kokkos::Array<int, max_order> modes;
  int order;
  Starts starts;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    int level = 0;
    if (i > 0) {
      count_t const p = permutation(i), before = permutation(i - 1);
      while (level < order && indices(p, modes[level]) == indices(before, modes[level])) ++level;
    }
    starts(i) = static_cast<unsigned char>(level);
  }
};

/// fbr-split: begins a segment after every `threshold` nonzeros of a fiber. A scan finds the start of each
/// nonzero's fiber.
template <class Starts>
struct SplitFibers {
  using value_type = count_t;
  Starts starts;
  int fiber_level;
  count_t threshold;
  KOKKOS_FUNCTION void init(count_t& begin) const { begin = 0; }
  KOKKOS_FUNCTION void join(count_t& begin, count_t const& other) const { begin = Kokkos::max(begin, other); }
  KOKKOS_FUNCTION void operator()(count_t i, count_t& begin, bool final) const {
    if (starts(i) <= fiber_level)
      begin = Kokkos::max(begin, i);
    else if (final && (i - begin) % threshold == 0)
      starts(i) = static_cast<unsigned char>(fiber_level);
  }
};

template <class Starts>
struct CountNodes {
  Starts starts;
  int level;
  KOKKOS_FUNCTION void operator()(count_t i, count_t& nodes) const { nodes += starts(i) <= level ? 1 : 0; }
};

/// A node and its first child, both counted from the tensor's first nonzero.
struct NodeAndChild {
  count_t node  = 0;
  count_t child = 0;
  KOKKOS_FUNCTION NodeAndChild& operator+=(NodeAndChild const& other) {
    node += other.node;
    child += other.child;
    return *this;
  }
};

/// Scan that writes one level: the index and the first child of each node.
template <class Indices, class Permutation, class Starts, class Array>
struct WriteLevel {
  using value_type              = NodeAndChild;
  static constexpr int nonzeros = max_order + 1;  // as the children's level: no byte is larger

  Indices indices;
  Permutation permutation;
  Starts starts;
  int level;
  int child_level;
  int mode;
  Array node_indices;
  Array node_pointers;
  KOKKOS_FUNCTION void operator()(count_t i, NodeAndChild& at, bool final) const {
    int const start = starts(i);
    if (start <= level) {
      if (final) {
        node_indices(at.node)  = indices(permutation(i), mode);
        node_pointers(at.node) = static_cast<typename Array::value_type>(at.child);
      }
      ++at.node;
    }
    if (start <= child_level) ++at.child;
  }
};

/// Writes the arrays with one entry per nonzero: the indices of the levels without pointers, and the values.
template <class Tensor, class Permutation, class Array, class Values>
struct WriteNonzeros {
  typename Tensor::indices_type indices;
  typename Tensor::values_type values;
  Permutation permutation;
  Kokkos::Array<int, max_order> modes;
  Kokkos::Array<Array, max_order> leaf_indices;
  int first;  // level without pointers
  int order;
  Values leaf_values;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    count_t const p = permutation(i);
    for (int l = first; l < order; ++l) leaf_indices[l](i) = indices(p, modes[l]);
    leaf_values(i) = values(p);
  }
};

/// The bytes of the nonzeros in the order of `permutation`, which sorts them by `modes`.
template <class Scalar, class Index, class Space>
NodeStarts<Space> find_node_starts(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                   Permutation<Index, Space> const& permutation,
                                   Kokkos::Array<int, max_order> const& modes) {
  using Indices     = typename CooTensor<Scalar, Index, Space>::indices_type;
  auto const starts = make_csf_array<unsigned char>(space, "the starts of a tree's nodes", coo.nnz());
  Kokkos::parallel_for("polyad::csf_node_starts",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, coo.nnz()),
                       FindNodeStarts<Indices, Permutation<Index, Space>, NodeStarts<Space>>{
                           coo.indices(), permutation, modes, coo.order(), starts});
  return starts;
}

/// Splits fibers that are longer than the threshold. In tensors of order 2 the only fibers are the slices.
template <class Space>
void split_fibers(Space const& space, int order, std::int64_t threshold, NodeStarts<Space> const& starts) {
  if (order < 3 || threshold == no_split || starts.extent(0) == 0) return;
  Kokkos::parallel_scan("polyad::csf_split_fibers",
                        Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, starts.extent(0)),
                        SplitFibers<NodeStarts<Space>>{starts, order - 2, static_cast<count_t>(threshold)});
}

template <class Space>
count_t count_nodes(Space const& space, NodeStarts<Space> const& starts, int level) {
  count_t nodes = 0;
  Kokkos::parallel_reduce("polyad::csf_count_nodes",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, starts.extent(0)),
                          CountNodes<NodeStarts<Space>>{starts, level}, nodes);
  return nodes;
}

/// How many nonzeros have all indices of the one before. Call it before split_fibers, which overwrites their
/// bytes.
template <class Space>
count_t count_repeated(Space const& space, int order, NodeStarts<Space> const& starts) {
  return starts.extent(0) == 0 ? 0 : starts.extent(0) - count_nodes(space, starts, order - 1);
}

/// The tree of the nonzeros in the order of `permutation`, given where their nodes begin. Waits for `space`.
/// \throws MemoryError
template <class Scalar, class Index, class Space>
CsfTree<Scalar, Index, Space> make_tree(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                        Permutation<Index, Space> const& permutation,
                                        NodeStarts<Space> const& starts,
                                        Kokkos::Array<int, max_order> const& modes, int pointer_levels) {
  using Tree   = CsfTree<Scalar, Index, Space>;
  using Array  = typename Tree::array_type;
  using Tensor = CooTensor<Scalar, Index, Space>;
  using Range  = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Level =
      WriteLevel<typename Tensor::indices_type, Permutation<Index, Space>, NodeStarts<Space>, Array>;
  using Nonzeros    = WriteNonzeros<Tensor, Permutation<Index, Space>, Array, typename Tree::values_type>;
  count_t const nnz = permutation.extent(0);
  Tree tree;
  tree.order          = coo.order();
  tree.pointer_levels = pointer_levels;
  tree.modes          = modes;
  count_t children    = nnz;
  for (int l = pointer_levels - 1; l >= 0; --l) {
    std::size_t const at = l;
    count_t const nodes  = nnz == 0 ? 0 : count_nodes(space, starts, l);
    tree.indices[at]     = make_csf_array<Index>(space, "the indices of a tree's level", nodes);
    tree.pointers[at]    = make_csf_array<Index>(space, "the pointers of a tree's level", nodes + 1);
    if (nnz > 0)
      Kokkos::parallel_scan(
          "polyad::csf_write_level", Range(space, 0, nnz),
          Level{coo.indices(), permutation, starts, l, l + 1 == pointer_levels ? Level::nonzeros : l + 1,
                modes[at], tree.indices[at], tree.pointers[at]});
    Kokkos::deep_copy(space, Kokkos::subview(tree.pointers[at], nodes), static_cast<Index>(children));
    children = nodes;
  }
  tree.values = make_csf_array<Scalar>(space, "the values of a tree", nnz);
  Nonzeros nonzeros{coo.indices(),  coo.values(), permutation, modes, {},
                    pointer_levels, coo.order(),  tree.values};
  for (int l = pointer_levels; l < coo.order(); ++l) {
    std::size_t const at      = l;
    tree.indices[at]          = make_csf_array<Index>(space, "the indices of a tree's leaves", nnz);
    nonzeros.leaf_indices[at] = tree.indices[at];
  }
  if (nnz > 0) Kokkos::parallel_for("polyad::csf_write_nonzeros", Range(space, 0, nnz), nonzeros);
  space.fence("polyad::make_tree");
  return tree;
}

/// Levels with pointers of a whole tree.
constexpr int tree_pointer_levels(int order) {
  return order < 3 ? 1 : order - 1;
}

/// \throws UsageError when a threshold is not positive
inline void expect_threshold(char const* what, std::int64_t threshold) {
  POLYAD_EXPECTS(threshold > 0, "the ", what, " threshold must be positive, not ", threshold);
}

/// \throws UsageError when Index cannot number the nonzeros
template <class Index>
void expect_countable(count_t nnz) {
  POLYAD_EXPECTS(nnz <= std::numeric_limits<Index>::max(), nnz,
                 " nonzeros need 64-bit indices in this format");
}

/// The CSF tree with the given modes as its levels (see level_modes), its fibers split into segments of at
/// most `fiber_threshold` nonzeros (fbr-split, section IV-B). Linear in the nonzeros; waits for `space`.
/// \throws UsageError, before anything is allocated, when the threshold is not positive or Index cannot
///         number the nonzeros; MemoryError
template <class Scalar, class Index, class Space>
CsfTree<Scalar, Index, Space> make_csf_tree(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                            Kokkos::Array<int, max_order> const& modes,
                                            std::int64_t fiber_threshold = no_split) {
  detail::expect_threshold("fiber", fiber_threshold);
  detail::expect_countable<Index>(coo.nnz());
  auto const permutation = identity_permutation<Index>(space, coo.nnz());
  sort_by_modes(space, coo, modes, coo.order(), permutation);
  auto const starts   = detail::find_node_starts(space, coo, permutation, modes);
  auto const repeated = detail::count_repeated(space, coo.order(), starts);
  detail::split_fibers(space, coo.order(), fiber_threshold, starts);
  auto tree =
      detail::make_tree(space, coo, permutation, starts, modes, detail::tree_pointer_levels(coo.order()));
  tree.duplicates = repeated;
  return tree;
}

}  // namespace polyad::detail
