// SPDX-License-Identifier: BSD-3-Clause
// ALTO's order of a tensor in host memory, if there is no memory for a radix sort's second copies. The sort
// works on the positions of the nonzeros, in the memory of the later linear indices. The uppermost bits of
// the linear form give the bucket of a nonzero: one counting pass, one scattering pass. Each bucket is then
// split bit by bit, in place, until a part fits a core's cache and is sorted there.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "formats/blco/storage/blco_encoding.hpp"
#include "polyad/core/sort.hpp"
#include "polyad/core/types.hpp"
#include "tensor/linearize.hpp"

namespace polyad::detail {

/// Sorts positions by the linear form of their nonzeros. A position is word 0 of its slot.
template <class Indices, int Words>
struct HostLinearSort {
  using Slot = LinearIndex<Words>;
  struct Keyed {
    std::uint64_t key;
    std::uint64_t position;
  };
  static constexpr std::ptrdiff_t longest_sort = 1 << 15;  // nonzeros: half a megabyte of keys and positions
  static constexpr int most_bucket_bits        = 16;

  LinearLayout layout;
  Indices indices;
  Slot* slots;
  count_t nnz;
  int bucket_bits;
  count_t chunks;
  count_t* offsets;  // chunks x buckets: first counts, then where a chunk writes its next position

  [[nodiscard]] count_t buckets() const { return count_t(1) << bucket_bits; }
  /// Up to 64 bits of the linear form of a nonzero, from bit `first` up.
  [[nodiscard]] std::uint64_t bits_from(int first, count_t position) const {
    return layout.bits_from(first, CoordinatesOf<Indices>{indices, position});
  }
  [[nodiscard]] count_t bucket_of(count_t position) const {
    return bucket_bits == 0 ? 0 : bits_from(layout.bits() - bucket_bits, position);
  }
  [[nodiscard]] count_t chunk_begin(count_t chunk) const {
    return nnz / chunks * chunk + std::min(chunk, nnz % chunks);
  }

  void count(count_t chunk) const {
    count_t* const own = offsets + chunk * buckets();
    std::fill(own, own + buckets(), count_t(0));
    for (count_t p = chunk_begin(chunk); p < chunk_begin(chunk + 1); ++p) ++own[bucket_of(p)];
  }
  /// Turns counts into offsets: bucket by bucket, and chunk by chunk inside a bucket.
  void scan() const {
    count_t sum = 0;
    for (count_t b = 0; b < buckets(); ++b)
      for (count_t c = 0; c < chunks; ++c) sum += std::exchange(offsets[c * buckets() + b], sum);
  }
  void scatter(count_t chunk) const {
    count_t* const own = offsets + chunk * buckets();
    for (count_t p = chunk_begin(chunk); p < chunk_begin(chunk + 1); ++p)
      slots[own[bucket_of(p)]++].word[0] = p;
  }
  /// The end of a bucket. After the scattering, the last chunk's next offset points there.
  [[nodiscard]] count_t bucket_end(count_t bucket) const {
    return offsets[(chunks - 1) * buckets() + bucket];
  }
  void sort_bucket(count_t bucket) const {
    count_t const begin = bucket == 0 ? 0 : bucket_end(bucket - 1);
    std::vector<Keyed> scratch;
    sort(slots + begin, slots + bucket_end(bucket), layout.bits() - bucket_bits, scratch);
  }

  /// Sorts nonzeros whose linear forms differ only in the lowest `bits` bits.
  void sort(Slot* first, Slot* last, int bits, std::vector<Keyed>& scratch) const {
    while (last - first > longest_sort && bits > 0) {
      --bits;
      int const mode     = layout.mode_at(bits);
      int const bit      = layout.bit_at(bits);
      Slot* const middle = std::partition(first, last, [&](Slot const& slot) {
        return (static_cast<std::uint64_t>(indices(slot.word[0], mode)) >> bit & 1U) == 0;
      });
      sort(first, middle, bits, scratch);
      first = middle;
    }
    if (bits == 0) return;
    int const key_bit = std::max(0, bits - LinearLayout::word_bits);
    scratch.clear();
    for (Slot const* slot = first; slot != last; ++slot)
      scratch.push_back({bits_from(key_bit, slot->word[0]), slot->word[0]});
    std::sort(scratch.begin(), scratch.end(),
              [&](Keyed const& a, Keyed const& b) { return is_before(a, b, key_bit); });
    for (Keyed const& keyed : scratch) (first++)->word[0] = keyed.position;
  }
  /// Compares the bits below the keys as well. Equal cells keep the order of the tensor.
  [[nodiscard]] bool is_before(Keyed const& a, Keyed const& b, int key_bit) const {
    if (a.key != b.key) return a.key < b.key;
    while (key_bit > 0) {
      key_bit                  = std::max(0, key_bit - LinearLayout::word_bits);
      std::uint64_t const of_a = bits_from(key_bit, a.position);
      std::uint64_t const of_b = bits_from(key_bit, b.position);
      if (of_a != of_b) return of_a < of_b;
    }
    return a.position < b.position;
  }
};

template <class Sort>
struct CountHostBuckets {
  Sort sort;
  void operator()(count_t chunk) const { sort.count(chunk); }
};
template <class Sort>
struct ScatterPositions {
  Sort sort;
  void operator()(count_t chunk) const { sort.scatter(chunk); }
};
template <class Sort>
struct SortHostBuckets {
  Sort sort;
  std::atomic<bool>* out_of_memory;  // an exception must not leave a kernel; any thread may set it
  void operator()(count_t bucket) const {
    try {
      sort.sort_bucket(bucket);
    } catch (std::bad_alloc const&) {
      *out_of_memory = true;
    }
  }
};

/// Fills word 0 of every slot with the position of the nonzero that belongs there. In addition to the slots
/// it needs half a megabyte per thread, and 8 bytes per thread and bucket. The order does not depend on the
/// number of threads.
/// \throws std::bad_alloc
template <int Words, class Space, class Indices>
void sort_positions(Space const& space, LinearLayout const& layout, Indices const& indices,
                    LinearIndex<Words>* slots, count_t nnz) {
  using Sort = HostLinearSort<Indices, Words>;
  // A bucket has at least sixteen nonzeros. Smaller buckets would cost more than they save.
  int const bucket_bits = std::clamp(bits_for(nnz) - 4, 0, std::min(Sort::most_bucket_bits, layout.bits()));
  auto const chunks     = std::clamp<count_t>(nnz / 4096, 1, space.concurrency());
  Kokkos::View<count_t*, typename Space::device_type> const offsets(
      uninitialized(space, "polyad::blco_buckets"), chunks << bucket_bits);
  Sort const sort{layout, indices, slots, nnz, bucket_bits, chunks, offsets.data()};
  using OnePerThread = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using InTurn = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>, Kokkos::Schedule<Kokkos::Dynamic>>;
  Kokkos::parallel_for("polyad::count_buckets", OnePerThread(space, 0, chunks, Kokkos::ChunkSize(1)),
                       CountHostBuckets<Sort>{sort});
  space.fence("polyad::sort_positions");
  sort.scan();
  Kokkos::parallel_for("polyad::scatter_positions", OnePerThread(space, 0, chunks, Kokkos::ChunkSize(1)),
                       ScatterPositions<Sort>{sort});
  std::atomic<bool> out_of_memory{false};
  Kokkos::parallel_for("polyad::sort_buckets", InTurn(space, 0, sort.buckets(), Kokkos::ChunkSize(1)),
                       SortHostBuckets<Sort>{sort, &out_of_memory});
  space.fence("polyad::sort_positions");
  if (out_of_memory) throw std::bad_alloc();
}

}  // namespace polyad::detail
