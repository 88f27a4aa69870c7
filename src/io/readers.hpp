// SPDX-License-Identifier: BSD-3-Clause
// The public readers that take a path, for a file that is open.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/streams/raw_input.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/fast_tucker_file.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/tensor_file.hpp"
#include "polyad/tensor/stored_rows.hpp"

namespace polyad::io {

[[nodiscard]] TensorFile read_tensor(RawInput& input, ReadOptions const& options);
[[nodiscard]] TensorFile read_tensor_part(RawInput& input, ReadOptions const& options, FilePart const& part);
[[nodiscard]] HostKtensor read_model(RawInput& input);
[[nodiscard]] HostTucker read_tucker(RawInput& input);
[[nodiscard]] HostFastTucker read_fast_tucker(RawInput& input);
[[nodiscard]] HostArray read_array_npz(RawInput& input, std::string const& name, std::size_t order);
[[nodiscard]] std::map<int, HostArray> read_factors_npz(RawInput& input);
[[nodiscard]] std::vector<StoredRows> read_rows_npz(RawInput& input, std::vector<std::uint64_t>& extents);
[[nodiscard]] RowNames read_names_npz(RawInput& input, std::vector<std::uint64_t> const& extents);

}  // namespace polyad::io
