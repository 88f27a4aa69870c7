// SPDX-License-Identifier: BSD-3-Clause
// AnyFormatOptions: what any_format takes (formats/any_format.hpp), and the table of these options.
// Free of Kokkos.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "polyad/core/option_row.hpp"
#include "polyad/formats/capability.hpp"
#include "polyad/formats/ceilings.hpp"
#include "polyad/tensor/survey.hpp"

namespace polyad {

/// How much auto measures on the tensor itself before it decides.
enum class FormatTrial {
  none,
  close,  // the best two in their slowest mode, if they are close and the trial is short next to the run
  all     // all that fit and are not streamed, in every mode
};

/// A choice that was made earlier.
struct StoredFormat {
  std::string format;   // with its options
  std::string because;  // for chosen_because()
};

/// Optional callbacks by which a program takes part in the choice of a format.
struct FormatHooks {
  /// auto calls it, and uses the result if that is a candidate that fits.
  std::function<std::optional<StoredFormat>()> stored = {};
  FormatTrial trial                                   = FormatTrial::none;
  /// Returns the machine's ceilings. It is called first with 0, then with the predicted seconds of the run.
  /// Unset: usual_ceilings, and measure_ceilings for predictions of two seconds or more.
  std::function<Ceilings(double)> machine = {};
  /// Called after each step with its name, such as "building the format". It may throw to end the choice.
  std::function<void(char const*)> progress = {};
};

/// What a build does with nonzeros at the same coordinates. An MTTKRP is linear and counts each of them. The
/// norm is not: their squares do not add up to the square of the sum.
enum class Duplicates {
  refuse,  // throws a UsageError
  sum,     // they become one nonzero whose value is their sum (tensor/sum_duplicates.hpp)
  keep     // each is a separate observation, as in completion. Also for tensors known to have none
};

struct AnyFormatOptions {
  std::uint64_t rank = 16;  // the rank of the model, for memory and times
  double iterations  = 20;  // expected number, 0 or more (expected_iterations)
  /// Seconds after which the run ends. auto plans the iterations that fit, and avoids a longer build.
  double time_limit_s = std::numeric_limits<double>::infinity();
  std::string format  = "auto";  // or one of format_names(), with options: "f-coo:threadlen=16"
  bool deterministic  = false;   // a fixed order of summation: the same bits at every run
  bool may_stream     = true;    // keep the nonzeros in host memory if nothing else fits
  /// What a run needs of the format in addition to the MTTKRP. A driver's format_options(options) sets it.
  std::vector<Capability> needs = {};
  /// The bytes of the tensor's memory that the tensor, its format and the model may take together. Unset: the
  /// free bytes and those of the tensor itself.
  std::optional<std::uint64_t> memory_bytes = {};
  /// The most bytes of that memory that are in use before the format is built, while the tensor is loaded.
  /// Candidates need at least as much (FormatCandidate::need_bytes).
  std::uint64_t loading_bytes = 0;
  /// Unset: build makes the survey, for which it copies a device's coordinates to the host.
  std::optional<TensorSurvey> survey = {};
  /// Refuse to build a format if its storage would differ from what its name says.
  bool no_fallback = false;
  int only_mode    = -1;  // the one mode whose operations are called; -1: all modes
  /// Formats that sort by all modes find duplicates while they are built. For the others (coo-scratch,
  /// coo-tiny-vec, coo-permuted) the coordinates are compared with their neighbours, and sorted if they are
  /// not in lexicographic order.
  Duplicates duplicates = Duplicates::refuse;
  FormatHooks hooks     = {};
};

/// The table of these options (core/option_row.hpp).
template <detail::OptionsOrConst<AnyFormatOptions> Options, class Visitor>
void for_each_option(Options& options, Visitor&& visit) {
  auto const of_the_run = [](char const* name, char const* help, char const* why) {
    return OptionRow(name, "", help).declared_by_python(why);
  };
  char const* const by_driver = "a run of the tool or of a Python function sets it";
  char const* const of_models = "a run sets it; estimate, tune and Python's any_format declare it";
  visit(of_the_run("rank", "Of the models to come, for memory and times", of_models), options.rank);
  visit(of_the_run("iterations", "That are expected", of_models), options.iterations);
  visit(of_the_run("time_limit_s", "Seconds after which the run ends", by_driver), options.time_limit_s);
  visit(OptionRow("format", "--format NAME", "Storage format: auto, or a name with options"), options.format);
  visit(OptionRow("deterministic", "--deterministic", "Sum in a fixed order: the same bits at every run"),
        options.deterministic);
  visit(of_the_run("may_stream", "Keep the nonzeros in host memory if nothing else fits",
                   "in C++ only: the tool and Python may always stream"),
        options.may_stream);
  visit(of_the_run("needs", "What a run needs besides the MTTKRP", by_driver), options.needs);
  visit(of_the_run("memory_bytes", "Most bytes for the tensor, its format and the model",
                   "the tool's --device-memory limits the whole process, and Python has no such limit"),
        options.memory_bytes);
  visit(of_the_run("loading_bytes", "Bytes that are held while the tensor is loaded", by_driver),
        options.loading_bytes);
  visit(of_the_run("survey", "The survey of the tensor", by_driver), options.survey);
  visit(of_the_run("no_fallback", "Refuse storage that differs from the name", by_driver),
        options.no_fallback);
  visit(of_the_run("only_mode", "The one mode whose operations are called", by_driver), options.only_mode);
  visit(of_the_run(
            "duplicates", "What becomes of nonzeros at the same coordinates",
            "the tool and Python say error for refuse. They settle duplicates when they read the tensor; "
            "cpd then sums them unless --duplicates says otherwise"),
        options.duplicates);
  visit(of_the_run("hooks", "Callbacks during the choice", by_driver), options.hooks);
}

}  // namespace polyad
