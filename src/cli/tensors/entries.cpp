// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tensors/entries.hpp"

#include <type_traits>

#include "polyad/core/counter_rng.hpp"
#include "polyad/core/error.hpp"

namespace polyad::cli {

std::uint64_t index_of(io::CoordinateList const& list, std::uint64_t p, int n) {
  return std::visit(
      [&](auto const& indices) -> std::uint64_t {
        return indices[p * list.extents.size() + static_cast<std::uint64_t>(n)];
      },
      list.indices);
}

std::pair<io::CoordinateList, io::CoordinateList> partition(
    io::CoordinateList const& list, std::function<bool(std::uint64_t)> const& second) {
  std::pair<io::CoordinateList, io::CoordinateList> parts;
  parts.first.extents = parts.second.extents = list.extents;
  std::visit(
      [&](auto const& indices) {
        using Indices           = std::remove_cvref_t<decltype(indices)>;
        std::size_t const order = list.extents.size();
        auto& first_indices     = parts.first.indices.emplace<Indices>();
        auto& second_indices    = parts.second.indices.emplace<Indices>();
        for (std::uint64_t p = 0; p < list.nnz(); ++p) {
          bool const taken = second(p);
          auto& target     = taken ? second_indices : first_indices;
          for (std::size_t n = 0; n < order; ++n) target.push_back(indices[p * order + n]);
          (taken ? parts.second : parts.first).values.push_back(list.values[p]);
        }
      },
      list.indices);
  return parts;
}

std::pair<io::CoordinateList, io::CoordinateList> hold_out(io::CoordinateList const& list, double share,
                                                           std::uint64_t seed, std::uint64_t stream) {
  return partition(list, [&](std::uint64_t p) { return counter_uniform(seed, stream, p, 0) < share; });
}

int mode_outside(io::CoordinateList const& list, std::uint64_t p, std::vector<std::uint64_t> const& extents) {
  for (int n = 0; n < list.order(); ++n)
    if (index_of(list, p, n) >= extents[static_cast<std::size_t>(n)]) return n;
  return -1;
}

std::pair<io::CoordinateList, io::CoordinateList> split_off_cold(io::CoordinateList&& list,
                                                                 std::vector<std::uint64_t> const& extents,
                                                                 std::string const& file, bool allowed) {
  if (list.extents.size() != extents.size())
    throw InputError(file, 0, 0,
                     "has " + std::to_string(list.extents.size()) + " modes, but the model has " +
                         std::to_string(extents.size()));
  auto parts          = partition(list, [&](std::uint64_t p) {
    int const n = mode_outside(list, p, extents);
    if (n >= 0 && !allowed)
      throw InputError(file, 0, 0,
                       "entry " + std::to_string(p + 1) + " has index " +
                           std::to_string(index_of(list, p, n)) + " (from 0) in mode " + std::to_string(n) +
                           ", of which the training set has " +
                           std::to_string(extents[static_cast<std::size_t>(n)]) +
                           " rows; --cold-start bias predicts it from its biases");
    return n >= 0;
  });
  list                = {};
  parts.first.extents = extents;
  return parts;
}

}  // namespace polyad::cli
