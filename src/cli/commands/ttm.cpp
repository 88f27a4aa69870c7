// SPDX-License-Identifier: BSD-3-Clause
// polyad ttm and ttmc: a tensor times one matrix, and times the matrices of all modes but one.
#include <map>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/names/read_for_model.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/tensors/write_output.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/input_file.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

namespace {

/// Reads the tensor and settles the mode.
/// \param names  the names of the matrices' rows, if they are a model's; empty: they have none
template <class CommandOptions>
io::TensorFile read_tensor(CommandOptions& options, Report& report, io::RowNames const& names = {}) {
  auto input               = input_to_sum(options);
  input.index_base_of_text = names.index_base;
  auto file                = read_input_file(input, options.common, report);
  auto const& labels       = names.labels.empty() ? file.labels : names.labels;
  options.mode             = mode_of_text(options.mode_text, labels, file.tensor.order(), "--mode");
  if (file.tensor.order() < 2) refuse_file(options.tensor, "has one mode only");
  return file;
}

void expect_rows(std::filesystem::path const& file, int mode, io::HostArray const& matrix,
                 std::uint64_t rows) {
  if (matrix.shape[0] != rows)
    refuse_file(file, "the matrix of mode {} has {} rows, not {}", mode, matrix.shape[0], rows);
  if (matrix.shape[1] == 0) refuse_file(file, "the matrix of mode {} has no columns", mode);
}

/// What else the archive of the matrices says, if they are those of a model: extents, rows and names.
io::HostKtensor facts_of_model(io::InputFile& file, std::map<int, io::HostArray> const& matrices) {
  io::HostKtensor facts;
  for (auto const& [n, matrix] : matrices) facts.extents.push_back(matrix.shape[0]);
  // A model has all its factors; a gap is an error that the caller reports.
  if (matrices.empty() || matrices.rbegin()->first + 1 != std::ssize(matrices)) return facts;
  facts.rows  = file.read_rows_npz(facts.extents);
  facts.names = file.read_names_npz(facts.extents);
  return facts;
}

/// If the model has lists of rows, keeps the nonzeros in these rows, with their positions in the lists.
void look_up_rows(io::HostKtensor const& model, TtmcOptions const& options, io::CoordinateList& tensor) {
  if (model.rows.empty() || std::ssize(model.extents) != tensor.order()) return;
  expect_extents(options.matrices, model.extents, tensor.extents);
  io::keep_stored(tensor, model.rows, options.mode);
}

/// Writes the product of ttm with the names of its rows. The columns of the matrix, which have taken the
/// place of the rows of a mode, have none.
void write_product(TtmOptions const& options, io::CoordinateList const& product, io::Labels labels,
                   InputReport const& input) {
  if (!labels.empty()) labels[options.mode] = {};
  auto const dialect = io::dialect_of_ending(options.output);
  bool const floats  = dialect && dialect->holds_floats();  // text holds values in full
  write_in_dialect(options.output, product,
                   {.dialect          = dialect,
                    .single_precision = floats && options.precision == "f32",
                    .threads          = options.common.threads,
                    .index_base       = input.base_to_keep(),
                    .labels           = std::move(labels)});
}

void summarise(Report const& report, std::string const& result, FileName const& file) {
  show("tensor   {}: {}\n", report.input->path, tensor_text(*report.input));
  show("product  {}\n", result);
  show("wrote    {}\n", file);
}

}  // namespace

int run(TtmOptions const& given, Report& report) {
  TtmOptions options     = given;
  auto const matrix      = io::read_array_npz(options.matrix, "matrix", 2);
  auto file              = read_tensor(options, report);
  std::size_t const mode = options.mode;
  expect_rows(options.matrix, options.mode, matrix, file.tensor.extents[mode]);
  Session const session(options.common, report);
  auto const product = multiply(options, std::move(file.tensor), matrix, report);
  expect_finite_product(product.values);
  write_product(options, product, std::move(file.labels), *report.input);
  report.result = FactsReport{{{"dims", dims_text(product.extents)}, {"values", product.nnz()}},
                              {options.output.string()}};
  summarise(report, fmt::format("{}, {} values", dims_text(product.extents), product.nnz()),
            options.output.string());
  return 0;
}

int run(TtmcOptions const& given, Report& report) {
  TtmcOptions options = given;
  io::InputFile file(options.matrices);
  auto const matrices = file.read_factors_npz();
  auto const model    = facts_of_model(file, matrices);
  auto input          = read_tensor(options, report, model.names);
  // Rows of matrices that say nothing of them are those of the tensor, in its order.
  bool const has_names = !model.names.labels.empty() || model.names.index_base >= 0;
  auto const names = has_names ? match_stored(input, model.names, model.extents, -1, options.tensor.string(),
                                              options.matrices.string())
                               : io::RowNames{report.input->base_to_keep(), input.labels};
  auto tensor      = std::move(input.tensor);
  look_up_rows(model, options, tensor);
  for (int n = 0; n < tensor.order(); ++n) {
    if (n == options.mode) continue;
    auto const matrix = matrices.find(n);
    if (matrix == matrices.end())
      refuse_file(options.matrices, "holds no array 'factor_{}', of mode {}", n, n);
    expect_rows(options.matrices, n, matrix->second, tensor.extents[n]);
  }
  Session const session(options.common, report);
  auto const product = multiply(options, std::move(tensor), matrices, report);
  write_product(options.output, "matrix", product, options.precision == "f32", names, options.mode);
  report.result =
      FactsReport{{{"rows", product.shape[0]}, {"columns", product.shape[1]}}, {options.output.string()}};
  summarise(report, dims_text(product.shape), options.output.string());
  return 0;
}

}  // namespace polyad::cli
