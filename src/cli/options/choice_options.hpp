// SPDX-License-Identifier: BSD-3-Clause
// The user's options for estimate and tune.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/options/file_options.hpp"

namespace polyad::cli {

struct EstimateOptions {
  CommonOptions common;
  std::filesystem::path tensor;
  int index_base         = -1;
  std::string duplicates = "sum";  // or last, error
  std::uint64_t rank     = 0;
  int iterations         = 50;  // over which the time of a build is spread
  std::string precision  = "f64";
  std::optional<std::uint64_t> device_memory;  // bytes; none: all that is free
};

struct TuneOptions : EstimateOptions {
  std::string format;  // empty: all; a single one is tried with all its shapes
  bool store = false;  // next to the tensor
};

}  // namespace polyad::cli
