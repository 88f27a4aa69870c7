// SPDX-License-Identifier: BSD-3-Clause
// The command line of polyad_perf, which selects the measurements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace polyad::perf {

struct PerfOptions {
  std::vector<std::string> tensors;  // presets (presets.hpp) or files
  std::vector<double> scales{1};     // multiples of a preset's number of nonzeros
  std::vector<std::string> formats;  // empty: all
  std::vector<std::string> scalars{"f32", "f64"};
  std::vector<int> ranks{16, 32};
  std::vector<std::string> modes;  // "all" or numbers from 0; empty: "all" and every mode
  std::vector<double> stream;  // shares of the tensor that the buffers of a streamed one hold; none: not run
  std::uint64_t device_memory = 0;      // bytes for CP-ALS over a streamed tensor; 0: not run
  bool strategies             = false;  // compared, including those that this backend does not use
  bool dense                  = false;  // dense routines, and those of Kokkos Kernels
  int samples                 = 10;     // timed repetitions for each median
  bool dry_run                = false;  // tiny tensor, one sample: does everything run and pass its check?
  std::string surveys;  // a file for what the cost model knows of the tensors; then nothing is measured
  std::vector<std::string> others;  // arguments for Google Benchmark
};

/// Prints help and exits with 0 for --help; names a bad value and exits with 2.
PerfOptions parse_options(int argc, char const* const* argv);

}  // namespace polyad::perf
