// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/model_file.hpp"

#include <string>

#include "io/ktensor_text.hpp"
#include "io/npz.hpp"
#include "io/raw_input.hpp"
#include "io/readers.hpp"
#include "polyad/core/error.hpp"
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

void write_model(std::filesystem::path const& path, HostKtensor const& model, bool single_precision) {
  switch (model_kind(path)) {
    case ModelKind::text:
      return write_ktensor_text(path, model);
    case ModelKind::npz:
      return write_npz(path, model, {.single_precision = single_precision});
  }
}

bool is_model_file(std::filesystem::path const& path) {
  return InputFile(path).kind() == InputFile::Kind::cp_model;
}

HostKtensor read_model(std::filesystem::path const& path) {
  RawInput input(path);
  return read_model(input);
}

HostKtensor read_model(RawInput& input) {
  return input.peek().starts_with("PK") ? read_npz(input) : read_ktensor_text(input);
}

}  // namespace polyad::io
