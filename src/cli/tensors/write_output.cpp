// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tensors/write_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/run/stopwatch.hpp"
#include "cli/streams/messages.hpp"
#include "cli/tensors/read_input.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/quantity_text.hpp"

namespace polyad::cli {

namespace {

std::vector<std::uint64_t> extents_reached(io::CoordinateList const& tensor) {
  std::vector<std::uint64_t> reached(tensor.extents.size(), 0);
  std::visit(
      [&](auto const& indices) {
        for (std::uint64_t p = 0, k = 0; p < tensor.nnz(); ++p)
          for (auto& extent : reached)
            extent = std::max<std::uint64_t>(extent, std::uint64_t{indices[k++]} + 1);
      },
      tensor.indices);
  return reached;
}

/// Whether any index of the tensor is that of a mode's first row.
bool has_a_first_row(io::CoordinateList const& tensor) {
  return std::visit(
      [](auto const& indices) { return std::find(indices.begin(), indices.end(), 0U) != indices.end(); },
      tensor.indices);
}

/// Says on stderr what a reader of this file will not know or will misunderstand.
void say_what_is_lost(std::filesystem::path const& path, io::CoordinateList const& tensor,
                      io::WriteOptions const& options) {
  io::Dialect const& dialect = *options.dialect;
  if (!dialect.holds_extents())
    if (auto const reached = extents_reached(tensor); reached != tensor.extents)
      say("polyad: {} has no place for the extents {}: {} will be read as {}\n", io::to_string(dialect),
          dims_text(tensor.extents), FileName(path), dims_text(reached));
  bool const has_labels = std::any_of(options.labels.begin(), options.labels.end(),
                                      [](auto const& mode) { return mode.has_rows(); });
  if (has_labels && !dialect.holds_names())
    say("polyad: {} has no place for the names of rows: {} has their numbers alone\n", io::to_string(dialect),
        FileName(path));
  if (options.index_base != 0) return;
  if (dialect == io::Dialect::matrix_market)
    say("polyad: {} always counts from 1: the indices in {} are greater by 1 than those that were read\n",
        io::to_string(dialect), FileName(path));
  else if (dialect.shows_base_by_indices() && !has_a_first_row(tensor))
    say("polyad: {} counts from 0, but has no index 0 that would show this: read it with --index-base 0\n",
        FileName(path));
}

}  // namespace

double write_in_dialect(std::filesystem::path const& path, io::CoordinateList const& tensor,
                        io::WriteOptions const& options) {
  Stopwatch const clock;
  io::write_tensor(path, tensor, options);
  double const seconds = clock.seconds();
  say_what_is_lost(path, tensor, options);
  return seconds;
}

std::string write_output(std::filesystem::path const& path, io::CoordinateList const& tensor,
                         std::string const& to, io::WriteOptions options, Report& report) {
  options.dialect      = to.empty() ? io::dialect_of_ending(path) : io::writable_dialect(to);
  double const seconds = write_in_dialect(path, tensor, options);
  if (!std::holds_alternative<FactsReport>(report.result)) report.result = FactsReport{};
  auto& facts = std::get<FactsReport>(report.result);
  facts.facts.emplace_back("write_s", seconds);
  facts.files.push_back(path.string());
  return fmt::format("wrote    {} ({}) in {}\n", FileName(path), io::to_string(*options.dialect),
                     duration_text(seconds));
}

void expect_finite_product(std::span<double const> elements) {
  if (!std::ranges::all_of(elements, [](double x) { return std::isfinite(x); }))
    throw NumericalError("the product holds numbers that are not finite");
}

void write_product(std::filesystem::path const& path, std::string const& name, io::HostArray const& product,
                   bool floats, io::RowNames const& names, int mode) {
  expect_finite_product(product.elements);
  io::RowNames of_product{names.index_base, {}};
  if (!names.labels.empty()) of_product.labels = {names.labels[mode], {}};
  io::write_arrays_npz(path, {{name, product}}, floats, {}, of_product);
}

}  // namespace polyad::cli
