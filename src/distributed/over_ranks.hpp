// SPDX-License-Identifier: BSD-3-Clause
// OverRanks: what all distributions of rows over a communicator have: sums, agreement, and who is first.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "distributed/exchange.hpp"
#include "polyad/core/error.hpp"
#include "polyad/distributed/communicator.hpp"
#include "run/row_distribution.hpp"

namespace polyad::detail {

/// \tparam Distribution  RowDistribution or NonzeroDistribution
template <class Distribution, class Space>
class OverRanks : public Distribution {
public:
  using Matrix = typename Distribution::Matrix;

  OverRanks(Communicator<Space> const& ranks, Extents const& extents)
      : Distribution(ranks.space(), extents), m_ranks(ranks) {}

  [[nodiscard]] int rank() const override { return m_ranks.rank(); }
  [[nodiscard]] bool any(bool here) const override { return sum_on_host(std::uint64_t(here ? 1 : 0)) > 0; }
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
  [[nodiscard]] RankSums rank_sums() const override {
    return {[this](std::span<double> numbers) { sum_on_host(numbers); },
            [this](double here) { return largest(here); }};
  }
  void broadcast_from_root(double* numbers, std::uint64_t count) const override {
    m_ranks.host().broadcast(numbers, count, 0);
  }
  [[nodiscard]] bool keeps_format() const override { return false; }
  [[nodiscard]] bool runs_side_by_side() const override { return false; }
  void rethrow_if_awaited() const override { throw; }
  void expect_supported(bool is_supported, std::string_view what) const override {
    POLYAD_EXPECTS(is_supported, what, " does not run on several ranks");
  }

  void sum(Matrix const& numbers) const override {
    m_ranks.data().all_reduce(numbers.data(), size_of(numbers));
  }
  void sum(double* numbers, count_t count) const override { m_ranks.data().all_reduce(numbers, count); }
  void sum(std::uint64_t* numbers, count_t count) const override {
    m_ranks.data().all_reduce(numbers, count);
  }
  void broadcast_from_root(Matrix const& numbers) const override {
    m_ranks.data().broadcast(numbers.data(), size_of(numbers), 0);
  }
  void broadcast_on_device(double* numbers, count_t count) const override {
    m_ranks.data().broadcast(numbers, count, 0);
  }

protected:
  Communicator<Space> m_ranks;

private:
  /// Its elements, and the padding of its rows.
  [[nodiscard]] static count_t size_of(Matrix const& matrix) { return matrix.extent(0) * matrix.stride(0); }
};

/// The ranks of a communicator without rows.
template <class Space>
class AllRanks final : public OverRanks<RowDistribution<double, Space>, Space> {
public:
  explicit AllRanks(Communicator<Space> const& ranks)
      : OverRanks<RowDistribution<double, Space>, Space>(ranks, Extents()) {}
};

}  // namespace polyad::detail
