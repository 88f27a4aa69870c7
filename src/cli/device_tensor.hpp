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

/// The list's tensor, as it is, in the memory of `where`: the device, or the host.
template <class Scalar, class Index, class Where>
CooTensor<Scalar, Index, Where> copy_list(Where const& where, io::CoordinateList const& list) {
  if (list.extents.empty()) return {};
  Extents const extents{std::span<count_t const>(list.extents)};
  return std::visit(
      [&](auto const& indices) {
        using Stored = typename std::remove_cvref_t<decltype(indices)>::value_type;
        std::span<double const> const values(list.values);
        if constexpr (std::is_same_v<Stored, Index>) {
          return upload<Scalar, Index>(where, extents, std::span<Index const>(indices), values);
        } else {  // 2^32 nonzeros or more in small modes
          std::vector<Index> const converted(indices.begin(), indices.end());
          return upload<Scalar, Index>(where, extents, std::span<Index const>(converted), values);
        }
      },
      list.indices);
}

/// The same on the device. Frees the list's arrays once they are copied.
template <class Scalar, class Index>
CooTensor<Scalar, Index, Space> upload_list(Space const& space, io::CoordinateList&& list) {
  auto const tensor = copy_list<Scalar, Index>(space, list);
  list              = {};
  return tensor;
}

/// Sums duplicates. Fills in report.nnz and report.duplicates.
template <class Tensor>
Tensor without_duplicates(typename Tensor::space_type const& where, Tensor const& tensor, InputReport& report) {
  auto const deduplicated = sum_duplicates(where, tensor);
  report.nnz              = deduplicated.tensor.nnz();
  report.duplicates += deduplicated.duplicates;  // to those that reading settled
  return deduplicated.tensor;
}

template <class Scalar, class Index>
CooTensor<Scalar, Index, Space> to_device(Space const& space, io::CoordinateList&& list,
                                          InputReport& report) {
  return without_duplicates(space, upload_list<Scalar, Index>(space, std::move(list)), report);
}

/// Calls f(std::type_identity<Index>) with the coordinate type that the tensor needs.
template <class F>
decltype(auto) with_index_type(io::CoordinateList const& tensor, F&& f) {
  if (needs_wide_index(tensor)) return f(std::type_identity<std::uint64_t>{});
  return f(std::type_identity<std::uint32_t>{});
}

}  // namespace polyad::cli
