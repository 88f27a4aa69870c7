// SPDX-License-Identifier: BSD-3-Clause
// A file's tensor on the backend, duplicates summed, with the facts that every report states.
#pragma once

#include <Kokkos_Core.hpp>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "polyad/io/coordinate_list.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/sum_duplicates.hpp"
#include "report.hpp"

namespace polyad::cli {

using Space = Kokkos::DefaultExecutionSpace;

/// Whether coordinates and positions of nonzeros need 64 bits.
inline bool needs_wide_index(io::CoordinateList const& tensor) {
  return tensor.wide() || tensor.nnz() > std::numeric_limits<std::uint32_t>::max();
}

/// The list as it is, duplicates included. Frees its arrays once they are copied.
template <class Scalar, class Index>
CooTensor<Scalar, Index, Space> upload_list(Space const& space, io::CoordinateList&& list) {
  if (list.extents.empty()) return {};
  Extents const extents{std::span<count_t const>(list.extents)};
  auto const tensor = std::visit(
      [&](auto& indices) {
        using Stored = typename std::remove_cvref_t<decltype(indices)>::value_type;
        std::span<double const> const values(list.values);
        if constexpr (std::is_same_v<Stored, Index>) {
          return upload<Scalar, Index>(space, extents, std::span<Index const>(indices), values);
        } else {  // 2^32 nonzeros or more in small modes
          std::vector<Index> const converted(indices.begin(), indices.end());
          return upload<Scalar, Index>(space, extents, std::span<Index const>(converted), values);
        }
      },
      list.indices);
  list = {};
  return tensor;
}

/// The same with duplicates summed. Fills in report.nnz and report.duplicates.
template <class Scalar, class Index>
CooTensor<Scalar, Index, Space> to_device(Space const& space, io::CoordinateList&& list,
                                          InputReport& report) {
  auto const deduplicated = sum_duplicates(space, upload_list<Scalar, Index>(space, std::move(list)));
  report.nnz              = deduplicated.tensor.nnz();
  report.duplicates += deduplicated.duplicates;  // to those that reading settled
  return deduplicated.tensor;
}

/// Calls f(std::type_identity<Index>) with the coordinate type that the tensor needs.
template <class F>
decltype(auto) with_index_type(io::CoordinateList const& tensor, F&& f) {
  if (needs_wide_index(tensor)) return f(std::type_identity<std::uint64_t>{});
  return f(std::type_identity<std::uint32_t>{});
}

}  // namespace polyad::cli
