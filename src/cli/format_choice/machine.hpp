// SPDX-License-Identifier: BSD-3-Clause
// What auto asks of the machine. Free of Kokkos, so that its callers are; each needs a Session.
#pragma once

#include <cstdint>

#include "cli/report/report.hpp"
#include "polyad/formats/ceilings.hpp"

namespace polyad::cli {

/// The ceilings of this machine: of the cache, or measured and put there. Where not even a run of `seconds`
/// is expected of the usual ones, those are taken as they are: measuring takes longer than a wrong choice.
[[nodiscard]] Ceilings machine_ceilings(BackendReport const& backend, int scalar_bytes, double seconds);

/// Bytes that are free where tensors go.
[[nodiscard]] std::uint64_t free_memory();

/// Whether that is a device.
[[nodiscard]] bool runs_on_device();

}  // namespace polyad::cli
