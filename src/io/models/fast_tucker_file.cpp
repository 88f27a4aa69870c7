// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/fast_tucker_file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "io/archive/npz_arrays.hpp"
#include "io/archive/npz_names.hpp"
#include "io/archive/zip.hpp"
#include "io/known_file.hpp"
#include "io/models/fast_tucker_blocks.hpp"
#include "io/readers.hpp"
#include "io/streams/raw_input.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

namespace {

constexpr std::size_t most_model_modes = 16;

std::string shape_text(std::vector<std::uint64_t> const& shape) {
  std::string text;
  for (auto const size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

/// Throws InputError: the archive `name` has a fault.
[[noreturn]] void refuse(std::string const& name, std::string const& reason) {
  throw InputError(name, 0, 0, reason);
}

void read_mode(NpzReader const& archive, NpzArray&& factor, HostFastTucker& model) {
  std::string const mode = std::to_string(model.extents.size());
  auto core              = archive.require("core_" + mode, 2);
  if (factor.shape[1] == 0) refuse(archive.name(), "factor_" + mode + " has no columns");
  if (core.shape[0] != factor.shape[1])
    refuse(archive.name(), "core_" + mode + " is " + shape_text(core.shape) + ", but factor_" + mode +
                               " has " + std::to_string(factor.shape[1]) + " columns");
  if (model.extents.empty()) model.rank = core.shape[1];
  if (core.shape[1] != model.rank || model.rank == 0)
    refuse(archive.name(), "core_" + mode + " has " + std::to_string(core.shape[1]) + " columns" +
                               (model.rank == 0 ? "" : ", but core_0 has " + std::to_string(model.rank)));
  auto bias = archive.read("bias_" + mode, 1);
  if (bias && bias->shape[0] != factor.shape[0])
    refuse(archive.name(), "bias_" + mode + " has " + std::to_string(bias->shape[0]) +
                               " numbers, but factor_" + mode + " has " + std::to_string(factor.shape[0]) +
                               " rows");
  bool const first = model.extents.empty();
  if (!first && bias.has_value() == model.biases.empty())
    refuse(archive.name(), "has biases for some modes only");
  model.extents.push_back(factor.shape[0]);
  model.columns.push_back(factor.shape[1]);
  model.factors.push_back(std::move(factor.elements));
  model.cores.push_back(std::move(core.elements));
  if (bias) model.biases.push_back(std::move(bias->elements));
}

/// Reads the drifts of the biases, if there are any.
void read_drifts(NpzReader const& archive, HostFastTucker& model) {
  auto const time = archive.read("time_mode", 1);
  for (std::size_t n = 0; n < model.extents.size(); ++n) {
    auto drift = archive.read("drift_" + std::to_string(n), 2);
    if (drift && !time) refuse(archive.name(), "has drift_" + std::to_string(n) + ", but no time_mode");
    if (!time) continue;
    if (drift && (drift->shape[0] != model.extents[n] || drift->shape[1] == 0))
      refuse(archive.name(), "drift_" + std::to_string(n) + " is " + shape_text(drift->shape) +
                                 ", but factor_" + std::to_string(n) + " has " +
                                 std::to_string(model.extents[n]) + " rows");
    model.bins.push_back(drift ? drift->shape[1] : 0);
    model.drifts.push_back(drift ? std::move(drift->elements) : std::vector<double>());
  }
  if (!time) return;
  auto const order = static_cast<double>(model.extents.size());
  if (time->shape[0] != 1 || !(time->elements[0] >= 0 && time->elements[0] < order) ||
      time->elements[0] != std::floor(time->elements[0]))
    refuse(archive.name(), "time_mode is not the number of a mode");
  model.time_mode     = static_cast<int>(time->elements[0]);
  std::string const t = std::to_string(model.time_mode);
  if (model.bins[model.time_mode] > 0)
    refuse(archive.name(), "has drift_" + t + ", but mode " + t + " is time");
  for (auto const bins : model.bins) {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(bins, model.extents[model.time_mode], &product))
      refuse(archive.name(), "has " + std::to_string(bins) + " bins of time, which are too many");
  }
}

/// The numbers of "targets" are those of RowTarget.
constexpr double last_target = static_cast<double>(RowTarget::left_out);

/// How the rows were fitted, if the file says so.
void read_fit(NpzReader const& archive, HostFastTucker& model) {
  auto const read = [&](char const* name, std::uint64_t count, double most) {
    auto const array = archive.read(name, 1);
    if (!array) return std::vector<double>();
    bool const fits = array->shape[0] == count &&
                      std::ranges::all_of(array->elements, [&](double x) { return x >= 0 && x <= most; });
    if (!fits) refuse(archive.name(), std::string(name) + " does not say how rows were fitted");
    return array->elements;
  };
  constexpr double any = std::numeric_limits<double>::max();
  auto const damping   = read("bias_damping", 1, any);
  if (damping.empty()) return;
  auto const alpha = read("implicit", 1, any), ridge = read("ridge", 2, any),
             shrinkage = read("shrinkage", 3, any),
             targets   = read("targets", model.extents.size(), last_target);
  RowFit& fit          = model.fit.emplace();
  fit.bias_damping     = damping[0];
  if (!alpha.empty()) fit.implicit = alpha[0];
  if (!ridge.empty()) {
    fit.ridge           = ridge[0];
    fit.ridge_per_entry = ridge[1] != 0;
  }
  if (!shrinkage.empty()) fit.shrinkage = Shrinkage{shrinkage[0], shrinkage[1], shrinkage[2]};
  for (double const target : targets) fit.targets.push_back(static_cast<RowTarget>(static_cast<int>(target)));
}

void write_fit(ZipWriter& zip, RowFit const& fit) {
  add_array(zip, "bias_damping", {1}, {fit.bias_damping}, false);
  if (fit.implicit) add_array(zip, "implicit", {1}, {*fit.implicit}, false);
  if (fit.ridge) add_array(zip, "ridge", {2}, {*fit.ridge, fit.ridge_per_entry ? 1.0 : 0.0}, false);
  if (fit.shrinkage)
    add_array(zip, "shrinkage", {3},
              {fit.shrinkage->observations, fit.shrinkage->share, fit.shrinkage->to_one}, false);
  std::vector<double> targets;
  for (auto const target : fit.targets) targets.push_back(static_cast<double>(target));
  if (!targets.empty()) add_array(zip, "targets", {targets.size()}, targets, false);
}

void expect_fit(RowFit const& fit, std::size_t order) {
  std::vector<double> numbers{fit.bias_damping, fit.implicit.value_or(1), fit.ridge.value_or(0)};
  if (fit.shrinkage)
    numbers.insert(numbers.end(), {fit.shrinkage->observations, fit.shrinkage->share, fit.shrinkage->to_one});
  for (double const x : numbers)
    if (!(x >= 0) || std::isinf(x))
      throw UsageError("the rows of a FastTucker model cannot have been fitted with " + std::to_string(x));
  if (fit.ridge_per_entry && !fit.ridge)
    throw UsageError("a FastTucker model is said to have been fitted with a ridge per entry, but not which");
  if (!fit.targets.empty() && fit.targets.size() != order)
    throw UsageError("a FastTucker model of " + std::to_string(order) + " modes has " +
                     std::to_string(fit.targets.size()) + " targets");
}

}  // namespace

void expect_consistent(HostFastTucker const& model) {
  std::size_t const order = model.extents.size();
  if (order < 2 || order > most_model_modes)
    throw UsageError("a FastTucker model has 2 to 16 modes, not " + std::to_string(order));
  if (model.columns.size() != order || model.factors.size() != order || model.cores.size() != order ||
      (!model.biases.empty() && model.biases.size() != order))
    throw UsageError("a FastTucker model of " + std::to_string(order) + " modes has " +
                     std::to_string(model.columns.size()) + " column counts, " +
                     std::to_string(model.factors.size()) + " factors, " +
                     std::to_string(model.cores.size()) + " cores and " +
                     std::to_string(model.biases.size()) + " biases");
  if (model.rank == 0) throw UsageError("the rank of a FastTucker model must be at least 1");
  auto const expect_size = [](std::string const& array, std::size_t size, std::uint64_t rows,
                              std::uint64_t columns) {
    std::uint64_t expected = 0;
    if (__builtin_mul_overflow(rows, columns, &expected) || size != expected)
      throw UsageError(array + " of a FastTucker model has " + std::to_string(size) + " elements, not " +
                       std::to_string(rows) + " x " + std::to_string(columns));
  };
  for (std::size_t n = 0; n < order; ++n) {
    std::string const mode = std::to_string(n);
    if (model.columns[n] == 0) throw UsageError("factor_" + mode + " of a FastTucker model has no columns");
    expect_size("factor_" + mode, model.factors[n].size(), model.extents[n], model.columns[n]);
    expect_size("core_" + mode, model.cores[n].size(), model.columns[n], model.rank);
    if (!model.biases.empty()) expect_size("bias_" + mode, model.biases[n].size(), model.extents[n], 1);
  }
  if (model.time_mode >= static_cast<int>(order) || model.time_mode < -1 ||
      model.bins.size() != (model.time_mode < 0 ? 0 : order) || model.drifts.size() != model.bins.size())
    throw UsageError("a FastTucker model of " + std::to_string(order) + " modes has the mode of time " +
                     std::to_string(model.time_mode) + ", " + std::to_string(model.bins.size()) +
                     " counts of bins and " + std::to_string(model.drifts.size()) + " drifts");
  for (std::size_t n = 0; n < model.drifts.size(); ++n)
    expect_size("drift_" + std::to_string(n), model.drifts[n].size(), model.extents[n], model.bins[n]);
  if (model.time_mode >= 0 && model.bins[model.time_mode] > 0)
    throw UsageError("the mode of time of a FastTucker model drifts itself");
  constexpr double unbounded = std::numeric_limits<double>::infinity();
  if (!(model.lowest <= model.highest) || model.lowest == unbounded || model.highest == -unbounded)
    throw UsageError("the range of a FastTucker model is empty");
  if (!model.observed.empty() && model.observed.size() != order)
    throw UsageError("a FastTucker model of " + std::to_string(order) + " modes says of " +
                     std::to_string(model.observed.size()) + " modes which rows were observed");
  for (std::size_t n = 0; n < model.observed.size(); ++n)
    if (!model.observed[n].empty())
      expect_size("observed_" + std::to_string(n), model.observed[n].size(), model.extents[n], 1);
  expect_names_fit(model.names, model.extents);
}

void write_fast_tucker(std::filesystem::path const& path, HostFastTucker const& model,
                       bool single_precision) {
  expect_consistent(model);
  std::vector<ElementBlocks> factors;
  for (std::size_t n = 0; n < model.factors.size(); ++n)
    factors.emplace_back(model.extents[n], model.columns[n], model.factors[n]);
  write_fast_tucker(path, model, factors, single_precision);
}

void write_fast_tucker(std::filesystem::path const& path, HostFastTucker const& model,
                       std::vector<ElementBlocks> const& factors, bool single_precision) {
  if (path.extension() != ".npz" && !own_descriptor(path))
    throw UsageError(path.string() + ": the name of a FastTucker model ends with .npz");
  if (model.fit) expect_fit(*model.fit, model.extents.size());
  AtomicFile file(path);
  ZipWriter zip(file, false);
  for (std::size_t n = 0; n < model.extents.size(); ++n) {
    std::string const mode = std::to_string(n);
    add_array(zip, "factor_" + mode, {model.extents[n], model.columns[n]}, factors[n], single_precision);
    add_array(zip, "core_" + mode, {model.columns[n], model.rank}, model.cores[n], single_precision);
    if (!model.biases.empty())
      add_array(zip, "bias_" + mode, {model.extents[n]}, model.biases[n], single_precision);
  }
  add_array(zip, "mean", {1}, {model.mean}, false);
  if (model.time_mode >= 0) add_array(zip, "time_mode", {1}, {static_cast<double>(model.time_mode)}, false);
  for (std::size_t n = 0; n < model.drifts.size(); ++n)
    if (model.bins[n] > 0)
      add_array(zip, "drift_" + std::to_string(n), {model.extents[n], model.bins[n]}, model.drifts[n],
                single_precision);
  // Readers refuse numbers that are not finite, so an unbounded end is written as the largest number.
  auto const finite = [](double x) {
    constexpr double largest = std::numeric_limits<double>::max();
    return std::isinf(x) ? std::copysign(largest, x) : x;
  };
  if (std::isfinite(model.lowest) || std::isfinite(model.highest))
    add_array(zip, "range", {2}, {finite(model.lowest), finite(model.highest)}, false);
  for (std::size_t n = 0; n < model.observed.size(); ++n)
    if (!model.observed[n].empty()) add_booleans(zip, "observed_" + std::to_string(n), model.observed[n]);
  if (model.fit) write_fit(zip, *model.fit);
  add_names(zip, model.names);
  zip.finish();
  file.commit();
}

HostFastTucker read_fast_tucker(std::filesystem::path const& path) {
  RawInput input(path);
  return read_fast_tucker(input);
}

HostFastTucker read_fast_tucker(RawInput& input) {
  NpzReader const archive(input);
  archive.expect(fast_tucker_model);
  HostFastTucker model;
  for (std::size_t n = 0; n < most_model_modes; ++n) {
    auto factor = archive.read("factor_" + std::to_string(n), 2);
    if (!factor) break;
    read_mode(archive, std::move(*factor), model);
  }
  if (model.extents.size() < 2)
    refuse(archive.name(),
           "holds " + std::to_string(model.extents.size()) +
               " of the arrays factor_0, factor_1, ...; a FastTucker model has two modes or more");
  auto const mean = archive.require("mean", 1);
  if (mean.shape[0] != 1)
    refuse(archive.name(), "mean has " + std::to_string(mean.shape[0]) + " numbers, not 1");
  model.mean = mean.elements[0];
  read_drifts(archive, model);
  if (auto const range = archive.read("range", 1)) {
    if (range->shape[0] != 2 || range->elements[0] > range->elements[1])
      refuse(archive.name(), "range is not a lowest and a highest number");
    // A missing end is written as the largest number of its side.
    constexpr double largest = std::numeric_limits<double>::max();
    if (range->elements[0] != -largest) model.lowest = range->elements[0];
    if (range->elements[1] != largest) model.highest = range->elements[1];
  }
  bool any = false;
  for (std::size_t n = 0; n < model.extents.size(); ++n) {
    auto const array = "observed_" + std::to_string(n);
    any = !model.observed.emplace_back(archive.read_booleans(array, model.extents[n])).empty() || any;
  }
  if (!any) model.observed.clear();
  read_fit(archive, model);
  model.names = archive.read_names(model.extents);
  return model;
}

}  // namespace polyad::io
