// SPDX-License-Identifier: BSD-3-Clause
// A folder of its own for a test that writes files; gone with its contents at the end.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace polyad::test {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyad_test_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    m_path = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
  }
  TemporaryFolder(TemporaryFolder const&)            = delete;
  TemporaryFolder& operator=(TemporaryFolder const&) = delete;

  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return m_path / name; }

  /// Writes a file and returns its path.
  std::filesystem::path write(std::string_view name, std::string_view content) const {
    std::filesystem::path path = m_path / name;
    // ext4 writes a file that is cut to nothing and filled again to the disk at once; a new one it does not.
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(m_path), {}));
  }

private:
  std::filesystem::path m_path;
};

[[nodiscard]] inline std::string content_of(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace polyad::test
