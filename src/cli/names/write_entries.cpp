// SPDX-License-Identifier: BSD-3-Clause
#include "cli/names/write_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/names/row_texts.hpp"
#include "cli/names/words.hpp"
#include "cli/tensors/entries.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

namespace {

void write_lines(std::filesystem::path const& path, io::CoordinateList const& list, io::RowNames const& names,
                 char separator, bool has_header, std::vector<NumberColumn> const& columns) {
  RowTexts const rows(names, list.extents, names.index_base == 0 ? 0 : 1);
  io::AtomicFile file(path);
  std::string text;
  if (has_header) {
    for (int n = 0; n < list.order(); ++n) {
      std::size_t const mode = n;
      bool const has_it      = mode < names.labels.size() && !names.labels[mode].name.empty();
      text += (has_it ? quoted_if_needed(names.labels[mode].name) : fmt::format("mode_{}", n)) + separator;
    }
    if (columns.empty()) text += "value";
    for (std::size_t c = 0; c < columns.size(); ++c)
      text += (c > 0 ? std::string(1, separator) : "") + columns[c].name;
    file.write(text + '\n');
    text.clear();
  }
  auto const add_number = [&text](double value) {
    char number[32];
    text.append(number, std::to_chars(number, number + sizeof number, value).ptr);
  };
  for (std::uint64_t p = 0; p < list.nnz(); ++p) {
    for (int n = 0; n < list.order(); ++n) text += rows.text(n, index_of(list, p, n)) + separator;
    if (columns.empty()) add_number(list.values[p]);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (c > 0) text += separator;
      add_number(columns[c].numbers[p]);
    }
    text += '\n';
    file.write(text);
    text.clear();
  }
  file.commit();
}

}  // namespace

bool is_table(std::filesystem::path const& path) {
  return path.extension() == ".csv" || path.extension() == ".tsv";
}

void write_entries(std::filesystem::path const& path, io::CoordinateList const& list,
                   io::RowNames const& names, CommonOptions const& common,
                   std::vector<NumberColumn> const& columns) {
  bool const has_labels =
      std::any_of(names.labels.begin(), names.labels.end(), [](auto const& mode) { return mode.has_rows(); });
  auto const dialect    = io::dialect_of_ending(path);
  bool const holds_them = dialect && dialect->holds_names();
  if (is_table(path))
    return write_lines(path, list, names, path.extension() == ".csv" ? ',' : '\t', true, columns);
  if (has_labels && !holds_them) return write_lines(path, list, names, ' ', false, {});
  io::write_tensor(path, list,
                   {.threads    = common.threads,
                    .index_base = names.index_base,
                    .labels     = holds_them ? names.labels : io::Labels{}});
}

}  // namespace polyad::cli
