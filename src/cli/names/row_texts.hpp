// SPDX-License-Identifier: BSD-3-Clause
// What the rows and modes of a model are called on the command line, in files and in output: by their labels
// or, in modes without labels, by numbers that count as the file counted from which the model was made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/names/words.hpp"
#include "polyad/io/labels.hpp"
#include "polyad/io/match_rows.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

/// The index base of a model's rows: --index-base or, if that is -1, what the model's file says; -1: unknown.
[[nodiscard]] int known_base(io::RowNames const& names, int index_base);

/// The same, but for an unknown one.
/// \throws UsageError if neither is known and a mode has no labels
[[nodiscard]] int base_of_model(io::RowNames const& names, int index_base,
                                std::filesystem::path const& model);

/// The index base of entries that were read for a model whose base is unknown. A text shows it by an index 0
/// or, if it counts from 1, by the number of the last row of a mode.
/// \param dims  of the entries, as they were read \param extents  of the model
/// \param own_mode  a mode whose rows are those of the entries; -1: none
/// \throws UsageError if it does not show it
[[nodiscard]] int base_shown_by(io::ReadReport const& entries, std::vector<std::uint64_t> const& dims,
                                std::vector<std::uint64_t> const& extents, int own_mode,
                                std::filesystem::path const& model);

/// The mode denoted by a number from 0 or by a name.
/// \param option  its name, for messages
/// \param advice  the end of the message if there is no such mode
/// \throws UsageError
[[nodiscard]] int mode_of_text(std::string const& text, io::Labels const& labels, int order,
                               std::string const& option, std::string const& advice = "");
/// The same on all ranks, which call it together: the first one knows the names.
[[nodiscard]] int mode_on_ranks(std::string const& text, io::Labels const& labels, int order,
                                std::string const& option, std::string const& advice = "");
/// Advice for a mode of time that may be a column which the reader of a table left out; else empty.
/// \param text   the mode
/// \param table  what was found  \param asked  how it was read
[[nodiscard]] std::string advice_on_left_out(std::string const& text,
                                             std::optional<io::DelimitedReport> const& table,
                                             io::DelimitedOptions const& asked);

/// \throws UsageError if both have labels for a mode, and the labels or their order differ
void expect_same_rows(io::Labels const& of_a, std::string const& a, io::Labels const& of_b,
                      std::string const& b);

class RowTexts {
public:
  /// \param names  must live as long
  /// \param base   of modes without labels
  RowTexts(io::RowNames const& names, std::vector<std::uint64_t> extents, int base);

  [[nodiscard]] bool has_labels(int mode) const;
  /// "mode 0" or "mode 0 (user)"
  [[nodiscard]] std::string mode_text(int mode) const;
  /// A label, quoted if it has to be, or a number. Rows that the model lacks have numbers.
  [[nodiscard]] std::string text(int mode, std::uint64_t row) const;
  /// The row of a label or number. If the model has no such label, the first row after its own, which
  /// stands for all of them. Returns nothing for a text that is not a number, or a number below the base. A
  /// number may be beyond the model's rows.
  [[nodiscard]] std::optional<std::uint64_t> row(int mode, Word const& word);
  [[nodiscard]] std::uint64_t rows(int mode) const;
  [[nodiscard]] int base() const { return m_base; }

private:
  io::RowNames const& m_names;
  std::vector<std::uint64_t> m_extents;
  int m_base;
  std::vector<std::optional<io::LabelIndex>> m_indices;
};

}  // namespace polyad::cli
