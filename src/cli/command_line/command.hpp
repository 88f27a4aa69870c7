// SPDX-License-Identifier: BSD-3-Clause
// A command under construction. Each option is declared once, and everything else follows from the
// declaration: CLI11's table, from which help, man page and completion are printed; the entry in the report;
// and the checks of its value after parsing.
#pragma once

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/file_options.hpp"
#include "cli/typed_text/numbers.hpp"

namespace polyad::cli {

/// Puts an option into the report's list, once its value is known.
using Listing = std::function<void(OptionList& list)>;

/// For options that the report has elsewhere.
inline void unlisted(OptionList&) {}

/// Lists a value with its own type; a std::optional without a value is left out. A list or an enumeration
/// needs a Listing of its own.
template <class T>
void list_value(OptionList& list, std::string const& name, T const& value) {
  if constexpr (requires { value.has_value(); }) {
    if (value) list_value(list, name, *value);
  } else if constexpr (std::same_as<T, std::filesystem::path>) {
    list.emplace_back(name, value.string());
  } else if constexpr (std::same_as<T, int>) {
    list.emplace_back(name, std::int64_t{value});
  } else if constexpr (std::constructible_from<OptionValue, T const&>) {
    list.emplace_back(name, value);
  } else {
    throw std::logic_error("the report needs to know how it lists " + name);
  }
}

/// Lists a value under a name other than the option's. The value must outlive the parsing, as everywhere in
/// Command.
template <class T>
Listing listed_as(std::string name, T const& value) {
  return [name = std::move(name), &value](OptionList& list) { list_value(list, name, value); };
}

/// Lists numbers or words as one text.
template <class T>
Listing listed_as(std::string name, std::vector<T> const& values, std::string between) {
  return [name = std::move(name), &values, between = std::move(between)](OptionList& list) {
    list.emplace_back(name, fmt::format("{}", fmt::join(values, between)));
  };
}

/// All commands. The stored inputs of the fuzz target command_line know their places.
inline constexpr std::array command_names = {"cpd",     "stats",       "tucker",  "ttm",      "ttmc",
                                             "convert", "check",       "compare", "gen",      "mttkrp",
                                             "predict", "recommend",   "similar", "estimate", "tune",
                                             "info",    "fast-tucker", "project", "evaluate", "update"};

class Command {
public:
  /// Adds a command without options to `app`.
  /// \param common  where its report's list of options goes; like every value below it must live while
  ///                `app` parses
  Command(CLI::App& app, std::string const& name, std::string const& description, CommonOptions& common);

  /// As CLI11's, but with numbers as numbers.hpp reads them.
  /// \param names    "-r,--rank R": a blank separates the names from what help calls the value
  /// \param listing  its entry in the report; empty: the value by the option's long name, with _ for -
  template <class T>
  CLI::Option* add_option(std::string const& names, T& value, std::string const& meaning,
                          Listing listing = {}) {
    auto const blank   = std::min(names.find(' '), names.size());
    auto* const option = m_app->add_option(names.substr(0, blank), value, meaning);
    option->type_name(blank < names.size() ? names.substr(blank + 1) : "");
    settle_numbers<T>(*option);
    list(listing ? std::move(listing) : listed_as(name_in_report(*option), value));
    return option;
  }

  /// As add_option. Help shows the default.
  template <class T>
  CLI::Option* add_shown(std::string const& names, T& value, std::string const& meaning,
                         Listing listing = {}) {
    return add_option(names, value, meaning, std::move(listing))->capture_default_str();
  }

  /// Numbers or words between commas. The report lists them as one text.
  template <class T>
  CLI::Option* add_list(std::string const& names, std::vector<T>& values, std::string const& meaning,
                        std::string const& between = ",") {
    auto* const option = add_option(names, values, meaning, unlisted)->delimiter(',');
    list(listed_as(name_in_report(*option), values, between));
    return option;
  }

  [[nodiscard]] std::string name() const { return m_app->get_name(); }

  /// An option that was added. \param name  one of its names, with its dashes
  [[nodiscard]] CLI::Option* option(std::string const& name) { return m_app->get_option(name); }

  /// One of some words, which help and completion name.
  CLI::Option* add_choice(std::string const& names, std::string& value, std::vector<std::string> const& words,
                          std::string const& meaning);

  /// A flag. "!--no-x" takes x back, and the report lists it as x. "!--x" makes its value false, and the
  /// report lists whether it is given.
  CLI::Option* add_flag(std::string const& names, bool& value, std::string const& meaning,
                        Listing listing = {});

  /// A flag that may have a text attached by =. Without one the value becomes `usual`.
  CLI::Option* add_flag_with_text(std::string const& name, std::string& value, std::string const& usual,
                                  std::string const& meaning);

  /// An option that names an input; - means stdin. As add_option otherwise.
  CLI::Option* add_input(std::string const& names, std::filesystem::path& path, std::string const& meaning,
                         Listing listing = {});

  /// Refuses an option that has gone, whatever its value. \param advice  what to write instead of this value
  void refuse_old(std::string const& name, std::function<std::string(std::string const& value)> advice);

  /// Refuses options of these names, if they are given, unless the command line has something that uses them.
  /// Comes after the options, and after the step that settles what `is_used` looks at.
  /// \param what  what they are for, as in "--checkpoint-every is for runs with --checkpoint"
  void only_for(std::vector<std::string> const& names, std::string const& what,
                std::function<bool()> const& is_used);

  /// Says that the command reads this file, if an option of that name gives one.
  void reads(std::string const& option, std::filesystem::path& path);

  /// An option that names an output; - means stdout.
  CLI::Option* add_output(std::string const& names, std::filesystem::path& path, std::string const& meaning,
                          Listing listing = {});

  /// --force: the output that was declared last may be an input, too.
  void add_force(bool& force, std::string const& meaning);

  /// The output that was declared last is an npz archive of `what`, such as a model.
  void make_npz(std::string const& what = "this output");

  /// Replaces - by the names of stdin and stdout. Refuses two outputs on stdout and two inputs from one pipe.
  /// If an output is stdout, the command's results go to stderr. Comes after the options.
  void settle_streams();

  /// Refuses an output that is an input or another output. A checkpoint may be the one to resume. Then
  /// refuses names of npz archives that end otherwise. Comes last.
  void expect_distinct_files();

  /// Runs once all options have their values: steps in the order of declaration.
  void after_parsing(std::function<void()> step);

  /// Text below the options.
  void footer(std::string const& text);

  [[nodiscard]] CommonOptions& common() { return *m_common; }

private:
  struct File {
    std::string option;
    std::filesystem::path* path;
    bool const* force   = nullptr;  // whether this output may be an input; nullptr: there is no such option
    std::string archive = {};       // what it is an npz archive of; empty: of nothing

    [[nodiscard]] std::string short_name() const { return option == "--output" ? "-o" : option; }
  };
  static void expect_read_once(std::vector<File> const& inputs);
  void list(Listing listing);
  [[nodiscard]] static std::string name_in_report(CLI::Option const& option);

  CLI::App* m_app;
  CommonOptions* m_common;
  std::vector<File> m_inputs;
  std::vector<File> m_outputs;
  std::shared_ptr<std::vector<std::function<void()>>> m_steps;  // CLI11's callback holds them too
};

}  // namespace polyad::cli
