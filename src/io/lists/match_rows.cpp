// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/match_rows.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <type_traits>
#include <utility>
#include <variant>

#include "io/delimited/label_table.hpp"
#include "io/quoted.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

/// A label that is an integer in the form that to_string gives; nothing for all others.
std::optional<std::int64_t> integer_of(std::string_view label) {
  std::int64_t number   = 0;
  auto const* const end = label.data() + label.size();
  auto const parsed     = std::from_chars(label.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || std::to_string(number) != label) return std::nullopt;
  return number;
}

bool are_integers(ModeLabels const& labels) {
  for (std::size_t row = 0; row < labels.rows(); ++row)
    if (!integer_of(labels.label(row))) return false;
  return true;
}

std::string mode_text(Labels const& labels, std::size_t n) {
  std::string const number = "mode " + std::to_string(n);
  return n < labels.size() && !labels[n].name.empty() ? number + " (" + labels[n].name + ")" : number;
}

bool have_names(Labels const& labels) {
  return !labels.empty() &&
         std::none_of(labels.begin(), labels.end(), [](auto const& mode) { return mode.name.empty(); });
}

/// The mode of the file that belongs to each mode of the other side.
std::vector<std::size_t> order_of_modes(Labels const& of_file, Labels const& names, std::string const& name) {
  std::vector<std::size_t> order(of_file.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!have_names(of_file) || !have_names(names)) return order;
  for (std::size_t n = 0; n < names.size(); ++n) {
    auto const mode = find_mode(of_file, names[n].name);
    if (!mode) {
      std::string found;
      for (auto const& of_mode : of_file) found += (found.empty() ? "" : ", ") + of_mode.name;
      throw UsageError(name + ": has no mode " + in_quotes(names[n].name) + ", but " + found);
    }
    order[n] = static_cast<std::size_t>(*mode);
  }
  return order;
}

/// Puts the modes of the list into another order.
void reorder(TensorFile& file, std::vector<std::size_t> const& order) {
  if (std::is_sorted(order.begin(), order.end())) return;
  Labels labels;
  std::vector<std::uint64_t> extents;
  for (std::size_t const n : order) {
    labels.push_back(std::move(file.labels[n]));
    extents.push_back(file.tensor.extents[n]);
  }
  file.labels         = std::move(labels);
  file.tensor.extents = std::move(extents);
  std::visit(
      [&](auto& indices) {
        std::vector<std::uint64_t> place(order.size());
        for (std::size_t p = 0; p < indices.size(); p += order.size()) {
          for (std::size_t n = 0; n < order.size(); ++n) place[n] = indices[p + order[n]];
          for (std::size_t n = 0; n < order.size(); ++n)
            indices[p + n] = static_cast<std::remove_cvref_t<decltype(indices[0])>>(place[n]);
        }
      },
      file.tensor.indices);
}

/// Replaces the indices of mode n by row_of(index). Returns the largest new index.
template <class RowOf>
std::uint64_t renumber(CoordinateList& list, std::size_t n, RowOf const& row_of) {
  std::size_t const order = list.extents.size();
  std::vector<std::uint64_t> rows(list.nnz());
  std::uint64_t largest = 0;
  std::visit(
      [&](auto const& indices) {
        for (std::size_t p = 0; p < rows.size(); ++p) {
          rows[p] = row_of(indices[p * order + n]);
          largest = std::max(largest, rows[p]);
        }
      },
      list.indices);
  constexpr std::uint64_t narrow = std::uint32_t(-1);
  if (largest >= narrow && list.indices.index() == 0) {
    auto const& old = std::get<0>(list.indices);
    std::remove_cvref_t<decltype(std::get<1>(list.indices))> wide;
    wide.assign(old.begin(), old.end());
    list.indices = std::move(wide);
  }
  std::visit(
      [&](auto& indices) {
        using Index = std::remove_cvref_t<decltype(indices[0])>;
        for (std::size_t p = 0; p < rows.size(); ++p) indices[p * order + n] = static_cast<Index>(rows[p]);
      },
      list.indices);
  return largest;
}

/// Numbers the requested rows: known rows keep their numbers, others get numbers from the first free row on.
class NewRows {
public:
  NewRows(ModeLabels& unknown, std::uint64_t first) : m_unknown(unknown), m_first(first) {}
  std::uint64_t of(std::string_view label) {
    std::uint64_t const before = m_rows.size(), number = m_rows.number(label);
    if (number == before) m_unknown.add(label);
    return m_first + number;
  }

private:
  ModeLabels& m_unknown;
  std::uint64_t m_first;
  TextTable m_rows;
};

[[noreturn]] void refuse_numberings(std::string const& name, std::string const& mode, bool file_has_labels,
                                    std::string_view label) {
  std::string const with = "labels such as " + in_quotes(label), without = "numbers its rows";
  throw UsageError(name + ": " + mode + (file_has_labels ? " has " + with : " " + without) +
                   ", but the rows that it refers to " +
                   (file_has_labels ? "have numbers and no labels" : "have " + with) +
                   ": two different numberings cannot be matched");
}

/// Matches labels with labels.
void match_labels(TensorFile& file, std::size_t n, ModeLabels const& known, std::uint64_t rows,
                  ModeLabels& unknown) {
  ModeLabels const& own = file.labels[n];
  LabelIndex const index(known);
  NewRows others(unknown, rows);
  constexpr auto unset = std::uint64_t(-1);
  std::vector<std::uint64_t> row_of(own.rows(), unset);
  renumber(file.tensor, n, [&](std::uint64_t i) {
    if (row_of[i] == unset) {
      auto const found = index.find(own.label(i));
      row_of[i]        = found ? *found : others.of(own.label(i));
    }
    return row_of[i];
  });
}

/// Matches the numbers of a file that says its base with labels that are integers.
void match_numbers(TensorFile& file, std::size_t n, ModeLabels const& known, std::uint64_t rows,
                   ModeLabels& unknown) {
  LabelIndex const index(known);
  NewRows others(unknown, rows);
  std::uint64_t const base = file.report.index_base;
  renumber(file.tensor, n, [&](std::uint64_t i) {
    std::string const label = std::to_string(i + base);
    auto const found        = index.find(label);
    return found ? *found : others.of(label);
  });
}

/// Matches labels that are integers with numbers, which count from `base`.
void match_integers(TensorFile& file, std::size_t n, std::uint64_t base, std::uint64_t rows,
                    ModeLabels& unknown, std::string const& name, std::string const& mode) {
  ModeLabels const& own = file.labels[n];
  std::vector<std::uint64_t> row_of(own.rows());
  for (std::size_t i = 0; i < row_of.size(); ++i) {
    auto const number = *integer_of(own.label(i));
    if (number < static_cast<std::int64_t>(base))
      throw InputError(name, 0, 0,
                       mode + " has the label " + std::to_string(number) + ", but rows count from " +
                           std::to_string(base));
    row_of[i] = static_cast<std::uint64_t>(number) - base;
  }
  std::vector<bool> is_counted(own.rows());
  renumber(file.tensor, n, [&](std::uint64_t i) {
    if (row_of[i] >= rows && !is_counted[i]) unknown.add(own.label(i));
    is_counted[i] = true;
    return row_of[i];
  });
}

}  // namespace

LabelIndex::LabelIndex(ModeLabels const& labels) : m_rows(std::make_unique<TextTable>()) {
  for (std::size_t row = 0; row < labels.rows(); ++row)
    if (m_rows->number(labels.label(row)) != row)
      throw UsageError("two rows of the mode " + in_quotes(labels.name) + " have the label " +
                       in_quotes(labels.label(row)));
}

LabelIndex::~LabelIndex()                                      = default;
LabelIndex::LabelIndex(LabelIndex&& other) noexcept            = default;
LabelIndex& LabelIndex::operator=(LabelIndex&& other) noexcept = default;

std::optional<std::uint64_t> LabelIndex::find(std::string_view label) const {
  std::uint32_t const row = m_rows->find(label);
  return row == TextTable::nothing_found ? std::nullopt : std::optional<std::uint64_t>(row);
}

std::optional<int> find_mode(Labels const& labels, std::string_view name) {
  std::optional<int> found;
  for (std::size_t n = 0; n < labels.size(); ++n) {
    if (labels[n].name != name || name.empty()) continue;
    if (found) throw UsageError("several modes have the name " + in_quotes(name));
    found = static_cast<int>(n);
  }
  return found;
}

Labels match_rows(TensorFile& file, RowNames const& names, std::vector<std::uint64_t> const& extents,
                  std::string const& name) {
  std::size_t const order = file.tensor.extents.size();
  if (order != extents.size())
    throw UsageError(name + ": has " + std::to_string(order) + " modes, not " +
                     std::to_string(extents.size()));
  if (!file.labels.empty()) reorder(file, order_of_modes(file.labels, names.labels, name));
  Labels unknown(order);
  for (std::size_t n = 0; n < order; ++n) {
    bool const own  = !file.labels.empty() && file.labels[n].has_rows();
    bool const ours = !names.labels.empty() && names.labels[n].has_rows();
    if (!own && !ours) continue;
    if (ours) unknown[n].name = names.labels[n].name;
    std::string const mode = mode_text(names.labels.empty() ? file.labels : names.labels, n);
    if (own && ours) {
      match_labels(file, n, names.labels[n], extents[n], unknown[n]);
    } else if (ours) {
      if (!file.report.knows_index_base || !are_integers(names.labels[n]))
        refuse_numberings(name, mode, false, names.labels[n].label(0));
      match_numbers(file, n, names.labels[n], extents[n], unknown[n]);
    } else {
      if (names.index_base < 0 || !are_integers(file.labels[n]))
        refuse_numberings(name, mode, true, file.labels[n].label(0));
      match_integers(file, n, static_cast<std::uint64_t>(names.index_base), extents[n], unknown[n], name,
                     mode);
    }
    auto& extent = file.tensor.extents[n];
    extent       = extents[n] + (ours ? unknown[n].rows() : 0);
    if (!ours)
      std::visit(
          [&](auto const& indices) {
            for (std::size_t p = n; p < indices.size(); p += order)
              extent = std::max(extent, std::uint64_t{indices[p]} + 1);
          },
          file.tensor.indices);
    if (own) file.labels[n].ends.clear(), file.labels[n].bytes.clear();  // they were of the old rows
  }
  return unknown;
}

RowNames with_new_rows(RowNames names, Labels const& unknown) {
  for (std::size_t n = 0; n < names.labels.size(); ++n)
    if (names.labels[n].has_rows())
      for (std::size_t row = 0; row < unknown[n].rows(); ++row) names.labels[n].add(unknown[n].label(row));
  return names;
}

}  // namespace polyad::io
