// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/match_labels.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "io/delimited/label_table.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

bool are_all_named(Labels const& labels) {
  return !labels.empty() &&
         std::none_of(labels.begin(), labels.end(), [](auto const& mode) { return mode.name.empty(); });
}

std::string names_of(Labels const& labels) {
  std::string text;
  for (auto const& mode : labels) text += (text.empty() ? "" : ", ") + mode.name;
  return text;
}

/// For each mode of the first, the mode of the second with that name.
std::vector<std::size_t> modes_by_name(Labels const& first, Labels const& second) {
  std::vector<std::size_t> modes(first.size());
  std::iota(modes.begin(), modes.end(), std::size_t{0});
  if (!are_all_named(first) || !are_all_named(second)) return modes;
  for (std::size_t n = 0; n < first.size(); ++n) {
    auto const found = std::find_if(second.begin(), second.end(),
                                    [&](auto const& mode) { return mode.name == first[n].name; });
    if (found == second.end())
      throw UsageError("the modes are " + names_of(second) + ", but " + names_of(first) +
                       " in the tensor or model that they belong to");
    modes[n] = static_cast<std::size_t>(found - second.begin());
  }
  return modes;
}

/// The row of each label of the second mode, as the first counts.
std::vector<std::uint64_t> rows_of(ModeLabels const& first, std::uint64_t rows, ModeLabels& second,
                                   UnknownLabels& unknown) {
  TextTable table;
  for (std::size_t k = 0; k < first.rows(); ++k) static_cast<void>(table.number(first.label(k)));
  ModeLabels matched = first;
  std::vector<std::uint64_t> found(second.rows());
  for (std::size_t k = 0; k < second.rows(); ++k) {
    auto const label  = second.label(k);
    auto const number = table.find(label);
    if (number != TextTable::nothing_found) {
      found[k] = number;
      continue;
    }
    if (unknown.count == 0) unknown.first = label;
    found[k] = rows + unknown.count++;
    matched.add(label);
  }
  second = std::move(matched);
  return found;
}

}  // namespace

std::vector<UnknownLabels> match_labels(TensorFile& second, Labels const& first,
                                        std::vector<std::uint64_t> const& extents) {
  std::size_t const order = second.tensor.extents.size();
  POLYAD_EXPECTS(extents.size() == order, "has ", order, " modes, not ", extents.size());
  std::vector<UnknownLabels> unknown(order);
  if (first.empty() && second.labels.empty()) return unknown;
  auto const has_rows = [](Labels const& labels, std::size_t n) {
    return !labels.empty() && labels[n].has_rows();
  };
  auto const modes = first.empty() || second.labels.empty() ? modes_by_name(Labels(order), Labels(order))
                                                            : modes_by_name(first, second.labels);
  for (std::size_t n = 0; n < order; ++n)
    if (has_rows(first, n) != has_rows(second.labels, modes[n]))
      throw UsageError("the rows of mode " + std::to_string(n) + " have labels in " +
                       (has_rows(first, n) ? "the first file" : "the second file") +
                       " only: they are numbered in two ways");
  if (second.labels.empty()) second.labels.resize(order);
  std::vector<std::vector<std::uint64_t>> rows(order);  // one list for each mode of the first
  CoordinateList matched;
  Labels labels(order);
  for (std::size_t n = 0; n < order; ++n) {
    auto& own = second.labels[modes[n]];
    matched.extents.push_back(second.tensor.extents[modes[n]]);
    if (has_rows(first, n)) {
      rows[n]            = rows_of(first[n], extents[n], own, unknown[n]);
      matched.extents[n] = extents[n] + unknown[n].count;
    }
    labels[n] = std::move(own);
  }
  bool const is_wide = std::any_of(matched.extents.begin(), matched.extents.end(), [](std::uint64_t extent) {
    return extent > std::numeric_limits<std::uint32_t>::max();
  });
  if (is_wide) matched.indices.emplace<1>();
  std::visit(
      [&](auto& to, auto const& from) {
        using Index = typename std::remove_cvref_t<decltype(to)>::value_type;
        to.resize(from.size());
        for (std::size_t e = 0; e < from.size(); e += order)
          for (std::size_t n = 0; n < order; ++n) {
            std::uint64_t const index = from[e + modes[n]];
            to[e + n]                 = static_cast<Index>(rows[n].empty() ? index : rows[n][index]);
          }
      },
      matched.indices, std::as_const(second.tensor.indices));
  matched.values = std::move(second.tensor.values);
  second.tensor  = std::move(matched);
  second.labels  = std::move(labels);
  return unknown;
}

}  // namespace polyad::io
