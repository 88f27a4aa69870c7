// SPDX-License-Identifier: BSD-3-Clause
// A file's tensor on the backend, duplicates summed, with the facts that every report states.
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>
#include <utility>

#include "cli/report/report.hpp"
#include "polyad/io/coo_file.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/sum_duplicates.hpp"

namespace polyad::cli {

using Space = Kokkos::DefaultExecutionSpace;

/// Whether coordinates and positions of nonzeros need 64 bits.
inline bool needs_wide_index(io::CoordinateList const& tensor) {
  return tensor.wide() || tensor.nnz() > std::numeric_limits<std::uint32_t>::max();
}

/// The list's tensor, as it is, on the device. Frees the list's arrays once they are copied.
template <class Scalar, class Index>
CooTensor<Scalar, Index, Space> upload_list(Space const& space, io::CoordinateList&& list) {
  auto const tensor = io::to_coo_tensor<Scalar, Index>(space, list);
  list              = {};
  return tensor;
}

/// Sums duplicates. Fills in report.nnz and report.duplicates.
template <class Tensor>
Tensor without_duplicates(typename Tensor::space_type const& where, Tensor const& tensor,
                          InputReport& report) {
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
