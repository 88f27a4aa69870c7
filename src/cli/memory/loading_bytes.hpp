// SPDX-License-Identifier: BSD-3-Clause
// The memory that a tensor needs on its way from the list that was read to the coordinates from which formats
// are built (cli/tensors/device_tensor.hpp). Free of Kokkos, so that its callers can be.
#pragma once

#include <cstdint>

#include "polyad/io/coordinate_list.hpp"

namespace polyad::cli {

/// Whether the nonzeros are in lexicographic order, without duplicates. Needs a Session.
[[nodiscard]] bool is_ordered(io::CoordinateList const& list);

/// The bytes of the list that are in the tensor's memory. Zero if that is the memory of a device or
/// simulates it.
[[nodiscard]] std::uint64_t listed_bytes(io::CoordinateList const& list, bool simulates_device);

/// The bytes of the coordinates and values, as formats are built from them.
[[nodiscard]] std::uint64_t coordinate_bytes(io::CoordinateList const& list, int scalar_bytes);

/// The peak of the tensor's memory until the coordinates are complete, in bytes: the list and the
/// coordinates, or the coordinates and the memory for summing their duplicates, unless they are in
/// lexicographic order. Needs a Session.
/// \param sums  whether duplicates are summed
[[nodiscard]] std::uint64_t loading_bytes(io::CoordinateList const& list, int scalar_bytes,
                                          bool simulates_device, bool sums = true);

/// The peak of host memory in a run whose tensor goes to a device: the list, and the arrays of the
/// coordinates' types from which the device copies. A streamed format stays in host memory and takes `stored`
/// bytes; a sort makes it from coordinates in host memory, whose duplicates may have to be summed first.
/// Models and checkpoints are written in blocks.
/// \param stored  the bytes of a streaming format; 0: the format is on the device
[[nodiscard]] std::uint64_t host_bytes_of_device(io::CoordinateList const& list, int scalar_bytes,
                                                 std::uint64_t stored = 0);

/// Refuses a list that does not fit into host memory on its way to a device. Does nothing on host backends.
/// Needs a Session.
/// \throws MemoryError
void expect_host_holds(io::CoordinateList const& list, int scalar_bytes);

}  // namespace polyad::cli
