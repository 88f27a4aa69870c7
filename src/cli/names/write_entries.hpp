// SPDX-License-Identifier: BSD-3-Clause
// Writes entries whose rows have names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/options/options.hpp"
#include "polyad/io/coordinate_list.hpp"
#include "polyad/io/labels.hpp"

namespace polyad::cli {

/// Whether the ending names a table, .csv or .tsv.
[[nodiscard]] bool is_table(std::filesystem::path const& path);

/// Numbers of a table, one of each entry.
struct NumberColumn {
  std::string name;
  std::vector<double> numbers;
};

/// Writes one entry per line: the labels or numbers of its rows, quoted as in CSV if they have to be, and its
/// value. Names that end with .csv or .tsv get commas or tabs and a line with the names of the columns,
/// others blanks. An npz or a .pten is written by io::write_tensor, as are entries without labels in other
/// files.
/// \param names  for all rows of the list; the index base counts for numbers in text
/// \param columns  in place of the values, only for .csv and .tsv; empty: the values
/// \throws as io::write_tensor
void write_entries(std::filesystem::path const& path, io::CoordinateList const& list,
                   io::RowNames const& names, CommonOptions const& common,
                   std::vector<NumberColumn> const& columns = {});

}  // namespace polyad::cli
