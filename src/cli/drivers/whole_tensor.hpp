// SPDX-License-Identifier: BSD-3-Clause
// The tensor of `polyad cpd` on one rank: the format that suits it, and its nvecs. It is on the device, or in
// host memory to be streamed.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/drivers/drivers.hpp"
#include "cli/format_choice/machine.hpp"
#include "cli/format_choice/stored_choice.hpp"
#include "cli/memory/loading_bytes.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/empty_slices.hpp"
#include "cli/typed_text/mode_constraints.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/core/rank.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/dense/nvecs.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/formats/tensor_by_rank.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad::cli {

/// A^(n) of each mode, row-major.
using HostFactors = std::vector<std::vector<double>>;

/// \param order  that of the tensor; \param rows  those that it stores
inline CpAlsOptions library_options(CpdOptions const& options, int order,
                                    std::vector<StoredRows> const& rows) {
  CpAlsOptions als = options;
  als.rows         = rows;
  als.scale_start  = options.init == "random";
  als.fixed_modes  = options.constraints.fixed;
  for (auto const& constraints : constraints_of_modes(options.constraints, order))
    als.updates.push_back(constraints.is_unconstrained() ? ridge(constraints.ridge)
                                                         : constrained(constraints, options.inner_sweeps));
  return als;
}

/// What the choice of a format needs to know of a run. The sources of the tensor sum duplicates.
inline AnyFormatOptions format_options_of(CpdOptions const& options) {
  AnyFormatOptions format;
  format.rank          = options.rank;
  format.iterations    = options.restarts * expected_iterations(options.max_iterations, options.tolerance);
  format.time_limit_s  = options.restarts * options.time_limit_s;
  format.deterministic = options.deterministic;
  format.duplicates    = Duplicates::keep;
  format.no_fallback   = options.format == "auto";  // auto says itself what takes its place
  return format;
}

/// Refuses a rank whose model alone exceeds the free memory. It counts the factors, the output of the
/// longest mode, which is freed before the end copies a factor, the Gram matrices, their product and its
/// scratch.
/// \throws MemoryError
template <class Scalar>
void expect_model_fits(Space const& space, Extents const& extents, count_t rank) {
  std::string const what = "a model of rank " + std::to_string(rank);
  auto const order       = static_cast<count_t>(extents.order());
  count_t rows           = 0;
  count_t longest        = 0;
  auto const add         = [&](count_t a, count_t b) {
    count_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) static_cast<void>(checked_product(what, ~count_t(0), 2));
    return sum;
  };
  for (int n = 0; n < extents.order(); ++n) {
    rows    = add(rows, extents[n]);
    longest = std::max(longest, extents[n]);
  }
  count_t const columns = output_columns<Scalar, Space>(rank);
  count_t const dense   = checked_product(
      what,
      add(checked_product(what, rows, padded_rank<Scalar>(rank)), checked_product(what, longest, columns)),
      sizeof(Scalar));
  count_t const grams = checked_product(what, checked_product(what, rank, rank),
                                        (order + (rank > 128 ? 4 : 3)) * sizeof(double));
  expect_fits(space, what, add(dense, grams), 1);
}

template <class Scalar, class Index>
class WholeTensor {
public:
  using Tensor    = AnyFormat<Scalar, Space>;
  using HostSpace = typename Tensor::host_space;

  /// \param list     renumbered; `rows` are the rows that are stored
  /// \param resumed  the format of the checkpoint to resume, or empty
  WholeTensor(CpdOptions const& options, io::CoordinateList&& list, std::vector<StoredRows> const& rows,
              Report& report, std::string const& resumed)
      : m_options(options), m_list(std::move(list)), m_rows(rows), m_report(report), m_resumed(resumed) {
    checked_rank(options.rank);
    expect_model_fits<Scalar>(m_space, extents(), options.rank);
  }

  /// The format, and the report's facts about it.
  [[nodiscard]] TensorByRank<Scalar, Space> build() {
    auto options  = format_options_of(m_options);
    options.hooks = hooks();
    std::string because;
    expect_host_holds(m_list, sizeof(Scalar));
    if (m_options.format != "auto") {
      options.format = named_format();
      refuse_at_the_start(options.format);
    } else if (!m_resumed.empty()) {
      options.format = m_resumed;
      because        = "the checkpoint is of it";
    } else {
      options.survey        = survey_list(m_list, m_options.common.threads);
      options.loading_bytes = loading_bytes(m_list, sizeof(Scalar), m_options.device_memory.has_value());
    }
    TensorByRank<Scalar, Space> const X(m_space, Tensor::build(m_space, source(because), options));
    m_report.format = X.format_facts();
    if (m_report.format->because.empty()) m_report.format->because = because;
    return X;
  }

  /// The factors of nvecs, within the bounds of their modes.
  [[nodiscard]] HostFactors nvecs_start() const {
    auto const start = nvecs(m_space, *m_device, m_options.rank, {.seed = m_options.seed, .rows = m_rows});
    move_within_bounds(m_space, start, library_options(m_options, start.order(), m_rows));
    HostFactors factors;
    for (int n = 0; n < start.order(); ++n) factors.push_back(to_host<Scalar>(m_space, start[n]));
    return factors;
  }

private:
  [[nodiscard]] Extents extents() const { return Extents(std::span<count_t const>(m_list.extents)); }

  /// Refuses a named format before it is built, if neither it nor any other fits. That takes a survey of the
  /// tensor, so it is left out where even many copies of the tensor would fit. A device's memory is checked
  /// array by array.
  void refuse_at_the_start(std::string const& format) const {
    if (runs_on_device() || m_options.device_memory) return;
    count_t const held  = listed_bytes(m_list, false);
    count_t const free  = available_memory(m_space) + held;
    count_t const order = m_list.order();
    count_t const copy  = m_list.nnz() * (order * sizeof(Index) + sizeof(Scalar));
    count_t rows        = 0;
    for (count_t const extent : m_list.extents) rows += extent;
    count_t const model = 2 * rows * padded_rank<Scalar>(m_options.rank) * sizeof(Scalar);
    if ((order + 5) * copy + model <= free) return;
    AnyFormatOptions options;
    options.rank          = m_options.rank;
    options.survey        = survey_list(m_list, m_options.common.threads);
    options.loading_bytes = loading_bytes(m_list, sizeof(Scalar), false);
    options.hooks.machine = [this](double) { return machine_ceilings(*m_report.backend, sizeof(Scalar), 0); };
    FormatCandidate const* named = nullptr;
    auto const comparison        = estimate_formats<Scalar, Index>(m_space, options, held);
    for (auto const& candidate : comparison.candidates) {
      if (candidate.name == split_format_text(format).name) named = &candidate;
      // A format may take a smaller form if memory is short. If any format fits, the build decides.
      if (candidate.fits && !candidate.streams) return;
    }
    if (named && !named->fits)
      throw MemoryError("the tensor in " + format, named->need_bytes,
                        "only " + bytes_text(free) + " are free");
  }

  /// The tool's additions to the library's choice: the choice stored by `tune --store`, trials, cached
  /// measurements of the machine, and interruption between the steps.
  FormatHooks hooks() {
    FormatHooks hooks;
    if (!m_options.tune)
      hooks.stored = [this]() -> std::optional<StoredFormat> {
        auto const stored = read_stored();
        if (!stored) return std::nullopt;
        return StoredFormat{stored->format, "polyad tune stored it next to the tensor"};
      };
    hooks.trial   = m_options.tune ? FormatTrial::all : FormatTrial::close;
    hooks.machine = [this](double seconds) {
      return machine_ceilings(*m_report.backend, sizeof(Scalar), seconds);
    };
    hooks.progress = stop_if_interrupted;
    return hooks;
  }

  [[nodiscard]] std::optional<StoredChoice> read_stored() const {
    auto const key =
        choice_key(m_options.tensor, m_list, *m_report.backend, m_options.rank, m_options.precision);
    return key ? read_choice(*key) : std::nullopt;
  }

  /// The named format. If `tune --format NAME --store` stored options for it, with these.
  [[nodiscard]] std::string named_format() const {
    auto const stored = read_stored();
    bool const same   = stored && split_format_text(stored->format).name == m_options.format;
    return same ? stored->format : m_options.format;
  }

  /// Moves the list to the memory that the format needs, with duplicates summed.
  TensorSource<Scalar, Index, Space> source(std::string const& why_named) {
    return {.load =
                [this] {
                  if (m_device) return *m_device;
                  m_device = to_device<Scalar, Index>(m_space, std::move(m_list), *m_report.input);
                  m_report.input->empty_slices = count_empty_slices(m_space, *m_device);
                  stop_if_interrupted("reading the tensor");
                  return *m_device;
                },
            .load_on_host =
                [this, why_named](std::string const& because) {
                  return load_on_host(because.empty() ? why_named : because);
                },
            .is_there   = [this] { return m_device || m_list.nnz() > 0; },
            .held_bytes = listed_bytes(m_list, m_options.device_memory.has_value()),
            .is_checked = true};  // by the reader
  }

  /// `because` is the reason for streaming; empty if the user requested it.
  CooTensor<Scalar, Index, HostSpace> load_on_host(std::string const& because) {
    if (m_options.init == "nvecs")
      throw UsageError("--init nvecs needs the tensor on the device, and this one is streamed" +
                       (because.empty() ? because : " because " + because));
    DeviceMemoryAccount::HostArrays const on_host;
    HostSpace const host;
    auto tensor =
        m_device ? download<HostSpace>(m_space, *m_device) : io::to_coo_tensor<Scalar, Index>(host, m_list);
    m_list = {};
    m_device.reset();
    tensor                       = without_duplicates(host, tensor, *m_report.input);
    m_report.input->empty_slices = count_empty_slices(host, tensor);
    stop_if_interrupted("reading the tensor");
    return tensor;
  }

  Space m_space;
  CpdOptions const& m_options;
  io::CoordinateList m_list;
  std::vector<StoredRows> const& m_rows;
  Report& m_report;
  std::string const& m_resumed;
  std::optional<CooTensor<Scalar, Index, Space>> m_device;
};

/// Such a tensor's format, and its nvecs if they are the start that is requested.
/// \param start  set to nvecs; otherwise left as it is
template <class Scalar>
[[nodiscard]] TensorByRank<Scalar, Space> whole_tensor(CpdOptions const& options, io::CoordinateList&& list,
                                                       std::vector<StoredRows> const& rows,
                                                       std::string const& resumed, HostFactors& start,
                                                       Report& report) {
  return with_index_type(needs_wide_index(list), [&](auto index) {
    using Index = typename decltype(index)::type;
    WholeTensor<Scalar, Index> whole(options, std::move(list), rows, report, resumed);
    auto X = whole.build();
    if (options.init == "nvecs") start = whole.nvecs_start();
    return X;
  });
}

}  // namespace polyad::cli
