// SPDX-License-Identifier: BSD-3-Clause
// The parts of `polyad fast-tucker` and `polyad predict` that run on the backend. Free of Kokkos, so that
// their callers can be.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/fast_tucker_file.hpp"
#include "polyad/io/labels.hpp"
#include "polyad/tensor/fast_tucker_state.hpp"

namespace polyad::cli {

/// The entries of a training run. `cold` are test entries outside the training set's extents.
struct CompletionSets {
  io::CoordinateList train;
  io::CoordinateList validation;
  io::CoordinateList test;
  io::CoordinateList cold;
  io::RowNames names = {};  // what the rows are called
};

using OnEpoch = std::function<bool(IterationReport const&)>;
/// The progress of a search for the options.
struct SearchReport {
  int candidates;
  PredictionErrors biases, model;  // on held-out entries; no entries until they are known
  double seconds;
};
/// Called often during a search; false ends it.
using OnSearch = std::function<bool(SearchReport const&)>;

/// A fitted model.
struct CompletedModel {
  io::HostFastTucker small_parts;  // all but the factors; empty on other ranks than the first
  /// Writes the model, which stays where it is. Needs the run's Session.
  std::function<void(std::filesystem::path const&)> save;
};

/// Fits a model; needs a Session. The sets are released once they are on the device. Fills in report.format
/// and a CompletionReport.
/// \param resumed  the state of options.resume, for the plan of the memory; its matrices are then released
/// \throws MemoryError, UsageError, NumericalError; InputError for a checkpoint of another run
[[nodiscard]] CompletedModel complete(TrainOptions const& options, CompletionSets&& sets, Report& report,
                                      OnEpoch const& on_epoch, OnSearch const& on_search,
                                      std::optional<FastTuckerState>& resumed);

/// The model's predictions at places within its extents; needs a Session.
[[nodiscard]] std::vector<double> predict_entries(io::HostFastTucker const& model,
                                                  io::CoordinateList&& places);

/// Mean, biases and drifts of entry p, clipped. Indices beyond the model's extents have no bias.
[[nodiscard]] double predict_by_biases(io::HostFastTucker const& model, io::CoordinateList const& places,
                                       std::uint64_t p);

/// Errors of predictions, one of each entry.
[[nodiscard]] PredictionErrors errors_of(io::CoordinateList const& entries,
                                         std::vector<double> const& predictions);

}  // namespace polyad::cli
