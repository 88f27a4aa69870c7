// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/command.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>

#include "cli/command_line/checks.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::cli {

Command::Command(CLI::App& app, std::string const& name, std::string const& description,
                 CommonOptions& common)
    : m_app(app.add_subcommand(name, description)),
      m_common(&common),
      m_steps(std::make_shared<std::vector<std::function<void()>>>()) {
  m_app->final_callback([steps = m_steps] {
    for (auto const& step : *steps) step();
  });
}

CLI::Option* Command::add_choice(std::string const& names, std::string& value,
                                 std::vector<std::string> const& words, std::string const& meaning) {
  bool const has_type = names.find(' ') != std::string::npos;
  return add_option(has_type ? names : fmt::format("{} {}", names, fmt::join(words, "|")), value, meaning)
      ->check(CLI::IsMember(words))
      ->capture_default_str();
}

CLI::Option* Command::add_flag(std::string const& names, bool& value, std::string const& meaning,
                               Listing listing) {
  auto* const option     = m_app->add_flag(names, value, meaning);
  constexpr auto takes   = std::string_view("no-");
  std::string const name = option->get_lnames().front();
  bool const is_reversed = names.starts_with('!');
  if (listing)
    list(std::move(listing));
  else if (is_reversed && name.starts_with(takes))
    list(listed_as(name.substr(takes.size()), value));
  else if (is_reversed)
    list([listed = name_in_report(*option), &value](OptionList& list) { list.emplace_back(listed, !value); });
  else
    list(listed_as(name_in_report(*option), value));
  return option;
}

CLI::Option* Command::add_flag_with_text(std::string const& name, std::string& value,
                                         std::string const& usual, std::string const& meaning) {
  auto* const option = m_app->add_flag(name, value, meaning);
  after_parsing([&value, usual] {
    if (value == "true") value = usual;  // CLI11's text for a flag without one
  });
  list(listed_as(name_in_report(*option), value));
  return option;
}

CLI::Option* Command::add_input(std::string const& names, std::filesystem::path& path,
                                std::string const& meaning, Listing listing) {
  auto* const option = add_option(names, path, meaning, std::move(listing));
  reads(option->get_name(), path);
  return option;
}

void Command::refuse_old(std::string const& name,
                         std::function<std::string(std::string const& value)> advice) {
  std::function<void(std::string const&)> const refused =
      [name, advice = std::move(advice)](std::string const& value) {
        refuse(name + " is not an option any more. Modes count from 0 everywhere: write " + advice(value));
      };
  m_app->add_option_function(name, refused)->group("");
}

void Command::only_for(std::vector<std::string> const& names, std::string const& what,
                       std::function<bool()> const& is_used) {
  for (auto const& name : names)
    after_parsing([name, what, is_used, option = this->option(name)] {
      if (option->count() > 0 && !is_used()) refuse(name + " is for " + what);
    });
}

void Command::reads(std::string const& option, std::filesystem::path& path) {
  m_inputs.push_back({option, &path});
}

CLI::Option* Command::add_output(std::string const& names, std::filesystem::path& path,
                                 std::string const& meaning, Listing listing) {
  auto* const option = add_option(names, path, meaning, std::move(listing));
  m_outputs.push_back({option->get_name(), &path});
  return option;
}

void Command::add_force(bool& force, std::string const& meaning) {
  m_outputs.back().force = &force;
  add_flag("--force", force, meaning);
}

void Command::make_npz(std::string const& what) {
  m_outputs.back().archive = what;
}

void Command::settle_streams() {
  after_parsing([inputs = m_inputs, outputs = m_outputs, common = m_common] {
    for (auto const& input : inputs)
      if (*input.path == "-") *input.path = "/dev/stdin";
    for (auto const& output : outputs) {
      if (*output.path == "-") *output.path = "/dev/stdout";
      if (!output.path->empty()) common->outputs.push_back(*output.path);
    }
    expect_read_once(inputs);
    File const* data = nullptr;
    for (auto const& output : outputs) {
      if (output.path->empty() || io::own_descriptor(*output.path) != STDOUT_FILENO) continue;
      if (data != nullptr)
        refuse(data->option + " and " + output.option + " are both stdout: name a file for one");
      data = &output;
    }
    common->data_on_stdout = data != nullptr;
  });
}

/// A pipe can be read only once, so it may not serve as two inputs.
void Command::expect_read_once(std::vector<File> const& inputs) {
  std::error_code ignored;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    for (std::size_t m = 0; m < k; ++m) {
      auto const &a = *inputs[m].path, &b = *inputs[k].path;
      if (a.empty() || b.empty() || !same_node(a, b)) continue;
      if (std::filesystem::is_regular_file(a, ignored) || std::filesystem::is_directory(a, ignored)) continue;
      refuse(inputs[m].option + " and " + inputs[k].option +
             " are the same pipe, which can be read only once");
    }
}

void Command::expect_distinct_files() {
  after_parsing([inputs = m_inputs, outputs = m_outputs] {
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      auto const& output       = outputs[k];
      bool const is_checkpoint = output.option == "--checkpoint";
      std::error_code ignored;
      if (is_checkpoint &&
          (io::own_descriptor(*output.path) || std::filesystem::is_fifo(*output.path, ignored)))
        refuse("--checkpoint is written again and again, and read by --resume: it has to be a file");
      for (auto const& input : inputs) {
        if ((is_checkpoint && input.option == "--resume") || (output.force != nullptr && *output.force))
          continue;
        if (same_file(*input.path, *output.path))
          refuse("{} would overwrite the input {}{}", output.short_name(), input.path->string(),
                 output.force != nullptr ? "; --force lets it" : "");
      }
      for (std::size_t m = 0; m < k; ++m) {
        if (!same_file(*outputs[m].path, *output.path)) continue;
        if (is_checkpoint || outputs[m].option == "--checkpoint")
          refuse("--checkpoint and another output name the same file");
        refuse("{} and {} name the same file", outputs[m].short_name(), output.short_name());
      }
    }
    for (auto const& output : outputs)
      if (!output.archive.empty()) expect_npz(output.short_name(), *output.path, output.archive);
  });
}

void Command::after_parsing(std::function<void()> step) {
  m_steps->push_back(std::move(step));
}

void Command::footer(std::string const& text) {
  m_app->footer(text);
}

void Command::list(Listing listing) {
  after_parsing([listing = std::move(listing), common = m_common] { listing(common->listed); });
}

std::string Command::name_in_report(CLI::Option const& option) {
  std::string name = option.get_lnames().empty() ? option.get_name() : option.get_lnames().front();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::tolower(c)); });
  return name;
}

}  // namespace polyad::cli
