// SPDX-License-Identifier: BSD-3-Clause
// The part of `polyad gen` that runs on the backend. Free of Kokkos, so that its callers can be.
#pragma once

#include "cli/options/options.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

struct GeneratedTensor {
  io::CoordinateList tensor;
  io::HostKtensor model;  // for low-rank, the model that the tensor equals; else empty
};

/// Needs a Session. \throws UsageError for shapes that cannot hold the requested nonzeros
[[nodiscard]] GeneratedTensor generate(GenOptions const& options);

}  // namespace polyad::cli
