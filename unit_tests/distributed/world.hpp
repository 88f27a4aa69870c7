// SPDX-License-Identifier: BSD-3-Clause
// All ranks that the launcher started.
#pragma once

#include "polyad/distributed/communicator.hpp"
#include "support/device_data.hpp"

namespace polyad::test {

inline Communicator<TestSpace> const& world() {
  static auto const& ranks = *new Communicator<TestSpace>(mpi_communicator(TestSpace()));
  return ranks;
}

}  // namespace polyad::test
