// SPDX-License-Identifier: BSD-3-Clause
// RunRanks: how the ranks of a run agree. The class itself is the form of one rank, which does nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "polyad/core/error.hpp"

namespace polyad::detail {

/// All ranks make the same calls in the same order.
class RunRanks {
public:
  virtual ~RunRanks() = default;

  /// Whether this is the rank that reads and writes files.
  [[nodiscard]] virtual bool is_root() const { return true; }
  /// Whether `here` is true on any rank.
  [[nodiscard]] virtual bool any(bool here) const { return here; }
  /// Replaces numbers in host memory by those of the first rank.
  virtual void agree(double* /*numbers*/, std::uint64_t /*count*/) const {}
};

/// The same of a driver's class for its ranks. \param owners  null for one rank; it must live as long
template <class Owners>
class RanksOfOwners final : public RunRanks {
public:
  explicit RanksOfOwners(Owners* owners) : m_owners(owners) {}

  [[nodiscard]] bool is_root() const override { return m_owners == nullptr || m_owners->is_root(); }
  [[nodiscard]] bool any(bool here) const override {
    return m_owners == nullptr ? here : m_owners->any(here);
  }
  void agree(double* numbers, std::uint64_t count) const override {
    if (m_owners == nullptr) return;
    auto const all = m_owners->from_root(std::vector<double>(numbers, numbers + count));
    std::copy(all.begin(), all.end(), numbers);
  }

private:
  Owners* m_owners;
};

/// Calls `work` on the first rank. If it throws, all ranks throw: the first one its own exception, the others
/// an InputError of `file` with the same text, or an Error with the same exit code.
template <class F>
void on_root(RunRanks const& ranks, std::filesystem::path const& file, F const& work) {
  std::exception_ptr own;
  std::string text;
  double facts[2] = {0, 0};  // the exit code, 0 for success, and the length of the text
  if (ranks.is_root()) {
    try {
      work();
    } catch (std::exception const& error) {
      own               = std::current_exception();
      auto const* typed = dynamic_cast<Error const*>(&error);
      text              = error.what();
      facts[0] = static_cast<double>(typed != nullptr ? typed->exit_code() : ExitCode::out_of_memory);
      facts[1] = static_cast<double>(text.size());
    }
  }
  ranks.agree(facts, 2);
  if (facts[0] == 0) return;
  std::vector<double> letters(text.begin(), text.end());
  letters.resize(static_cast<std::size_t>(facts[1]));
  ranks.agree(letters.data(), letters.size());
  if (own) std::rethrow_exception(own);
  text.clear();
  for (double const letter : letters) text += static_cast<char>(letter);
  auto const code          = static_cast<ExitCode>(static_cast<int>(facts[0]));
  std::string const prefix = file.string() + ": ";
  if (code == ExitCode::bad_input && text.starts_with(prefix))
    throw InputError(file.string(), 0, 0, text.substr(prefix.size()));
  throw Error(code, text);
}

}  // namespace polyad::detail
