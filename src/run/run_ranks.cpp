// SPDX-License-Identifier: BSD-3-Clause
#include "run/run_ranks.hpp"

#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "polyad/core/error.hpp"

namespace polyad::detail {

namespace {

/// An exception as numbers, for other ranks: its kind, two facts, the length of a name, and the characters of
/// its text and of that name. The facts of a MemoryError are bytes, those of an InputError line and column.
class ToldException {
public:
  [[nodiscard]] static std::vector<double> of(std::exception_ptr const& thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (MemoryError const& error) {
      return told(memory, error.what(), error.array(), error.bytes());
    } catch (InputError const& error) {
      return told(input, error.what(), error.file(), error.line(), error.column());
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
    auto const kind    = static_cast<int>(numbers[0]);
    auto const first   = static_cast<std::uint64_t>(numbers[1]);
    auto const second  = static_cast<std::uint64_t>(numbers[2]);
    auto const letters = static_cast<std::ptrdiff_t>(numbers[3]);
    std::string text;
    for (auto at = numbers.begin() + 4; at != numbers.end(); ++at)
      text += static_cast<char>(static_cast<unsigned char>(*at));
    std::string const name(text.end() - letters, text.end());
    text.resize(text.size() - name.size());
    // Both errors put their facts before the reason.
    auto const reason = [&](Error const& without) {
      return text.substr(std::string_view(without.what()).size());
    };
    if (kind == bad_alloc) throw std::bad_alloc();
    if (kind == other) throw std::runtime_error(text);
    if (kind == memory) throw MemoryError(name, first, reason(MemoryError(name, first, "")));
    if (kind == input) throw InputError(name, first, second, reason(InputError(name, first, second, "")));
    auto const code = static_cast<ExitCode>(kind - first_exit_code);
    if (code == ExitCode::usage) throw UsageError(text);
    if (code == ExitCode::numerical_breakdown) throw NumericalError(text);
    if (code == ExitCode::cannot_write) throw WriteError(text);
    if (code == ExitCode::backend_unusable) throw BackendError(text);
    throw Error(code, text);
  }

private:
  enum Kind { memory, input, bad_alloc, other, first_exit_code };

  static std::vector<double> told(int kind, std::string text, std::string const& name = {},
                                  std::uint64_t first = 0, std::uint64_t second = 0) {
    std::vector<double> numbers{static_cast<double>(kind), static_cast<double>(first),
                                static_cast<double>(second), static_cast<double>(name.size())};
    for (char const c : text += name) numbers.push_back(static_cast<unsigned char>(c));
    return numbers;
  }
};

}  // namespace

std::vector<double> RunRanks::from_root(std::vector<double> numbers) const {
  auto count = static_cast<double>(numbers.size());
  broadcast_from_root(&count, 1);
  numbers.resize(static_cast<std::size_t>(count));
  broadcast_from_root(numbers.data(), numbers.size());
  return numbers;
}

void RunRanks::throw_together(std::exception_ptr const& thrown) const {
  constexpr double nobody = -std::numeric_limits<double>::infinity();
  double const first      = largest(thrown ? -static_cast<double>(rank()) : nobody);
  if (first == nobody) return;
  std::vector<double> told;
  if (thrown && first == -static_cast<double>(rank())) told = ToldException::of(thrown);
  told.resize(static_cast<std::size_t>(largest(static_cast<double>(told.size()))), 0.0);
  sum_on_host(told);
  if (thrown) std::rethrow_exception(thrown);
  ToldException::rethrow(told);
}

}  // namespace polyad::detail
