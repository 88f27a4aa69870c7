// SPDX-License-Identifier: BSD-3-Clause
// RowsOfBlocks: the distribution of cp_als (run/row_distribution.hpp) over a communicator. A rank holds the
// rows of a block of each mode. Ranks with the same block of a mode share these rows: each owns some of them.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "distributed/exchange.hpp"
#include "distributed/over_ranks.hpp"
#include "polyad/core/rank.hpp"
#include "polyad/distributed/distribute.hpp"
#include "polyad/tensor/compact.hpp"
#include "polyad/tensor/stored_rows.hpp"
#include "run/row_distribution.hpp"

namespace polyad::detail {

template <class Scalar, class Space>
class RowsOfBlocks final : public OverRanks<RowDistribution<Scalar, Space>, Space> {
  using Base = OverRanks<RowDistribution<Scalar, Space>, Space>;
  using Base::m_ranks;

public:
  using Matrix = FactorMatrix<Scalar, Space>;

  /// Splits the communicator.
  RowsOfBlocks(Communicator<Space> const& ranks, Partition const& partition)
      : Base(ranks, partition.extents), m_partition(partition) {
    for (int n = 0; n < order(); ++n) {
      auto const parts      = partition.owned_rows(ranks.rank(), n);
      std::size_t const own = partition.number_among_sharers(ranks.rank(), n);
      m_slices.push_back(
          {partition.sharers(n) > 1 ? ranks.data().split(partition.block_of(ranks.rank(), n), ranks.rank())
                                    : RankGroup(),
           parts, std::accumulate(parts.begin(), parts.begin() + std::ptrdiff_t(own), count_t(0)),
           parts[own]});
    }
  }

  [[nodiscard]] count_t first_row(int n) const override {
    return m_partition.first_owned_row(m_ranks.rank(), n);
  }
  [[nodiscard]] count_t rows(int n) const override { return m_slices[n].count; }

  [[nodiscard]] Matrix owned(int n, Matrix const& A) const override {
    auto const& slice = m_slices[n];
    return Kokkos::subview(A, Kokkos::make_pair(slice.begin, slice.begin + slice.count), Kokkos::ALL);
  }

  /// Its rows are no longer than they must be, since ranks send them. Allocates the owned sums, too.
  [[nodiscard]] Matrix make_output(char const* label, count_t rows, count_t columns) override {
    count_t longest = 0;
    for (auto const& slice : m_slices)
      if (slice.ranks.size() > 1) longest = std::max(longest, slice.count);
    m_sums = make_factor_matrix<Scalar>(m_ranks.space(), "polyad::sums_of_ranks", longest, columns);
    return make_factor_matrix<Scalar>(m_ranks.space(), label, rows, columns);
  }
  [[nodiscard]] Matrix sum_rows(int n, Matrix const& V) override {
    auto const& slice = m_slices[n];
    Matrix sums       = owned(n, V);
    this->timed("reduce_scatter", [&] {
      if (slice.ranks.size() == 1) return;
      sums = Kokkos::subview(m_sums, Kokkos::make_pair(count_t(0), slice.count), Kokkos::ALL);
      slice.ranks.reduce_scatter(V.data(), sums.data(), elements(slice, V));
    });
    return sums;
  }
  void gather_rows(int n, Matrix const& A) const override {
    auto const& slice = m_slices[n];
    this->timed("all_gather", [&] {
      if (slice.ranks.size() > 1) slice.ranks.all_gather(A.data(), elements(slice, A));
    });
  }
  using Base::sum;
  void sum(double* numbers, count_t count) const override {
    this->timed("all_reduce", [&] { Base::sum(numbers, count); });
  }

  /// The random start of the whole factor, whatever the labels. An empty block has one row, which stays zero.
  Matrix fill_random(Space const& space, int n, Matrix const& A, std::vector<StoredRows> const& stored,
                     std::uint64_t seed) const override {
    count_t const first  = m_partition.first_row(m_ranks.rank(), n);
    count_t const count  = m_partition.row_count(m_ranks.rank(), n);
    Matrix const rows    = Kokkos::subview(A, Kokkos::make_pair(count_t(0), count), Kokkos::ALL);
    bool const is_list   = !stored.empty() && stored[n].is_list();
    bool const is_random = m_partition.labelled && m_partition.grid[n] > 1;
    if (!is_random && !is_list) {
      fill_random_rows<Scalar, Space>(space, rows, seed, n, first);
      return rows;
    }
    std::vector<std::uint64_t> numbers;
    numbers.reserve(count);
    for (count_t i = 0; i < count; ++i) {
      count_t const row = m_partition.row_of_label(n, first + i);
      numbers.push_back(is_list ? stored[n].number(row) : row);
    }
    fill_numbered_rows<Scalar, Space>(space, rows, numbers, seed, n);
    return rows;
  }

  [[nodiscard]] std::vector<double> rows_to_root(int n, Matrix const& A, count_t first,
                                                 count_t count) const override {
    // Each rank sends its rows in the order of their labels.
    std::vector<std::pair<count_t, count_t>> labels;  // and rows
    for (count_t row = first; row < first + count; ++row)
      labels.emplace_back(m_partition.label_of_row(n, row), row);
    std::sort(labels.begin(), labels.end());
    auto const of_rank = [&](int k) {
      count_t const begin = owned_count(k, n) == 0 ? 0 : m_partition.first_owned_row(k, n);
      auto const at       = [&](count_t label) {
        return std::lower_bound(labels.begin(), labels.end(), std::pair(label, count_t(0)));
      };
      return std::span(at(begin), at(begin + owned_count(k, n)));
    };
    std::vector<count_t> positions;
    for (auto const& [label, row] : of_rank(m_ranks.rank()))
      positions.push_back(label - m_partition.first_owned_row(m_ranks.rank(), n));
    Matrix const mine  = owned(n, A);
    count_t const size = mine.extent(0);
    auto const own     = this->together([&] {
      return to_host<Scalar>(
          m_ranks.space(),
          look_up_rows<Scalar, Space>(m_ranks.space(), mine, StoredRows(size), StoredRows(size, positions)));
    });
    std::vector<count_t> to(m_ranks.size(), 0);
    std::vector<count_t> from = to;
    to[0]                     = own.size();
    for (int k = 0; this->is_root() && k < m_ranks.size(); ++k) from[k] = of_rank(k).size() * A.extent(1);
    std::vector<double> received(this->is_root() ? count * A.extent(1) : 0);
    m_ranks.host().all_to_all(own.data(), to, received.data(), from);
    std::vector<double> rows(received.size());
    std::ptrdiff_t const columns = A.extent(1);
    auto next                    = received.begin();
    for (int k = 0; this->is_root() && k < m_ranks.size(); ++k)
      for (auto const& [label, row] : of_rank(k)) {
        std::copy_n(next, columns, rows.begin() + (row - first) * columns);
        next += columns;
      }
    return rows;
  }

  void from_root(int n, std::vector<double> const& whole, Matrix const& A) const override {
    count_t const rank = A.extent(1);
    std::vector<count_t> to(m_ranks.size(), 0);
    std::vector<count_t> from = to;
    auto const sent           = this->on_root([&] {
      POLYAD_EXPECTS(whole.size() == m_partition.extents[n] * rank, whole.size(), " numbers for a factor of ",
                     m_partition.extents[n], " x ", rank);
      std::vector<double> rows;
      to = owned_elements(n, rank);
      rows.reserve(whole.size());
      for (int k = 0; k < m_ranks.size(); ++k)
        for_each_owned_row(k, n, [&](count_t i) {
          auto const row = whole.begin() + (i * rank);
          rows.insert(rows.end(), row, row + rank);
        });
      return rows;
    });
    from[0]                   = m_slices[n].count * rank;
    auto own                  = this->together([&] { return std::vector<double>(from[0]); });
    m_ranks.host().all_to_all(sent.data(), to, own.data(), from);
    this->together([&] { from_host<Scalar>(m_ranks.space(), own, owned(n, A)); });
    gather_rows(n, A);
  }
  [[nodiscard]] Matrix whole_on_root(int n, Matrix& A) const override {
    constexpr count_t numbers = count_t(1) << 16;
    count_t const columns = A.extent(1), all = m_partition.extents[n];
    count_t const most = std::max<count_t>(1, numbers / std::max<count_t>(1, columns));
    auto const whole   = this->on_root(
        [&] { return make_factor_matrix<Scalar>(m_ranks.space(), "polyad::factor", all, columns); });
    for (count_t first = 0; first < all; first += most) {
      count_t const count = std::min(most, all - first);
      auto const block    = rows_to_root(n, A, first, count);
      if (block.empty()) continue;  // not the root
      auto const rows = Kokkos::make_pair(first, first + count);
      from_host<Scalar>(m_ranks.space(), block, Matrix(Kokkos::subview(whole, rows, Kokkos::ALL)));
    }
    A = {};
    return whole;
  }

private:
  /// The ranks that share a mode's rows with this one.
  struct Slice {
    RankGroup ranks;
    std::vector<count_t> parts;  // rows that each owns
    count_t begin;               // the first row of this rank's part
    count_t count;
  };

  [[nodiscard]] int order() const { return m_partition.extents.order(); }
  /// Elements of each part, including the rows' padding.
  [[nodiscard]] std::vector<count_t> elements(Slice const& slice, Matrix const& matrix) const {
    auto const stride = matrix.stride(0);
    POLYAD_EXPECTS(stride == padded_rank<Scalar>(matrix.extent(1)), "rows of ", matrix.label(),
                   " are not packed (make_factor_matrix)");
    std::vector<count_t> elements;
    for (count_t const rows : slice.parts) elements.push_back(rows * stride);
    return elements;
  }
  /// Rows of mode n that rank k owns.
  [[nodiscard]] count_t owned_count(int k, int n) const {
    return (m_partition.owned_rows(k, n))[m_partition.number_among_sharers(k, n)];
  }
  /// Calls f with the tensor's row of each row that rank k owns, in the order of the labels.
  template <class F>
  void for_each_owned_row(int k, int n, F const& f) const {
    count_t const count = owned_count(k, n);
    if (count == 0) return;
    count_t const first = m_partition.first_owned_row(k, n);
    for (count_t i = first; i < first + count; ++i) f(m_partition.row_of_label(n, i));
  }
  /// Numbers of mode n that each rank owns.
  [[nodiscard]] std::vector<count_t> owned_elements(int n, count_t rank) const {
    std::vector<count_t> elements;
    for (int k = 0; k < m_ranks.size(); ++k) elements.push_back(rank * owned_count(k, n));
    return elements;
  }

  Partition m_partition;
  std::vector<Slice> m_slices;
  Matrix m_sums;
};

}  // namespace polyad::detail
