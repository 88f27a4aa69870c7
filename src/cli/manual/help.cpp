// SPDX-License-Identifier: BSD-3-Clause
#include "cli/manual/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <vector>

#include "polyad/version.hpp"

namespace polyad::cli {

namespace {

constexpr std::size_t screen_width = 100;
constexpr std::size_t name_width   = 26;

/// `text` in lines of at most `width` bytes, broken at blanks; those after the first begin with `indent`
/// blanks.
std::string wrapped(std::string const& text, std::size_t indent, std::size_t width) {
  std::string result, line;
  auto const end_line = [&] {
    result += (result.empty() ? "" : "\n" + std::string(indent, ' ')) + line;
    line.clear();
  };
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end  = std::min(text.find(' ', begin), text.size());
    std::string const word = text.substr(begin, end - begin);
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) end_line();
    line += (line.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  end_line();
  return result;
}

std::string entry(std::string name, std::string const& text) {
  name = "  " + name;
  if (name.size() + 1 > name_width) {
    name += "\n" + std::string(name_width, ' ');
  } else {
    name.resize(name_width, ' ');
  }
  return name + wrapped(text, name_width, screen_width) + "\n";
}

/// The placeholder of an option's argument. CLI11 appends the texts of its validators.
std::string argument(CLI::Option const& option) {
  std::string const name = option.get_type_name();
  std::size_t const at   = name.find(':');
  bool const is_part     = at != std::string::npos && name.compare(at, 2, ":]") == 0;  // as in [MODE:]X
  return name.substr(0, is_part ? name.find(':', at + 1) : at);
}

/// "-r,--rank R"
std::string title(CLI::Option const& option, bool positional) {
  std::string names = option.get_name(positional, !positional);
  if (names.empty()) {  // CLI11 gives none for what the help leaves out
    for (auto const& name : option.get_lnames()) names += (names.empty() ? "--" : ",--") + name;
  }
  // CLI11 marks a flag that clears something with "{false}".
  if (std::size_t const at = names.find("{false}"); at != std::string::npos) names.erase(at, 7);
  std::string const type = argument(option);
  return type.empty() || positional ? names : names + " " + type;
}

std::string meaning(CLI::Option const& option) {
  std::string text = option.get_description();
  if (option.get_required() && !option.get_positional()) text += " (required)";
  if (!option.get_default_str().empty()) text += " [" + option.get_default_str() + "]";
  return text;
}

using Commands = std::vector<CLI::App const*>;

Commands commands_of(CLI::App const& app) {
  return app.get_subcommands([](CLI::App const*) { return true; });
}

std::vector<std::string> long_names(CLI::App const& command) {
  std::vector<std::string> names;
  for (auto const* option : command.get_options())
    for (auto const& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string joined(std::vector<std::string> const& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

/// The words that an option accepts, if its argument lists them: f32|f64.
std::string choices(CLI::Option const& option) {
  std::string type = argument(option);
  if (type.find('|') == std::string::npos) return "";
  std::ranges::replace(type, '|', ' ');
  return type;
}

std::string bash_completion(CLI::App const& app) {
  std::vector<std::string> names;
  std::string options, words;
  for (auto const* command : commands_of(app)) {
    names.push_back(command->get_name());
    options += "    " + command->get_name() + ") options='" + joined(long_names(*command)) + "' ;;\n";
    for (auto const* option : command->get_options()) {
      std::string const list = choices(*option);
      if (list.empty()) continue;
      for (auto const& name : option->get_lnames())
        words += "    " + command->get_name() + ":--" + name + ") words='" + list + "' ;;\n";
    }
  }
  return "# Completion of polyad's commands, options and files for bash:\n"
         "#   polyad --completion bash > ~/.local/share/bash-completion/completions/polyad\n"
         "_polyad() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
         "command=${COMP_WORDS[1]}\n"
         "  local options='" +
         joined(long_names(app)) +
         "' words=''\n"
         "  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         joined(names) +
         " '\"$options\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case $command in\n" +
         options +
         "  esac\n"
         "  case $command:$before in\n" +
         words +
         "  esac\n"
         "  if [ -n \"$words\" ]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  fi\n"
         "  if [ \"${word:0:1}\" = - ]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o default -F _polyad polyad polyad-serial polyad-openmp polyad-cuda\n";
}

/// Escapes text for troff.
std::string roff(std::string const& text) {
  std::string result;
  for (char const c : text) {
    if (result.empty() || result.back() == '\n')
      if (c == '.' || c == '\'') result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

std::string man_page(CLI::App const& app) {
  std::string page = ".TH POLYAD 1 \"\" \"polyad " POLYAD_VERSION "\" \"Polyad\"\n.SH NAME\npolyad \\- " +
                     roff(app.get_description()) + "\n.SH SYNOPSIS\n";
  for (auto const* command : commands_of(app))
    page += ".B polyad " + roff(command->get_name()) + "\n[options]\n.br\n";
  auto const add_options = [&](CLI::App const& of) {
    for (auto const* option : of.get_options()) {
      if (option->get_description().empty()) continue;  // it only says which option is meant
      page +=
          ".TP\n.B " + roff(title(*option, option->get_positional())) + "\n" + roff(meaning(*option)) + "\n";
    }
  };
  page += ".SH OPTIONS\n";
  add_options(app);
  page += ".SH COMMANDS\n";
  for (auto const* command : commands_of(app)) {
    page += ".SS " + roff(command->get_name()) + "\n" + roff(command->get_description()) + "\n";
    add_options(*command);
    if (!command->get_footer().empty()) page += ".PP\n" + roff(command->get_footer()) + "\n";
  }
  return page + ".SH EXIT STATUS\n" + roff(app.get_footer()) + "\n";
}

}  // namespace

std::string HelpFormatter::make_option(CLI::Option const* option, bool positional) const {
  return entry(title(*option, positional), meaning(*option));
}

/// The positionals, listed below the usage without a title.
std::string HelpFormatter::make_positionals(CLI::App const* command) const {
  std::string text;
  for (auto const* option : command->get_options([](CLI::Option const* of) { return of->get_positional(); }))
    text += make_option(option, true);
  return text;
}

std::string HelpFormatter::make_subcommand(CLI::App const* command) const {
  return entry(command->get_name(), command->get_description());
}

std::string HelpFormatter::make_footer(CLI::App const* command) const {
  std::string const text = command->get_footer();
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = std::min(text.find('\n', begin), text.size());
    result += wrapped(text.substr(begin, end - begin), 0, screen_width) + "\n";
    begin = end + 1;
  }
  return result;
}

void add_manual(CLI::App& app) {
  app.add_flag_callback(
      "--man",
      [&app] {
        std::cout << man_page(app);
        throw CLI::Success();
      },
      "Print the man page");
  app.add_option_function<std::string>(
         "--completion",
         [&app](std::string const&) {
           std::cout << bash_completion(app);
           throw CLI::Success();
         },
         "Print completion for a shell")
      ->check(CLI::IsMember({"bash"}))
      ->type_name("bash");
}

}  // namespace polyad::cli
