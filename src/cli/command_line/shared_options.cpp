// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/shared_options.hpp"

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "cli/names/words.hpp"
#include "cli/streams/messages.hpp"
#include "polyad/core/printable.hpp"

namespace polyad::cli {

namespace {
constexpr int most_threads = 4096;

void add_bytes(Command& command, std::string const& name, std::optional<std::uint64_t>& bytes,
               std::string const& meaning) {
  command.add_option(name + " BYTES", bytes, meaning)->transform(CLI::Validator(settle_bytes, ""));
}

using Table = io::DelimitedOptions;

/// An option for tables of text.
struct TableOption {
  char const *names, *in_report;
  void (*settle)(Table& table, std::string const& typed);
  char const* meaning;
};

void set_columns(Table& table, std::string const& typed) {
  for (auto& word : split_words(typed, false)) table.columns.push_back(std::move(word.text));
}

constexpr TableOption table_options[] = {
    {"--delimiter NAME", "delimiter",
     [](Table& table, std::string const& typed) { table.delimiter = io::delimiter(typed); },
     "Delimiter of a table of text: comma, tab, semicolon, pipe, colons, blanks; unset: by the first lines"},
    {"--header yes|no", "header",
     [](Table& table, std::string const& typed) {
       if (typed != "yes" && typed != "no")
         refuse("--header takes yes or no, not '" + printable(typed) + "'");
       table.header = typed == "yes";
     },
     "Whether the first line of a table names the columns; unset: by the first lines"},
    {"--columns NAME,NAME,...", "table_columns", set_columns,
     "The columns of a table to read, by name or by number, counted from 0"},
    {"--value NAME", "value_column", [](Table& table, std::string const& typed) { table.value = typed; },
     "The column of a table that holds the values; none: each line counts 1"},
    {"--time NAME", "time_column", [](Table& table, std::string const& typed) { table.time = typed; },
     "A column of a table with times: seconds or milliseconds since 1970, or ISO dates"},
    {"--time-unit hour|day|week|month|year", "time_unit",
     [](Table& table, std::string const& typed) { table.time_unit = io::time_unit(typed); },
     "The steps of --time, in UTC"},
};

}  // namespace

void add_common(Command& command) {
  CommonOptions& common = command.common();
  command.add_output("--report FILE", common.report, "Write a report in JSON to this file", unlisted);
  command
      .add_option("-t,--threads N", common.threads,
                  "Threads of the host, for reading and computing; all cores unless given")
      ->check(CLI::Range(1, most_threads));
  command.add_flag("-v,--verbose", common.verbose, "Say on stderr what is being done", unlisted);
  command.add_flag("-q,--quiet", common.quiet,
                   "No progress and no notes on stderr; warnings, errors and the results stay", unlisted);
  command.after_parsing([&common] {
    if (common.quiet && common.verbose) refuse("--quiet and --verbose exclude each other");
  });
  command.settle_streams();
}

void add_max_memory(Command& command) {
  add_bytes(command, "--max-memory", command.common().max_memory,
            "Maximum memory for reading, in bytes or as 8G; unset: what is free");
}

void add_table(Command& command) {
  io::DelimitedOptions& table = command.common().table;
  // Only the help of convert shows them. The other commands have many more options, and their help should
  // fit on a screen.
  std::string const group = command.name() == "convert" ? "Options" : "";
  for (TableOption const& one : table_options) {
    auto const typed   = std::make_shared<std::string>();  // lives as long as the steps
    auto* const option = command.add_option(one.names, *typed, one.meaning, [typed, &one](OptionList& list) {
      if (!typed->empty()) list.emplace_back(one.in_report, *typed);
    });
    option->group(group);
    command.after_parsing([typed, &table, &one] {
      if (!typed->empty()) one.settle(table, *typed);
    });
  }
  command.after_parsing([&table] {
    if (table.time.empty() != !table.time_unit) refuse("--time and --time-unit are given together");
  });
}

void add_tensor(Command& command, std::filesystem::path& tensor, int& index_base, std::string const& meaning,
                std::string const& base_meaning) {
  command.add_input("TENSOR", tensor, meaning, unlisted)->required();
  add_index_base(command, "--index-base", index_base, base_meaning);
  add_max_memory(command);
  add_table(command);
}

void add_completion_model(Command& command, std::filesystem::path& model) {
  command.add_input("MODEL", model, "A model of fast-tucker (.npz)")->required();
}

void add_summed_tensor(Command& command, SummedTensorOptions& options) {
  add_tensor(command, options.tensor, options.index_base);
  add_duplicates(command, options.duplicates, {"sum", "last", "error"});
}

void add_index_base(Command& command, std::string const& name, int& index_base, std::string const& meaning) {
  command.add_option(name + " 0|1", index_base, meaning)->check(CLI::IsMember({"0", "1"}));
}

void add_duplicates(Command& command, std::string& duplicates, std::vector<std::string> const& allowed) {
  command.add_choice(
      "--duplicates", duplicates, allowed,
      "Nonzeros at one place: sum them, keep them all, take the last one, or make them an error");
}

void add_drop_zeros(Command& command, bool& drop_zeros) {
  command.add_flag("--drop-zeros", drop_zeros, "Leave out nonzeros whose value is 0");
}

CLI::Option* add_rank(Command& command, std::uint64_t& rank, std::string const& meaning) {
  command.after_parsing([&rank] {
    if (rank == 0) refuse("the rank must be at least 1");
  });
  return command.add_option("-r,--rank R", rank, meaning);
}

void add_format(Command& command, std::string& format, std::string const& meaning) {
  command.add_shown("--format NAME", format, meaning);
}

void add_precision(Command& command, std::string& precision, std::string const& of) {
  command.add_choice("--precision", precision, {"f32", "f64"}, "Precision of " + of);
}

void add_device_memory(Command& command, std::optional<std::uint64_t>& bytes, std::string const& meaning) {
  add_bytes(command, "--device-memory", bytes, meaning);
}

void add_deterministic(Command& command, bool& deterministic, std::string const& gives) {
  command.add_flag("--deterministic", deterministic, "Sum in a fixed order: the same " + gives);
}

Listing listed_mode(std::string name, std::string const& text) {
  return [name = std::move(name), &text](OptionList& list) {
    auto const number = whole_number<std::int64_t>(text);
    list.emplace_back(name, number ? OptionValue(*number) : OptionValue(text));
  };
}

void add_mode(Command& command, std::string& mode, std::string const& meaning, int old_base) {
  command
      .add_option("--mode MODE", mode, meaning + ": its number, from 0, or its name",
                  listed_mode("mode", mode))
      ->required();
  command.refuse_old("-m", [old_base](std::string const& typed) {
    auto const number = whole_number<std::int64_t>(typed);
    bool const is_old = number && *number >= old_base;
    return "--mode " + (is_old ? std::to_string(*number - old_base) : old_base == 0 ? typed : "N");
  });
}

void add_clip(Command& command, std::vector<double>& clip, std::string const& meaning) {
  command
      .add_option("--clip LOWEST,HIGHEST", clip, meaning,
                  [&clip](OptionList& list) {
                    list.emplace_back("clip_lowest", clip.empty() ? -INFINITY : clip[0]);
                    list.emplace_back("clip_highest", clip.empty() ? INFINITY : clip[1]);
                  })
      ->delimiter(',')
      ->expected(2);
  command.after_parsing([&clip] {
    if (!clip.empty() && !(clip[0] <= clip[1]))
      refuse("--clip takes LOWEST,HIGHEST, not {}", fmt::join(clip, ","));
  });
}

CLI::Option* add_output(Command& command, std::filesystem::path& output, std::string const& meaning) {
  return command.add_output("-o,--output FILE", output, meaning + "; - writes to stdout");
}

}  // namespace polyad::cli
