// SPDX-License-Identifier: BSD-3-Clause
#include <type_traits>
#include <utility>
#include <variant>

#include "polyad/core/counter_rng.hpp"
#include "polyad/io/clean_list.hpp"

namespace polyad::io {

std::pair<CoordinateList, CoordinateList> partition(CoordinateList const& list,
                                                    std::function<bool(std::uint64_t)> const& second) {
  std::pair<CoordinateList, CoordinateList> parts;
  parts.first.extents = parts.second.extents = list.extents;
  std::visit(
      [&](auto const& indices) {
        using Indices           = std::remove_cvref_t<decltype(indices)>;
        std::size_t const order = list.extents.size();
        auto& first_indices     = parts.first.indices.emplace<Indices>();
        auto& second_indices    = parts.second.indices.emplace<Indices>();
        // Arrays that grow would hold up to half as much again.
        std::uint64_t count = 0;
        for (std::uint64_t p = 0; p < list.nnz(); ++p) count += second(p) ? 1 : 0;
        first_indices.reserve((list.nnz() - count) * order);
        second_indices.reserve(count * order);
        parts.first.values.reserve(list.nnz() - count);
        parts.second.values.reserve(count);
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

std::pair<CoordinateList, CoordinateList> hold_out(CoordinateList const& list, double share,
                                                   std::uint64_t seed, std::uint64_t stream,
                                                   std::uint64_t first) {
  return partition(list,
                   [&](std::uint64_t p) { return counter_uniform(seed, stream, first + p, 0) < share; });
}

}  // namespace polyad::io
