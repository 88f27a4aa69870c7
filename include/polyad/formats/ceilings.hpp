// SPDX-License-Identifier: BSD-3-Clause
// The rates that a machine reaches, for the choice of a format: usual numbers, or those of a short
// measurement. The header is free of Kokkos.
#pragma once

#include <array>
#include <vector>

namespace polyad {

/// The rates that a machine reaches with the rows of one scalar type, in bytes per second.
struct Ceilings {
  /// Points (size, rate) with ascending sizes: megabytes of a table, or rows of it.
  using Curve = std::vector<std::array<double, 2>>;

  bool is_device  = false;
  int concurrency = 1;    // threads
  int simd_bytes  = 64;   // the widest register of a host
  double launch_s = 0;    // time to launch a kernel: nominal_launch_s
  double copy     = 0;    // read and written
  Curve gather;           // random rows of 32 columns, by the megabytes of the table
  Curve atomic_add;       // atomic additions to random rows, by the megabytes of the table
  Curve atomic_add_rows;  // the same, by the number of rows that are added to
  double from_host = 0;   // copied from host memory
};

/// The unit of the launch weights. The stored results do not include the time of an empty launch.
inline constexpr double nominal_launch_s = 5e-6;

/// If measuring does not pay: the ceilings of an NVIDIA H200, or of `concurrency` AMD EPYC cores.
[[nodiscard]] Ceilings usual_ceilings(bool is_device, int concurrency, int scalar_bytes);

/// Measures the copy, the gather and the atomic addition of rows of 32 columns. This takes about 0.2 s, and
/// at most a quarter of the free memory. Waits for `space`.
/// The library has it for float and double, and the default execution space.
/// \throws MemoryError if not even a megabyte is free
template <class Scalar, class Space>
[[nodiscard]] Ceilings measure_ceilings(Space const& space);

}  // namespace polyad
