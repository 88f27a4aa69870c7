// SPDX-License-Identifier: BSD-3-Clause
// The memory that a tensor needs on its way from the list that was read to the coordinates from which formats
// are built (cli/tensors/device_tensor.hpp). Free of Kokkos, so that its callers are.
#pragma once

#include <cstdint>

#include "polyad/io/coordinate_list.hpp"

namespace polyad::cli {

/// Whether the nonzeros are in lexicographic order, none twice. Needs a Session.
[[nodiscard]] bool is_ordered(io::CoordinateList const& list);

/// The bytes of the list that are in the tensor's memory. Zero if that is a device's, or simulates one.
[[nodiscard]] std::uint64_t listed_bytes(io::CoordinateList const& list, bool simulates_device);

/// The bytes of the coordinates and values, as formats are built from them.
[[nodiscard]] std::uint64_t coordinate_bytes(io::CoordinateList const& list, int scalar_bytes);

/// The most bytes of the tensor's memory that are held until the coordinates are there: the list and the
/// coordinates, or the coordinates and what it takes to sum their duplicates, unless they are in
/// lexicographic order. Needs a Session.
/// \param sums  whether duplicates are summed
[[nodiscard]] std::uint64_t loading_bytes(io::CoordinateList const& list, int scalar_bytes,
                                          bool simulates_device, bool sums = true);

/// The most host memory of a run whose tensor goes to a device: the list, and the arrays of the coordinates'
/// types from which the device copies. A streamed format stays there: `stored` bytes, which are made of
/// coordinates in host memory by a sort, and may have to have duplicates summed first. Models and checkpoints
/// are written in blocks.
/// \param stored  the bytes of a streaming format; 0: the format is on the device
[[nodiscard]] std::uint64_t host_bytes_of_device(io::CoordinateList const& list, int scalar_bytes,
                                                 std::uint64_t stored = 0);

/// Refuses a list that host memory does not hold on its way to a device. Nothing on hosts. Needs a Session.
/// \throws MemoryError
void expect_host_holds(io::CoordinateList const& list, int scalar_bytes);

}  // namespace polyad::cli
