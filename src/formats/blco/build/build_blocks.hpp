// SPDX-License-Identifier: BSD-3-Clause
// How the blocks of BLCO are built (formats/blco/storage/blco_blocks.hpp): the nonzeros are sorted, cut into
// blocks and encoded.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>

#include "formats/blco/storage/blco_blocks.hpp"
#include "formats/blco/storage/blco_encoding.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/sort_by_mode.hpp"
#include "tensor/linearize.hpp"

namespace polyad::detail {

/// Nonzero i in ALTO's order.
template <class Indices, class Permutation>
struct OrderedIndices {
  Indices indices;
  Permutation permutation;
  [[nodiscard]] KOKKOS_FUNCTION auto operator()(count_t i, int n) const { return indices(permutation(i), n); }
};

/// Counts the keys (the stripped bits of all modes), or lists where each key begins.
template <class Ordered>
struct KeyStarts {
  Ordered ordered;
  BlcoEncoding encoding;
  count_t* list;  // null: only counted

  [[nodiscard]] KOKKOS_FUNCTION bool starts(count_t i) const {
    bool differs = i == 0;
    for (int n = 0; n < encoding.order() && !differs; ++n)
      differs = encoding.upper(n, ordered(i, n)) != encoding.upper(n, ordered(i - 1, n));
    return differs;
  }
  KOKKOS_FUNCTION void operator()(count_t i, count_t& count) const { count += starts(i) ? 1 : 0; }
  KOKKOS_FUNCTION void operator()(count_t i, count_t& position, bool final) const {
    if (!starts(i)) return;
    if (final && list != nullptr) list[position] = i;
    ++position;
  }
};

/// Cuts the nonzeros of each key into blocks of at most `longest`.
struct CutIntoBlocks {
  count_t const* key_begins;  // one a key
  count_t keys;
  count_t nnz;
  count_t longest;
  count_t* begins;  // null: blocks are only counted

  KOKKOS_FUNCTION void operator()(count_t key, count_t& position, bool final) const {
    count_t const begin = key_begins[key];
    count_t const end   = key + 1 < keys ? key_begins[key + 1] : nnz;
    count_t const count = ceil_div(end - begin, longest);
    if (final && begins != nullptr) {
      for (count_t b = 0; b < count; ++b) begins[position + b] = begin + b * longest;
      if (key + 1 == keys) begins[position + count] = nnz;
    }
    position += count;
  }
};

template <class Ordered, class Uppers>
struct StoreUppers {
  Ordered ordered;
  BlcoEncoding encoding;
  count_t const* begins;
  Uppers uppers;
  KOKKOS_FUNCTION void operator()(count_t block) const {
    count_t const order = encoding.order();
    for (int n = 0; n < encoding.order(); ++n)
      uppers(block * order + n) =
          static_cast<typename Uppers::value_type>(encoding.upper(n, ordered(begins[block], n)));
  }
};

/// The block of every step-th nonzero, by bisection over all blocks.
struct MapBlocks {
  count_t const* begins;
  count_t blocks;
  count_t nnz;
  count_t* block_map;
  KOKKOS_FUNCTION void operator()(count_t c) const {
    count_t const p = c * block_map_step;
    count_t low     = 0;
    count_t high    = blocks - 1;
    while (low < high) {
      count_t const middle = (low + high + 1) / 2;
      if (begins[middle] <= p)
        low = middle;
      else
        high = middle - 1;
    }
    block_map[c] = low;  // past the last nonzero: the last block
  }
};

/// Writes the nonzeros in ALTO's order. The permutation may share memory with the linear indices: each
/// nonzero's position is read before its index is written.
template <class Indices, class Scalar, class Permutation, int Words>
struct EncodeNonzeros {
  Indices indices;
  Scalar const* values_in;
  Permutation permutation;
  BlcoEncoding encoding;
  std::uint64_t* linear;
  Scalar* values;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    count_t const p  = permutation(i);
    auto const index = encoding.template encode<Words>(CoordinatesOf<Indices>{indices, p});
    for (int w = 0; w < Words; ++w) linear[i * Words + w] = index.word[w];
    values[i] = values_in[p];
  }
};

/// Counts the keys of the nonzeros in ALTO's order.
template <class Space, class Ordered>
count_t count_keys(Space const& space, Ordered const& ordered, count_t nnz, BlcoEncoding const& encoding) {
  count_t keys = nnz > 0 ? 1 : 0;
  if (encoding.strips())
    Kokkos::parallel_reduce("polyad::count_keys",
                            Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, nnz),
                            KeyStarts<Ordered>{ordered, encoding, nullptr}, keys);
  return keys;
}

/// The headers of P > 0 nonzeros in ALTO's order with that many keys. \throws MemoryError before allocating
template <class Index, class Space, class Ordered>
BlcoHeaders<Index, typename Space::device_type> make_blco_headers(Space const& space, Ordered const& ordered,
                                                                  count_t nnz, BlcoEncoding const& encoding,
                                                                  count_t keys, count_t max_block) {
  using Range          = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Headers        = BlcoHeaders<Index, typename Space::device_type>;
  using Numbers        = Kokkos::View<count_t*, typename Space::device_type>;
  int const order      = encoding.order();
  auto const allocated = [&](char const* label) { return uninitialized(space, label); };
  expect_fits(space, "where the keys of the blocks begin", keys, sizeof(count_t));
  Numbers const key_begins(allocated("polyad::blco_keys"), keys);
  if (encoding.strips()) {
    count_t found = 0;
    Kokkos::parallel_scan("polyad::list_keys", Range(space, 0, nnz),
                          KeyStarts<Ordered>{ordered, encoding, key_begins.data()}, found);
  } else {
    Kokkos::deep_copy(space, key_begins, count_t(0));
  }
  CutIntoBlocks cut{key_begins.data(), keys, nnz, max_block, nullptr};
  count_t count = 0;
  Kokkos::parallel_scan("polyad::count_blocks", Range(space, 0, keys), cut, count);
  count_t const mapped = ceil_div(nnz, block_map_step) + 1;
  expect_fits(space, "the headers of the blocks", count, Headers::header_bytes(order));
  expect_fits(space, "the map of the blocks", mapped, sizeof(count_t));
  Headers headers;
  headers.begins = Numbers(allocated("polyad::blco_begins"), count + 1);
  headers.uppers = decltype(headers.uppers)(allocated("polyad::blco_uppers"), count * order);
  cut.begins     = headers.begins.data();
  Kokkos::parallel_scan("polyad::cut_blocks", Range(space, 0, keys), cut, count);
  Kokkos::parallel_for("polyad::store_uppers", Range(space, 0, count),
                       StoreUppers<Ordered, decltype(headers.uppers)>{ordered, encoding,
                                                                      headers.begins.data(), headers.uppers});
  headers.block_map = Numbers(allocated("polyad::blco_map"), mapped);
  Kokkos::parallel_for("polyad::map_blocks", Range(space, 0, mapped),
                       MapBlocks{headers.begins.data(), count, nnz, headers.block_map.data()});
  return headers;
}

/// Encodes the nonzeros in the order of a permutation.
template <class Space, class Indices, class Scalar, class Permutation>
void encode_nonzeros(Space const& space, Indices const& indices, Scalar const* values_in,
                     Permutation const& permutation, count_t nnz, BlcoEncoding const& encoding,
                     std::uint64_t* linear, Scalar* values) {
  Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>> const all(space, 0, nnz);
  if (encoding.words() == 1)
    Kokkos::parallel_for("polyad::encode", all,
                         EncodeNonzeros<Indices, Scalar, Permutation, 1>{indices, values_in, permutation,
                                                                         encoding, linear, values});
  else
    Kokkos::parallel_for("polyad::encode", all,
                         EncodeNonzeros<Indices, Scalar, Permutation, 2>{indices, values_in, permutation,
                                                                         encoding, linear, values});
}

/// Counts the nonzeros with all indices of the one before. Their linear indices are equal; in another block
/// the upper bits may differ.
template <class Scalar, class Index>
struct CountRepeatedLinear {
  BlcoNonzeros<Scalar, Index> nonzeros;
  KOKKOS_FUNCTION void operator()(count_t p, count_t& repeated) const {
    if (p == 0) return;
    count_t const words = nonzeros.encoding.words();
    for (count_t w = 0; w < words; ++w)
      if (nonzeros.linear[p * words + w] != nonzeros.linear[(p - 1) * words + w]) return;
    count_t const block  = nonzeros.block_of(p);
    count_t const before = nonzeros.block_of(p - 1);
    for (int n = 0; n < nonzeros.encoding.order() && block != before; ++n)
      if (nonzeros.upper(block, n) != nonzeros.upper(before, n)) return;
    ++repeated;
  }
};

/// Nonzeros that have the coordinates of an earlier one. Waits for `space`.
template <class Space, class Scalar, class Index>
count_t count_repeated(Space const& space, BlcoNonzeros<Scalar, Index> const& nonzeros) {
  count_t repeated = 0;
  Kokkos::parallel_reduce("polyad::count_repeated",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, nonzeros.nnz),
                          CountRepeatedLinear<Scalar, Index>{nonzeros}, repeated);
  return repeated;
}

inline void expect_blco_options(count_t max_block, int index_bits) {
  POLYAD_EXPECTS(max_block >= 1, "blocks of at most 0 nonzeros");
  POLYAD_EXPECTS(index_bits >= 0 && index_bits <= BlcoEncoding::max_bits, "a linear index of ", index_bits,
                 " bits; at most ", BlcoEncoding::max_bits, " can be had");
}

/// Sorts and encodes a tensor. `index_bits` is the length of the linear index. 0 means 64, or 128 if the
/// headers of the blocks would take more memory than the second word. That is the case for a hypersparse
/// tensor with blocks of a few nonzeros. Linear in the nonzeros and the blocks; waits for `space`. In
/// addition to its result it needs the positions and the memory of linear_order.
/// \throws UsageError when max_block is 0 or index_bits is out of range; MemoryError before allocating
template <class Scalar, class Index, class Space>
BlcoBlocks<Scalar, Index, Space> make_blco_blocks(Space const& space,
                                                  CooTensor<Scalar, Index, Space> const& coo,
                                                  count_t max_block, int index_bits) {
  using Blocks      = BlcoBlocks<Scalar, Index, Space>;
  using Indices     = typename CooTensor<Scalar, Index, Space>::indices_type;
  using Ordered     = detail::OrderedIndices<Indices, Permutation<Index, Space>>;
  count_t const nnz = coo.nnz();
  detail::expect_blco_options(max_block, index_bits);

  LinearLayout const layout(coo.extents());
  auto const permutation = linear_order<Index>(space, coo, layout);
  Ordered const ordered{coo.indices(), permutation};

  Blocks blocks;
  blocks.encoding = BlcoEncoding(layout, index_bits == 0 ? BlcoEncoding::word_bits : index_bits);
  count_t keys    = detail::count_keys(space, ordered, nnz, blocks.encoding);
  if (index_bits == 0 && blocks.encoding.strips()) {
    BlcoEncoding const wide(layout, BlcoEncoding::max_bits);
    count_t const wide_keys  = detail::count_keys(space, ordered, nnz, wide);
    count_t const header     = decltype(blocks.headers)::header_bytes(coo.order());
    bool const wide_is_small = (keys - wide_keys) * header > nnz * sizeof(std::uint64_t);
    if (wide_is_small) {
      blocks.encoding = wide;
      keys            = wide_keys;
    }
  }

  count_t const words  = blocks.encoding.words();
  auto const allocated = [&](char const* label) { return uninitialized(space, label); };
  expect_fits(space, "the linear indices and values", nnz, words * sizeof(std::uint64_t) + sizeof(Scalar));
  blocks.linear = decltype(blocks.linear)(allocated("polyad::blco_linear"), nnz * words);
  blocks.values = decltype(blocks.values)(allocated("polyad::blco_values"), nnz);
  if (nnz == 0) return blocks;
  blocks.headers = detail::make_blco_headers<Index>(space, ordered, nnz, blocks.encoding, keys, max_block);
  detail::encode_nonzeros(space, coo.indices(), coo.values().data(), permutation, nnz, blocks.encoding,
                          blocks.linear.data(), blocks.values.data());
  space.fence("polyad::make_blco_blocks");
  return blocks;
}

}  // namespace polyad::detail
