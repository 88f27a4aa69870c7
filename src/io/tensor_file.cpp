// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/tensor_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "io/dialects/registry.hpp"
#include "io/lists/single_precision.hpp"
#include "io/names/row_names.hpp"
#include "io/readers.hpp"
#include "io/streams/raw_input.hpp"
#include "io/text/tns_reader.hpp"
#include "polyad/core/error.hpp"
#include "tensor/nonzero_inside.hpp"

namespace polyad::io {

TensorFile read_tensor(std::filesystem::path const& path, ReadOptions const& options) {
  RawInput input(path);
  return read_tensor(input, options);
}

TensorFile read_tensor(RawInput& input, ReadOptions const& options) {
  auto const dialect = recognise_dialect(input, options);
  if (!dialect) return read_tns(input, options);
  expect_options_fit(input, *dialect, options);
  auto file = dialect->definition().read(input, options, {});
  expect_base_fits(input, file.report, options);
  return file;
}

void expect_fits_floats(CoordinateList const& tensor) {
  auto const found = std::find_if_not(tensor.values.begin(), tensor.values.end(), fits_float);
  if (found == tensor.values.end()) return;
  std::array<char, 32> value{};
  auto const end = std::to_chars(value.data(), value.data() + value.size(), *found).ptr;
  throw UsageError("nonzero " + std::to_string(found - tensor.values.begin() + 1) + " has the value " +
                   std::string(value.data(), end) +
                   ", which does not fit a float: take double precision (f64)");
}

void write_tensor(std::filesystem::path const& path, CoordinateList const& tensor,
                  WriteOptions const& options) {
  auto const dialect = options.dialect ? options.dialect : dialect_of_ending(path);
  if (!dialect) throw UsageError(path.string() + ": a tensor's name ends with " + endings_text());
  auto const write = dialect->definition().write;
  if (write == nullptr) throw UsageError(std::string(dialect->name()) + " is read, not written");
  if (tensor.nnz() == 0) throw UsageError(path.string() + ": a tensor without nonzeros is not written");
  if (options.single_precision && !dialect->holds_floats())
    throw UsageError("text holds values in full: single precision is for .pten and .npz");
  if (options.single_precision) expect_fits_floats(tensor);
  expect_names_fit({options.index_base, options.labels}, tensor.extents);
  std::visit(
      [&](auto const& indices) {
        std::size_t const order = tensor.order();
        for (std::uint64_t p = 0; p < tensor.nnz(); ++p)
          detail::expect_nonzero_inside(tensor.extents, p, indices.data() + p * order);
      },
      tensor.indices);
  write(path, tensor, options);
}

}  // namespace polyad::io
