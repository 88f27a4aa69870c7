// SPDX-License-Identifier: BSD-3-Clause
// An input file that is opened more than once.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>

namespace polyad::cli {

/// The file itself; for a pipe, which can be read only once, a copy that lives as long as this object.
class Reopenable {
public:
  /// \param path  empty: none. A file that cannot be opened is left to its reader.
  /// \throws WriteError when the copy cannot be written
  explicit Reopenable(std::filesystem::path const& path);
  [[nodiscard]] std::filesystem::path const& path() const { return m_path; }

private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path m_path;
  std::unique_ptr<std::FILE, Close> m_copy;
};

}  // namespace polyad::cli
