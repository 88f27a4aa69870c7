// SPDX-License-Identifier: BSD-3-Clause
// The texts of errors are here, not in the header, so that not every source compiles them.
#include "polyad/core/error.hpp"

#include <utility>

#include "polyad/core/printable.hpp"

namespace polyad {
namespace {

std::string position(std::string const& file, std::uint64_t line, std::uint64_t column) {
  std::string text = printable(file);
  if (line != 0) text += ':' + std::to_string(line);
  if (line != 0 && column != 0) text += ':' + std::to_string(column);
  return text + ": ";
}

}  // namespace

InputError::InputError(std::string file, std::uint64_t line, std::uint64_t column, std::string const& reason)
    : Error(ExitCode::bad_input, position(file, line, column) + reason),
      m_file(std::move(file)),
      m_line(line),
      m_column(column) {}

MemoryError::MemoryError(std::string array, std::uint64_t bytes, std::string const& reason)
    : Error(ExitCode::out_of_memory,
            printable(array) + " needs " + std::to_string(bytes) + " bytes: " + reason),
      m_array(std::move(array)),
      m_bytes(bytes) {}

}  // namespace polyad
