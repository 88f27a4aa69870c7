// SPDX-License-Identifier: BSD-3-Clause
// The facts in a result file about its origin.
#pragma once

namespace polyad::perf {

/// Adds version and commit, Kokkos' configuration, device, driver and clocks, CPU, threads and pages to the
/// context of Google Benchmark's output.
void add_context();

}  // namespace polyad::perf
