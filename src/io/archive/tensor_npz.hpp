// SPDX-License-Identifier: BSD-3-Clause
// Sparse tensors as .npz with the arrays that sparse.save_npz of the Python package sparse (PyData) writes
// for a COO. "format" is "coo" and "fill_value" is 0. "coords" of shape (N, nnz) counts from 0, "data" is of
// shape (nnz,) and "shape" of shape (N,). Other files of that function and of scipy.sparse.save_npz are read
// too.
#pragma once

#include <filesystem>

#include "io/streams/raw_input.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

/// Stored without compression; with coordinates of 32 bits if they suffice. Names are added as in
/// io/archive/npz_names.hpp. \throws WriteError; the previous file then stays
void write_tensor_npz(std::filesystem::path const& path, CoordinateList const& tensor,
                      bool single_precision = false, RowNames const& names = {});

/// Reads coordinates of any integer type and values of any real type, stored or (with zlib) deflated.
/// Formats: coo, with "coords", or with "row" and "col"; csr, csc and gcxs, with "indptr" and "indices".
/// "format" (coo) and "fill_value" (0) may be missing. \throws InputError
[[nodiscard]] TensorFile read_tensor_npz(RawInput& input, ReadOptions const& options);
[[nodiscard]] inline TensorFile read_tensor_npz(std::filesystem::path const& path,
                                                ReadOptions const& options = {}) {
  RawInput input(path);
  return read_tensor_npz(input, options);
}

}  // namespace polyad::io
