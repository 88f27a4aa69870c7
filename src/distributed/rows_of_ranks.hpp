// SPDX-License-Identifier: BSD-3-Clause
// RowsOfRanks: SharedRows (cp/shared_rows.hpp) of a partition, over a communicator.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "cp/shared_rows.hpp"
#include "distributed/exchange.hpp"
#include "polyad/core/per_mode.hpp"
#include "polyad/distributed/cp_als.hpp"
#include "polyad/tensor/compact.hpp"
#include "polyad/tensor/stored_rows.hpp"

namespace polyad::detail {

template <class Scalar, class Space>
class RowsOfRanks final : public SharedRows<Scalar, Space> {
public:
  using Matrix = FactorMatrix<Scalar, Space>;

  /// Splits the communicator, and allocates the owned sums of a mode.
  RowsOfRanks(Communicator<Space> const& ranks, Partition const& partition, count_t nnz, double norm_squared,
              count_t rank)
      : m_ranks(ranks), m_partition(partition), m_nnz(nnz), m_norm_squared(norm_squared) {
    count_t longest = 0;
    for (int n = 0; n < order(); ++n) {
      auto const parts = partition.owned_rows(ranks.rank(), n);
      auto const own   = static_cast<std::size_t>(partition.number_among_sharers(ranks.rank(), n));
      m_slices.push_back(
          {partition.sharers(n) > 1 ? ranks.data().split(partition.block_of(ranks.rank(), n), ranks.rank())
                                    : RankGroup(),
           parts, std::accumulate(parts.begin(), parts.begin() + std::ptrdiff_t(own), count_t(0)),
           parts[own]});
      if (partition.sharers(n) > 1) longest = std::max(longest, parts[own]);
    }
    m_sums = make_factor_matrix<Scalar>(ranks.space(), "polyad::sums_of_ranks", longest, rank);
  }

  [[nodiscard]] count_t rows(int n) const override { return m_partition.extents[n]; }
  [[nodiscard]] count_t nnz() const override { return m_nnz; }
  [[nodiscard]] double norm_squared() const override { return m_norm_squared; }
  [[nodiscard]] bool is_root() const override { return m_ranks.rank() == 0; }

  [[nodiscard]] Matrix owned(int n, Matrix const& A) const override {
    auto const& slice = of_mode(m_slices, n);
    return Kokkos::subview(A, Kokkos::make_pair(slice.begin, slice.begin + slice.count), Kokkos::ALL);
  }

  [[nodiscard]] Matrix sum_rows(int n, Matrix const& V) override {
    auto const& slice = of_mode(m_slices, n);
    if (slice.ranks.size() == 1) return owned(n, V);
    Matrix const sums = Kokkos::subview(m_sums, Kokkos::make_pair(count_t(0), slice.count), Kokkos::ALL);
    slice.ranks.reduce_scatter(V.data(), sums.data(), elements(slice, V));
    return sums;
  }

  void gather_rows(int n, Matrix const& A) override {
    auto const& slice = of_mode(m_slices, n);
    if (slice.ranks.size() > 1) slice.ranks.all_gather(A.data(), elements(slice, A));
  }

  void sum(double* numbers, count_t count) override { m_ranks.data().all_reduce(numbers, count); }
  void agree(double* numbers, count_t count) const override { m_ranks.host().broadcast(numbers, count, 0); }
  void sum_on_host(std::span<double> numbers) const override {
    m_ranks.host().all_reduce(numbers.data(), numbers.size());
    m_ranks.host().broadcast(numbers.data(), numbers.size(), 0);
  }
  [[nodiscard]] double largest(double here) const override {
    auto const numbers = of_all_ranks(m_ranks.host(), here);
    return *std::max_element(numbers.begin(), numbers.end());
  }
  [[nodiscard]] bool any(bool here) const override {
    double sum = here ? 1 : 0;
    m_ranks.host().all_reduce(&sum, 1);
    return sum > 0;
  }

  [[nodiscard]] std::vector<double> rows_to_root(int n, Matrix const& A, count_t first,
                                                 count_t count) override {
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
    auto const own     = to_host<Scalar>(
        m_ranks.space(),
        look_up_rows<Scalar, Space>(m_ranks.space(), mine, StoredRows(size), StoredRows(size, positions)));
    std::vector<count_t> to(static_cast<std::size_t>(m_ranks.size()), 0);
    std::vector<count_t> from = to;
    to[0]                     = own.size();
    for (int k = 0; is_root() && k < m_ranks.size(); ++k) of_mode(from, k) = of_rank(k).size() * A.extent(1);
    std::vector<double> received(is_root() ? count * A.extent(1) : 0);
    m_ranks.host().all_to_all(own.data(), to, received.data(), from);
    std::vector<double> rows(received.size());
    auto const columns = static_cast<std::ptrdiff_t>(A.extent(1));
    auto next          = received.begin();
    for (int k = 0; is_root() && k < m_ranks.size(); ++k)
      for (auto const& [label, row] : of_rank(k)) {
        std::copy_n(next, columns, rows.begin() + static_cast<std::ptrdiff_t>(row - first) * columns);
        next += columns;
      }
    return rows;
  }

  void from_root(int n, std::vector<double> const& whole, Matrix const& A) override {
    count_t const rank = A.extent(1);
    std::vector<count_t> to(static_cast<std::size_t>(m_ranks.size()), 0);
    std::vector<count_t> from = to;
    std::vector<double> sent;
    // All ranks check the size, so that none waits for a root that has thrown.
    double size = is_root() ? static_cast<double>(whole.size()) : 0;
    m_ranks.host().broadcast(&size, 1, 0);
    POLYAD_EXPECTS(size == static_cast<double>(rows(n) * rank), size, " numbers for a factor of ", rows(n),
                   " x ", rank);
    if (is_root()) {
      to = owned_elements(n, rank);
      sent.reserve(whole.size());
      for (int k = 0; k < m_ranks.size(); ++k)
        for_each_owned_row(k, n, [&](count_t i) {
          auto const row = whole.begin() + static_cast<std::ptrdiff_t>(i * rank);
          sent.insert(sent.end(), row, row + static_cast<std::ptrdiff_t>(rank));
        });
    }
    from[0] = of_mode(m_slices, n).count * rank;
    std::vector<double> own(from[0]);
    m_ranks.host().all_to_all(sent.data(), to, own.data(), from);
    from_host<Scalar>(m_ranks.space(), own, owned(n, A));
    gather_rows(n, A);
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
    auto const stride = static_cast<count_t>(matrix.stride(0));
    POLYAD_EXPECTS(stride == static_cast<count_t>(m_sums.stride(0)), "rows of ", matrix.label(),
                   " are not packed (make_factor_matrix)");
    std::vector<count_t> elements;
    for (count_t const rows : slice.parts) elements.push_back(rows * stride);
    return elements;
  }
  /// Rows of mode n that rank k owns.
  [[nodiscard]] count_t owned_count(int k, int n) const {
    return of_mode(m_partition.owned_rows(k, n), m_partition.number_among_sharers(k, n));
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

  Communicator<Space> m_ranks;
  Partition m_partition;
  count_t m_nnz;
  double m_norm_squared;
  std::vector<Slice> m_slices;
  Matrix m_sums;
};

}  // namespace polyad::detail
