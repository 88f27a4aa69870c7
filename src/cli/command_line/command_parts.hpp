// SPDX-License-Identifier: BSD-3-Clause
// What the tables of options of several commands share.
#pragma once

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/file_options.hpp"

namespace polyad::cli {

inline constexpr auto exit_codes =
    "Exit codes: 0 done; 2 usage; 3 bad input; 4 out of memory; 5 numerical breakdown; 6 cannot write; "
    "7 backend or device not usable; 8 check or compare found differences; 130, 143 interrupted (what was "
    "reached is written).\n"
    "When a command fails nothing is written to the -o file. The --report file is written for every outcome "
    "but a usage error, with the exit code and the error's text.\n";

/// \throws UsageError
[[noreturn]] void refuse(std::string const& text);

/// CLI11 lets a negative number wrap around and cuts off one that is too large.
template <class Integer>
CLI::Validator whole_number() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        Integer value{};
        auto const [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (fault == std::errc() && end == text.data() + text.size()) return "";
        return fmt::format("'{}' is not a whole number from {} to {}", text,
                           std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max());
      },
      "");
}

void add_common(CLI::App& command, CommonOptions& common);

/// The positional TENSOR and --index-base.
void add_tensor(CLI::App& command, std::filesystem::path& tensor, int& index_base);

/// --duplicates, of which a command allows some
void add_duplicates(CLI::App& command, std::string& duplicates, std::vector<std::string> const& allowed);

/// --precision; `of` says of what
void add_precision(CLI::App& command, std::string& precision, std::string const& of);

/// --device-memory
void add_device_memory(CLI::App& command, std::optional<std::uint64_t>& bytes, std::string const& meaning);

/// \throws UsageError when the output is the input
void refuse_overwriting(std::filesystem::path const& input, std::filesystem::path const& output,
                        std::string const& option);

/// Whether two names stand for one file, which need not exist.
[[nodiscard]] bool same_file(std::filesystem::path const& a, std::filesystem::path const& b);

/// CLI11's texts end with hints on further lines and full stops; ours are one line.
[[nodiscard]] std::string one_line(std::string text);

}  // namespace polyad::cli
