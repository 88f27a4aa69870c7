// SPDX-License-Identifier: BSD-3-Clause
// A folder that all ranks of this machine see, named after rank 0's process.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "distributed/world.hpp"

namespace polyad::test {

/// Returns when all ranks have called it.
inline void wait_for_all() {
  double sum = 0;
  world().host().all_reduce(&sum, 1);
}

class SharedFolder {
public:
  SharedFolder() {
    double process = ::getpid();
    world().host().broadcast(&process, 1, 0);
    m_path = std::filesystem::temp_directory_path() /
             ("polyad_ranks_" + std::to_string(static_cast<long>(process)));
    if (world().rank() == 0) std::filesystem::create_directory(m_path);
    wait_for_all();
  }
  ~SharedFolder() {
    std::error_code ignored;
    if (world().rank() == 0) std::filesystem::remove_all(m_path, ignored);
  }
  SharedFolder(SharedFolder const&)            = delete;
  SharedFolder& operator=(SharedFolder const&) = delete;

  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return m_path / name; }
  /// The file is there when the call returns.
  [[nodiscard]] std::filesystem::path write(std::string_view content, std::string_view name = "x") const {
    wait_for_all();  // nobody reads the one before
    if (world().rank() == 0) std::ofstream(m_path / name, std::ios::binary) << content;
    wait_for_all();
    return m_path / name;
  }
  [[nodiscard]] std::filesystem::path path() const { return m_path; }

private:
  std::filesystem::path m_path;
};

}  // namespace polyad::test
