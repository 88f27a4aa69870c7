// SPDX-License-Identifier: BSD-3-Clause
// The binary files of two other codes. They have no checksum, so sizes, ranges and values are checked.
#pragma once

#include <string_view>

#include "io/streams/raw_input.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

/// Whether a file that begins with `start` (RawInput::peek) is a binary file of GenTen, or of SPLATT.
[[nodiscard]] bool begins_genten_binary(std::string_view start);
[[nodiscard]] bool begins_splatt_binary(std::string_view start);

/// GenTen's sparse tensors: "sptn", u32 N, u32 bits of a value, u64 extents, u64 bits of an index of each
/// mode, u64 nnz; then nonzero after nonzero, indices from 0, and the value. \throws InputError
[[nodiscard]] TensorFile read_genten_binary(RawInput& file, ReadOptions const& options);

/// SPLATT's: i32 0, u64 bytes of an index, u64 bytes of a value; then as indices N, the extents, nnz and,
/// mode after mode, the nonzeros' indices from 0; then the values. \throws InputError
[[nodiscard]] TensorFile read_splatt_binary(RawInput& file, ReadOptions const& options);

}  // namespace polyad::io
