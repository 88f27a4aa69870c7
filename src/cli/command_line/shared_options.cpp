// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/shared_options.hpp"

#include <charconv>
#include <memory>
#include <string>
#include <utility>

#include "cli/command_line/checks.hpp"

namespace polyad::cli {

namespace {
constexpr int most_threads = 4096;
constexpr int most_modes   = 16;

void add_bytes(Command& command, std::string const& name, std::optional<std::uint64_t>& bytes,
               std::string const& meaning) {
  command.add_option(name, bytes, meaning)->transform(CLI::Validator(settle_bytes, ""))->type_name("BYTES");
}

}  // namespace

void add_common(Command& command) {
  CommonOptions& common = command.common();
  command.add_output("--report", common.report, "Write a report in JSON to this file", unlisted)
      ->type_name("FILE");
  command
      .add_option("-t,--threads", common.threads,
                  "Threads of the host, for reading and computing; all cores unless given")
      ->check(CLI::Range(1, most_threads))
      ->type_name("N");
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
            "Most memory to read with, in bytes or as 8G; unset: what is free");
}

void add_table(Command& command) {
  io::DelimitedOptions& table = command.common().table;
  // The words of options that become other types; they live as long as the steps below.
  auto const header = std::make_shared<std::string>(), unit = std::make_shared<std::string>();
  auto const list_name = [](std::string name, std::string const& value) {
    return [name = std::move(name), &value](OptionList& list) {
      if (!value.empty()) list.emplace_back(name, value);
    };
  };
  // The help of one command shows them. Those of the others, which have many more options, fit a screen.
  std::string const group = command.name() == "convert" ? "Options" : "";
  command
      .add_option(
          "--delimiter", table.delimiter,
          "Of a table of text: comma, tab, semicolon, pipe, colons, blanks; unset: by the first lines",
          list_name("delimiter", table.delimiter))
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--header", *header,
                  "Whether the first line of a table names the columns; unset: by the first lines",
                  list_name("header", *header))
      ->check(CLI::IsMember({"yes", "no"}))
      ->type_name("yes|no")
      ->group(group);
  command
      .add_option("--columns", table.columns,
                  "The columns of a table to read, by name or by number from 0 on",
                  [&table](OptionList& list) {
                    if (!table.columns.empty())
                      list.emplace_back("table_columns", fmt::format("{}", fmt::join(table.columns, ",")));
                  })
      ->delimiter(',')
      ->type_name("NAME,NAME,...")
      ->group(group);
  command
      .add_option("--value", table.value,
                  "The column of a table that holds the values; none: each line counts 1",
                  list_name("value_column", table.value))
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--time", table.time,
                  "A column of a table with times: seconds or milliseconds since 1970, or ISO dates",
                  list_name("time_column", table.time))
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--time-unit", *unit, "The steps of --time: hour, day, week, month or year, in UTC",
                  list_name("time_unit", *unit))
      ->check(CLI::IsMember({"hour", "day", "week", "month", "year"}))
      ->type_name("UNIT")
      ->group(group);
  command.after_parsing([&table, header, unit] {
    if (!header->empty()) table.header = *header == "yes";
    if (!table.delimiter.empty()) table.delimiter = io::delimiter(table.delimiter);
    if (!unit->empty()) table.time_unit = io::time_unit(*unit);
    if (table.time.empty() != unit->empty()) refuse("--time and --time-unit are given together");
  });
}

void add_tensor(Command& command, std::filesystem::path& tensor, int& index_base, std::string const& meaning,
                std::string const& base_meaning) {
  command.add_input("TENSOR", tensor, meaning, unlisted)->required()->type_name("");
  command.add_option("--index-base", index_base, base_meaning)
      ->check(CLI::IsMember({"0", "1"}))
      ->type_name("0|1");
  add_max_memory(command);
  add_table(command);
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
  return command.add_option("-r,--rank", rank, meaning)->type_name("R");
}

void add_seed(Command& command, std::uint64_t& seed, std::string const& of) {
  command.add_option("--seed", seed, "Of " + of, unlisted)->type_name("S")->capture_default_str();
  command.after_parsing([&seed, &common = command.common()] { common.seed = seed; });
}

void add_format(Command& command, std::string& format, std::string const& meaning) {
  command.add_option("--format", format, meaning)->type_name("NAME")->capture_default_str();
}

void add_precision(Command& command, std::string& precision, std::string const& of) {
  command.add_choice("--precision", precision, {"f32", "f64"}, "Of " + of);
}

void add_device_memory(Command& command, std::optional<std::uint64_t>& bytes, std::string const& meaning) {
  add_bytes(command, "--device-memory", bytes, meaning);
}

void add_deterministic(Command& command, bool& deterministic, std::string const& gives) {
  command.add_flag("--deterministic", deterministic, "Sum in a fixed order: the same " + gives);
}

void add_mode(Command& command, int& mode, std::string const& meaning) {
  command.add_option("--mode", mode, meaning + ", counted from 0")
      ->required()
      ->check(CLI::Range(0, most_modes - 1))
      ->type_name("N");
  command.refuse_old("-m", [](std::string const& counted_from_1) {
    int mode              = 0;
    auto const* const end = counted_from_1.data() + counted_from_1.size();
    auto const parsed     = std::from_chars(counted_from_1.data(), end, mode);
    bool const is_mode    = parsed.ptr == end && mode >= 1 && mode <= most_modes;
    return "--mode " + (is_mode ? std::to_string(mode - 1) : "N");
  });
}

CLI::Option* add_output(Command& command, std::filesystem::path& output, std::string const& meaning) {
  return command.add_output("-o,--output", output, meaning + "; - writes to stdout")->type_name("FILE");
}

}  // namespace polyad::cli
