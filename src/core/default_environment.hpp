// SPDX-License-Identifier: BSD-3-Clause
// Sets a default for an environment variable that another library reads, if that library has no other
// setting. For initialisers of namespace scope only, which run while the library is loaded. Later, another
// thread may be inside getenv, and setenv is not safe at the same time.
#pragma once

#include <cstdlib>

namespace polyad::detail {

/// Does nothing if the variable is set. Returns 0, so that an initialiser can call it.
inline int set_default_environment(char const* name, char const* value) {
  if (std::getenv(name) == nullptr) ::setenv(name, value, 0);
  return 0;
}

}  // namespace polyad::detail
