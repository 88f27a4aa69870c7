// SPDX-License-Identifier: BSD-3-Clause
// sort_pairs: CUB's radix sort on a CUDA device. On a host it is a least-significant-digit radix sort, whose
// passes count and scatter contiguous chunks in parallel. The pairs of a chunk are placed after those of
// earlier chunks with the same digit. So the sort is stable for any number of chunks.
#include "polyad/core/sort.hpp"

#include <algorithm>
#include <utility>

#include "polyad/core/spaces.hpp"

#if defined(KOKKOS_ENABLE_CUDA)
#include <cub/device/device_radix_sort.cuh>
#endif

namespace polyad {
namespace {

constexpr int digit_bits = 8;
constexpr int digits     = 1 << digit_bits;

/// One pass of the host's sort over the digit of `bits` bits that starts at bit `shift`.
template <class Key, class Value>
struct RadixPass {
  Key const* keys_in;
  Value const* values_in;
  Key* keys_out;
  Value* values_out;
  count_t* offsets;  // chunks x digits: first the counts, then where each chunk writes its next pair
  count_t length;
  count_t chunk;
  int shift;
  int bits;  // fewer in the last pass where key_bits ends inside a digit

  [[nodiscard]] int digit(Key key) const { return static_cast<int>(key >> shift) & ((1 << bits) - 1); }

  void count(count_t c) const {
    count_t* const own = offsets + c * digits;
    std::fill(own, own + digits, count_t(0));
    for (count_t p = c * chunk; p < std::min(length, (c + 1) * chunk); ++p) ++own[digit(keys_in[p])];
  }
  void scatter(count_t c) const {
    count_t* const own = offsets + c * digits;
    for (count_t p = c * chunk; p < std::min(length, (c + 1) * chunk); ++p) {
      count_t const target = own[digit(keys_in[p])]++;
      keys_out[target]     = keys_in[p];
      values_out[target]   = values_in[p];
    }
  }
};

template <class Pass>
struct CountDigits {
  Pass pass;
  void operator()(count_t c) const { pass.count(c); }
};
template <class Pass>
struct ScatterPairs {
  Pass pass;
  void operator()(count_t c) const { pass.scatter(c); }
};

/// Turns counts into offsets: digit by digit, and within a digit chunk by chunk.
/// Returns whether all keys share one digit, so that the pass would change nothing.
[[maybe_unused]] bool scan_offsets(count_t* offsets, count_t chunks, count_t length) {
  count_t sum       = 0;
  bool single_digit = false;
  for (int d = 0; d < digits; ++d) {
    count_t const before = sum;
    for (count_t c = 0; c < chunks; ++c) sum += std::exchange(offsets[c * digits + std::size_t(d)], sum);
    single_digit = single_digit || sum - before == length;
  }
  return single_digit;
}

template <class Space, class Key, class Value>
void host_sort_pairs(Space const& space, Key* keys, Value* values, Key* keys_other, Value* values_other,
                     count_t length, int key_bits) {
  using Pass            = RadixPass<Key, Value>;
  count_t const threads = space.concurrency();
  count_t const chunks  = std::clamp<count_t>(length / 4096, 1, threads);
  count_t const chunk   = ceil_div(length, chunks);
  Kokkos::View<count_t*, typename Space::device_type> offsets(
      Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::sort_offsets"), chunks * digits);
  Kokkos::RangePolicy<Space> const policy(space, 0, static_cast<int>(chunks), Kokkos::ChunkSize(1));

  Key* from_keys     = keys;
  Value* from_values = values;
  for (int shift = 0; shift < key_bits; shift += digit_bits) {
    Pass const pass{from_keys,    from_values,    keys_other,
                    values_other, offsets.data(), length,
                    chunk,        shift,          std::min(digit_bits, key_bits - shift)};
    Kokkos::parallel_for("polyad::sort_count", policy, CountDigits<Pass>{pass});
    space.fence("polyad::sort_pairs");
    if (scan_offsets(offsets.data(), chunks, length)) continue;
    Kokkos::parallel_for("polyad::sort_scatter", policy, ScatterPairs<Pass>{pass});
    space.fence("polyad::sort_pairs");
    std::swap(from_keys, keys_other);
    std::swap(from_values, values_other);
  }
  if (from_keys != keys) {
    std::copy(from_keys, from_keys + length, keys);
    std::copy(from_values, from_values + length, values);
  }
}

}  // namespace

template <class Space, class Key, class Value>
void sort_pairs(Space const& space, Kokkos::View<Key*, typename Space::device_type> const& keys,
                Kokkos::View<Value*, typename Space::device_type> const& values, int key_bits) {
  POLYAD_EXPECTS(keys.extent(0) == values.extent(0), keys.extent(0), " keys but ", values.extent(0),
                 " values");
  count_t const length = keys.extent(0);
  if (length < 2 || key_bits == 0) return;
  expect_fits(space, "the sort's second copy of its keys and values", length, sizeof(Key) + sizeof(Value));
  auto const uninitialized = [&](char const* label) {
    return Kokkos::view_alloc(space, Kokkos::WithoutInitializing, std::string(label));
  };
  Kokkos::View<Key*, typename Space::device_type> keys_other(uninitialized("polyad::sort_keys"), length);
  Kokkos::View<Value*, typename Space::device_type> values_other(uninitialized("polyad::sort_values"),
                                                                 length);

  if constexpr (!is_device_space<Space>) {
    host_sort_pairs(space, keys.data(), values.data(), keys_other.data(), values_other.data(), length,
                    key_bits);
  } else {
#if defined(KOKKOS_ENABLE_CUDA)
    cub::DoubleBuffer<Key> key_buffer(keys.data(), keys_other.data());
    cub::DoubleBuffer<Value> value_buffer(values.data(), values_other.data());
    auto const sort = [&](void* scratch, std::size_t& bytes) {
      auto const status = cub::DeviceRadixSort::SortPairs(scratch, bytes, key_buffer, value_buffer, length, 0,
                                                          key_bits, space.cuda_stream());
      if (status != cudaSuccess)
        throw BackendError(std::string("the device's sort failed: ") + cudaGetErrorString(status));
    };
    std::size_t bytes = 0;
    sort(nullptr, bytes);
    Kokkos::View<char*, typename Space::device_type> scratch(uninitialized("polyad::sort_scratch"), bytes);
    sort(scratch.data(), bytes);
    if (key_buffer.Current() != keys.data()) Kokkos::deep_copy(space, keys, keys_other);
    if (value_buffer.Current() != values.data()) Kokkos::deep_copy(space, values, values_other);
    space.fence("polyad::sort_pairs");  // before the second copies are freed
#endif
  }
}

POLYAD_SORT_PAIRS(Kokkos::DefaultExecutionSpace, std::uint32_t, std::uint32_t);
POLYAD_SORT_PAIRS(Kokkos::DefaultExecutionSpace, std::uint32_t, std::uint64_t);
POLYAD_SORT_PAIRS(Kokkos::DefaultExecutionSpace, std::uint64_t, std::uint32_t);
POLYAD_SORT_PAIRS(Kokkos::DefaultExecutionSpace, std::uint64_t, std::uint64_t);
#if defined(KOKKOS_ENABLE_CUDA)
POLYAD_SORT_PAIRS(Kokkos::DefaultHostExecutionSpace, std::uint64_t, std::uint64_t);
#endif

}  // namespace polyad
