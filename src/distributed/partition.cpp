// SPDX-License-Identifier: BSD-3-Clause
// Grids, cuts, and the ownership of rows.
#include <algorithm>
#include <numeric>

#include "distributed/random_order.hpp"
#include "polyad/core/error.hpp"
#include "polyad/distributed/distribute.hpp"

namespace polyad {

namespace {

/// Calls f(grid) with every grid of `ranks` ranks over the modes from n on.
template <class F>
void for_each_grid(ProcessGrid& grid, int n, int ranks, F const& f) {
  if (n + 1 == std::ssize(grid)) {
    grid.back() = ranks;
    f(grid);
    return;
  }
  for (int p = 1; p <= ranks; ++p) {
    if (ranks % p != 0) continue;
    grid[n] = p;
    for_each_grid(grid, n + 1, ranks / p, f);
  }
}

/// Rows that a rank holds, on the average.
double rows_of_a_rank(Extents const& extents, ProcessGrid const& grid) {
  double rows = 0;
  for (int n = 0; n < extents.order(); ++n) rows += static_cast<double>(extents[n]) / grid[n];
  return rows;
}

}  // namespace

double words_of_grid(Extents const& extents, ProcessGrid const& grid) {
  POLYAD_EXPECTS(std::ssize(grid) == extents.order(), "a grid of ", grid.size(),
                 " numbers for a tensor of order ", extents.order());
  double ranks = 1;
  for (int const p : grid) ranks *= p;
  double words = 0;
  for (int n = 0; n < extents.order(); ++n)
    words += 2 * (ranks / grid[n] - 1) * static_cast<double>(extents[n]);
  return words;
}

ProcessGrid cheapest_grid(Extents const& extents, int ranks) {
  POLYAD_EXPECTS(ranks >= 1, "a grid of ", ranks, " ranks");
  ProcessGrid grid(extents.order(), 1);
  ProcessGrid best;
  double least = 0;
  double rows  = 0;
  for_each_grid(grid, 0, ranks, [&](ProcessGrid const& candidate) {
    double const words = words_of_grid(extents, candidate);
    double const own   = rows_of_a_rank(extents, candidate);
    if (best.empty() || words < least || (words == least && own < rows)) {
      best  = candidate;
      least = words;
      rows  = own;
    }
  });
  return best;
}

std::vector<count_t> balanced_cuts(std::span<count_t const> nonzeros, int parts) {
  POLYAD_EXPECTS(parts >= 1, parts, " parts of a mode");
  count_t const rows  = nonzeros.size();
  count_t const count = parts;
  count_t const total = std::accumulate(nonzeros.begin(), nonzeros.end(), count_t(0));
  std::vector<count_t> cuts{0};
  count_t row    = 0;
  count_t before = 0;  // nonzeros of the rows before `row`
  for (count_t part = 1; part < count; ++part) {
    if (total == 0) {
      cuts.push_back(rows * part / count);
      continue;
    }
    // The ideal end of this part. A row belongs to the part that gets more than half of it.
    double const end = static_cast<double>(total) * static_cast<double>(part) / static_cast<double>(parts);
    while (row < rows && static_cast<double>(before) + static_cast<double>(nonzeros[row]) / 2 <= end)
      before += nonzeros[row++];
    cuts.push_back(row);
  }
  cuts.push_back(rows);
  return cuts;
}

int Partition::ranks() const {
  return std::accumulate(grid.begin(), grid.end(), 1, [](int a, int b) { return a * b; });
}

int Partition::block_of(int of, int n) const {
  int inner = 1;
  for (int m = extents.order() - 1; m > n; --m) inner *= grid[m];
  return of / inner % grid[n];
}

count_t Partition::first_row(int of, int n) const {
  return (cuts[n])[block_of(of, n)];
}

count_t Partition::row_count(int of, int n) const {
  return (cuts[n])[block_of(of, n) + 1] - first_row(of, n);
}

int Partition::sharers(int n) const {
  return ranks() / grid[n];
}

int Partition::number_among_sharers(int of, int n) const {
  int inner = 1;
  for (int m = extents.order() - 1; m > n; --m) inner *= grid[m];
  return of / (inner * grid[n]) * inner + of % inner;
}

std::vector<count_t> Partition::owned_rows(int of, int n) const {
  count_t const count = sharers(n);
  count_t const rows  = row_count(of, n);
  std::vector<count_t> owned;
  for (count_t k = 0; k < count; ++k) owned.push_back(rows / count + (k < rows % count ? 1 : 0));
  return owned;
}

count_t Partition::first_owned_row(int of, int n) const {
  count_t const count  = sharers(n);
  count_t const number = number_among_sharers(of, n);
  count_t const rows   = row_count(of, n);
  return first_row(of, n) + rows / count * number + std::min(number, rows % count);
}

count_t Partition::row_of_label(int n, count_t label) const {
  return labelled && grid[n] > 1 ? detail::RandomOrder(extents[n], n).row(label) : label;
}

count_t Partition::label_of_row(int n, count_t row) const {
  return labelled && grid[n] > 1 ? detail::RandomOrder(extents[n], n).label(row) : row;
}

}  // namespace polyad
