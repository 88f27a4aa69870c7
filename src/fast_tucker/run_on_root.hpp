// SPDX-License-Identifier: BSD-3-Clause
// run_on_root: work of one rank, whose failure all ranks learn of. Otherwise they would wait for its result.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polyad/core/error.hpp"

namespace polyad::detail {

/// An exception as numbers, for other ranks: its kind, the bytes of a MemoryError, the length of that one's
/// array, and the characters of text and array.
class ToldException {
public:
  /// Of the current exception.
  [[nodiscard]] static std::vector<double> current() {
    try {
      throw;
    } catch (MemoryError const& error) {
      return told(memory, error.what(), error.array(), error.bytes());
    } catch (Error const& error) {
      return told(first_exit_code + static_cast<int>(error.exit_code()), error.what());
    } catch (std::bad_alloc const& error) {
      return told(bad_alloc, error.what());
    } catch (std::exception const& error) {
      return told(other, error.what());
    } catch (...) {
      return told(other, "an exception without a text");
    }
  }

  /// Throws an exception of the same kind and text.
  [[noreturn]] static void rethrow(std::vector<double> const& numbers) {
    auto const kind  = static_cast<int>(numbers[0]);
    auto const bytes = static_cast<std::uint64_t>(numbers[1]);
    auto const array = static_cast<std::ptrdiff_t>(numbers[2]);
    std::string text;
    for (auto at = numbers.begin() + 3; at != numbers.end(); ++at)
      text += static_cast<char>(static_cast<unsigned char>(*at));
    if (kind == bad_alloc) throw std::bad_alloc();
    if (kind == other) throw std::runtime_error(text);
    if (kind == memory) {
      std::string const name(text.end() - array, text.end());
      text.resize(text.size() - name.size());
      // MemoryError puts array and bytes before its reason.
      std::size_t const before = std::string_view(MemoryError(name, bytes, "").what()).size();
      throw MemoryError(name, bytes, text.substr(before));
    }
    auto const code = static_cast<ExitCode>(kind - first_exit_code);
    if (code == ExitCode::usage) throw UsageError(text);
    if (code == ExitCode::numerical_breakdown) throw NumericalError(text);
    if (code == ExitCode::backend_unusable) throw BackendError(text);
    throw Error(code, text);
  }

private:
  enum Kind { memory, bad_alloc, other, first_exit_code };

  static std::vector<double> told(int kind, std::string text, std::string const& array = {},
                                  std::uint64_t bytes = 0) {
    std::vector<double> numbers{static_cast<double>(kind), static_cast<double>(bytes),
                                static_cast<double>(array.size())};
    for (char const c : text += array) numbers.push_back(static_cast<double>(static_cast<unsigned char>(c)));
    return numbers;
  }
};

/// f() of the root, and an empty result elsewhere. All ranks call it together. If f throws, all throw: the
/// root its exception, the others one of the same kind and text.
/// \param owners  RowOwners (formats/row_owners.hpp)
template <class Owners, class F>
auto run_on_root(Owners const& owners, F const& f) -> decltype(f()) {
  decltype(f()) result;
  std::exception_ptr thrown;
  std::vector<double> told;
  if (owners.is_root()) {
    try {
      result = f();
    } catch (...) {
      thrown = std::current_exception();
      told   = ToldException::current();
    }
  }
  told = owners.from_root(std::move(told));
  if (thrown) std::rethrow_exception(thrown);
  if (!told.empty()) ToldException::rethrow(told);
  return result;
}

}  // namespace polyad::detail
