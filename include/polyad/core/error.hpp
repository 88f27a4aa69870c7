// SPDX-License-Identifier: BSD-3-Clause
// The error types of Polyad. All derive from polyad::Error, and each knows its exit code in the command-line
// tool (README, "The tool"). Other exceptions pass through unchanged: std::bad_alloc of a container in host
// memory, Kokkos' std::runtime_error of an allocation, and the exceptions of a caller's functions. This
// header does without Kokkos, since readers and writers need nothing else.
#pragma once

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace polyad {

/// Exit codes of the tool `polyad`; `Error::exit_code()` returns one of them.
enum class ExitCode : int {
  success             = 0,
  usage               = 2,
  bad_input           = 3,
  out_of_memory       = 4,
  numerical_breakdown = 5,
  cannot_write        = 6,
  backend_unusable    = 7,
  differences_found   = 8,
};

/// Base of every error of Polyad's own.
class Error : public std::runtime_error {
public:
  Error(ExitCode code, std::string const& what) : std::runtime_error(what), m_code(code) {}
  [[nodiscard]] ExitCode exit_code() const noexcept { return m_code; }

private:
  ExitCode m_code;
};

/// A precondition of the API does not hold: wrong shape, mode out of range, rank 0, unknown format name.
class UsageError : public Error {
public:
  explicit UsageError(std::string const& what) : Error(ExitCode::usage, what) {}
};

/// The content of a file is wrong. The text reads `file:line:column: reason`.
class InputError : public Error {
public:
  /// \param line, column  count from 1; 0 means "does not apply" and is left out of the text.
  InputError(std::string file, std::uint64_t line, std::uint64_t column, std::string const& reason);
  [[nodiscard]] std::string const& file() const noexcept { return m_file; }
  [[nodiscard]] std::uint64_t line() const noexcept { return m_line; }
  [[nodiscard]] std::uint64_t column() const noexcept { return m_column; }

private:
  std::string m_file;
  std::uint64_t m_line;
  std::uint64_t m_column;
};

/// An array does not fit. Thrown before the allocation is tried wherever the need is known.
class MemoryError : public Error {
public:
  MemoryError(std::string array, std::uint64_t bytes, std::string const& reason = "does not fit");
  [[nodiscard]] std::string const& array() const noexcept { return m_array; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return m_bytes; }

private:
  std::string m_array;
  std::uint64_t m_bytes;
};

/// NaN or infinity appeared where the method cannot continue with it.
class NumericalError : public Error {
public:
  explicit NumericalError(std::string const& what) : Error(ExitCode::numerical_breakdown, what) {}
};

/// An output file cannot be written; the previous file, if any, is untouched.
class WriteError : public Error {
public:
  explicit WriteError(std::string const& what) : Error(ExitCode::cannot_write, what) {}
};

/// The requested backend or device cannot be used.
class BackendError : public Error {
public:
  explicit BackendError(std::string const& what) : Error(ExitCode::backend_unusable, what) {}
};

}  // namespace polyad

namespace polyad::detail {

template <class... Parts>
[[noreturn]] void expectation_failed(Parts const&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw UsageError(text.str());
}

}  // namespace polyad::detail

/// Checks a precondition, in every build. If it does not hold, throws a UsageError whose text is the parts,
/// one after the other.
#define POLYAD_EXPECTS(condition, ...)                                   \
  do {                                                                   \
    if (!(condition)) ::polyad::detail::expectation_failed(__VA_ARGS__); \
  } while (false)
