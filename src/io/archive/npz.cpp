// SPDX-License-Identifier: BSD-3-Clause
#include "io/archive/npz.hpp"

#include <string>
#include <utility>

#include "io/archive/npz_arrays.hpp"
#include "io/archive/npz_names.hpp"
#include "io/archive/zip.hpp"
#include "io/known_file.hpp"
#include "io/models/constraint_numbers.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

void write_npz_blocks(std::filesystem::path const& path, KtensorBlocks const& model,
                      NpzOptions const& options) {
  AtomicFile file(path);
  ZipWriter zip(file, options.force_zip64);
  add_array(zip, "weights", {model.weights.size()}, model.weights, options.single_precision);
  for (std::size_t n = 0; n < model.factors.size(); ++n) {
    auto const& factor = model.factors[n];
    add_array(zip, "factor_" + std::to_string(n), {factor.rows(), factor.columns()}, factor,
              options.single_precision);
  }
  add_rows(zip, model.rows);
  add_names(zip, model.names);
  if (!model.constraints.empty())
    add_array(zip, "constraints", {model.constraints.size(), numbers_of_constraints},
              constraint_numbers(model.constraints), false);
  zip.finish();
  file.commit();
}

void write_npz(std::filesystem::path const& path, HostKtensor const& model, NpzOptions const& options) {
  write_npz_blocks(path, blocks_of(model), options);
}

HostKtensor read_npz(RawInput& input) {
  NpzReader const archive(input);
  std::string const& name = archive.name();
  archive.expect(cp_model);
  HostKtensor model;
  auto weights = archive.require("weights", 1);
  if (weights.elements.empty()) throw InputError(name, 0, 0, "holds no weight at all: the rank is 0");
  model.weights = std::move(weights.elements);
  for (int n = 0; n < 16; ++n) {
    auto factor = archive.read("factor_" + std::to_string(n), 2);
    if (!factor) break;
    if (factor->shape[1] != model.rank())
      throw InputError(name, 0, 0,
                       "factor_" + std::to_string(n) + " has " + std::to_string(factor->shape[1]) +
                           " columns, but there are " + std::to_string(model.rank()) + " weights");
    model.extents.push_back(factor->shape[0]);
    model.factors.push_back(std::move(factor->elements));
  }
  if (model.factors.empty()) throw InputError(name, 0, 0, "holds no array 'factor_0'");
  model.rows  = archive.read_rows(model.extents);
  model.names = archive.read_names(model.extents);
  if (auto const numbers = archive.read("constraints", 2)) {
    if (numbers->shape[0] != model.extents.size() || numbers->shape[1] != numbers_of_constraints)
      throw InputError(name, 0, 0, "'constraints' does not have four numbers for each mode");
    auto found = constraints_of(numbers->elements);
    if (!found) throw InputError(name, 0, 0, "'constraints' has an empty interval or a penalty below 0");
    model.constraints = std::move(*found);
  }
  return model;
}

}  // namespace polyad::io
