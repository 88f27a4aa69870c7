// SPDX-License-Identifier: BSD-3-Clause
// The part of `polyad predict` for CP and Tucker models that runs on the backend. Free of Kokkos, so that its
// callers can be.
#pragma once

#include <vector>

#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::cli {

/// A model's values at places, in their order. The places go to the device in blocks. Needs a Session.
/// \param places  inside the model's extents; the list's own extents and values are ignored
/// \throws UsageError when a place is outside, or the model's arrays do not match; MemoryError
[[nodiscard]] std::vector<double> model_values(io::HostKtensor const& model,
                                               io::CoordinateList const& places);
[[nodiscard]] std::vector<double> model_values(io::HostTucker const& model, io::CoordinateList const& places);

}  // namespace polyad::cli
