// SPDX-License-Identifier: BSD-3-Clause
// Random labels for the rows of a partition. Cuts give each range of rows about as many nonzeros, but a block
// is one range of each mode. Where heavy rows of one mode meet heavy rows of another, some blocks are fuller
// than others. In a random order of the rows they are not (Smith & Karypis, IPDPS 2016, section V).
#pragma once

#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "polyad/core/counter_rng.hpp"
#include "polyad/core/per_mode.hpp"
#include "polyad/distributed/cp_als.hpp"

namespace polyad::detail {

/// The rows in a random order, the same on all ranks: Fisher and Yates' method (Knuth, TAOCP 2, algorithm
/// 3.4.2 P).
inline std::vector<count_t> random_order(count_t rows, int mode) {
  std::vector<count_t> order(rows);
  std::iota(order.begin(), order.end(), count_t(0));
  for (count_t left = rows; left > 1; --left) {
    double const number = counter_uniform(0, static_cast<std::uint64_t>(mode), left, 0);
    std::swap(order[left - 1], order[static_cast<count_t>(number * static_cast<double>(left))]);
  }
  return order;
}

/// Labels the rows of each mode that is cut. Returns the nonzeros' coordinates with the new labels.
template <class Index>
std::vector<Index> relabel(Partition& partition, std::span<Index const> indices) {
  std::vector<Index> labelled(indices.begin(), indices.end());
  auto const order = static_cast<std::size_t>(partition.extents.order());
  partition.row_of.resize(order);
  for (int n = 0; n < partition.extents.order(); ++n) {
    if (of_mode(partition.grid, n) == 1) continue;
    auto const& row_of = of_mode(partition.row_of, n) = random_order(partition.extents[n], n);
    std::vector<Index> label(row_of.size());
    for (std::size_t i = 0; i < row_of.size(); ++i) label[row_of[i]] = static_cast<Index>(i);
    for (auto e = static_cast<std::size_t>(n); e < labelled.size(); e += order)
      labelled[e] = label[labelled[e]];
  }
  return labelled;
}

/// Whether the rows of mode n have labels of their own.
inline bool is_labelled(Partition const& partition, int n) {
  return !partition.row_of.empty() && !of_mode(partition.row_of, n).empty();
}

/// The tensor's row with the label i.
inline count_t row_of_label(Partition const& partition, int n, count_t i) {
  return is_labelled(partition, n) ? of_mode(partition.row_of, n)[i] : i;
}

}  // namespace polyad::detail
