// SPDX-License-Identifier: BSD-3-Clause
// hold_out divides entries into kept and held-out ones, by a hash of their coordinates.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <utility>

#include "core/host_side.hpp"
#include "fast_tucker/entries.hpp"
#include "polyad/core/counter_rng.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad::detail {

/// Rows with fewer entries keep all of them: the remainder would determine too little.
inline constexpr unsigned few_entries = 4;

/// The last steps of counter_uniform's hash.
[[nodiscard]] KOKKOS_INLINE_FUNCTION std::uint64_t mix_bits(std::uint64_t z) {
  z *= 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// counts(first_row(n) + k) = the entries of row k of mode n.
template <class Index, class Counts>
struct CountEntries {
  Index const* indices;
  Kokkos::Array<count_t, max_order> first_row;
  int order;
  Counts counts;
  KOKKOS_FUNCTION void operator()(count_t p) const {
    for (int n = 0; n < order; ++n)
      Kokkos::atomic_inc(
          &counts(first_row[n] +
                  static_cast<count_t>(indices[p * static_cast<count_t>(order) + static_cast<count_t>(n)])));
  }
};

/// A scan: the number of held-out entries before p gives the place of entry p.
template <class Scalar, class Index, class Counts>
struct DivideEntries {
  Index const* indices;
  Scalar const* values;
  Kokkos::Array<count_t, max_order> first_row;
  int order;
  Counts counts;
  double share;
  bool writes;
  Index* kept_indices;
  Scalar* kept_values;
  Index* held_indices;
  Scalar* held_values;

  [[nodiscard]] KOKKOS_FUNCTION bool is_held(count_t p) const {
    std::uint64_t hash = 0;
    for (int n = 0; n < order; ++n) {
      auto const k = static_cast<count_t>(indices[p * static_cast<count_t>(order) + static_cast<count_t>(n)]);
      if (counts(first_row[n] + k) < few_entries) return false;
      hash = mix_bits(hash + k + 1);
    }
    return static_cast<double>(hash >> 11) * 0x1p-53 < share;
  }
  KOKKOS_FUNCTION void operator()(count_t p, count_t& held_before, bool last) const {
    bool const held = is_held(p);
    if (last && writes) {
      count_t const to   = held ? held_before : p - held_before;
      Index* const index = held ? held_indices : kept_indices;
      for (count_t n = 0; n < static_cast<count_t>(order); ++n)
        index[to * static_cast<count_t>(order) + n] = indices[p * static_cast<count_t>(order) + n];
      (held ? held_values : kept_values)[to] = values[p];
    }
    held_before += held ? 1 : 0;
  }
};

/// The kept and the held-out entries of X, each in X's order. The same on every backend; entries with equal
/// coordinates stay together. Waits for `space`. \throws MemoryError
/// \param make_kept  makes the tensor for so many kept entries
template <class Scalar, class Index, class Space, class MakeKept>
std::pair<CooTensor<Scalar, Index, Space>, CooTensor<Scalar, Index, Space>> hold_out(
    Space const& space, CooTensor<Scalar, Index, Space> const& X, double share, MakeKept const& make_kept) {
  using Counts = Kokkos::View<unsigned*, typename Space::device_type>;
  using Range  = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  Kokkos::Array<count_t, max_order> first_row{};
  count_t rows = 0;
  for (int n = 0; n < X.order(); ++n) {
    first_row[n] = rows;
    rows += X.extents()[n];
  }
  expect_fits(space, "the entries of each row", rows, sizeof(unsigned));
  Counts const counts(Kokkos::view_alloc(space, "polyad::entries_of_rows"), rows);
  Kokkos::parallel_for("polyad::count_entries", Range(space, 0, X.nnz()),
                       CountEntries<Index, Counts>{X.indices().data(), first_row, X.order(), counts});
  DivideEntries<Scalar, Index, Counts> divide{X.indices().data(),
                                              X.values().data(),
                                              first_row,
                                              X.order(),
                                              counts,
                                              share,
                                              false,
                                              nullptr,
                                              nullptr,
                                              nullptr,
                                              nullptr};
  count_t held = 0;
  Kokkos::parallel_scan("polyad::count_held_out", Range(space, 0, X.nnz()), divide, held);
  auto result =
      std::pair(make_kept(X.nnz() - held), make_coo_tensor<Scalar, Index>(space, X.extents(), held));
  divide.writes       = true;
  divide.kept_indices = result.first.indices().data();
  divide.kept_values  = result.first.values().data();
  divide.held_indices = result.second.indices().data();
  divide.held_values  = result.second.values().data();
  Kokkos::parallel_scan("polyad::hold_out", Range(space, 0, X.nnz()), divide, held);
  return result;
}
template <class Scalar, class Index, class Space>
auto hold_out(Space const& space, CooTensor<Scalar, Index, Space> const& X, double share) {
  return hold_out(space, X, share,
                  [&](count_t kept) { return make_coo_tensor<Scalar, Index>(space, X.extents(), kept); });
}

/// The same for Entries: the kept ones stay on the host or the device, the held-out ones are on the device.
template <class Scalar, class Index, class Space>
std::pair<Entries<Scalar, Index, Space>, CooTensor<Scalar, Index, Space>> hold_out(
    Space const& space, Entries<Scalar, Index, Space> const& X, double share) {
  using Held = CooTensor<Scalar, Index, Space>;
  if (!X.on_host()) {
    auto const parts = hold_out(space, X.tensor(), share);
    return {Entries<Scalar, Index, Space>(parts.first), parts.second};
  }
  PinnedTensor<Scalar, Index, Space> kept;
  CooTensor<Scalar, Index, HostOf<Space>> on_host;
  {
    DeviceMemoryAccount::HostArrays const in_host_memory;
    on_host = hold_out(host_instance(space), X.pinned().tensor, share, [&](count_t nnz) {
                kept = make_pinned_tensor<Scalar, Index, Space>(X.extents(), nnz);
                return kept.tensor;
              }).second;
  }
  Held const held = make_coo_tensor<Scalar, Index>(space, X.extents(), on_host.nnz());
  Kokkos::deep_copy(space, held.indices(), on_host.indices());
  Kokkos::deep_copy(space, held.values(), on_host.values());
  space.fence("polyad::hold_out");
  return {Entries<Scalar, Index, Space>(kept, X.buffers()), held};
}

}  // namespace polyad::detail
