// SPDX-License-Identifier: BSD-3-Clause
// RowsByCuts: the distribution of tucker and fast_tucker (run/row_distribution.hpp) over a communicator. Each
// mode is cut by itself into a range of rows for each rank, with about as many nonzeros each.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "distributed/exchange.hpp"
#include "distributed/over_ranks.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/distributed/distribute.hpp"
#include "polyad/tensor/sum_duplicates.hpp"
#include "run/row_distribution.hpp"

namespace polyad::detail {

/// Each rank owns the rows that it holds of a factor A^(n) of fast_tucker. It holds all rows of C^(n), and of
/// U^(n) of tucker, but its products have only the owned rows.
template <class Scalar, class Index, class Space>
class RowsByCuts final : public OverRanks<NonzeroDistribution<Scalar, Index, Space>, Space> {
  using Base = OverRanks<NonzeroDistribution<Scalar, Index, Space>, Space>;
  using Base::m_ranks;

public:
  using Matrix = FactorMatrix<Scalar, Space>;
  using Format = AnyFormat<Scalar, Space>;
  using Tensor = CooTensor<Scalar, Index, Space>;
  using Host   = CooTensor<Scalar, Index, HostOf<Space>>;

  /// Cuts each mode by its nonzeros. \param indices  of this rank's part: P x N, row-major
  RowsByCuts(Communicator<Space> const& ranks, Extents const& extents, std::span<Index const> indices)
      : Base(ranks, extents), m_extents(extents) {
    count_t const order = extents.order();
    for (int n = 0; n < extents.order(); ++n) {
      Partition& of_n = m_partitions.emplace_back();
      of_n.extents    = m_extents;
      of_n.rank       = ranks.rank();
      for (int m = 0; m < extents.order(); ++m) {
        of_n.grid.push_back(m == n ? ranks.size() : 1);
        of_n.cuts.push_back({0, m_extents[m]});
      }
      of_n.cuts[n] = cut_rows(
          ranks.host(), m_extents[n], indices.size() / order,
          [&](count_t p) { return count_t(indices[p * order + n]); }, ranks.size());
      if (m_extents[n] > m_extents[m_longest]) m_longest = n;
    }
  }

  [[nodiscard]] count_t first_row(int n) const override { return first_row(m_ranks.rank(), n); }
  [[nodiscard]] count_t rows(int n) const override { return rows(m_ranks.rank(), n); }

  /// How many nonzeros of all ranks are in the owned rows of mode n. All ranks call it.
  [[nodiscard]] count_t own_count(std::span<Index const> indices, int n) const {
    count_t const order = m_extents.order();
    LabelledNonzeros<Index> const nonzeros{m_partitions[n], indices, {}};
    auto counts =
        count_kinds(indices.size() / order, m_ranks.size(), [&](count_t p) { return nonzeros.owner(p); });
    m_ranks.host().all_reduce(counts.data(), counts.size());
    return counts[m_ranks.rank()];
  }
  /// The mode with the most rows.
  [[nodiscard]] int longest() const { return m_longest; }

  /// The nonzeros of all ranks in the owned rows of the longest mode, so that each rank has a part of about
  /// the same size.
  void deal(Tensor& set, Host& on_host) const override {
    auto const part = this->together([&] {
      if (on_host.order() > 0 || set.order() == 0) return std::exchange(on_host, Host());
      return download<HostOf<Space>>(m_ranks.space(), std::exchange(set, Tensor()));
    });
    if (part.order() > 0)
      POLYAD_EXPECTS(part.order() == m_extents.order(), "a set of order ", part.order(),
                     " does not match a training set of order ", m_extents.order());
    auto received           = exchanged(indices_of(part), values_of(part), m_partitions[m_longest]);
    std::size_t const order = m_extents.order();
    for (std::size_t e = m_longest; e < received.indices.size(); e += order)
      received.indices[e] = static_cast<Index>(received.indices[e] + first_row(m_longest));
    set = this->together([&] { return uploaded(m_extents, received); });
  }

  [[nodiscard]] std::vector<Format> by_rows(Tensor const& part, AnyFormatOptions const& options) override {
    auto const host = this->together([&] { return download<HostOf<Space>>(m_ranks.space(), part); });
    return by_rows(indices_of(host), values_of(host), options, false, [&](int n) {
      return (rows(n) + m_extents[n]) * padded_rank<Scalar>(options.rank) * sizeof(Scalar);
    });
  }
  /// The same for a part in host memory.
  /// \param sums  whether to sum duplicates; counts them and the nonzeros that are left
  /// \param bytes_beside  the run's bytes for mode n in addition to its nonzeros, for the imbalance
  template <class F>
  [[nodiscard]] std::vector<Format> by_rows(std::span<Index const> indices, std::span<double const> values,
                                            AnyFormatOptions const& options, bool sums,
                                            F const& bytes_beside) {
    std::vector<Format> formats;
    count_t nonzeros = 0, rows_of_all = 0, bytes = 0;
    for (int n = 0; n < m_extents.order(); ++n) {
      auto of_mode_n      = options;
      of_mode_n.only_mode = n;
      auto received       = exchanged(indices, values, m_partitions[n]);
      this->together([&] {
        auto own = uploaded(extents_of_rows(n), received);
        received = {};
        if (sums) {
          auto summed = sum_duplicates(m_ranks.space(), own);
          own         = std::move(summed.tensor);
          if (n == 0) m_duplicates = summed.duplicates;
        }
        if (n == 0) m_nnz = own.nnz();
        nonzeros += own.nnz();
        rows_of_all += rows(n);
        formats.push_back(any_format(m_ranks.space(), std::move(own), of_mode_n));
        bytes += formats.back().storage_bytes() + bytes_beside(n);
      });
    }
    auto const imbalance = [&](count_t number) { return imbalance_of(of_all_ranks(m_ranks.host(), number)); };
    m_imbalance          = {imbalance(nonzeros), imbalance(rows_of_all), imbalance(bytes)};
    m_ranks.host().all_reduce(&m_nnz, 1);
    m_ranks.host().all_reduce(&m_duplicates, 1);
    return formats;
  }
  /// The number of nonzeros of the last by_rows, of all ranks together.
  [[nodiscard]] count_t nnz() const { return m_nnz; }
  [[nodiscard]] count_t duplicates() const { return m_duplicates; }
  [[nodiscard]] Imbalance imbalance() const override { return m_imbalance; }

  [[nodiscard]] Matrix owned(int n, Matrix const& C) const override {
    return Kokkos::subview(C, Kokkos::make_pair(first_row(n), first_row(n) + rows(n)), Kokkos::ALL);
  }
  /// Products have only the owned rows. Those of a rank without rows have one row.
  [[nodiscard]] Matrix sum_rows(int n, Matrix const& V) override {
    return Kokkos::subview(V, Kokkos::make_pair(count_t(0), rows(n)), Kokkos::ALL);
  }
  void gather_rows(int n, Matrix const& C) const override {
    std::vector<count_t> parts;
    for (int k = 0; k < m_ranks.size(); ++k) parts.push_back(rows(k, n) * C.stride(0));
    m_ranks.data().all_gather(C.data(), parts);
  }
  Matrix fill_random(Space const& space, int n, Matrix const& A, std::vector<StoredRows> const& stored,
                     std::uint64_t seed) const override {
    if (stored.empty() || !stored[n].is_list()) {
      fill_random_rows(space, A, seed, n, first_row(n));
    } else {
      auto const begin = stored[n].numbers().begin() + first_row(n);
      fill_numbered_rows<Scalar, Space>(space, A, {begin, begin + rows(n)}, seed, n);
    }
    return A;
  }

  [[nodiscard]] Tensor to_root(Tensor const& part) const override {
    // All rows in one range, that of rank 0.
    Partition all;
    all.extents = m_extents;
    all.rank    = m_ranks.rank();
    for (int n = 0; n < m_extents.order(); ++n) {
      all.grid.push_back(n == 0 ? m_ranks.size() : 1);
      all.cuts.push_back({0, m_extents[n]});
    }
    all.cuts[0].resize(m_ranks.size() + 1, m_extents[0]);
    auto const host     = this->together([&] { return download<HostOf<Space>>(m_ranks.space(), part); });
    auto const received = exchanged(indices_of(host), values_of(host), all);
    return this->on_root([&] { return uploaded(m_extents, received); });
  }
  [[nodiscard]] std::vector<double> rows_to_root(int n, Matrix const& A, count_t first,
                                                 count_t count) const override {
    auto const begin = [&](int k) { return std::clamp(first, first_row(k, n), end_row(k, n)); };
    auto const end   = [&](int k) { return std::clamp(first + count, first_row(k, n), end_row(k, n)); };
    int const here   = m_ranks.rank();
    auto const part  = Kokkos::make_pair(begin(here) - first_row(n), end(here) - first_row(n));
    auto const sent  = this->together(
        [&] { return to_host<Scalar>(m_ranks.space(), Matrix(Kokkos::subview(A, part, Kokkos::ALL))); });
    auto [to, from] = no_numbers();
    to[0]           = sent.size();
    for (int k = 0; this->is_root() && k < m_ranks.size(); ++k) from[k] = (end(k) - begin(k)) * A.extent(1);
    std::vector<double> gathered(std::accumulate(from.begin(), from.end(), count_t(0)));
    m_ranks.host().all_to_all(sent.data(), to, gathered.data(), from);
    return gathered;
  }
  void from_root(int n, std::vector<double> const& whole, Matrix const& A) const override {
    count_t const columns = A.extent(1);
    this->on_root([&] {
      POLYAD_EXPECTS(whole.size() == m_extents[n] * columns, whole.size(), " numbers for a factor of ",
                     m_extents[n], " x ", columns);
    });
    auto own        = this->together([&] { return std::vector<double>(rows(n) * columns); });
    auto [to, from] = no_numbers();
    from[0]         = own.size();
    for (int k = 0; this->is_root() && k < m_ranks.size(); ++k) to[k] = rows(k, n) * columns;
    m_ranks.host().all_to_all(whole.data(), to, own.data(), from);
    this->together([&] { from_host<Scalar>(m_ranks.space(), own, A); });
  }
  [[nodiscard]] Matrix whole_on_root(int n, Matrix& A) const override {
    auto const gathered   = rows_to_root(n, A, 0, m_extents[n]);
    count_t const columns = std::exchange(A, Matrix()).extent(1);
    return this->on_root([&] {
      auto const whole = make_factor_matrix<Scalar>(m_ranks.space(), "polyad::factor", m_extents[n], columns);
      from_host<Scalar>(m_ranks.space(), gathered, whole);
      return whole;
    });
  }
  [[nodiscard]] Matrix held_of_root(int n, Matrix& whole, count_t columns) const override {
    auto numbers =
        this->on_root([&] { return to_host<Scalar>(m_ranks.space(), std::exchange(whole, Matrix())); });
    auto const own = this->together([&] {
      return make_factor_matrix<Scalar>(m_ranks.space(), "polyad::owned_factor", rows(n), columns);
    });
    from_root(n, numbers, own);
    return own;
  }

private:
  [[nodiscard]] count_t first_row(int rank, int n) const { return m_partitions[n].first_row(rank, n); }
  [[nodiscard]] count_t rows(int rank, int n) const { return m_partitions[n].row_count(rank, n); }
  [[nodiscard]] count_t end_row(int rank, int n) const { return first_row(rank, n) + rows(rank, n); }
  /// How many numbers go to each rank and come from it: none.
  [[nodiscard]] std::pair<std::vector<count_t>, std::vector<count_t>> no_numbers() const {
    std::vector<count_t> const none(m_ranks.size(), 0);
    return {none, none};
  }

  [[nodiscard]] static std::span<Index const> indices_of(Host const& part) {
    return {part.indices().data(), part.indices().size()};
  }
  [[nodiscard]] static std::vector<double> values_of(Host const& part) {
    return {part.values().data(), part.values().data() + part.nnz()};
  }
  /// The nonzeros of all ranks in this rank's block, whose rows count from 0.
  [[nodiscard]] Received<Index> exchanged(std::span<Index const> indices, std::span<double const> values,
                                          Partition const& partition) const {
    return exchange<Index>(m_ranks.host(), LabelledNonzeros<Index>{partition, indices, values});
  }
  /// The extents of the nonzeros in the owned rows of mode n, which count from 0.
  [[nodiscard]] Extents extents_of_rows(int n) const {
    std::vector<count_t> extents;
    for (int m = 0; m < m_extents.order(); ++m)
      extents.push_back(m == n ? std::max<count_t>(rows(n), 1) : m_extents[m]);
    return Extents(std::span<count_t const>(extents));
  }
  [[nodiscard]] Tensor uploaded(Extents const& extents, Received<Index> const& entries) const {
    return upload<Scalar, Index>(m_ranks.space(), extents, std::span<Index const>(entries.indices),
                                 std::span<double const>(entries.values));
  }

  Extents m_extents;
  std::vector<Partition> m_partitions;  // one per mode, each by itself
  int m_longest        = 0;
  count_t m_nnz        = 0;
  count_t m_duplicates = 0;
  Imbalance m_imbalance;
};

/// A distribution by the entries of all ranks, of which each has a part, on the device or in host memory.
template <class Scalar, class Index, class Space>
[[nodiscard]] std::shared_ptr<NonzeroDistribution<Scalar, Index, Space>> rows_by_cuts(
    Communicator<Space> const& ranks, CooTensor<Scalar, Index, Space> const& part,
    CooTensor<Scalar, Index, HostOf<Space>> const& on_host) {
  bool const is_on_host = on_host.order() > 0;
  auto const& extents   = is_on_host ? on_host.extents() : part.extents();
  if (ranks.size() == 1)
    return std::make_shared<NonzeroDistribution<Scalar, Index, Space>>(ranks.space(), extents);
  auto const host = AllRanks<Space>(ranks).together(
      [&] { return is_on_host ? on_host : download<HostOf<Space>>(ranks.space(), part); });
  std::span<Index const> const indices(host.indices().data(), host.indices().size());
  return std::make_shared<RowsByCuts<Scalar, Index, Space>>(ranks, extents, indices);
}

}  // namespace polyad::detail
