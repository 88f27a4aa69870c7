// SPDX-License-Identifier: BSD-3-Clause
// The tool `polyad`. Every failure becomes one line on stderr and an exit code.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "cli/command_line/command_line.hpp"
#include "cli/commands/commands.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "cli/streams/standard_streams.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/printable.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::cli {

namespace {

/// For unforeseen errors; not one of the documented codes.
constexpr int unexpected = 1;

/// glibc keeps freed arrays of up to 32 MiB for later ones of about the same size, once it has freed one. The
/// arrays of a run have many sizes, so up to half of its peak were such leftovers. With a threshold that
/// stays, larger arrays go back to the system at once, and the peak is what is held.
void give_freed_memory_back() {
#if defined(__GLIBC__)
  constexpr int kept_bytes = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, kept_bytes);
  mallopt(M_TRIM_THRESHOLD, kept_bytes);
#endif
}

struct Failure {
  Failure() = default;
  Failure(int status, std::string reason, bool told = true)
      : exit(status), text(std::move(reason)), is_told(told) {}
  Failure(ExitCode code, std::string reason) : Failure(static_cast<int>(code), std::move(reason)) {}

  int exit = 0;
  std::string text;
  bool is_told = true;  // on stderr
};

/// As a program that SIGPIPE ends: one with a reader that had enough is not at fault, and says nothing.
Failure broken_pipe(std::string const& text) {
  if (ends_with_broken_pipe()) return {128 + SIGPIPE, text, false};
  return {ExitCode::cannot_write, text};
}

std::string first_line(std::string const& text) {
  return text.substr(0, text.find('\n'));
}

/// Describes the current exception.
Failure explain() {
  try {
    throw;
  } catch (BackendError const& error) {
    return {error.exit_code(), first_line(error.what())};  // may quote a driver's lines
  } catch (io::BrokenPipe const& error) {
    return broken_pipe(error.what());
  } catch (Error const& error) {
    return {error.exit_code(), printable(error.what())};
  } catch (Interrupted const& error) {
    return {128 + interrupt_signal(), error.what()};
  } catch (std::bad_alloc const&) {
    return {ExitCode::out_of_memory, "out of memory"};
  } catch (std::exception const& error) {
    // Kokkos has no type for a failed allocation.
    std::string const text = error.what();
    if (text.find("failed to allocate") != std::string::npos)
      return {ExitCode::out_of_memory, first_line(text)};
    if (tells_of_device(text)) return {ExitCode::backend_unusable, first_line(text)};
    return {unexpected, "unexpected error: " + first_line(text)};
  }
}

int complain(Failure const& failure) {
  if (failure.is_told) say_text("polyad: " + failure.text + "\n");
  return failure.exit;
}

/// With several ranks, only the first that fails prints its error. The others wait here and are ended before
/// they print.
void wait_for_turn() {
  if (ranks().rank == 0) return;
  // MPI_Abort of another rank first sends SIGTERM, which must now end this one at once.
  std::signal(SIGTERM, SIG_DFL);
  std::this_thread::sleep_for(std::chrono::milliseconds(2000 + 100 * std::min(ranks().rank, 100)));
}

/// It is a failure if the results do not reach stdout.
Failure flush_stdout() {
  int const code = flush_results();
  if (code == 0) return {};
  std::string const text = std::string("the results cannot be written to stdout: ") + std::strerror(code);
  return code == EPIPE ? broken_pipe(text) : Failure{ExitCode::cannot_write, text};
}

/// Advice for a mode of few nonzeros and many more rows, each of which takes memory.
std::string advice_on_ids(Report const& report) {
  constexpr std::uint64_t far_more = 16;
  if (!report.input) return "";
  auto const& dims = report.input->dims;
  for (std::size_t n = 0; n < dims.size(); ++n)
    if (dims[n] / far_more > report.input->nnz)
      return "; mode " + std::to_string(n) + " has " + std::to_string(dims[n]) + " rows for " +
             std::to_string(report.input->nnz) + " nonzeros: number its ids anew, without gaps";
  return "";
}

/// A signal that met a command without a place to stop, or after the last one.
Failure late_interrupt(Report const& report) {
  bool const is_done = report.exit == 0 || report.exit == static_cast<int>(ExitCode::differences_found);
  if (!is_done || ranks().size > 1 || interrupt_signal() == 0) return {};
  return {128 + interrupt_signal(), "interrupted when the results were complete"};
}

template <class CommandOptions, class... Others>
constexpr bool is_one_of = (std::is_same_v<CommandOptions, Others> || ...);

/// All but commands on files alone. info says what it knows of a device that is not usable.
template <class CommandOptions>
constexpr bool needs_device =
    !is_one_of<CommandOptions, ConvertOptions, CheckOptions, CompareOptions, InfoOptions>;

/// \throws UsageError for a command that does not run on several ranks
template <class CommandOptions>
void expect_runs_on_ranks(CommandOptions const&) {
  if (!is_one_of<CommandOptions, CpdOptions, TrainOptions, TuckerOptions, EvaluateOptions, ProjectOptions,
                 RecommendOptions, UpdateOptions, InfoOptions>)
    throw UsageError(
        "only cpd, fast-tucker, tucker, evaluate, project, recommend and update run on several ranks so far: "
        "start this command without mpirun");
}

template <class CommandOptions>
int run_reported(CommandOptions const& options, std::string const& command) {
  auto const& path = options.common.report;
  Report report;
  report.command = command;
  report.options = options.common.listed;
  report.seed    = options.common.seed;
  Failure failure;
  if (options.common.data_on_stdout) reserve_stdout_for_data();
  try {
    if (needs_device<CommandOptions>) expect_usable_device();
    if (ranks().rank == 0)
      for (auto const& output : options.common.outputs) io::expect_writable(output);
    report.exit = run(options, report);
    failure     = flush_stdout();
    if (failure.exit == 0) failure = late_interrupt(report);
  } catch (...) {
    failure = explain();
    if (failure.exit == static_cast<int>(ExitCode::out_of_memory)) failure.text += advice_on_ids(report);
  }
  finish_files_in_spite_of_signals();  // the report
  bool const ends_all = failure.exit != 0 && ranks().size > 1;
  if (ends_all) {
    wait_for_turn();
    failure.text = "rank " + std::to_string(ranks().rank) + ": " + failure.text;
    say_anyway("polyad: " + failure.text + "\n");
  }
  if (failure.exit != 0) {
    report.exit  = failure.exit;
    report.error = failure.text;
    if (!ends_all) complain(failure);
  }
  if (ends_all) {
    try {
      if (!path.empty() && failure.exit != static_cast<int>(ExitCode::usage)) write_report(path, report);
    } catch (...) {  // the first failure is the one to report
    }
    abort_ranks(failure.exit);
  }
  if (ranks().rank > 0) return report.exit;
  if (path.empty() || report.exit == static_cast<int>(ExitCode::usage)) return report.exit;
  try {
    auto const expected               = report.memory.expected_peak_bytes;
    report.memory                     = peak_memory();
    report.memory.expected_peak_bytes = expected;
    write_report(path, report);
  } catch (...) {
    // One line is enough if the first failure has printed its own.
    Failure const second = explain();
    if (report.exit == 0) return complain(second);
  }
  return report.exit;
}

}  // namespace

int run_tool(int argc, char** argv) {
  occupy_standard_descriptors();
  report_failed_writes();
  try {
    start_ranks();
    auto const options = parse_command_line(argc, argv);
    if (!options) {
      Failure const failure = flush_stdout();
      return failure.exit == 0 ? 0 : complain(failure);
    }
    if (ranks().size > 1) std::visit([](auto const& chosen) { expect_runs_on_ranks(chosen); }, *options);
    catch_interrupts();
    std::string command;
    for (int i = 0; i < argc; ++i) command += (i == 0 ? "" : " ") + shell_word(argv[i]);
    return std::visit([&](auto const& chosen) { return run_reported(chosen, command); }, *options);
  } catch (...) {
    return complain(explain());
  }
}

}  // namespace polyad::cli

int main(int argc, char** argv) {
  polyad::cli::give_freed_memory_back();
  int const exit = polyad::cli::run_tool(argc, argv);
  polyad::cli::end_ranks();
  return exit;
}
