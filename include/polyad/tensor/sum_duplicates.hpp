// SPDX-License-Identifier: BSD-3-Clause
// sum_duplicates: nonzeros with the same coordinates become one whose value is their sum.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/instances.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/sort_by_mode.hpp"

namespace polyad {

template <class Tensor>
struct Deduplicated {
  Tensor tensor;
  count_t duplicates;  // nonzeros that were merged into another one
};

namespace detail {

/// Compares the coordinates of nonzeros p and q of a tensor: 0 if equal, 1 if p comes after q, -1 if before.
template <class Indices>
KOKKOS_INLINE_FUNCTION int compare_coordinates(Indices const& indices, count_t p, count_t q) {
  for (count_t n = 0; n < indices.extent(1); ++n)
    if (indices(p, n) != indices(q, n)) return indices(p, n) < indices(q, n) ? -1 : 1;
  return 0;
}

/// Counts the neighbours that are not in strictly increasing lexicographic order.
template <class Indices>
struct CountDisorder {
  Indices indices;
  KOKKOS_FUNCTION void operator()(count_t p, count_t& count) const {
    if (compare_coordinates(indices, p, p + 1) >= 0) ++count;
  }
};

/// Scan over the sorted nonzeros: the first of each run of equal coordinates sums the run.
template <class Tensor, class Permutation>
struct MergeRuns {
  typename Tensor::indices_type indices;
  typename Tensor::values_type values;
  typename Tensor::indices_type merged_indices;
  typename Tensor::values_type merged_values;
  Permutation permutation;
  count_t nnz;

  [[nodiscard]] KOKKOS_FUNCTION bool starts_run(count_t i) const {
    return i == 0 || compare_coordinates(indices, permutation(i), permutation(i - 1)) != 0;
  }
  KOKKOS_FUNCTION void operator()(count_t i, count_t& run, bool final) const {
    bool const starts = starts_run(i);
    if (final && starts && merged_values.extent(0) > 0) {
      double sum = 0;
      for (count_t j = i; j < nnz && (j == i || !starts_run(j)); ++j)
        sum += static_cast<double>(values(permutation(j)));
      merged_values(run) = static_cast<typename Tensor::scalar_type>(sum);
      for (count_t n = 0; n < indices.extent(1); ++n) merged_indices(run, n) = indices(permutation(i), n);
    }
    if (starts) ++run;
  }
};

}  // namespace detail

namespace detail {

/// The scan over the nonzeros in lexicographic order, mode 0 first. Waits for `space`. \throws MemoryError
template <class Scalar, class Index, class Space>
auto runs_of_duplicates(Space const& space, CooTensor<Scalar, Index, Space> const& tensor) {
  using Tensor                  = CooTensor<Scalar, Index, Space>;
  using Permutation             = Kokkos::View<std::uint64_t*, typename Space::device_type>;
  Permutation const permutation = identity_permutation<std::uint64_t>(space, tensor.nnz());
  sort_by_other_modes(space, tensor, -1, permutation);
  return MergeRuns<Tensor, Permutation>{tensor.indices(), tensor.values(), {}, {}, permutation, tensor.nnz()};
}

/// Whether the coordinates increase from nonzero to nonzero, so that none occur twice. Waits for `space`.
template <class Scalar, class Index, class Space>
bool increases(Space const& space, CooTensor<Scalar, Index, Space> const& tensor) {
  if (tensor.nnz() < 2) return true;
  count_t disorder = 0;
  Kokkos::parallel_reduce(
      "polyad::count_disorder",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, tensor.nnz() - 1),
      CountDisorder<typename CooTensor<Scalar, Index, Space>::indices_type>{tensor.indices()}, disorder);
  return disorder == 0;
}

/// The number of runs. Waits for `space`.
template <class Space, class Merge>
count_t count_runs(Space const& space, Merge const& merge) {
  count_t distinct = 0;
  Kokkos::parallel_scan("polyad::count_distinct",
                        Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, merge.nnz), merge,
                        distinct);
  space.fence("polyad::count_duplicates");
  return distinct;
}

}  // namespace detail

/// The number of nonzeros that have the coordinates of an earlier one. If they are in lexicographic order,
/// reads the coordinates once; otherwise linear in the nonzeros. Waits for `space`. \throws MemoryError
template <class Scalar, class Index, class Space>
[[nodiscard]] count_t count_duplicates(Space const& space, CooTensor<Scalar, Index, Space> const& tensor) {
  if (detail::increases(space, tensor)) return 0;
  return tensor.nnz() - detail::count_runs(space, detail::runs_of_duplicates(space, tensor));
}

/// Sums duplicates in the order in which they are stored. A tensor without any is returned as it is;
/// otherwise the nonzeros of the result are sorted, mode 0 first. Linear in the nonzeros (N radix sorts at
/// most). Waits for `space`. \throws MemoryError
template <class Scalar, class Index, class Space>
[[nodiscard]] Deduplicated<CooTensor<Scalar, Index, Space>> sum_duplicates(
    Space const& space, CooTensor<Scalar, Index, Space> const& tensor) {
  count_t const nnz = tensor.nnz();
  if (detail::increases(space, tensor)) return {tensor, 0};
  auto merge       = detail::runs_of_duplicates(space, tensor);
  count_t distinct = detail::count_runs(space, merge);
  if (distinct == nnz) return {tensor, 0};
  auto const merged    = make_coo_tensor<Scalar, Index>(space, tensor.extents(), distinct);
  merge.merged_indices = merged.indices();
  merge.merged_values  = merged.values();
  Kokkos::parallel_scan("polyad::merge_duplicates",
                        Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, nnz), merge,
                        distinct);
  space.fence("polyad::sum_duplicates");
  return {merged, nnz - distinct};
}

#define POLYAD_SUM_DUPLICATES(Scalar, Index)                                     \
  template Deduplicated<CooTensor<Scalar, Index, CompiledSpace>> sum_duplicates( \
      CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_SUM_DUPLICATES);
#define POLYAD_COUNT_DUPLICATES(Scalar, Index) \
  template count_t count_duplicates(CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_COUNT_DUPLICATES);

}  // namespace polyad
