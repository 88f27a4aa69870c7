// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/model_file.hpp"

#include <string>

#include "io/ktensor_blocks.hpp"
#include "io/ktensor_text.hpp"
#include "io/npz.hpp"
#include "io/raw_input.hpp"
#include "io/readers.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/input_file.hpp"

namespace polyad::io {

void expect_consistent(HostKtensor const& model) {
  if (model.extents.empty() || model.weights.empty())
    throw UsageError("a model needs at least one mode and one component");
  if (model.factors.size() != model.extents.size())
    throw UsageError("a model of " + std::to_string(model.extents.size()) + " modes has " +
                     std::to_string(model.factors.size()) + " factor matrices");
  for (std::size_t n = 0; n < model.factors.size(); ++n)
    if (model.factors[n].size() % model.rank() != 0 ||
        model.factors[n].size() / model.rank() != model.extents[n])
      throw UsageError("factor " + std::to_string(n) + " of a model has " +
                       std::to_string(model.factors[n].size()) + " elements, not " +
                       std::to_string(model.extents[n]) + " x " + std::to_string(model.rank()));
}

ModelKind model_kind(std::filesystem::path const& path) {
  auto const ending = path.extension();
  if (ending == ".ktns" || ending == ".txt") return ModelKind::text;
  if (ending == ".npz") return ModelKind::npz;
  if (own_descriptor(path)) return ModelKind::text;
  throw UsageError(path.string() + ": a model's name ends with .ktns, .txt or .npz");
}

void write_model(std::filesystem::path const& path, KtensorBlocks const& model, bool single_precision) {
  switch (model_kind(path)) {
    case ModelKind::text:
      return write_ktensor_text(path, model);
    case ModelKind::npz:
      return write_npz(path, model, {.single_precision = single_precision});
  }
}

void write_model(std::filesystem::path const& path, HostKtensor const& model, bool single_precision) {
  write_model(path, blocks_of(model), single_precision);
}

bool is_model_file(std::filesystem::path const& path) {
  return InputFile(path).kind() == InputFile::Kind::cp_model;
}

bool is_tucker_file(std::filesystem::path const& path) {
  return InputFile(path).kind() == InputFile::Kind::tucker_model;
}

HostTucker read_tucker(std::filesystem::path const& path) {
  RawInput input(path);
  return read_tucker(input);
}

HostTucker read_tucker(RawInput& input) {
  auto const factors = read_factors_npz(input);
  auto const core    = read_array_npz(input, "core", factors.size());
  auto const damaged = [&](std::string const& what) { return InputError(input.name(), 0, 0, what); };
  HostTucker model;
  model.ranks = core.shape;
  model.core  = core.elements;
  for (auto const& [n, factor] : factors) {
    std::size_t const next = model.factors.size();
    if (static_cast<std::size_t>(n) != next)
      throw damaged("holds no array 'factor_" + std::to_string(next) + "'");
    if (factor.shape[1] != core.shape[next])
      throw damaged("'factor_" + std::to_string(n) + "' has " + std::to_string(factor.shape[1]) +
                    " columns, but 'core' is " + std::to_string(core.shape[next]) + " long in that mode");
    model.extents.push_back(factor.shape[0]);
    model.factors.push_back(factor.elements);
  }
  return model;
}

HostKtensor read_model(std::filesystem::path const& path) {
  RawInput input(path);
  return read_model(input);
}

HostKtensor read_model(RawInput& input) {
  return input.peek().starts_with("PK") ? read_npz(input) : read_ktensor_text(input);
}

}  // namespace polyad::io
