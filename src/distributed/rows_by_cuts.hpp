// SPDX-License-Identifier: BSD-3-Clause
// RowsByCuts: RowOwners (formats/row_owners.hpp) over a communicator. Each mode is cut by itself into a range
// of rows for each rank, with about as many nonzeros each.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "distributed/exchange.hpp"
#include "fast_tucker/run_on_root.hpp"
#include "formats/row_owners.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/per_mode.hpp"
#include "polyad/distributed/cp_als.hpp"
#include "polyad/tensor/sum_duplicates.hpp"

namespace polyad::detail {

template <class Scalar, class Index, class Space>
class RowsByCuts final : public NonzeroOwners<Scalar, Index, Space> {
public:
  using Matrix = FactorMatrix<Scalar, Space>;
  using Format = AnyFormat<Scalar, Index, Space>;
  using Tensor = CooTensor<Scalar, Index, Space>;
  using Host   = CooTensor<Scalar, Index, HostOf<Space>>;

  /// Cuts each mode by its nonzeros. \param indices  of this rank's part: P x N, row-major
  RowsByCuts(Communicator<Space> const& ranks, Extents const& extents, std::span<Index const> indices)
      : m_ranks(ranks), m_extents(extents) {
    auto const order = static_cast<count_t>(extents.order());
    for (int n = 0; n < extents.order(); ++n) {
      Partition& of_n = m_partitions.emplace_back();
      of_n.extents    = m_extents;
      of_n.rank       = ranks.rank();
      for (int m = 0; m < extents.order(); ++m) {
        of_n.grid.push_back(m == n ? ranks.size() : 1);
        of_n.cuts.push_back({0, m_extents[m]});
      }
      of_mode(of_n.cuts, n) = cut_rows(
          ranks.host(), m_extents[n], indices.size() / order,
          [&](count_t p) { return count_t(indices[p * order + static_cast<count_t>(n)]); }, ranks.size());
      if (m_extents[n] > m_extents[m_longest]) m_longest = n;
    }
  }

  [[nodiscard]] count_t first_row(int n) const override { return first_row(m_ranks.rank(), n); }
  [[nodiscard]] count_t rows(int n) const override { return rows(m_ranks.rank(), n); }

  /// How many nonzeros of all ranks are in the owned rows of mode n. All ranks call it.
  [[nodiscard]] count_t own_count(std::span<Index const> indices, int n) const {
    auto const order = static_cast<count_t>(m_extents.order());
    LabelledNonzeros<Index> const nonzeros{of_mode(m_partitions, n), indices, {}};
    auto counts = count_kinds(indices.size() / order, static_cast<count_t>(m_ranks.size()),
                              [&](count_t p) { return nonzeros.owner(p); });
    m_ranks.host().all_reduce(counts.data(), counts.size());
    return counts[static_cast<std::size_t>(m_ranks.rank())];
  }
  /// The mode with the most rows.
  [[nodiscard]] int longest() const { return m_longest; }

  /// The nonzeros of all ranks in the owned rows of the longest mode, so that each rank has a part of about
  /// the same size.
  [[nodiscard]] Tensor dealt(Host const& part) const {
    if (part.order() > 0)
      POLYAD_EXPECTS(part.order() == m_extents.order(), "a set of order ", part.order(),
                     " beside a training set of order ", m_extents.order());
    auto received    = exchanged(indices_of(part), values_of(part), of_mode(m_partitions, m_longest));
    auto const order = static_cast<std::size_t>(m_extents.order());
    for (auto e = static_cast<std::size_t>(m_longest); e < received.indices.size(); e += order)
      received.indices[e] = static_cast<Index>(received.indices[e] + first_row(m_longest));
    return uploaded(m_extents, received);
  }

  [[nodiscard]] std::vector<Format> by_rows(Tensor const& part, AnyFormatOptions const& options) override {
    auto const host = download<HostOf<Space>>(m_ranks.space(), part);
    return by_rows(indices_of(host), values_of(host), options, false, [&](int n) {
      return (rows(n) + m_extents[n]) * padded_rank<Scalar>(options.rank) * sizeof(Scalar);
    });
  }
  /// The same for a part in host memory.
  /// \param sums  whether to sum duplicates; counts them and the nonzeros that are left
  /// \param bytes_beside  the run's bytes for mode n beside its nonzeros, for the imbalance
  template <class F>
  [[nodiscard]] std::vector<Format> by_rows(std::span<Index const> indices, std::span<double const> values,
                                            AnyFormatOptions const& options, bool sums,
                                            F const& bytes_beside) {
    std::vector<Format> formats;
    count_t nonzeros = 0, rows_of_all = 0, bytes = 0;
    for (int n = 0; n < m_extents.order(); ++n) {
      auto of_mode_n      = options;
      of_mode_n.only_mode = n;
      auto own            = own_nonzeros(indices, values, n);
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
    }
    auto const imbalance = [&](count_t number) { return imbalance_of(of_all_ranks(m_ranks.host(), number)); };
    m_imbalance          = {imbalance(nonzeros), imbalance(rows_of_all), imbalance(bytes)};
    m_ranks.host().all_reduce(&m_nnz, 1);
    m_ranks.host().all_reduce(&m_duplicates, 1);
    return formats;
  }
  /// Of the last by_rows, of all ranks together.
  [[nodiscard]] count_t nnz() const { return m_nnz; }
  [[nodiscard]] count_t duplicates() const { return m_duplicates; }
  [[nodiscard]] Imbalance const& imbalance() const { return m_imbalance; }

  void gather_rows(int n, Matrix const& C) override {
    std::vector<count_t> parts;
    for (int k = 0; k < m_ranks.size(); ++k) parts.push_back(rows(k, n) * static_cast<count_t>(C.stride(0)));
    m_ranks.data().all_gather(C.data(), parts);
  }
  void sum(Matrix const& numbers) override {
    m_ranks.data().all_reduce(numbers.data(), numbers.extent(0) * static_cast<count_t>(numbers.stride(0)));
  }
  void sum(double* numbers, count_t count) override { m_ranks.data().all_reduce(numbers, count); }
  void sum(std::uint64_t* numbers, count_t count) const override {
    m_ranks.data().all_reduce(numbers, count);
  }
  void agree(Matrix const& numbers) override {
    m_ranks.data().broadcast(numbers.data(), numbers.extent(0) * static_cast<count_t>(numbers.stride(0)), 0);
  }
  void agree(double* numbers, count_t count) override { m_ranks.data().broadcast(numbers, count, 0); }
  void sum_on_host(std::span<double> numbers) const override {
    m_ranks.host().all_reduce(numbers.data(), numbers.size());
    m_ranks.host().broadcast(numbers.data(), numbers.size(), 0);
  }
  [[nodiscard]] std::uint64_t sum_on_host(std::uint64_t number) const override {
    m_ranks.host().all_reduce(&number, 1);
    return number;
  }
  [[nodiscard]] double largest(double here) const override {
    auto const numbers = of_all_ranks(m_ranks.host(), here);
    return *std::max_element(numbers.begin(), numbers.end());
  }
  [[nodiscard]] bool any(bool here) const override { return sum_on_host(std::uint64_t(here ? 1 : 0)) > 0; }

  [[nodiscard]] bool is_root() const override { return m_ranks.rank() == 0; }
  [[nodiscard]] Tensor to_root(Tensor const& part) const override {
    // All rows in one range, that of rank 0.
    Partition all;
    all.extents = m_extents;
    all.rank    = m_ranks.rank();
    for (int n = 0; n < m_extents.order(); ++n) {
      all.grid.push_back(n == 0 ? m_ranks.size() : 1);
      all.cuts.push_back({0, m_extents[n]});
    }
    all.cuts[0].resize(static_cast<std::size_t>(m_ranks.size()) + 1, m_extents[0]);
    auto const host     = download<HostOf<Space>>(m_ranks.space(), part);
    auto const received = exchanged(indices_of(host), values_of(host), all);
    return run_on_root(*this, [&] { return uploaded(m_extents, received); });
  }
  [[nodiscard]] std::vector<double> from_root(std::vector<double> numbers) const override {
    std::uint64_t count = numbers.size();
    m_ranks.host().broadcast(&count, 1, 0);
    numbers.resize(count);
    m_ranks.host().broadcast(numbers.data(), count, 0);
    return numbers;
  }

  /// A matrix of which each rank has its rows of mode n: whole on rank 0, and empty elsewhere.
  [[nodiscard]] Matrix whole_on_root(int n, Matrix const& own) const {
    auto const sent = to_host<Scalar>(m_ranks.space(), own);
    std::vector<count_t> to(static_cast<std::size_t>(m_ranks.size()), 0);
    std::vector<count_t> from = to;
    to[0]                     = sent.size();
    for (int k = 0; k < m_ranks.size() && is_root(); ++k)
      from[static_cast<std::size_t>(k)] = rows(k, n) * own.extent(1);
    std::vector<double> gathered(std::accumulate(from.begin(), from.end(), count_t(0)));
    m_ranks.host().all_to_all(sent.data(), to, gathered.data(), from);
    if (!is_root()) return {};
    auto const whole =
        make_factor_matrix<Scalar>(m_ranks.space(), "polyad::factor", m_extents[n], own.extent(1));
    from_host<Scalar>(m_ranks.space(), gathered, whole);
    return whole;
  }

private:
  [[nodiscard]] count_t first_row(int rank, int n) const {
    return of_mode(m_partitions, n).first_row(rank, n);
  }
  [[nodiscard]] count_t rows(int rank, int n) const { return of_mode(m_partitions, n).row_count(rank, n); }

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
  /// Those in its rows of mode n.
  [[nodiscard]] Tensor own_nonzeros(std::span<Index const> indices, std::span<double const> values,
                                    int n) const {
    std::vector<count_t> extents;
    for (int m = 0; m < m_extents.order(); ++m)
      extents.push_back(m == n ? std::max<count_t>(rows(n), 1) : m_extents[m]);
    return uploaded(Extents(std::span<count_t const>(extents)),
                    exchanged(indices, values, of_mode(m_partitions, n)));
  }
  [[nodiscard]] Tensor uploaded(Extents const& extents, Received<Index> const& entries) const {
    return upload<Scalar, Index>(m_ranks.space(), extents, std::span<Index const>(entries.indices),
                                 std::span<double const>(entries.values));
  }

  Communicator<Space> m_ranks;
  Extents m_extents;
  std::vector<Partition> m_partitions;  // of each mode by itself
  int m_longest        = 0;
  count_t m_nnz        = 0;
  count_t m_duplicates = 0;
  Imbalance m_imbalance;
};

}  // namespace polyad::detail
