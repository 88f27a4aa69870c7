// SPDX-License-Identifier: BSD-3-Clause
// A file's tensor on the backend, with duplicates summed, and the facts in every report.
#pragma once

#include <Kokkos_Core.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "cli/report/report.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/io/coo_file.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/sum_duplicates.hpp"
#include "polyad/tensor/survey.hpp"

namespace polyad::cli {

using Space = Kokkos::DefaultExecutionSpace;

/// Whether coordinates and positions of nonzeros need 64 bits.
inline bool needs_wide_index(io::CoordinateList const& tensor) {
  return tensor.wide() || tensor.nnz() > std::numeric_limits<std::uint32_t>::max();
}

/// Surveys a list for the cost model with the given number of threads (0: all).
inline TensorSurvey survey_list(io::CoordinateList const& list, int threads) {
  return std::visit(
      [&](auto const& indices) {
        return survey_tensor(list.extents, std::span(indices.data(), indices.size()), threads);
      },
      list.indices);
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
  report.duplicates += deduplicated.duplicates;  // in addition to those that were resolved while reading
  return deduplicated.tensor;
}

/// The same, sorted on the host.
template <class Scalar, class Index>
CooTensor<Scalar, Index, Space> without_duplicates_by_host(Space const& space,
                                                           CooTensor<Scalar, Index, Space>&& tensor,
                                                           InputReport& report) {
  using HostSpace = typename AnyFormat<Scalar, Space>::host_space;
  std::optional<DeviceMemoryAccount::HostArrays> on_host(std::in_place);
  auto const host   = without_duplicates(HostSpace(), download<HostSpace>(space, tensor), report);
  count_t const nnz = tensor.nnz();
  if (host.nnz() == nnz) return tensor;
  tensor = {};
  on_host.reset();
  auto const summed = make_coo_tensor<Scalar, Index>(space, host.extents(), host.nnz());
  Kokkos::deep_copy(space, summed.indices(), host.indices());
  Kokkos::deep_copy(space, summed.values(), host.values());
  space.fence("polyad::without_duplicates_by_host");
  return summed;
}

template <class Scalar, class Index>
CooTensor<Scalar, Index, Space> to_device(Space const& space, io::CoordinateList&& list,
                                          InputReport& report) {
  auto tensor = upload_list<Scalar, Index>(space, std::move(list));
  try {
    return without_duplicates(space, tensor, report);
  } catch (MemoryError const&) {  // the sort's keys do not fit in addition to the coordinates
    return without_duplicates_by_host(space, std::move(tensor), report);
  }
}

/// Calls f(std::type_identity<Index>) with coordinates of 64 bits, or 32.
template <class F>
decltype(auto) with_index_type(bool is_wide, F&& f) {
  if (is_wide) return f(std::type_identity<std::uint64_t>{});
  return f(std::type_identity<std::uint32_t>{});
}

/// Calls f(Scalar(), Index()) for a precision, f32 or f64, and coordinates of 64 bits, or 32.
template <class F>
decltype(auto) with_types(std::string_view precision, bool is_wide, F&& f) {
  return with_index_type(is_wide, [&](auto index) {
    using Index = typename decltype(index)::type;
    return precision == "f32" ? f(float(), Index()) : f(double(), Index());
  });
}

}  // namespace polyad::cli
