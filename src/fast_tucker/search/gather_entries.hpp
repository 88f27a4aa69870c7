// SPDX-License-Identifier: BSD-3-Clause
// gather_entries: the entries that a predicate keeps, in their order.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/tensor/coo_tensor.hpp"

namespace polyad::detail {

/// A scan: the number of kept entries before p gives the place of entry p.
template <class Scalar, class Index, class Keeps>
struct GatherEntries {
  Index const* indices;
  Scalar const* values;
  count_t order;
  Keeps keeps;
  bool writes;
  Index* kept_indices;
  Scalar* kept_values;

  KOKKOS_FUNCTION void operator()(count_t p, count_t& before, bool last) const {
    Index const* const index = indices + p * order;
    if (!keeps(index)) return;
    if (last && writes) {
      for (count_t n = 0; n < order; ++n) kept_indices[before * order + n] = index[n];
      kept_values[before] = values[p];
    }
    ++before;
  }
};

/// The result is the same on every backend. Waits for `space`. \throws MemoryError
/// \param keeps  a functor: whether to keep the entry with these N indices
/// \param make   makes the tensor for that many entries
template <class Scalar, class Index, class Space, class Keeps, class Make>
CooTensor<Scalar, Index, Space> gather_entries(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                                               Keeps const& keeps, Make const& make) {
  using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  GatherEntries<Scalar, Index, Keeps> gather{
      X.indices().data(), X.values().data(), static_cast<count_t>(X.order()), keeps, false, nullptr, nullptr};
  count_t kept = 0;
  Kokkos::parallel_scan("polyad::count_kept_entries", Range(space, 0, X.nnz()), gather, kept);
  auto const result   = make(kept);
  gather.writes       = true;
  gather.kept_indices = result.indices().data();
  gather.kept_values  = result.values().data();
  Kokkos::parallel_scan("polyad::gather_entries", Range(space, 0, X.nnz()), gather, kept);
  return result;
}

}  // namespace polyad::detail
