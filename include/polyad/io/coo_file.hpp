// SPDX-License-Identifier: BSD-3-Clause
// Converts a file, or a reader's list, to a CooTensor in the memory of an execution space.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <filesystem>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/tensor_file.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/sum_duplicates.hpp"

namespace polyad::io {

/// The list's tensor as it is, duplicates included, in the memory of `space`. Waits for `space`.
/// \throws UsageError when a mode is too long for Index, or a value would become infinite or zero as Scalar;
///         MemoryError
template <class Scalar = double, class Index = std::uint32_t, class Space>
[[nodiscard]] CooTensor<Scalar, Index, Space> to_coo_tensor(Space const& space, CoordinateList const& list) {
  if (list.extents.empty()) return {};
  if constexpr (sizeof(Scalar) < sizeof(double)) expect_fits_floats(list);
  Extents const extents{std::span<count_t const>(list.extents)};
  POLYAD_EXPECTS(sizeof(Index) == sizeof(std::uint64_t) || !list.wide(),
                 "a mode of 2^32 rows or more needs 64-bit indices");
  return std::visit(
      [&](auto const& indices) {
        using Stored = typename std::remove_cvref_t<decltype(indices)>::value_type;
        std::span<double const> const values(list.values);
        if constexpr (std::is_same_v<Stored, Index>) {
          return upload<Scalar, Index>(space, extents, std::span<Index const>(indices), values);
        } else {
          std::vector<Index> const converted(indices.begin(), indices.end());
          return upload<Scalar, Index>(space, extents, std::span<Index const>(converted), values);
        }
      },
      list.indices);
}

}  // namespace polyad::io

namespace polyad {

/// Reads a file of any kind (io/tensor_file.hpp) and sums its duplicates, as drivers require. Waits for
/// `space`.
/// \throws InputError; UsageError when a mode is too long for Index, or a value does not fit Scalar;
///         MemoryError
template <class Scalar = double, class Index = std::uint32_t, class Space>
[[nodiscard]] CooTensor<Scalar, Index, Space> load_tensor(Space const& space,
                                                          std::filesystem::path const& path,
                                                          io::ReadOptions const& options = {}) {
  auto const list = io::read_tensor(path, options).tensor;
  return sum_duplicates(space, io::to_coo_tensor<Scalar, Index>(space, list)).tensor;
}

}  // namespace polyad
