// SPDX-License-Identifier: BSD-3-Clause
// Reads entries that refer to the rows of a model, or of the tensor that it was trained on, and gives the
// rows of tensors that are multiplied by its factors the numbers of the model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/options/options.hpp"
#include "cli/report/report.hpp"
#include "polyad/io/labels.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

struct EntriesForModel {
  io::TensorFile file;  // its rows are the model's, followed by those that the model lacks
  InputReport facts;    // what the file is, before its rows were matched
  /// What the rows are called, those that the model lacks included.
  io::RowNames names;
  std::uint64_t unknown = 0;      // labels that the model lacks
  bool lacks_values     = false;  // the numbers read as values are row numbers
};

/// Reads the file; texts count from `base`, unless their dialect says otherwise. If it has one mode
/// less than the model, the numbers in place of values are rows of the last mode; the values are then 0.
/// \param names, extents  those of the model
/// \throws InputError for a file that is damaged, or has another number of modes; UsageError for rows that
///         are named differently from the model's
[[nodiscard]] EntriesForModel read_for_model(TensorInput input, int base, io::RowNames const& names,
                                             std::vector<std::uint64_t> const& extents,
                                             CommonOptions const& common, bool may_lack_values = false);

/// The same on several ranks, each of which gets a part of the entries. If rows have labels, rank 0 has all
/// of it, since it alone knows those of the file. All ranks call it, in a Session; one rank reads the whole.
/// \param names  the same on all ranks, except for rows that only rank 0 knows
[[nodiscard]] EntriesForModel read_part_for_model(TensorInput input, int base, io::RowNames const& names,
                                                  std::vector<std::uint64_t> const& extents,
                                                  CommonOptions const& common);

/// Renumbers the rows of a file that was read as the rows of the model, as read_for_model does.
/// \param facts  what the file is; its path names it in messages
[[nodiscard]] EntriesForModel match_to_model(io::TensorFile&& file, InputReport&& facts, int base,
                                             io::RowNames const& names,
                                             std::vector<std::uint64_t> const& extents,
                                             bool may_lack_values = false);

/// Says on stderr which labels the model lacks, if there are any.
void warn_of_unknown_labels(EntriesForModel const& entries, std::vector<std::uint64_t> const& extents);

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
