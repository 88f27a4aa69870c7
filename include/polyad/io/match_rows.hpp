// SPDX-License-Identifier: BSD-3-Clause
// One numbering for two tables: the rows of a second table, such as a test set, get the numbers that a first
// one or a model gives them. Rows are matched by their labels. In modes without labels a number is a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polyad/io/labels.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

class TextTable;

/// Finds the rows of a mode by their labels.
class LabelIndex {
public:
  /// \throws UsageError if two rows have the same label; MemoryError, also for more than 2^31 labels
  explicit LabelIndex(ModeLabels const& labels);
  ~LabelIndex();
  LabelIndex(LabelIndex&& other) noexcept;
  LabelIndex& operator=(LabelIndex&& other) noexcept;

  [[nodiscard]] std::optional<std::uint64_t> find(std::string_view label) const;

private:
  std::unique_ptr<TextTable> m_rows;  // numbers labels as the rows are numbered
};

/// The mode of this name; nothing if no mode has it. \throws UsageError if several modes have it
[[nodiscard]] std::optional<int> find_mode(Labels const& labels, std::string_view name);

/// Gives the rows of `file` the numbers that they have in a tensor or model of these names and extents.
/// Rows that it lacks follow its own, in the order in which they are met. If both have a name for each
/// mode, the modes are put into its order. If only one side has labels, and all of them are integers, the
/// numbers of the other side count as labels, or the labels as its numbers.
/// \param name  the name of the file, for messages
/// \returns     for each mode the labels that were not known, in the order of their rows
/// \throws UsageError for another number of modes, other names of modes, or labels on one side only that
///         are not all integers; InputError for a label that cannot be a number of a row
[[nodiscard]] Labels match_rows(TensorFile& file, RowNames const& names,
                                std::vector<std::uint64_t> const& extents, std::string const& name);

/// The names of a tensor or model that gets the rows which match_rows did not know, such as new users' rows
/// of fold_in. \param unknown  what match_rows returned for these names
[[nodiscard]] RowNames with_new_rows(RowNames names, Labels const& unknown);

}  // namespace polyad::io
