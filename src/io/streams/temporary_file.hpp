// SPDX-License-Identifier: BSD-3-Clause
// A file with a temporary name in the folder of another file, until it takes the other's name.
// remove_temporary_files() (polyad/io/atomic_file.hpp) finds all of them, in a signal handler too.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

namespace polyad::io {

/// A place in the list of temporary files.
struct TemporaryName {
  std::atomic<char*> path{nullptr};
  TemporaryName* next = nullptr;
};

class TemporaryFile {
public:
  TemporaryFile() = default;
  /// Removes it, unless it has taken the other's name.
  ~TemporaryFile();
  TemporaryFile(TemporaryFile const&)            = delete;
  TemporaryFile& operator=(TemporaryFile const&) = delete;

  /// Makes one in the folder of `target`. Only this user can open it. Returns its descriptor, or -1 and sets
  /// errno.
  [[nodiscard]] int create(std::filesystem::path const& target);

  [[nodiscard]] bool exists() const noexcept { return m_name != nullptr; }

  /// Renames it to `target`. Returns false and sets errno if that fails.
  [[nodiscard]] bool take_name(std::filesystem::path const& target) noexcept;

private:
  void forget() noexcept;

  std::string m_path;
  TemporaryName* m_name = nullptr;
};

}  // namespace polyad::io
