// SPDX-License-Identifier: BSD-3-Clause
// Options of several commands. Each is declared only here: its names, argument, default, and the checks of
// its value. If its meaning differs between commands, they pass a description.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line/command.hpp"
#include "cli/options/completion_options.hpp"

namespace polyad::cli {

/// --report, --threads, --verbose and --quiet
void add_common(Command& command);

inline constexpr auto any_tensor =
    "Coordinate text of any dialect or a table such as CSV (its options: polyad convert --help), plain or "
    "packed with xz, gzip or zstd; .pten; npz; GenTen's or SPLATT's binary; - reads text from stdin";

/// --max-memory, of commands that read a tensor
void add_max_memory(Command& command);

inline constexpr auto any_base = "Number of the first index; unset: 0 if any index is 0, else 1";

/// --delimiter, --header, --columns, --value, --time and --time-unit, of commands that read tables of text
void add_table(Command& command);

/// The positional TENSOR, --index-base, --max-memory and add_table. "-" becomes the name of stdin.
void add_tensor(Command& command, std::filesystem::path& tensor, int& index_base,
                std::string const& meaning = any_tensor, std::string const& base_meaning = any_base);

/// The positional MODEL of fast-tucker.
void add_completion_model(Command& command, std::filesystem::path& model);

/// add_tensor and --duplicates
void add_summed_tensor(Command& command, SummedTensorOptions& options);

/// Adds an option for the number of the first row, 0 or 1.
void add_index_base(Command& command, std::string const& name, int& index_base, std::string const& meaning);

/// --cold-start. \param words  "refuse" and others \param cold_start  no value is listed as ""
template <class Value>
void add_cold_start(Command& command, Value& cold_start, std::map<std::string, ColdStart> const& words,
                    std::string const& meaning) {
  command
      .add_option("--cold-start HOW", cold_start, meaning,
                  [words, &cold_start](OptionList& list) {
                    std::string listed;
                    for (auto const& [word, how] : words)
                      if (cold_start == how) listed = word;
                    list.emplace_back("cold_start", listed);
                  })
      ->transform(CLI::CheckedTransformer(words));
}

/// --duplicates, with the values that the command allows
void add_duplicates(Command& command, std::string& duplicates, std::vector<std::string> const& allowed);

void add_drop_zeros(Command& command, bool& drop_zeros);

/// -r, at least 1, required or with a default
CLI::Option* add_rank(Command& command, std::uint64_t& rank, std::string const& meaning);

/// --format; `meaning` names the formats that the command takes
void add_format(Command& command, std::string& format, std::string const& meaning);

/// --precision; `of` names the numbers
void add_precision(Command& command, std::string& precision,
                   std::string const& of = "values and factors: f32 or f64");

/// --device-memory
void add_device_memory(Command& command, std::optional<std::uint64_t>& bytes, std::string const& meaning);

/// --deterministic; `gives` names the results that are the same in every run
void add_deterministic(Command& command, bool& deterministic, std::string const& gives);

/// --mode, a number counted from 0 or a name; required
/// \param old_base  the number from which -m, the option's former name, counted modes
void add_mode(Command& command, std::string& mode, std::string const& meaning, int old_base);

/// A mode as the report lists it: as a number if it is one.
[[nodiscard]] Listing listed_mode(std::string name, std::string const& text);

/// --clip, two numbers or none
void add_clip(Command& command, std::vector<double>& clip, std::string const& meaning);

/// -o
CLI::Option* add_output(Command& command, std::filesystem::path& output, std::string const& meaning);

}  // namespace polyad::cli
