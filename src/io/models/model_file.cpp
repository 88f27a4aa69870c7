// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/model_file.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "io/archive/npz.hpp"
#include "io/archive/npz_arrays.hpp"
#include "io/archive/npz_names.hpp"
#include "io/models/ktensor_blocks.hpp"
#include "io/models/ktensor_text.hpp"
#include "io/readers.hpp"
#include "io/streams/raw_input.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/input_file.hpp"

namespace polyad::io {

namespace {

/// \throws UsageError unless there are no lists, or one for each mode
void expect_lists(std::vector<StoredRows> const& rows, std::vector<std::uint64_t> const& extents) {
  if (rows.empty()) return;
  if (rows.size() != extents.size())
    throw UsageError(std::to_string(rows.size()) + " lists of rows for " + std::to_string(extents.size()) +
                     " modes");
  for (std::size_t n = 0; n < rows.size(); ++n)
    if (rows[n].extent() != extents[n])
      throw UsageError("the stored rows of mode " + std::to_string(n) + " are of " +
                       std::to_string(rows[n].extent()) + " rows, not " + std::to_string(extents[n]));
}

}  // namespace

void expect_consistent(HostKtensor const& model) {
  if (model.extents.empty() || model.weights.empty())
    throw UsageError("a model needs at least one mode and one component");
  if (model.factors.size() != model.extents.size())
    throw UsageError("a model of " + std::to_string(model.extents.size()) + " modes has " +
                     std::to_string(model.factors.size()) + " factor matrices");
  expect_lists(model.rows, model.extents);
  for (std::size_t n = 0; n < model.factors.size(); ++n) {
    std::uint64_t const rows = stored_rows(model.rows, n, model.extents[n]);
    if (model.factors[n].size() % model.rank() != 0 || model.factors[n].size() / model.rank() != rows)
      throw UsageError("factor " + std::to_string(n) + " of a model has " +
                       std::to_string(model.factors[n].size()) + " elements, not " + std::to_string(rows) +
                       " x " + std::to_string(model.rank()));
  }
  expect_names_fit(model.names, model.extents);
  if (!model.constraints.empty() && model.constraints.size() != model.extents.size())
    throw UsageError("a model of " + std::to_string(model.extents.size()) + " modes has constraints of " +
                     std::to_string(model.constraints.size()));
}

HostKtensor with_rows(HostKtensor model, std::vector<StoredRows> const& rows) {
  expect_consistent(model);
  expect_lists(rows, model.extents);
  std::size_t const rank = model.rank();
  for (std::size_t n = 0; n < model.factors.size(); ++n) {
    StoredRows const all(model.extents[n]);
    StoredRows const& from = model.rows.empty() ? all : model.rows[n];
    StoredRows const& to   = rows.empty() ? all : rows[n];
    if (from == to) continue;
    std::uint64_t elements = 0;
    if (__builtin_mul_overflow(to.size(), rank, &elements))
      throw MemoryError("factor " + std::to_string(n), std::numeric_limits<std::uint64_t>::max());
    std::vector<double> factor(elements, 0.0);
    for (std::uint64_t i = 0; i < to.size(); ++i) {
      std::uint64_t const position = from.position(to.number(i));
      if (position != StoredRows::none)
        std::copy_n(model.factors[n].data() + position * rank, rank, factor.data() + i * rank);
    }
    model.factors[n] = std::move(factor);
  }
  model.rows = rows;
  return model;
}

void keep_stored(CoordinateList& X, std::vector<StoredRows> const& rows, int mode) {
  expect_lists(rows, X.extents);
  if (rows.empty()) return;
  std::size_t const order = X.extents.size();
  std::visit(
      [&](auto& indices) {
        using Index      = typename std::remove_cvref_t<decltype(indices)>::value_type;
        std::size_t kept = 0;
        for (std::size_t p = 0; p < X.nnz(); ++p) {
          bool is_stored = true;
          for (std::size_t n = 0; n < order && is_stored; ++n) {
            std::uint64_t index = indices[p * order + n];
            if (static_cast<int>(n) != mode) index = rows[n].position(index);
            is_stored                 = index != StoredRows::none;
            indices[kept * order + n] = static_cast<Index>(index);
          }
          if (is_stored) X.values[kept++] = X.values[p];
        }
        indices.resize(kept * order);
        X.values.resize(kept);
      },
      X.indices);
  for (std::size_t n = 0; n < order; ++n)
    if (static_cast<int>(n) != mode) X.extents[n] = rows[n].size();
}

ModelKind model_kind(std::filesystem::path const& path) {
  auto const ending = path.extension();
  if (ending == ".ktns" || ending == ".txt") return ModelKind::text;
  if (ending == ".npz") return ModelKind::npz;
  if (own_descriptor(path)) return ModelKind::text;
  throw UsageError(path.string() + ": a model's name ends with .ktns, .txt or .npz");
}

void write_model_blocks(std::filesystem::path const& path, KtensorBlocks const& model,
                        bool single_precision) {
  switch (model_kind(path)) {
    case ModelKind::text:
      return write_ktensor_text_blocks(path, model);
    case ModelKind::npz:
      return write_npz_blocks(path, model, {.single_precision = single_precision});
  }
}

void write_model(std::filesystem::path const& path, HostKtensor const& model, bool single_precision) {
  write_model_blocks(path, blocks_of(model), single_precision);
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
  NpzReader const archive(input);
  model.rows  = archive.read_rows(model.extents);
  model.names = archive.read_names(model.extents);
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
