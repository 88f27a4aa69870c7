// SPDX-License-Identifier: BSD-3-Clause
// The report that --report writes as JSON. Its keys are stable: if the meaning of one changes, report_schema
// is increased. Facts that a command does not know are left out (std::optional) or null.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/options/file_options.hpp"
#include "cli/report/file_name.hpp"
#include "polyad/core/stop_reason.hpp"
#include "polyad/formats/format_candidate.hpp"
#include "polyad/io/delimited_text.hpp"
#include "polyad/io/labels.hpp"

namespace polyad::cli {

inline constexpr int report_schema = 1;

struct BackendReport {
  std::string name;
  int concurrency = 0;
  std::string device;
};

struct InputReport {
  FileName path;
  std::string dialect;
  int base        = 1;
  bool knows_base = true;  // false: a binary file that does not say what its text counted from; base is 0
  bool is_text    = true;
  std::vector<std::uint64_t> dims;
  std::uint64_t nnz        = 0;      // after duplicates were summed
  std::uint64_t duplicates = 0;      // nonzeros that were added to another one, or replaced it
  bool keeps_last          = false;  // the last of several at one place counts, not their sum
  std::vector<std::uint64_t> empty_slices;
  std::vector<std::uint64_t> stored_rows   = {};  // per mode, if only those that occur are stored
  double read_s                            = 0;
  std::optional<io::DelimitedReport> table = {};  // what was found in a table of text
  io::Labels labels                        = {};  // what the rows are called; not part of the report

  /// The names for a model of this tensor.
  [[nodiscard]] io::RowNames names() const { return {base, labels}; }
  /// The base that another file made of this one should say; -1: none, since it is not known, or rows have
  /// labels.
  [[nodiscard]] int base_to_keep() const { return knows_base && !table ? base : -1; }
};

/// Prints the format's warning on stderr, if it has one.
void warn_of_losses(FormatFacts const& format);

/// A run on several ranks.
struct RanksReport {
  int count = 1;
  std::vector<int> grid;
  std::string exchange;  // by what
  double nonzeros = 1;   // largest over mean
  double rows     = 1;
  double bytes    = 1;
  bool labelled   = false;  // rows have random labels
  // The most memory of each rank: what it was expected to need, and what it had on the host.
  std::vector<std::uint64_t> expected_peak_bytes = {};
  std::vector<std::uint64_t> host_peak_bytes     = {};
};

/// A line for ranks that own rows of every mode. \param what  "entries" or "nonzeros"
[[nodiscard]] std::string ranks_text(RanksReport const& ranks, char const* what);

/// An RMSE or MAE as text: four decimals, or four digits if it is very large or small.
[[nodiscard]] std::string error_text(double error);

/// By the set's name: train, validation, test. Sets without entries are left out.
using ErrorReports = std::map<std::string, PredictionErrors>;

/// "train RMSE 0.81 MAE 0.62, test RMSE ..."
[[nodiscard]] std::string errors_text(ErrorReports const& errors);

struct IterationReport {
  int iteration  = 0;
  double fit     = 0;
  double delta   = 0;
  double seconds = 0;
  std::map<std::string, double> phases;
  ErrorReports errors             = {};  // completion has them in place of fit and delta
  std::optional<double> objective = {};  // the loss that implicit feedback lowers
};

struct MemoryReport {
  std::uint64_t host_peak_bytes = 0;
  std::optional<std::uint64_t> device_peak_bytes;  // nothing: the device is the host
  /// What the run was expected to need of the memory in which it computes, without the process itself.
  std::optional<std::uint64_t> expected_peak_bytes;
};

/// The fit as it is printed. If it looks like 1, also its error.
[[nodiscard]] std::string fit_text(double fit, double error);

/// How a run of cpd or tucker ended.
struct FitReport {
  double fit                  = 0;
  double fit_error            = 0;  // a bound for its rounding error
  StopReason reason           = StopReason::max_iterations;
  int iterations              = 0;  // those before a checkpoint included; not written
  std::vector<FileName> files = {};
};

struct CpdReport : FitReport {
  std::vector<double> weights;
  std::uint64_t gram_fallbacks = 0;
  std::string defect;                   // what is wrong with the model; empty: nothing
  double objective = 0;                 // half of the squared error, and the penalties
  std::optional<double> kkt_violation;  // with bounds or l1; NaN without an iteration
  std::vector<double> zeros;            // likewise: the share of entries that are 0, per mode
  std::vector<int> zero_components;
  std::vector<RestartSummary> restarts;  // empty for a single start
  std::size_t best_restart = 0;
  double restarts_s        = 0;  // from the first start to the end of the last run
};

/// How held-out entries judge the rows of a mode with about as many entries.
struct RowClassReport {
  int mode            = 0;
  std::uint64_t least = 0;  // entries of such a row
  PredictionErrors biases, model;
  bool learns = true;  // false: mean and biases alone predict these rows
};

/// The choice by held-out entries.
struct ChoiceReport {
  bool learns = true;       // false: nothing was better than mean and biases
  PredictionErrors biases;  // on the held-out entries
  PredictionErrors model;
  int candidates                         = 0;
  double seconds                         = 0;
  std::optional<std::uint64_t> most_rank = {};  // the largest R that the search was to try, if it chose R
  double bias_damping                    = 0;
  bool ended_early                       = false;  // by a time limit or a signal
  std::string reason                     = {};     // why the search ended
  std::vector<RowClassReport> classes    = {};
};

/// The choice of options of implicit feedback by rankings of held-out entries.
struct RankingChoice {
  double alpha        = 0;
  double ridge        = 0;
  std::uint64_t rank  = 0;
  double ndcg         = 0;  // that of the best candidate, at 10; NaN if the search ended before
  double ndcg_error   = 0;  // its standard error
  std::uint64_t users = 0;  // that it is a mean over
  int candidates      = 0;
  double seconds      = 0;
  std::string reason  = {};  // why the search ended
  /// Those of the most popular items on the same entries. NaN if the search ended before.
  double popular_ndcg  = std::numeric_limits<double>::quiet_NaN();
  double popular_error = std::numeric_limits<double>::quiet_NaN();
};

/// What predicts the times after the last one with entries.
struct LaterTimes {
  bool exist     = false;
  bool interact  = false;  // else mean and biases alone
  bool had_drift = false;  // biases drift before
  bool fades     = false;  // the drifts fade out; else they end at once
};

/// "mean and biases alone, without drifts"; empty if there are no such times.
[[nodiscard]] std::string later_times_text(LaterTimes const& later);

struct CompletionReport {
  double mean = 0;
  ErrorReports errors;  // errors of the kept model
  ErrorReports biases;  // errors of mean and biases alone
  std::uint64_t rank = 0;
  std::vector<std::uint64_t> columns;  // J
  std::vector<std::string> targets;    // one per mode: zero, one or out; empty: zero
  std::string regularization;          // shrinkage or ridge, as options of the tool
  std::string drift;                   // drift of biases over time, as options of the tool; empty: none
  std::optional<ChoiceReport> choice;
  std::optional<RankingChoice> ranking_choice;
  std::optional<double> objective;  // the loss of implicit feedback after the last epoch
  int kept_iteration = 0;
  LaterTimes later_times;
  std::string reason;
  std::uint64_t cold = 0;  // entries predicted from biases alone
  std::vector<FileName> files;
};

struct RunReport {
  std::uint64_t nonempty = 0;
  std::uint64_t longest  = 0;
  std::uint64_t single   = 0;  // runs of one nonzero
  double deviation       = 0;  // standard deviation of their lengths
};

struct StatsReport {
  double density = 0;
  std::vector<RunReport> slices;  // one per mode
  std::vector<RunReport> fibers;  // along each mode
  double smallest     = 0;
  double largest      = 0;
  double norm         = 0;
  std::uint64_t zeros = 0;
  int linear_bits     = 0;  // length of an index that linearizes all modes
};

/// The findings of estimate and tune.
struct FormatsReport {
  double iterations        = 0;  // that builds are spread over
  std::uint64_t free_bytes = 0;
  std::string best;  // empty: none fits
  std::string because;
  std::vector<FormatCandidate> candidates;
  // On a device, the most host memory with a format there, and with the largest format that streams.
  std::uint64_t host_bytes          = 0;
  std::uint64_t streamed_host_bytes = 0;
  /// Shapes of the single format that was tried, the fastest first: "f-coo:threadlen=16,team_threads=64".
  /// Seconds are for all modes.
  struct Shape {
    std::string format;
    double seconds = 0;
  };
  std::vector<Shape> shapes;
  std::vector<FileName> files;
};

struct InfoReport {
  std::string kokkos_version;
  std::string compiled_for;
  std::string found;
  bool usable = false;
};

/// Results that are names and numbers.
struct FactsReport {
  OptionList facts;
  std::vector<FileName> files;
};

struct Report {
  std::string command;
  std::optional<BackendReport> backend;
  std::optional<InputReport> input;
  std::optional<FormatFacts> format;  // on several ranks the first one's
  std::optional<RanksReport> ranks;   // nothing: one rank
  OptionList options;
  std::optional<std::uint64_t> seed;
  std::vector<IterationReport> iterations;
  MemoryReport memory;
  std::uint64_t process_bytes = 0;  // before the tensor was read, for plans of ranks; not written
  std::variant<std::monostate, CpdReport, StatsReport, InfoReport, FactsReport, FitReport, CompletionReport,
               FormatsReport>
      result;
  bool iterates = false;  // a driver lists its iterations, even if there are none
  int exit      = 0;
  std::string error;  // the text on stderr; empty when there is none

  /// That of all iterations.
  [[nodiscard]] double iteration_seconds() const;
};

/// \throws WriteError
void write_report(std::filesystem::path const& path, Report const& report);

}  // namespace polyad::cli
