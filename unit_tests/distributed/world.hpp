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

/// Words that all ranks have sent to others since the start.
inline double words_of_all() {
  auto words = static_cast<double>(world().data().words_sent());
  world().host().all_reduce(&words, 1);
  return words;
}

}  // namespace polyad::test
