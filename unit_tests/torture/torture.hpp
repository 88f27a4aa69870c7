// SPDX-License-Identifier: BSD-3-Clause
// The parts of scripts/torture that run inside one process. Each prints what it did and returns the number of
// findings, which it names on stderr.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace polyad::torture {

struct Wanted {
  double seconds     = 60;
  std::uint64_t seed = 1;
  std::string only;              // the case of allocations to begin with; empty: the first
  std::uint64_t from = 1;        // the first allocation of that case that fails
  std::uint64_t to   = 0;        // the last one, and no case follows; 0: all of them
  std::filesystem::path folder;  // for files
};

int allocations(Wanted const& wanted);
/// Prints the names of the cases of allocations.
int allocation_cases(Wanted const& wanted);
int metamorphic(Wanted const& wanted);
int soak(Wanted const& wanted);

}  // namespace polyad::torture
