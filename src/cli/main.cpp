// SPDX-License-Identifier: BSD-3-Clause
// The tool `polyad`. Every failure becomes one line on stderr and an exit code.
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
#include <variant>

#include "cli/command_line/command_line.hpp"
#include "cli/commands/commands.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/session.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::cli {

namespace {

/// For what no kind of error foresees; not one of the documented codes.
constexpr int unexpected = 1;

struct Failure {
  int exit = 0;
  std::string text;
};

std::string first_line(std::string const& text) {
  return text.substr(0, text.find('\n'));
}

/// Says what the exception in flight means.
Failure explain() {
  try {
    throw;
  } catch (Error const& error) {
    return {static_cast<int>(error.exit_code()), first_line(error.what())};
  } catch (Interrupted const& error) {
    return {128 + interrupt_signal(), error.what()};
  } catch (std::bad_alloc const&) {
    return {static_cast<int>(ExitCode::out_of_memory), "out of memory"};
  } catch (std::exception const& error) {
    // Kokkos has no type for a failed allocation.
    std::string const text = error.what();
    if (text.find("failed to allocate") != std::string::npos)
      return {static_cast<int>(ExitCode::out_of_memory), first_line(text)};
    return {unexpected, "unexpected error: " + first_line(text)};
  }
}

int complain(Failure const& failure) {
  std::fprintf(stderr, "polyad: %s\n", failure.text.c_str());
  return failure.exit;
}

/// Results that did not reach stdout are a failure.
Failure flush_stdout() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return {};
  return {static_cast<int>(ExitCode::cannot_write), "the results cannot be written to stdout"};
}

template <class CommandOptions>
CommonOptions const& common_of(CommandOptions const& options) {
  if constexpr (requires { options.common; })
    return options.common;
  else
    return options.of.common;  // tune's are estimate's and more
}

template <class CommandOptions>
int run_reported(CommandOptions const& options, std::string const& command) {
  auto const& path = common_of(options).report;
  Report report;
  report.command = command;
  report.options = common_of(options).listed;
  report.seed    = common_of(options).seed;
  Failure failure;
  try {
    if (!path.empty()) io::expect_writable(path);
    report.exit = run(options, report);
    failure     = flush_stdout();
  } catch (...) {
    failure = explain();
  }
  if (failure.exit != 0) {
    report.exit  = failure.exit;
    report.error = failure.text;
    complain(failure);
  }
  if (path.empty() || report.exit == static_cast<int>(ExitCode::usage)) return report.exit;
  try {
    report.memory = peak_memory();
    write_report(path, report);
  } catch (...) {
    // One line is enough where the first failure has its own.
    Failure const second = explain();
    if (report.exit == 0) return complain(second);
  }
  return report.exit;
}

}  // namespace

int run_tool(int argc, char** argv) {
  try {
    auto const options = parse_command_line(argc, argv);
    if (!options) {
      Failure const failure = flush_stdout();
      return failure.exit == 0 ? 0 : complain(failure);
    }
    catch_interrupts();
    std::string command;
    for (int i = 0; i < argc; ++i) command += (i == 0 ? "" : " ") + std::string(argv[i]);
    return std::visit([&](auto const& chosen) { return run_reported(chosen, command); }, *options);
  } catch (...) {
    return complain(explain());
  }
}

}  // namespace polyad::cli

int main(int argc, char** argv) {
  return polyad::cli::run_tool(argc, argv);
}
