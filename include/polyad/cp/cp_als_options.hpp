// SPDX-License-Identifier: BSD-3-Clause
// CpAlsOptions: what cp_als takes (cp/cp_als.hpp), and the table of these options. Free of Kokkos.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <vector>

#include "polyad/core/option_row.hpp"
#include "polyad/cp/mode_update.hpp"
#include "polyad/tensor/stored_rows.hpp"

namespace polyad {

struct CpAlsOptions {
  /// R. 0: that of the start or, without a start, the rank that X was built for. For coordinates that is 16
  /// (AnyFormatOptions::rank). A user-defined format has no such rank: cp_als throws UsageError.
  std::uint64_t rank = 0;
  int max_iterations = 50;  // with 0, the run only computes the fit of the start
  /// 0 or more. With s = ||X - M|| / ||X||, stop when the fit changes by at most tolerance s (1 - s^2)^(1/2)
  /// between two iterations: what is left and what is explained both count. 0: never.
  double tolerance    = 1e-4;
  double time_limit_s = std::numeric_limits<double>::infinity();
  std::uint64_t seed  = 0;      // for the random start (core/counter_rng.hpp)
  bool time_phases    = false;  // seconds per phase, at the price of a fence around each
  bool one_instance   = false;  // do not overlap the R x R algebra with MTTKRPs; timed phases never do
  /// If X was renumbered by compact (tensor/compact.hpp), its CompactTensor::rows. A random start then has
  /// the numbers of the original rows, and the model has these lists.
  std::vector<StoredRows> rows = {};
  /// What each mode's factor solves (cp/factor_update.hpp): one for all modes, or N. Empty: least squares.
  std::vector<ModeUpdate> updates = {};
  /// Whether the start is first multiplied by <X, M> / ||M||^2, which costs an MTTKRP. It only matters if
  /// mode 0 has bounds or penalties, since their updates depend on the scale of the start. The library's own
  /// random starts are always scaled.
  bool scale_start = false;
  /// With bounds or an l1, the run also ends once CpAlsResult::kkt_violation is below this. 0: never. More
  /// than 0 without them is a UsageError.
  double kkt_tolerance = 0;
  /// Modes whose factors stay those of the start, bit for bit and in the order of its columns. At least one
  /// mode is not fixed. The MTTKRPs of fixed modes are skipped. Only the scales of the other modes are moved
  /// into the weights of the model. A start is required. With `restarts`, the factors of the other modes are
  /// drawn at random. All rows are stored.
  std::vector<int> fixed_modes = {};
  /// A file that gets the state of the run after every `checkpoint_every` iterations and at the end
  /// (io/checkpoint.hpp). Empty: no file. With several ranks, all name it, and the first writes it.
  std::filesystem::path checkpoint = {};
  int checkpoint_every             = 10;
  /// The checkpoint that the run continues, instead of a start. Its rank, precision, format, updates and
  /// tensor must be those of the run, and its seed, unless that of the run is 0; several ranks accept any
  /// format. If the format sums in a fixed order, the run continues with the same bits. Empty: no checkpoint.
  /// With several ranks, all name it, and the first reads it.
  std::filesystem::path resume = {};
  /// The number of runs from the random starts of the seeds seed, seed + 1, ...; the best fit wins. ALS finds
  /// local optima, and a few starts are the usual remedy (Kolda & Bader, section 3.4). Each run has its own
  /// model and workspace. Up to eight run concurrently, so that small tensors fill a device; on a host, on
  /// several ranks and with a streamed tensor they run one after another. A run that breaks down
  /// (NumericalError) is reported in CpAlsResult::restarts, and the others continue.
  int restarts = 1;
};

/// The table of these options (core/option_row.hpp).
template <detail::OptionsOrConst<CpAlsOptions> Options, class Visitor>
void for_each_option(Options& options, Visitor&& visit) {
  visit(OptionRow("rank", "-r,--rank R", "Number of components").at_least(0), options.rank);
  for_each_limit(options, visit);
  visit(OptionRow("time_phases", "--phases",
                  "Time the phases of each iteration for the report; this costs a little time"),
        options.time_phases);
  visit(OptionRow("one_instance", "", "The R x R algebra in line with the MTTKRPs")
            .declared_by_python("in C++ only: a choice of benchmarks, which changes no result"),
        options.one_instance);
  visit(OptionRow("rows", "", "The original rows of a renumbered tensor")
            .declared_by_python("the tool and Python renumber the tensor themselves"),
        options.rows);
  visit(OptionRow("updates", "", "What each mode's factor solves")
            .declared_by_python("the tool has --nonnegative, --lower, --upper, --l1, --ridge and --inner, "
                                "Python arguments of these names: they cannot name a class of the program"),
        options.updates);
  visit(OptionRow("scale_start", "", "Multiply the start by <X, M> / ||M||^2 first")
            .declared_by_python(
                "in C++ only: the tool and Python scale random starts and leave others as they are"),
        options.scale_start);
  visit(OptionRow("kkt_tolerance", "--kkt-tol X",
                  "With bounds or l1: stop at a KKT violation below X; 0: never")
            .at_least(0),
        options.kkt_tolerance);
  visit(OptionRow("fixed_modes", "", "Modes whose factors stay those of the start")
            .declared_by_python("the tool has --fix, which needs --init MODEL, and Python fix"),
        options.fixed_modes);
  for_each_checkpoint_option(options, visit, "Iterations between checkpoints");
  visit(OptionRow("restarts", "--restarts K",
                  "Number of random starts, concurrent on a device; the best fit wins. Their seeds count "
                  "up from the given one")
            .at_least(1),
        options.restarts);
}

}  // namespace polyad
