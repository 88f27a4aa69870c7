// SPDX-License-Identifier: BSD-3-Clause
// OpenMP ends the process with status 1 where it cannot start a thread, often because its stack does not fit.
#pragma once

namespace polyad::cli {

/// Starts and ends the threads that Kokkos is about to start. Does nothing on a backend without threads.
/// \param threads  0 for OpenMP's default
/// \throws MemoryError if the system does not start that many
void expect_threads(int threads);

}  // namespace polyad::cli
