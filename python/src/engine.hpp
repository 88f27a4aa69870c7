// SPDX-License-Identifier: BSD-3-Clause
// The library as the extension module calls it: every template behind a tag of its types, every View a
// pointer with strides. Free of Kokkos, so that the module's own source sees no Kokkos. With the cuda backend
// nvcc compiles engine_*.cpp, and the C++ compiler the module. Every function that computes may throw what
// the library throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "polyad/core/stop_reason.hpp"
#include "polyad/cp/cp_als_options.hpp"
#include "polyad/fast_tucker/evaluation.hpp"
#include "polyad/fast_tucker/fast_tucker_options.hpp"
#include "polyad/formats/format_candidate.hpp"
#include "polyad/tensor/stored_rows.hpp"
#include "polyad/tucker/tucker_options.hpp"

namespace polyad::python {

/// The type of an array's elements.
enum class Type { f32, f64, u32, u64 };

/// A part of memory and who keeps it alive. Strides count elements.
struct Array {
  void* data = nullptr;
  std::vector<std::size_t> shape;
  std::vector<std::int64_t> strides;
  Type type = Type::f64;
  std::shared_ptr<void> owner;
  bool on_device = false;  // in an accelerator's memory; otherwise in the host's
};

// --- the backend

struct Backend {
  std::string name;     // serial, openmp or cuda
  bool device = false;  // arrays live on an accelerator
  std::string problem;  // why it cannot be used; empty when it can
};
[[nodiscard]] Backend backend();

/// Whether arrays may be in an accelerator's memory.
[[nodiscard]] bool takes_device_arrays();
/// Whether Kokkos runs in this process.
[[nodiscard]] bool is_started();
/// Starts Kokkos, which happens once in a process. OpenMP keeps the number of threads of the other packages.
/// \param threads  of a host; 0: as OpenMP says
/// \param device   the accelerator's number; -1: Kokkos chooses
void start(int threads, int device);
/// Ends Kokkos. Nothing of it may be used or released afterwards.
void finish();
/// The number of the accelerator that computes; -1 on hosts. Kokkos must have started.
[[nodiscard]] int device_in_use();
/// Threads of the backend. It must have started.
[[nodiscard]] int concurrency();
/// The file of the OpenMP runtime that runs the threads; empty without OpenMP.
[[nodiscard]] std::string openmp_runtime();

/// The array itself if it is in host memory; otherwise a copy there with the same strides.
[[nodiscard]] Array in_host_memory(Array const& array);

// --- tensors and formats

/// A CooTensor of any type, and what keeps its memory. A tensor of device arrays stays on the device, and so
/// do the arrays that are computed from it.
class Tensor {
public:
  virtual ~Tensor()                                                = default;
  [[nodiscard]] virtual bool on_device() const                     = 0;
  [[nodiscard]] virtual std::vector<std::uint64_t> extents() const = 0;
  [[nodiscard]] virtual std::uint64_t nnz() const                  = 0;
  [[nodiscard]] virtual Array indices() const                      = 0;
  [[nodiscard]] virtual Array values() const                       = 0;
};
using TensorPtr = std::shared_ptr<Tensor const>;

/// Wraps arrays without a copy, unless they are in host memory and a device computes: indices nnz x N,
/// row-major, from 0; values nnz. Both are in the same memory. \throws UsageError
[[nodiscard]] TensorPtr wrap(std::vector<std::uint64_t> const& extents, Array const& indices,
                             Array const& values);

/// What is wrong with a tensor: the first nonzero that has an index outside, and the first value that is not
/// finite.
struct Faults {
  std::optional<std::uint64_t> outside;
  std::optional<std::uint64_t> not_finite;
};
[[nodiscard]] Faults find_faults(Tensor const& tensor);

/// The tensor with its duplicates summed, or the tensor itself if it has none, and their number.
struct Summed {
  TensorPtr tensor;
  std::uint64_t duplicates;
};
[[nodiscard]] Summed sum_duplicates(TensorPtr const& tensor);

enum class Need { mttkrp, ttmc };

struct FormatOptions {
  std::uint64_t rank = 16;
  double iterations  = 20;
  std::string format = "auto";
  bool deterministic = false;
  Need need          = Need::mttkrp;
  /// Called between the steps of a choice and a build, which its exception ends; may be empty.
  std::function<void()> between_steps = {};
  /// Called during the search of fast_tucker. If it returns false, the search ends with the best so far. May
  /// be empty.
  std::function<bool()> continues_search = {};
};

struct FormatComparison {
  std::vector<FormatCandidate> candidates;  // the best first
  std::string best, because;
  std::vector<std::pair<std::string, double>> shapes;  // shapes of the tuned format, and seconds
  std::uint64_t free_bytes = 0;
};

/// An AnyFormat of any type.
class Format {
public:
  virtual ~Format()                                                = default;
  [[nodiscard]] virtual bool on_device() const                     = 0;
  [[nodiscard]] virtual std::vector<std::uint64_t> extents() const = 0;
  [[nodiscard]] virtual std::uint64_t nnz() const                  = 0;
  [[nodiscard]] virtual Type type() const                          = 0;
  [[nodiscard]] virtual std::string chosen() const                 = 0;
  [[nodiscard]] virtual std::string because() const                = 0;
  [[nodiscard]] virtual std::string warning() const                = 0;
  [[nodiscard]] virtual std::uint64_t storage_bytes() const        = 0;
  [[nodiscard]] virtual std::uint64_t rank() const                 = 0;
};
using FormatPtr = std::shared_ptr<Format const>;

[[nodiscard]] FormatPtr build_format(TensorPtr const& tensor, FormatOptions const& options);

/// What each format takes, predicted, or measured where `measure` says so. options.format: "auto" for all.
[[nodiscard]] FormatComparison compare_formats(TensorPtr const& tensor, FormatOptions const& options,
                                               bool measure);

// --- drivers

struct Iteration {
  int iteration;
  double fit;
  double delta;
  double seconds;
  std::optional<int> start             = {};  // the number of the start; nothing unless there are several
  std::map<std::string, double> phases = {};  // seconds, if they are timed
};
/// false ends the run.
using OnIteration = std::function<bool(Iteration const&)>;

struct CpResult {
  std::vector<double> weights;
  std::vector<Array> factors;
  std::vector<Iteration> history;
  StopReason reason;
  double fit;
  double fit_error;
  std::uint64_t gram_fallbacks;
  std::string defect;
  std::vector<StoredRows> rows;  // that the factors have, one for each mode; empty: all
  double objective     = 0;
  double kkt_violation = 0;
  std::vector<std::uint64_t> zeros;  // a number for each factor, with bounds or l1
  std::vector<int> zero_components;
  std::vector<RestartSummary> restarts         = {};  // empty for a single start
  std::size_t best_restart                     = 0;
  std::vector<std::vector<double>> constraints = {};  // lower, upper, l1, ridge of each mode; or nothing
};

/// Factors to start from.
struct Start {
  std::vector<Array> factors;     // copied; empty: random numbers, or
  bool singular_vectors = false;  // the leading left ones of the unfolded tensor
  std::vector<StoredRows> rows;   // that the factors have, one for each mode; empty: all
};

/// Renumbers the rows of long modes that are mostly empty (polyad/tensor/compact.hpp). A Format stays as it
/// is.
/// \param format  its own options; the rank and the iterations are those of the run
[[nodiscard]] CpResult cp_als(TensorPtr const& tensor, CpAlsOptions const& options, FormatOptions format,
                              Start const& start, OnIteration const& callback);
[[nodiscard]] CpResult cp_als(FormatPtr const& format, CpAlsOptions const& options, Start const& start,
                              OnIteration const& callback);

struct TuckerResult {
  Array core;  // R_{N-1} x R_0 x ... x R_{N-2}
  std::vector<Array> factors;
  std::vector<Iteration> history;
  StopReason reason;
  double fit;
  double fit_error;
  std::vector<StoredRows> rows;  // as of CpResult
};

/// Renumbers rows as cp_als does.
/// \param between_steps  as of FormatOptions
[[nodiscard]] TuckerResult tucker(TensorPtr const& tensor, TuckerOptions const& options, Start const& start,
                                  OnIteration const& callback, std::function<void()> const& between_steps);

struct Errors {
  std::uint64_t entries;
  double rmse, mae;
};

struct Epoch {
  int epoch;
  Errors train, validation, test;
  double seconds;
  std::optional<double> objective;  // the loss that implicit feedback lowers
};
using OnEpoch = std::function<bool(Epoch const&)>;

struct FastTuckerArrays {
  std::vector<std::uint64_t> extents;
  std::uint64_t rank = 0;
  std::vector<Array> factors;  // A^(n), I_n x J_n
  std::vector<Array> cores;    // B^(n), J_n x R
  std::vector<Array> biases;   // I_n numbers per mode, or nothing
  int time_mode = -1;          // -1: no biases drift
  std::vector<Array> drifts;   // I_n x bins per mode, without columns where its biases stay; or nothing
  double mean = 0, lowest = 0, highest = 0;
  std::vector<std::vector<std::uint8_t>> observed = {};  // as FastTuckerModel has it
};

struct FastTuckerResult {
  FastTuckerArrays model;
  std::vector<Epoch> history;
  StopReason reason;
  int kept_epoch;
  bool chose  = false;  // what follows was chosen
  bool learns = true;
  Errors chosen_biases{}, chosen_model{};
  int candidates = 0;
  std::vector<std::uint64_t> chosen_bins;  // one per mode, if one is time
  std::vector<double> chosen_damping;
  // The options that were chosen, and why the search ended.
  std::uint64_t chosen_rank = 0;
  std::vector<std::uint64_t> chosen_columns;
  std::vector<std::string> chosen_targets;
  std::vector<double> chosen_shrinkage;  // three numbers, or none
  std::vector<double> chosen_ridge;      // one number, or none
  bool chosen_ridge_per_entry = false;
  double chosen_bias_damping  = 0;
  int chosen_epochs           = 0;
  double seconds              = 0;
  std::string search_ended;
  RowFit fit;  // how the rows were fitted
  /// How classes of rows were judged.
  struct Rows {
    int mode;
    std::uint64_t least;
    Errors biases, model;
    bool learns;
  };
  std::vector<Rows> rows;
};

/// \param validation, test  may be null
[[nodiscard]] FastTuckerResult fast_tucker(TensorPtr const& train, TensorPtr const& validation,
                                           TensorPtr const& test, FastTuckerOptions const& options,
                                           FormatOptions const& format, OnEpoch const& callback);

/// A candidate of choose_implicit, with its NDCG on the held-out entries and the standard error over users.
struct ImplicitTrial {
  double alpha, ridge;
  std::uint64_t rank;
  double ndcg, ndcg_error;
  std::uint64_t users;
};
/// false ends the search.
using OnImplicitTrial = std::function<bool(ImplicitTrial const&)>;

struct ImplicitSearch {
  std::vector<ImplicitTrial> candidates;
  std::size_t best = 0;
  double seconds   = 0;
  StopReason reason;
  double popular_ndcg, popular_error;  // NaN before an evaluation
};

/// Chooses alpha, unless `keeps_alpha`, and the ridge and R where the options have none.
/// \param kept, held  of the same types: to learn from, and to evaluate on
[[nodiscard]] ImplicitSearch choose_implicit(TensorPtr const& kept, TensorPtr const& held,
                                             FastTuckerOptions const& options, bool keeps_alpha,
                                             EvaluationOptions const& ranking,
                                             OnImplicitTrial const& callback,
                                             std::function<bool()> const& continues);

/// The model with rows computed from entries of its type. \param added  null, or of update_rows
/// \param options  without observed rows, which the model has
[[nodiscard]] FastTuckerArrays fold_in(FastTuckerArrays const& model, TensorPtr const& entries,
                                       TensorPtr const& added, FoldInOptions options);

/// One number for each row of `places` (count x N, u32 or u64), into `predictions` (count numbers of the
/// model's type).
void predict(FastTuckerArrays const& model, Array const& places, Array const& predictions);

struct ValuedArrays {
  std::vector<double> weights;  // R of CP, none of Tucker
  std::vector<Array> factors;   // I_n x R, or I_n x R_n
  std::vector<Array> core;      // one of Tucker: R_{N-1} x the product of the others, R_{N-2} fastest
  std::vector<StoredRows> rows = {};
};

/// A CP or Tucker model's value at each row of `places` (count x N, u32 or u64), or what is left of the given
/// values, into `out`: count numbers of the factors' type. Places in another memory are copied in blocks.
/// \param given  count numbers of that type, or null
void model_values(ValuedArrays const& model, Array const& places, Array const* given, Array const& out);

/// Rows of each query, best first: those of query q are starts[q] ... starts[q + 1] - 1.
struct Ranked {
  std::vector<std::uint64_t> starts, rows;
  std::vector<double> scores;
  std::uint64_t unknown = 0;  // queries with an index that the model does not have
};

/// In a query of recommend: the mean over all rows of that mode.
constexpr std::uint64_t every_row_of_mode = std::numeric_limits<std::uint64_t>::max();

/// The rows of a mode that the model predicts most for.
/// \param queries  Q x (N - 1), u64, without gaps: an index of each other mode, or every_row_of_mode
/// \param seen     of the model's order and type, may be null: rows that its entries have are left out
[[nodiscard]] Ranked recommend(FastTuckerArrays const& model, int mode, Array const& queries,
                               std::uint64_t count, TensorPtr const& seen);
/// Metrics of the recommendations for test entries.
/// \param options  without observed rows, which the model has
/// \param seen     of the types of `test`, may be null
[[nodiscard]] Evaluation evaluate(FastTuckerArrays const& model, TensorPtr const& test,
                                  EvaluationOptions options, TensorPtr const& seen);
/// The rows of a mode that are most alike to `rows` (Q, u64).
[[nodiscard]] Ranked similar(FastTuckerArrays const& model, int mode, Array const& rows, std::uint64_t count);

// --- products. Factors of another mode may be empty arrays where they play no part.

[[nodiscard]] Array mttkrp(FormatPtr const& format, std::vector<Array> const& factors, int mode);
/// Into an array of the caller: I_mode x R, row-major.
void mttkrp(FormatPtr const& format, std::vector<Array> const& factors, int mode, Array const& out);

struct Projection {
  Array rows;
  double fit, objective;
};

/// Rows of a CP model's mode for the slices of a tensor. \param constraints  as CpResult has them
[[nodiscard]] Projection project(FormatPtr const& format, std::vector<double> const& weights,
                                 std::vector<Array> const& factors,
                                 std::vector<std::vector<double>> const& constraints, int mode);
[[nodiscard]] TensorPtr ttm(TensorPtr const& tensor, Array const& matrix, int mode);
[[nodiscard]] Array ttmc(TensorPtr const& tensor, std::vector<Array> const& matrices, int mode);

// --- made-up tensors

struct Planted {
  TensorPtr tensor;
  std::vector<double> weights;
  std::vector<Array> factors;
};
[[nodiscard]] TensorPtr power_law(std::vector<std::uint64_t> const& extents, std::uint64_t nnz,
                                  std::vector<double> const& skew, std::uint64_t fiber_run, int run_mode,
                                  std::uint64_t seed, Type scalar);
[[nodiscard]] Planted planted(std::vector<std::uint64_t> const& extents, std::uint64_t rank,
                              std::uint64_t block, std::uint64_t seed, Type scalar);

}  // namespace polyad::python
