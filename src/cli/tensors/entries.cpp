// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tensors/entries.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>

#include "cli/streams/standard_streams.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/clean_list.hpp"

namespace polyad::cli {

std::uint64_t index_of(io::CoordinateList const& list, std::uint64_t p, int n) {
  return std::visit(
      [&](auto const& indices) -> std::uint64_t { return indices[p * list.extents.size() + n]; },
      list.indices);
}

std::vector<std::uint64_t> occurring_rows(io::CoordinateList const& list, int n) {
  std::vector<std::uint64_t> rows(list.nnz());
  for (std::uint64_t p = 0; p < rows.size(); ++p) rows[p] = index_of(list, p, n);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

bool extents_need_wide_index(std::vector<std::uint64_t> const& extents) {
  return std::any_of(extents.begin(), extents.end(),
                     [](std::uint64_t extent) { return extent > std::numeric_limits<std::uint32_t>::max(); });
}

void settle_index_type(io::CoordinateList& list) {
  auto const convert = [&list]<class To>(auto const& from, std::type_identity<To>) {
    io::UninitializedVector<To> indices(from.size());
    std::transform(from.begin(), from.end(), indices.begin(), [](auto i) { return static_cast<To>(i); });
    list.indices = std::move(indices);
  };
  bool const wide = extents_need_wide_index(list.extents);
  if (wide && !list.wide()) convert(std::get<0>(list.indices), std::type_identity<std::uint64_t>());
  if (!wide && list.wide()) convert(std::get<1>(list.indices), std::type_identity<std::uint32_t>());
}

int mode_outside(io::CoordinateList const& list, std::uint64_t p, std::vector<std::uint64_t> const& extents) {
  for (int n = 0; n < list.order(); ++n)
    if (index_of(list, p, n) >= extents[n]) return n;
  return -1;
}

bool is_observed(std::vector<std::vector<std::uint8_t>> const& observed, int mode, std::uint64_t row) {
  if (observed.empty()) return true;
  auto const& rows = observed[mode];
  return row >= rows.size() || rows[row] != 0;
}

std::pair<io::CoordinateList, io::CoordinateList> split_off_cold(
    io::CoordinateList&& list, std::vector<std::uint64_t> const& extents,
    std::vector<std::vector<std::uint8_t>> const& observed, RowTexts const& rows, std::string const& file,
    bool allowed, std::uint64_t first) {
  if (list.extents.size() != extents.size())
    throw InputError(file, 0, 0,
                     "has " + std::to_string(list.extents.size()) + " modes, but the model has " +
                         std::to_string(extents.size()));
  auto parts          = io::partition(list, [&](std::uint64_t p) {
    int const n = mode_outside(list, p, extents);
    if (allowed) return n >= 0;
    auto const refuse = [&](int mode, std::string const& reason) {
      throw InputError(file, 0, 0,
                       "entry " + std::to_string(first + p + 1) + " has row " +
                           rows.text(mode, index_of(list, p, mode)) + " of " + rows.mode_text(mode) + ", " +
                           reason + "; --cold-start bias predicts it from its biases");
    };
    if (n >= 0 && rows.has_labels(n)) refuse(n, "which the training set does not have");
    if (n >= 0)
      refuse(n, "of which the training set has " + std::to_string(extents[n]) + " rows, which count from " +
                    std::to_string(rows.base()));
    for (int m = 0; m < list.order(); ++m)
      if (!is_observed(observed, m, index_of(list, p, m)))
        refuse(m, "of which the training set has no entries");
    return false;
  });
  list                = {};
  parts.first.extents = extents;
  return parts;
}

void warn_of_cold(std::uint64_t entries) {
  if (entries > 0)
    say_text("polyad: " + std::to_string(entries) +
             " entries have an index that the training set does not have: their predictions use the known "
             "biases\n");
}

}  // namespace polyad::cli
