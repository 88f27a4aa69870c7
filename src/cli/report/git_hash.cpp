// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report/host_facts.hpp"

#ifndef POLYAD_GIT_HASH
#define POLYAD_GIT_HASH "unknown"
#endif

namespace polyad::cli {

char const* git_hash() noexcept {
  return POLYAD_GIT_HASH;
}

}  // namespace polyad::cli
