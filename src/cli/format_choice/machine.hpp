// SPDX-License-Identifier: BSD-3-Clause
// The facts about the machine that auto needs. Free of Kokkos, so that the callers can be; each function
// needs a Session.
#pragma once

#include "cli/report/report.hpp"
#include "polyad/formats/ceilings.hpp"

namespace polyad::cli {

/// The ceilings of a device, from the cache, or measured and then cached. If the usual ceilings predict only
/// a short run of `seconds`, they are returned without a measurement. It would take longer than a wrong
/// choice costs. A host has the usual ceilings (docs/which-format.md).
[[nodiscard]] Ceilings machine_ceilings(BackendReport const& backend, int scalar_bytes, double seconds);

/// Whether tensors are in the memory of a device.
[[nodiscard]] bool runs_on_device();

}  // namespace polyad::cli
