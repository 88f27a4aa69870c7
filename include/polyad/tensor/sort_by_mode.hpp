// SPDX-License-Identifier: BSD-3-Clause
// Permutations that visit a tensor's nonzeros in the order of one mode's index (GenTen, section 6).
// Sorting stably by several modes, the least important one first, gives any lexicographic order.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/instances.hpp"
#include "polyad/core/sort.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad {

/// The order in which nonzeros are visited: positions in the tensor's arrays.
template <class Ordinal, class Space>
using Permutation = Kokkos::View<Ordinal*, typename Space::device_type>;

namespace detail {

template <class Permutation>
struct Iota {
  Permutation permutation;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    permutation(i) = static_cast<typename Permutation::value_type>(i);
  }
};

template <class Indices, class Permutation, class Keys>
struct GatherKeys {
  Indices indices;
  Permutation permutation;
  Keys keys;
  int mode;
  KOKKOS_FUNCTION void operator()(count_t i) const { keys(i) = indices(permutation(i), mode); }
};

/// The indices of several modes side by side in one word, the last of `modes` in the lowest bits.
template <class Indices, class Permutation>
struct PackKeys {
  Indices indices;
  Permutation permutation;
  Kokkos::View<std::uint64_t*, typename Indices::device_type> keys;
  Kokkos::Array<int, max_order> modes;
  Kokkos::Array<int, max_order> bits;
  int count;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    std::uint64_t key = 0;
    for (int m = 0; m < count; ++m) key = key << bits[m] | indices(permutation(i), modes[m]);
    keys(i) = key;
  }
};

inline void expect_permutation_of(count_t nnz, count_t length) {
  POLYAD_EXPECTS(length == nnz, "a permutation of ", length, " numbers for ", nnz, " nonzeros");
}

}  // namespace detail

/// 0, 1, ..., length - 1. Launches on `space` and returns without waiting. \throws MemoryError
template <class Ordinal, class Space>
[[nodiscard]] Permutation<Ordinal, Space> identity_permutation(Space const& space, count_t length) {
  expect_fits(space, "a permutation of the nonzeros", length, sizeof(Ordinal));
  Permutation<Ordinal, Space> permutation(uninitialized(space, "polyad::permutation"), length);
  Kokkos::parallel_for("polyad::iota",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, length),
                       detail::Iota<Permutation<Ordinal, Space>>{permutation});
  return permutation;
}

/// Reorders a permutation so that the index of `mode` does not decrease; equal ones keep their order.
/// The permutation has P numbers. Waits for `space`. \throws UsageError for another length or no such mode;
/// MemoryError
template <class Scalar, class Index, class Space, class Ordinal>
void sort_by_mode(Space const& space, CooTensor<Scalar, Index, Space> const& tensor, int mode,
                  Kokkos::View<Ordinal*, typename Space::device_type> const& permutation) {
  using Keys        = Kokkos::View<Index*, typename Space::device_type>;
  using Indices     = typename CooTensor<Scalar, Index, Space>::indices_type;
  count_t const nnz = tensor.nnz();
  expect_mode(mode, tensor.extents());
  detail::expect_permutation_of(nnz, permutation.extent(0));
  expect_fits(space, "the sort's keys", nnz, sizeof(Index));
  Keys const keys(uninitialized(space, "polyad::sort_keys"), nnz);
  Kokkos::parallel_for("polyad::gather_keys",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, nnz),
                       detail::GatherKeys<Indices, Permutation<Ordinal, Space>, Keys>{
                           tensor.indices(), permutation, keys, mode});
  sort_pairs(space, keys, permutation, bits_for(tensor.extents()[mode]));
}

/// Reorders a permutation into the lexicographic order of the indices of modes[0], ..., modes[count - 1], the
/// first one major; equal ones keep their order. As many modes as fit share a word of 64 bits and a sort. The
/// permutation has P numbers. Waits for `space`. \throws UsageError and MemoryError as sort_by_mode does
template <class Scalar, class Index, class Space, class Ordinal>
void sort_by_modes(Space const& space, CooTensor<Scalar, Index, Space> const& tensor,
                   Kokkos::Array<int, max_order> const& modes, int count,
                   Kokkos::View<Ordinal*, typename Space::device_type> const& permutation) {
  using Indices     = typename CooTensor<Scalar, Index, Space>::indices_type;
  count_t const nnz = tensor.nnz();
  for (int m = 0; m < count; ++m) expect_mode(modes[m], tensor.extents());
  detail::expect_permutation_of(nnz, permutation.extent(0));
  expect_fits(space, "the sort's keys", nnz, sizeof(std::uint64_t));
  Kokkos::View<std::uint64_t*, typename Space::device_type> const keys(
      uninitialized(space, "polyad::sort_keys"), nnz);
  for (int end = count; end > 0;) {
    int begin = end;
    int total = 0;
    while (begin > 0) {
      int const bits = bits_for(tensor.extents()[modes[begin - 1]]);
      if (total + bits > 64) break;
      total += bits;
      --begin;
    }
    detail::PackKeys<Indices, Permutation<Ordinal, Space>> pack{tensor.indices(), permutation, keys, {}, {},
                                                                end - begin};
    for (int m = begin; m < end; ++m) {
      std::size_t const at = m - begin;
      pack.modes[at]       = modes[m];
      // A shift by 64 has no meaning, but a mode of 64 bits is alone in its word.
      pack.bits[at] = m == begin ? 0 : bits_for(tensor.extents()[pack.modes[at]]);
    }
    Kokkos::parallel_for("polyad::pack_keys",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, nnz), pack);
    sort_pairs(space, keys, permutation, total);
    end = begin;
  }
}

/// The same for all modes but `skipped` (-1: none), in their own order. So nonzeros that differ only in mode
/// `skipped` are consecutive.
template <class Scalar, class Index, class Space, class Ordinal>
void sort_by_other_modes(Space const& space, CooTensor<Scalar, Index, Space> const& tensor, int skipped,
                         Kokkos::View<Ordinal*, typename Space::device_type> const& permutation) {
  Kokkos::Array<int, max_order> modes{};
  int count = 0;
  for (int n = 0; n < tensor.order(); ++n)
    if (n != skipped) modes[count++] = n;
  sort_by_modes(space, tensor, modes, count, permutation);
}

#define POLYAD_IDENTITY_PERMUTATION(Ordinal) \
  template Permutation<Ordinal, CompiledSpace> identity_permutation<Ordinal>(CompiledSpace const&, count_t)
extern POLYAD_IDENTITY_PERMUTATION(std::uint32_t);
extern POLYAD_IDENTITY_PERMUTATION(std::uint64_t);
#define POLYAD_SORT_BY_MODES(Scalar, Index)                                                         \
  template void sort_by_modes(CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&, \
                              Kokkos::Array<int, max_order> const&, int,                            \
                              Kokkos::View<Index*, CompiledSpace::device_type> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_SORT_BY_MODES);

}  // namespace polyad
