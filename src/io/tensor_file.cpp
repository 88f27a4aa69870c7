// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/tensor_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "io/archive/npz_names.hpp"
#include "io/archive/tensor_npz.hpp"
#include "io/binary_kind.hpp"
#include "io/delimited/delimited_reader.hpp"
#include "io/foreign/foreign_binary.hpp"
#include "io/lists/single_precision.hpp"
#include "io/pten/pten.hpp"
#include "io/pten/pten_format.hpp"
#include "io/readers.hpp"
#include "io/streams/raw_input.hpp"
#include "io/text/tns_reader.hpp"
#include "io/text/tns_writer.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"
#include "tensor/nonzero_inside.hpp"

namespace polyad::io {

std::optional<Dialect> recognise_binary(RawInput const& input) {
  std::string_view const start = input.peek();
  if (start.starts_with(pten::magic)) return Dialect::pten;
  if (start.starts_with("PK")) return Dialect::npz;
  return recognise_foreign_binary(start);
}

TensorFile read_tensor(std::filesystem::path const& path, ReadOptions const& options) {
  RawInput input(path);
  return read_tensor(input, options);
}

TensorFile read_tensor(RawInput& input, ReadOptions const& options) {
  auto const kind = recognise_binary(input);
  if (!kind) {
    if (auto const layout = find_table(input, options)) return read_delimited(input, options, *layout);
    return read_tns(input, options);
  }
  if (options.table.is_set())
    throw UsageError(input.name() + ": " + std::string(to_string(*kind)) +
                     " has no columns to choose; leave the options of delimited text out");
  if (options.index_base != -1 && options.index_base != 0)
    throw UsageError(input.name() + ": " + std::string(to_string(*kind)) +
                     " counts from 0; leave the index base out");
  switch (*kind) {
    case Dialect::pten:
      return read_pten(input, options);
    case Dialect::npz:
      return read_tensor_npz(input, options);
    case Dialect::genten_binary:
      return read_genten_binary(input, options);
    default:
      return read_splatt_binary(input, options);
  }
}

std::optional<Dialect> dialect_of_ending(std::filesystem::path const& path) {
  auto const ending = path.extension();
  if (ending == ".tns" || ending == ".txt") return Dialect::frostt;
  if (ending == ".mtx") return Dialect::matrix_market;
  if (ending == ".pten") return Dialect::pten;
  if (ending == ".npz") return Dialect::npz;
  if (own_descriptor(path)) return Dialect::frostt;
  return std::nullopt;
}

std::optional<Dialect> writable_dialect(std::string_view name) {
  for (auto const dialect : {Dialect::frostt, Dialect::extended_frostt, Dialect::tensor_toolbox,
                             Dialect::dims_header, Dialect::matrix_market, Dialect::pten, Dialect::npz})
    if (to_string(dialect) == name) return dialect;
  return std::nullopt;
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
  if (!dialect)
    throw UsageError(path.string() + ": a tensor's name ends with .tns, .txt, .mtx, .pten or .npz");
  if (tensor.nnz() == 0) throw UsageError(path.string() + ": a tensor without nonzeros is not written");
  if (options.single_precision) expect_fits_floats(tensor);
  if (options.index_base < 0)
    throw UsageError("the index base is 0 or 1, not " + std::to_string(options.index_base));
  expect_names_fit({options.index_base, options.labels}, tensor.extents);
  std::visit(
      [&](auto const& indices) {
        auto const order = static_cast<std::size_t>(tensor.order());
        for (std::uint64_t p = 0; p < tensor.nnz(); ++p)
          detail::expect_nonzero_inside(tensor.extents, p, indices.data() + p * order);
      },
      tensor.indices);
  switch (*dialect) {
    case Dialect::pten:
      return write_pten(path, tensor,
                        {.single_precision = options.single_precision,
                         .packed           = options.packed,
                         .threads          = options.threads});
    case Dialect::npz:
      return write_tensor_npz(path, tensor, options.single_precision, options.labels);
    case Dialect::genten_binary:
    case Dialect::splatt_binary:
    case Dialect::delimited:
      throw UsageError(std::string(to_string(*dialect)) + " is read, not written");
    case Dialect::matrix_market:
      if (tensor.order() != 2)
        throw UsageError("matrix-market holds order 2, not " + std::to_string(tensor.order()));
      [[fallthrough]];
    default:
      if (options.single_precision)
        throw UsageError("text holds values in full: single precision is for .pten and .npz");
      write_tns(path, tensor, *dialect, options.index_base, options.threads);
  }
}

}  // namespace polyad::io
