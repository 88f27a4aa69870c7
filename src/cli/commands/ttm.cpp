// SPDX-License-Identifier: BSD-3-Clause
// polyad ttm and ttmc: a tensor times one matrix, and times the matrices of all modes but one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/drivers/products.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/report/file_name_format.hpp"
#include "cli/run/session.hpp"
#include "cli/streams/messages.hpp"
#include "cli/tensors/read_input.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/input_file.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

namespace {

/// Reads the tensor and settles the mode.
template <class CommandOptions>
io::CoordinateList read_tensor(CommandOptions& options, Report& report) {
  expect_usable_device();
  io::expect_writable(options.output);
  auto tensor  = read_input(options.tensor, options.index_base, options.common, report);
  options.mode = mode_of_text(options.mode_text, report.input->labels, tensor.order(), "--mode");
  if (tensor.order() < 2) throw InputError(options.tensor.string(), 0, 0, "has one mode only");
  return tensor;
}

void expect_rows(std::filesystem::path const& file, int mode, io::HostArray const& matrix,
                 std::uint64_t rows) {
  if (matrix.shape[0] != rows)
    throw InputError(file.string(), 0, 0,
                     fmt::format("the matrix of mode {} has {} rows, not {}", mode, matrix.shape[0], rows));
  if (matrix.shape[1] == 0)
    throw InputError(file.string(), 0, 0, fmt::format("the matrix of mode {} has no columns", mode));
}

/// If the matrices are those of a model with lists of rows, keeps the nonzeros in these rows, with their
/// positions in the lists.
void look_up_rows(io::InputFile& file, std::map<int, io::HostArray> const& matrices,
                  TtmcOptions const& options, io::CoordinateList& tensor) {
  // A model has all its factors; a gap is an error that the caller reports.
  if (matrices.size() != static_cast<std::size_t>(tensor.order())) return;
  std::vector<std::uint64_t> extents;
  for (auto const& [n, matrix] : matrices) extents.push_back(matrix.shape[0]);
  auto const rows = file.read_rows_npz(extents);
  if (rows.empty()) return;
  if (extents != tensor.extents)
    throw InputError(options.matrices.string(), 0, 0,
                     fmt::format("holds a model of {}, but the tensor is {}", dims_text(extents),
                                 dims_text(tensor.extents)));
  io::keep_stored(tensor, rows, options.mode);
}

template <class Values>
void expect_finite(Values const& product) {
  if (!std::all_of(product.begin(), product.end(), [](double x) { return std::isfinite(x); }))
    throw NumericalError("the product holds numbers that are not finite");
}

void summarise(Report const& report, std::string const& result, FileName const& file) {
  show("tensor   {}: {}\n", report.input->path, tensor_text(*report.input));
  show("product  {}\n", result);
  show("wrote    {}\n", file);
}

}  // namespace

int run(TtmOptions const& given, Report& report) {
  TtmOptions options = given;
  auto const matrix  = io::read_array_npz(options.matrix, "matrix", 2);
  auto tensor        = read_tensor(options, report);
  expect_rows(options.matrix, options.mode, matrix, tensor.extents[static_cast<std::size_t>(options.mode)]);
  Session const session(options.common.threads, options.common.verbose);
  report.backend     = session.backend();
  auto const product = multiply(options, std::move(tensor), matrix, report);
  expect_finite(product.values);
  auto const dialect = io::dialect_of_ending(options.output);  // text holds values in full
  bool const floats  = dialect && dialect->holds_floats();
  io::write_tensor(
      options.output, product,
      {.single_precision = floats && options.precision == "f32", .threads = options.common.threads});
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
  auto tensor         = read_tensor(options, report);
  look_up_rows(file, matrices, options, tensor);
  for (int n = 0; n < tensor.order(); ++n) {
    if (n == options.mode) continue;
    auto const matrix = matrices.find(n);
    if (matrix == matrices.end())
      throw InputError(options.matrices.string(), 0, 0,
                       fmt::format("holds no array 'factor_{}', of mode {}", n, n));
    expect_rows(options.matrices, n, matrix->second, tensor.extents[static_cast<std::size_t>(n)]);
  }
  Session const session(options.common.threads, options.common.verbose);
  report.backend     = session.backend();
  auto const product = multiply(options, std::move(tensor), matrices, report);
  expect_finite(product.elements);
  io::write_arrays_npz(options.output, {{"matrix", product}}, options.precision == "f32");
  report.result =
      FactsReport{{{"rows", product.shape[0]}, {"columns", product.shape[1]}}, {options.output.string()}};
  summarise(report, dims_text(product.shape), options.output.string());
  return 0;
}

}  // namespace polyad::cli
