// SPDX-License-Identifier: BSD-3-Clause
// hold_out divides entries into kept and held-out ones by a hash of their coordinates. It holds out entries
// of any row, as a test set does, even of a row that keeps few or none.
//
// A place may occur several times, such as a pair of user and item that was rated again in another context.
// The hash of such an entry includes its value. So a part of the place's entries may be held out, and the
// search sees what the other part says about it. Entries that are copies, with the same value, stay together,
// since one would reveal the noise of the other.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <utility>

#include "core/host_side.hpp"
#include "fast_tucker/entries.hpp"
#include "polyad/core/counter_rng.hpp"
#include "polyad/core/sort.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad::detail {

/// The last steps of counter_uniform's hash.
[[nodiscard]] KOKKOS_INLINE_FUNCTION std::uint64_t mix_bits(std::uint64_t z) {
  z *= 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// The hash of the coordinates of entry p.
template <class Index>
[[nodiscard]] KOKKOS_INLINE_FUNCTION std::uint64_t hash_of_place(Index const* indices, int order, count_t p) {
  std::uint64_t hash = 0;
  for (int n = 0; n < order; ++n)
    hash = mix_bits(
        hash +
        static_cast<std::uint64_t>(indices[p * static_cast<count_t>(order) + static_cast<count_t>(n)]) + 1);
  return hash;
}

/// Bits of the hash by which equal places are found: among 30 million places, one or two are mistaken for
/// equal ones.
inline constexpr int place_bits = 48;

template <class Index, class Numbers>
struct NumberPlaces {
  Index const* indices;
  int order;
  Numbers keys;
  Numbers entries;
  KOKKOS_FUNCTION void operator()(count_t p) const {
    keys(p)    = hash_of_place(indices, order, p) & ((std::uint64_t(1) << place_bits) - 1);
    entries(p) = p;
  }
};

/// repeats(p) = 1 if another entry has the place of entry p. Reads the sorted keys.
template <class Numbers, class Flags>
struct MarkRepeats {
  Numbers keys;
  Numbers entries;
  count_t nnz;
  Flags repeats;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    bool const before   = i > 0 && keys(i - 1) == keys(i);
    bool const after    = i + 1 < nnz && keys(i + 1) == keys(i);
    repeats(entries(i)) = before || after ? 1 : 0;
  }
};

template <class Space>
using RepeatFlags = Kokkos::View<std::uint8_t*, typename Space::device_type>;

/// Which entries share their place with others. Waits for `space`. \throws MemoryError
template <class Scalar, class Index, class Space>
RepeatFlags<Space> repeated_places(Space const& space, CooTensor<Scalar, Index, Space> const& X) {
  using Numbers = Kokkos::View<std::uint64_t*, typename Space::device_type>;
  using Range   = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  expect_fits(space, "the places of the entries", X.nnz(), 2 * sizeof(std::uint64_t) + 1);
  RepeatFlags<Space> const repeats(
      Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::repeated_places"), X.nnz());
  Numbers const keys(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::places"), X.nnz());
  Numbers const entries(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::entries_of_places"),
                        X.nnz());
  Kokkos::parallel_for("polyad::number_places", Range(space, 0, X.nnz()),
                       NumberPlaces<Index, Numbers>{X.indices().data(), X.order(), keys, entries});
  sort_pairs(space, keys, entries, place_bits);
  Kokkos::parallel_for("polyad::mark_repeats", Range(space, 0, X.nnz()),
                       MarkRepeats<Numbers, RepeatFlags<Space>>{keys, entries, X.nnz(), repeats});
  space.fence("polyad::repeated_places");
  return repeats;
}

/// A scan: the number of held-out entries before p gives the place of entry p.
template <class Scalar, class Index, class Flags>
struct DivideEntries {
  Index const* indices;
  Scalar const* values;
  int order;
  Flags repeats;
  double begin, end;  // the hashes, as numbers from 0 to 1, whose entries are held out
  bool writes;
  Index* kept_indices;
  Scalar* kept_values;
  Index* held_indices;
  Scalar* held_values;
  std::uint8_t* held_repeats;

  [[nodiscard]] KOKKOS_FUNCTION bool is_held(count_t p) const {
    std::uint64_t hash = hash_of_place(indices, order, p);
    if (repeats(p) != 0)
      hash = mix_bits(hash ^ mix_bits(Kokkos::bit_cast<std::uint64_t>(static_cast<double>(values[p]) + 0.0)));
    double const number = static_cast<double>(hash >> 11) * 0x1p-53;
    return number >= begin && number < end;
  }
  KOKKOS_FUNCTION void operator()(count_t p, count_t& held_before, bool last) const {
    bool const held = is_held(p);
    if (last && writes) {
      count_t const to   = held ? held_before : p - held_before;
      Index* const index = held ? held_indices : kept_indices;
      for (count_t n = 0; n < static_cast<count_t>(order); ++n)
        index[to * static_cast<count_t>(order) + n] = indices[p * static_cast<count_t>(order) + n];
      (held ? held_values : kept_values)[to] = values[p];
      if (held) held_repeats[to] = repeats(p);
    }
    held_before += held ? 1 : 0;
  }
};

/// The kept and the held-out entries, each in their order.
template <class Kept, class Held, class Flags>
struct HeldOut {
  Kept kept;
  Held held;
  Flags repeats;  // 1 for a held-out entry whose place another entry has, kept or not
};

/// Parts of X that are the same on every backend. Waits for `space`. \throws MemoryError
/// \param fold       which of 1 / share disjoint parts is held out
/// \param make_kept  makes the tensor for the given number of kept entries
template <class Scalar, class Index, class Space, class MakeKept>
auto hold_out(Space const& space, CooTensor<Scalar, Index, Space> const& X, double share, int fold,
              MakeKept const& make_kept) {
  using Range  = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Tensor = CooTensor<Scalar, Index, Space>;
  using Flags  = RepeatFlags<Space>;
  DivideEntries<Scalar, Index, Flags> divide{X.indices().data(),
                                             X.values().data(),
                                             X.order(),
                                             repeated_places(space, X),
                                             share * fold,
                                             share * (fold + 1),
                                             false,
                                             nullptr,
                                             nullptr,
                                             nullptr,
                                             nullptr,
                                             nullptr};
  count_t held = 0;
  Kokkos::parallel_scan("polyad::count_held_out", Range(space, 0, X.nnz()), divide, held);
  HeldOut<Tensor, Tensor, Flags> result{
      make_kept(X.nnz() - held), make_coo_tensor<Scalar, Index>(space, X.extents(), held),
      Flags(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::held_repeats"), held)};
  divide.writes       = true;
  divide.kept_indices = result.kept.indices().data();
  divide.kept_values  = result.kept.values().data();
  divide.held_indices = result.held.indices().data();
  divide.held_values  = result.held.values().data();
  divide.held_repeats = result.repeats.data();
  Kokkos::parallel_scan("polyad::hold_out", Range(space, 0, X.nnz()), divide, held);
  return result;
}
template <class Scalar, class Index, class Space>
auto hold_out(Space const& space, CooTensor<Scalar, Index, Space> const& X, double share, int fold = 0) {
  return hold_out(space, X, share, fold,
                  [&](count_t kept) { return make_coo_tensor<Scalar, Index>(space, X.extents(), kept); });
}

/// The same for TrainingSet: kept ones stay on the host or the device, held-out ones are on the device.
template <class Scalar, class Index, class Space>
auto hold_out(Space const& space, TrainingSet<Scalar, Index, Space> const& X, double share, int fold = 0) {
  using Held   = CooTensor<Scalar, Index, Space>;
  using Kept   = TrainingSet<Scalar, Index, Space>;
  using Result = HeldOut<Kept, Held, RepeatFlags<Space>>;
  if (!X.on_host()) {
    auto const parts = hold_out(space, X.tensor(), share, fold);
    return Result{Kept(parts.kept), parts.held, parts.repeats};
  }
  PinnedTensor<Scalar, Index, Space> kept;
  CooTensor<Scalar, Index, HostOf<Space>> on_host;
  RepeatFlags<HostOf<Space>> repeats_on_host;
  {
    DeviceMemoryAccount::HostArrays const in_host_memory;
    auto const parts = hold_out(host_instance(space), X.pinned().tensor, share, fold, [&](count_t nnz) {
      kept = make_pinned_tensor<Scalar, Index, Space>(X.extents(), nnz);
      return kept.tensor;
    });
    on_host          = parts.held;
    repeats_on_host  = parts.repeats;
  }
  Held const held = make_coo_tensor<Scalar, Index>(space, X.extents(), on_host.nnz());
  RepeatFlags<Space> const repeats("polyad::held_repeats", on_host.nnz());
  Kokkos::deep_copy(space, held.indices(), on_host.indices());
  Kokkos::deep_copy(space, held.values(), on_host.values());
  Kokkos::deep_copy(space, repeats, repeats_on_host);
  space.fence("polyad::hold_out");
  return Result{Kept(kept, X.buffers()), held, repeats};
}

}  // namespace polyad::detail
