// SPDX-License-Identifier: BSD-3-Clause
// OptionText: a format's options as text, after its name in "f-coo:threadlen=16,team_threads=64" or
// "sorted:copies". Each format reads its own options, and an option that no format reads is an error.
// Free of Kokkos.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace polyad {

class OptionText {
public:
  /// "NAME=NUMBER,..."; a name alone is a flag. \throws UsageError for an empty or a repeated name
  explicit OptionText(std::string_view text);

  // Each read leaves its target unchanged if the option is absent. \throws UsageError if the text is not a
  // flag, or not a number that fits

  void read(std::string_view name, bool& flag);
  void read(std::string_view name, int& number);
  void read(std::string_view name, std::optional<int>& number);
  void read(std::string_view name, std::uint64_t& number);
  void read(std::string_view name, std::optional<std::uint64_t>& number);
  void read(std::string_view name, std::int64_t& number);
  void read(std::string_view name, std::optional<std::int64_t>& number);
  /// One of `words`. \throws UsageError that lists them
  void read(std::string_view name, std::string& word, std::initializer_list<std::string_view> words);

  /// All names with their values, unchanged. A flag's value is empty.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> all() const;

  /// Throws UsageError if an option was never read, with a list of those that were.
  void expect_all_read(std::string_view format) const;

private:
  struct Option {
    std::string name;
    std::optional<std::string> value;
    bool is_read = false;
  };
  [[nodiscard]] bool is_given(std::string_view name) const;
  /// Null if the option is absent.
  Option* take(std::string_view name);
  template <class Number>
  void read_number(std::string_view name, Number& number);

  std::vector<Option> m_options;
  std::vector<std::string> m_known;
};

/// "f-coo:threadlen=16" is the format "f-coo" and its options "threadlen=16".
struct FormatText {
  std::string name;
  std::string options;
};
[[nodiscard]] FormatText split_format_text(std::string_view text);

}  // namespace polyad
