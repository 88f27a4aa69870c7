// SPDX-License-Identifier: BSD-3-Clause
// The destination of the bytes of an output: the symbolic links of its name are followed, and it is decided
// whether a complete file may replace an existing one.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

namespace polyad::io {

struct OutputTarget {
  enum class Kind {
    refused,     // see `error`
    descriptor,  // one of this process, such as that of /dev/stdout
    pipe,        // a FIFO, which waits for its reader
    device,      // anything else that is not a regular file
    appended,    // a file to which bytes can only be added
    file,        // a file, or a name that is still free
  };
  Kind kind      = Kind::refused;
  int error      = 0;
  int descriptor = -1;
  std::filesystem::path path;    // where the links end
  std::optional<mode_t> before;  // the permissions of the file that is there
};

/// \return a refused target for names that cannot be written, as far as this can be known in advance
[[nodiscard]] OutputTarget resolve_output(std::filesystem::path const& path);

}  // namespace polyad::io
