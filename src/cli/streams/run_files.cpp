// SPDX-License-Identifier: BSD-3-Clause
#include "cli/streams/run_files.hpp"

#include <array>
#include <string>
#include <system_error>

#include "cli/run/ranks.hpp"
#include "polyad/core/error.hpp"

namespace polyad::cli {

Reopenable::Reopenable(std::filesystem::path& path) {
  std::error_code failed;
  if (ranks().rank > 0 || path.empty() || !std::filesystem::is_fifo(path, failed)) return;
  std::unique_ptr<std::FILE, Close> const pipe(std::fopen(path.c_str(), "rb"));
  if (!pipe) return;
  m_copy.reset(std::tmpfile());
  bool is_written = m_copy != nullptr;
  std::array<char, 65536> block;
  while (is_written) {
    std::size_t const count = std::fread(block.data(), 1, block.size(), pipe.get());
    if (count == 0) break;
    is_written = std::fwrite(block.data(), 1, count, m_copy.get()) == count;
  }
  if (!is_written || std::fflush(m_copy.get()) != 0)
    throw WriteError("a temporary copy of " + path.string() + " cannot be written");
  path = "/dev/fd/" + std::to_string(fileno(m_copy.get()));
}

}  // namespace polyad::cli
