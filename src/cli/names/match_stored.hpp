// SPDX-License-Identifier: BSD-3-Clause
// A tensor that is multiplied by a model's factors: its rows get the model's numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "polyad/io/labels.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

/// Gives the tensor's rows the model's numbers, if one of the two has labels.
/// \param own_mode  a mode whose rows are the tensor's own, such as new ones; -1: none
/// \param tensor, model  the names of the files, for messages
/// \return what the rows of the tensor are called then
/// \throws InputError for a row that the model does not have; UsageError for two numberings that cannot be
///         matched
[[nodiscard]] io::RowNames match_stored(io::TensorFile& file, io::RowNames const& names,
                                        std::vector<std::uint64_t> extents, int own_mode,
                                        std::string const& tensor, std::string const& model);

/// \param model  its file
/// \throws InputError unless the extents of the model are the tensor's
void expect_extents(std::filesystem::path const& model, std::vector<std::uint64_t> const& of_model,
                    std::vector<std::uint64_t> const& of_tensor);

/// The model's names with the tensor's own rows in a mode. `extents` gets their number. The tensor itself
/// stays.
[[nodiscard]] io::RowNames with_own_rows(io::TensorFile const& file, io::RowNames names,
                                         std::vector<std::uint64_t>& extents, int own_mode);

}  // namespace polyad::cli
