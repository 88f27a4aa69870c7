// SPDX-License-Identifier: BSD-3-Clause
// Small tensors of any order from 1 to 16, each of a kind that some kernel may get wrong. They have a few
// hundred to about a thousand nonzeros, so that chunks of 128 nonzeros have several borders.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <vector>

#include "polyad/testing/oracle.hpp"

namespace polyad::testing {

enum class Kind {
  empty,            // no nonzeros
  one_nonzero,      // at the last cell
  one_long_slice,   // all nonzeros in one slice of one mode: one output row takes all, others none
  one_long_fiber,   // all indices but the last mode's are the same
  duplicates,       // five cells, each sixty times, not next to each other
  mode_of_size_1,   // one mode has a single row
  shuffled,         // random cells in random order
  sorted,           // random cells, mode 0 first
  runs_at_borders,  // rows of 127, 128, 129 and 1 to 5 nonzeros, so that rows begin and end at and around
                    // the borders of chunks of 128
  hypersparse,      // few nonzeros, long modes: most rows stay zero
};

inline constexpr std::array all_kinds{
    Kind::empty,          Kind::one_nonzero, Kind::one_long_slice, Kind::one_long_fiber,  Kind::duplicates,
    Kind::mode_of_size_1, Kind::shuffled,    Kind::sorted,         Kind::runs_at_borders, Kind::hypersparse};

inline char const* to_string(Kind kind) {
  switch (kind) {
    case Kind::empty:
      return "empty";
    case Kind::one_nonzero:
      return "one nonzero";
    case Kind::one_long_slice:
      return "one long slice";
    case Kind::one_long_fiber:
      return "one long fiber";
    case Kind::duplicates:
      return "duplicates";
    case Kind::mode_of_size_1:
      return "a mode of size 1";
    case Kind::shuffled:
      return "shuffled";
    case Kind::sorted:
      return "sorted";
    case Kind::runs_at_borders:
      return "runs at chunk borders";
    case Kind::hypersparse:
      return "hypersparse";
  }
  return "unknown";
}

/// Sizes of the modes; different ones, so that a swap of two modes shows.
inline std::vector<std::uint64_t> small_extents(std::size_t order) {
  constexpr std::array<std::uint64_t, 16> sizes{29, 23, 17, 13, 11, 7, 6, 5, 4, 3, 5, 4, 3, 2, 3, 2};
  return {sizes.begin(), sizes.begin() + order};
}

/// A tensor with random indices; values from `number`.
inline HostTensor random_tensor(Random& random, std::vector<std::uint64_t> const& extents, std::size_t nnz,
                                double (*number)(Random&) = random_number) {
  HostTensor tensor;
  tensor.name    = "random";
  tensor.extents = extents;
  for (std::size_t p = 0; p < nnz; ++p) {
    for (auto const extent : extents) tensor.indices.push_back(random_below(random, extent));
    tensor.values.push_back(number(random));
  }
  return tensor;
}

/// The nonzeros of a tensor in another order.
inline HostTensor reordered(HostTensor const& tensor, std::vector<std::size_t> const& order_of_nonzeros) {
  HostTensor result = tensor;
  for (std::size_t p = 0; p < tensor.nnz(); ++p) {
    result.values[p] = tensor.values[order_of_nonzeros[p]];
    for (std::size_t n = 0; n < tensor.order(); ++n)
      result.indices[p * tensor.order() + n] = tensor.index(order_of_nonzeros[p], n);
  }
  return result;
}

/// The tensor with its duplicates summed, for what needs every cell at most once (a fit needs ||X||).
inline HostTensor distinct(HostTensor const& tensor) {
  HostTensor result{tensor.name + ", distinct", tensor.extents, {}, {}};
  std::map<std::vector<std::uint64_t>, std::size_t> places;
  for (std::size_t p = 0; p < tensor.nnz(); ++p) {
    std::vector<std::uint64_t> const cell(&tensor.indices[p * tensor.order()],
                                          &tensor.indices[p * tensor.order()] + tensor.order());
    auto const [place, is_new] = places.emplace(cell, result.nnz());
    if (is_new) {
      result.indices.insert(result.indices.end(), cell.begin(), cell.end());
      result.values.push_back(0);
    }
    result.values[place->second] += tensor.values[p];
  }
  return result;
}

/// 0 ... length - 1 in random order.
inline std::vector<std::size_t> random_order(Random& random, std::size_t length) {
  std::vector<std::size_t> result(length);
  std::iota(result.begin(), result.end(), std::size_t(0));
  for (std::size_t p = length; p > 1; --p) std::swap(result[p - 1], result[random_below(random, p)]);
  return result;
}

inline HostTensor small_tensor(Kind kind, std::size_t order, double (*number)(Random&) = random_number) {
  Random random(1000 * order + static_cast<std::size_t>(kind));
  auto extents = small_extents(order);
  HostTensor tensor;
  switch (kind) {
    case Kind::empty:
      tensor = random_tensor(random, extents, 0, number);
      break;
    case Kind::one_nonzero:
      tensor = random_tensor(random, extents, 1, number);
      for (std::size_t n = 0; n < order; ++n) tensor.indices[n] = extents[n] - 1;
      break;
    case Kind::one_long_slice:
      tensor = random_tensor(random, extents, 700, number);
      for (std::size_t p = 0; p < tensor.nnz(); ++p)
        tensor.indices[p * order + order / 2] = extents[order / 2] / 2;
      break;
    case Kind::one_long_fiber:
      extents.back() = 600;
      tensor         = random_tensor(random, extents, 600, number);
      for (std::size_t p = 0; p < tensor.nnz(); ++p)
        for (std::size_t n = 0; n < order; ++n)
          tensor.indices[p * order + n] = n + 1 == order ? p : extents[n] - 1;
      tensor = reordered(tensor, random_order(random, tensor.nnz()));
      break;
    case Kind::duplicates:
      tensor = random_tensor(random, extents, 300, number);
      for (std::size_t p = 5; p < tensor.nnz(); ++p)
        for (std::size_t n = 0; n < order; ++n) tensor.indices[p * order + n] = tensor.index(p % 5, n);
      break;
    case Kind::mode_of_size_1:
      extents[order / 2] = 1;
      tensor             = random_tensor(random, extents, 400, number);
      break;
    case Kind::shuffled:
      tensor = random_tensor(random, extents, 611, number);
      break;
    case Kind::sorted: {
      tensor = random_tensor(random, extents, 500, number);
      std::vector<std::size_t> sorted(tensor.nnz());
      std::iota(sorted.begin(), sorted.end(), std::size_t(0));
      std::stable_sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
        return std::lexicographical_compare(&tensor.indices[a * order], &tensor.indices[a * order] + order,
                                            &tensor.indices[b * order], &tensor.indices[b * order] + order);
      });
      tensor = reordered(tensor, sorted);
      break;
    }
    case Kind::runs_at_borders: {
      // 127 + 1 | 128 | 129 ... : the rows' ends fall on 127, 128, 256, 385, 386, 388, 391, 395, 400, 528,
      // 655 and 784. Every other mode has the same rows, permuted by an odd factor.
      constexpr std::array<std::size_t, 12> runs{127, 1, 128, 129, 1, 2, 3, 4, 5, 128, 127, 129};
      for (auto& extent : extents) extent = std::max<std::uint64_t>(extent, 13);
      std::size_t row = 0;
      tensor          = random_tensor(random, extents, 784, number);
      std::size_t p   = 0;
      for (std::size_t const run : runs) {
        for (std::size_t i = 0; i < run; ++i, ++p)
          for (std::size_t n = 0; n < order; n += 2) tensor.indices[p * order + n] = row * (n + 1) % 13;
        ++row;
      }
      break;
    }
    case Kind::hypersparse:
      for (std::size_t n = 0; n < order; ++n) extents[n] = 1000 + 37 * n;
      tensor = random_tensor(random, extents, 150, number);
      break;
  }
  tensor.name = std::string(to_string(kind)) + ", order " + std::to_string(order);
  return tensor;
}

}  // namespace polyad::testing
