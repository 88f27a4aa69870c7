// SPDX-License-Identifier: BSD-3-Clause
// The parts of commands that run on the backend. Free of Kokkos, so that the commands can be. Most of them
// need a Session, and say so. Lists that are passed by && are released once they are on the device.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/fast_tucker/evaluation.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/fast_tucker_file.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/tensor/fast_tucker_state.hpp"

namespace polyad::cli {

// gen, stats, estimate and tune

struct GeneratedTensor {
  io::CoordinateList tensor;
  io::HostKtensor model;  // for low-rank, the model that the tensor equals; else empty
};

/// Needs a Session. \throws UsageError for shapes that cannot hold the requested nonzeros
[[nodiscard]] GeneratedTensor generate(GenOptions const& options);

/// Slices, fibres, values and norm; needs a Session. Sums duplicates first and fills in report.input.
/// \param tensor  released once it is on the device
[[nodiscard]] StatsReport tensor_facts(io::CoordinateList&& tensor, Report& report);

/// All formats by the cost model. If none fits, `best` is empty and `because` says what would fit.
[[nodiscard]] FormatsReport estimate_formats(EstimateOptions const& options, io::CoordinateList const& tensor,
                                             BackendReport const& backend);

/// The same with measured times, or of the one format that options.format names, with its shapes.
/// \param tensor  given up once it is on the device
[[nodiscard]] FormatsReport tune_formats(TuneOptions const& options, io::CoordinateList&& tensor,
                                         Report& report);

// cpd

/// Called after each iteration; false ends the run.
using OnIteration = std::function<bool(IterationReport const&)>;

/// Writes the model of a run, which stays where it is, to a file. Needs the run's Session.
using SaveModel = std::function<void(std::filesystem::path const&)>;

/// Builds the format of the tensor and runs CP-ALS; sums duplicates. All ranks call it together, in a
/// Session, each with its part of the nonzeros. Several ranks bring them to those that own their blocks. The
/// first rank can then save the model.
/// \param tensor   given up once it is on the device, or sent
/// \param start    factors to start from instead of options.init, the same on all ranks
/// \param resumed  the format of the checkpoint to resume, or empty
/// \param report   filled as far as the work gets: nnz, duplicates, empty_slices, format, ranks, result
/// \throws InputError when a checkpoint is of another tensor or of other options; MemoryError before anything
/// is allocated when the model of one rank cannot fit, or naming the rank whose share does not
[[nodiscard]] SaveModel factor(CpdOptions const& options, io::CoordinateList&& tensor,
                               std::optional<io::HostKtensor> start, Report& report,
                               OnIteration const& on_iteration, std::string const& resumed);

// mttkrp, ttm, ttmc, tucker and project: they need a Session, sum duplicates, and fill in report.input and
// report.format.

/// The tensor times a matrix (I_n x R) along options.mode: every value of the semi-sparse result.
[[nodiscard]] io::CoordinateList multiply(TtmOptions const& options, io::CoordinateList&& tensor,
                                          io::HostArray const& matrix, Report& report);

/// The tensor times the matrices of all modes but options.mode: I_n x the product of their columns.
[[nodiscard]] io::HostArray multiply(TtmcOptions const& options, io::CoordinateList&& tensor,
                                     std::map<int, io::HostArray> const& matrices, Report& report);

/// A Tucker decomposition by HOOI, saved where options.output says. All ranks call it together, each with its
/// part of the nonzeros. Fills in report.ranks too.
void decompose(TuckerOptions const& options, io::CoordinateList&& list, Report& report,
               OnIteration const& on_iteration);

/// The MTTKRP of a mode, counted from 0, I_mode x R, row-major. \throws MemoryError
[[nodiscard]] std::vector<double> mttkrp_product(io::CoordinateList&& tensor, io::HostKtensor const& model,
                                                 int mode, Report& report);

struct ProjectedRows {
  std::vector<double> rows;  // J x R, row-major
  double fit = 0, objective = 0;
};

/// Rows of a mode of the model for the tensor's slices. Needs a Session. Fills in report.input's nnz and
/// report.format. \param precision  "f32" or "f64"
/// \throws as polyad::project
[[nodiscard]] ProjectedRows project_rows(io::CoordinateList&& tensor, io::HostKtensor const& model, int mode,
                                         std::string const& precision, Report& report);

// predict for CP and Tucker models

/// A model's values at places, in their order. The places go to the device in blocks. Needs a Session.
/// \param places  inside the model's extents; the list's own extents and values are ignored
/// \throws UsageError when a place is outside, or the model's arrays do not match; MemoryError
[[nodiscard]] std::vector<double> model_values(io::HostKtensor const& model,
                                               io::CoordinateList const& places);
[[nodiscard]] std::vector<double> model_values(io::HostTucker const& model, io::CoordinateList const& places);

// fast-tucker

/// The entries of a training run. `cold` are test entries outside the training set's extents.
struct CompletionSets {
  io::CoordinateList train;
  io::CoordinateList validation;
  io::CoordinateList test;
  io::CoordinateList cold;
  io::RowNames names = {};  // what the rows are called
};

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

struct CompletionTask {
  CompletionSets sets;
  std::optional<FastTuckerState> const& resumed;  // the facts of options.resume, for the plan of the memory
  OnIteration on_epoch;
  OnSearch on_search;
};

/// Fits a model; needs a Session. Fills in report.format and a CompletionReport.
/// \throws MemoryError, UsageError, NumericalError; InputError for a checkpoint of another run
[[nodiscard]] CompletedModel complete(TrainOptions const& options, CompletionTask&& task, Report& report);

/// The model's predictions at places within its extents; needs a Session.
[[nodiscard]] std::vector<double> predict_entries(io::HostFastTucker const& model,
                                                  io::CoordinateList&& places);

/// Mean, biases and drifts of entry p, clipped. Indices beyond the model's extents have no bias.
[[nodiscard]] double predict_by_biases(io::HostFastTucker const& model, io::CoordinateList const& places,
                                       std::uint64_t p);

/// Errors of predictions, one of each entry.
[[nodiscard]] PredictionErrors errors_of(io::CoordinateList const& entries,
                                         std::vector<double> const& predictions);

/// Called after each candidate with the best so far; false ends the search.
using OnRankingCandidate = std::function<bool(RankingChoice const&)>;

/// Holds out the last entry of each row of mode 0 and a tenth of the others, and chooses what the options
/// leave open by the NDCG@10 of the rows of mode 1 there. Puts alpha, the ridge, R and what is left of the
/// time limit into the options. Needs a Session. On several ranks, each passes its part of the entries, and
/// all make the same choice.
/// \param sums  whether repeated entries of ranks are still to be summed
/// \throws what polyad::choose_implicit throws
[[nodiscard]] RankingChoice choose_by_ranking(TrainOptions& options, io::CoordinateList const& train,
                                              bool sums, OnRankingCandidate const& on_candidate);

// recommend, similar and evaluate

/// The members of polyad::Rankings on the host.
struct RankedRows {
  std::vector<std::uint64_t> starts;
  std::vector<std::uint64_t> rows;
  std::vector<double> scores;
  std::uint64_t unknown = 0;  // queries with an index that the model does not have
};

/// Needs a Session. \param queries  as polyad::recommend takes them \param seen  may be empty
[[nodiscard]] RankedRows recommend_rows(io::HostFastTucker const& model, int mode,
                                        std::vector<std::uint64_t> const& queries, std::uint64_t count,
                                        io::CoordinateList&& seen);

/// Needs a Session.
[[nodiscard]] RankedRows similar_rows(io::HostFastTucker const& model, int mode,
                                      std::vector<std::uint64_t> const& rows, std::uint64_t count);

/// Needs a Session. On several ranks, each passes its part of both lists, and all get the same result.
/// \param options  without observed rows: the model has them \param seen  may be empty
[[nodiscard]] Evaluation evaluate_model(io::HostFastTucker const& model, EvaluationOptions options,
                                        io::CoordinateList&& test, io::CoordinateList&& seen);

// project, recommend --ratings and update

struct FoldInTask {
  io::CoordinateList entries;  // those of the rows to compute
  /// Entries whose rows are solved, as polyad::update_rows takes them. None: rows that the model lacks, or
  /// had no entries of, as polyad::fold_in computes them.
  std::optional<io::CoordinateList> added = {};
  int sweeps                              = 0;  // over all rows with entries, after that
  std::string precision                   = "f64";
};

/// The model with these rows, without names and without marks of observed rows. Needs a Session. On several
/// ranks, each passes some of the entries, and all get the model.
/// \param options  without observed rows: the model has them
/// \throws what polyad::fold_in throws; Interrupted between sweeps
[[nodiscard]] io::HostFastTucker fold_in_rows(io::HostFastTucker const& model, FoldInTask&& task,
                                              FoldInOptions options);

}  // namespace polyad::cli
