// SPDX-License-Identifier: BSD-3-Clause
// FastTucker's als on many ranks: each owns a range of rows of every mode.
#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "distributed/exchange.hpp"
#include "fast_tucker/entries.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/distributed/cp_als.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"

namespace polyad {

using namespace detail;

namespace {

template <class Scalar, class Index, class Space>
class RowsByCuts final : public RowOwners<Scalar, Index, Space> {
public:
  using Matrix = FactorMatrix<Scalar, Space>;
  using Format = AnyFormat<Scalar, Index, Space>;
  using Tensor = CooTensor<Scalar, Index, Space>;
  using Host   = CooTensor<Scalar, Index, HostOf<Space>>;

  /// Cuts each mode by its observations. \param part  this rank's
  RowsByCuts(Communicator<Space> const& ranks, Host const& part) : m_ranks(ranks), m_extents(part.extents()) {
    for (int n = 0; n < part.order(); ++n) {
      Partition& of_n = m_partitions.emplace_back();
      of_n.extents    = m_extents;
      of_n.rank       = ranks.rank();
      for (int m = 0; m < part.order(); ++m) {
        of_n.grid.push_back(m == n ? ranks.size() : 1);
        of_n.cuts.push_back({0, m_extents[m]});
      }
      of_mode(of_n.cuts, n) = cut_mode(ranks.host(), m_extents, indices_of(part), n, ranks.size());
      if (m_extents[n] > m_extents[m_longest]) m_longest = n;
    }
  }

  [[nodiscard]] count_t first_row(int n) const override { return first_row(m_ranks.rank(), n); }
  [[nodiscard]] count_t rows(int n) const override { return rows(m_ranks.rank(), n); }

  /// The entries of all ranks in the owned rows of the longest mode, so that each rank has a part of about
  /// the same size.
  [[nodiscard]] Tensor dealt(Host const& part) const {
    if (part.order() > 0)
      POLYAD_EXPECTS(part.order() == m_extents.order(), "a set of order ", part.order(),
                     " beside a training set of order ", m_extents.order());
    auto received    = exchanged(part, of_mode(m_partitions, m_longest));
    auto const order = static_cast<std::size_t>(m_extents.order());
    for (auto e = static_cast<std::size_t>(m_longest); e < received.indices.size(); e += order)
      received.indices[e] = static_cast<Index>(received.indices[e] + first_row(m_longest));
    return uploaded(m_extents, received);
  }

  [[nodiscard]] std::vector<Format> by_rows(Tensor const& part, AnyFormatOptions const& options) override {
    auto const host = download<HostOf<Space>>(m_ranks.space(), part);
    std::vector<Format> formats;
    count_t observations = 0, rows_of_all = 0, bytes = 0;
    for (int n = 0; n < m_extents.order(); ++n) {
      auto const received = exchanged(host, of_mode(m_partitions, n));
      std::vector<count_t> extents;
      for (int m = 0; m < m_extents.order(); ++m)
        extents.push_back(m == n ? std::max<count_t>(rows(n), 1) : m_extents[m]);
      auto of_mode_n      = options;
      of_mode_n.only_mode = n;
      formats.push_back(any_format(
          m_ranks.space(), uploaded(Extents(std::span<count_t const>(extents)), received), of_mode_n));
      observations += received.values.size();
      rows_of_all += rows(n);
      bytes += formats.back().storage_bytes() +
               (rows(n) + m_extents[n]) * padded_rank<Scalar>(options.rank) * sizeof(Scalar);
    }
    auto const imbalance = [&](count_t number) { return imbalance_of(of_all_ranks(m_ranks.host(), number)); };
    m_imbalance          = {imbalance(observations), imbalance(rows_of_all), imbalance(bytes)};
    return formats;
  }
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
    return uploaded(m_extents, exchanged(download<HostOf<Space>>(m_ranks.space(), part), all));
  }
  [[nodiscard]] std::vector<double> from_root(std::vector<double> numbers) const override {
    std::uint64_t count = numbers.size();
    m_ranks.host().broadcast(&count, 1, 0);
    numbers.resize(count);
    m_ranks.host().broadcast(numbers.data(), count, 0);
    return numbers;
  }

  /// The model with whole A^(n) on rank 0, and an empty one elsewhere.
  [[nodiscard]] FastTuckerModel<Scalar, Space> whole_on_root(FastTuckerModel<Scalar, Space> model) const {
    for (int n = 0; n < model.order(); ++n) {
      Matrix const own = model.A(n);
      auto const sent  = to_host<Scalar>(m_ranks.space(), own);
      std::vector<count_t> to(static_cast<std::size_t>(m_ranks.size()), 0);
      std::vector<count_t> from = to;
      to[0]                     = sent.size();
      for (int k = 0; k < m_ranks.size() && m_ranks.rank() == 0; ++k)
        from[static_cast<std::size_t>(k)] = rows(k, n) * own.extent(1);
      std::vector<double> whole(std::accumulate(from.begin(), from.end(), count_t(0)));
      m_ranks.host().all_to_all(sent.data(), to, whole.data(), from);
      if (m_ranks.rank() > 0) continue;
      model.A(n) = make_factor_matrix<Scalar>(m_ranks.space(), "polyad::factor", m_extents[n], own.extent(1));
      from_host<Scalar>(m_ranks.space(), whole, model.A(n));
    }
    return m_ranks.rank() == 0 ? model : FastTuckerModel<Scalar, Space>();
  }

private:
  [[nodiscard]] count_t first_row(int rank, int n) const {
    return of_mode(m_partitions, n).first_row(rank, n);
  }
  [[nodiscard]] count_t rows(int rank, int n) const { return of_mode(m_partitions, n).row_count(rank, n); }

  [[nodiscard]] static std::span<Index const> indices_of(Host const& part) {
    return {part.indices().data(), part.indices().size()};
  }
  /// The entries of all ranks in this rank's block, whose rows count from 0.
  [[nodiscard]] Received<Index> exchanged(Host const& part, Partition const& partition) const {
    std::vector<double> const values(part.values().data(), part.values().data() + part.nnz());
    return exchange(m_ranks.host(), partition, indices_of(part), std::span<double const>(values));
  }
  [[nodiscard]] Tensor uploaded(Extents const& extents, Received<Index> const& entries) const {
    return upload<Scalar, Index>(m_ranks.space(), extents, std::span<Index const>(entries.indices),
                                 std::span<double const>(entries.values));
  }

  Communicator<Space> m_ranks;
  Extents m_extents;
  std::vector<Partition> m_partitions;  // of each mode by itself
  int m_longest = 0;
  Imbalance m_imbalance;
};

}  // namespace

template <class Scalar, class Index, class Space>
FastTuckerOfRanks<Scalar, Space> fast_tucker(Communicator<Space> const& ranks,
                                             FastTuckerData<Scalar, Index, Space> const& parts,
                                             FastTuckerOptions const& options,
                                             FastTuckerCallback const& callback,
                                             AnyFormatOptions const& format) {
  auto const& space = ranks.space();
  POLYAD_EXPECTS(!parts.format, "ranks choose formats for their rows");
  if (ranks.size() == 1) return {fast_tucker(space, parts, options, callback, format), {}};
  POLYAD_EXPECTS(options.optimizer == FastTuckerOptimizer::als, "only als runs on several ranks");
  auto const host = [&](CooTensor<Scalar, Index, Space> const& set) {
    return set.order() > 0 ? download<HostOf<Space>>(space, set) : CooTensor<Scalar, Index, HostOf<Space>>();
  };
  auto const train  = parts.train_on_host.order() > 0 ? parts.train_on_host : host(parts.train);
  auto const owners = std::make_shared<RowsByCuts<Scalar, Index, Space>>(ranks, train);
  FastTuckerData<Scalar, Index, Space> own;
  own.train      = owners->dealt(train);
  own.validation = owners->dealt(host(parts.validation));
  own.test       = owners->dealt(host(parts.test));
  FastTuckerOfRanks<Scalar, Space> result{
      fit_owned_rows<Scalar, Index, Space>(space, own, options, callback, format, owners),
      owners->imbalance()};
  result.model = owners->whole_on_root(result.model);
  return result;
}

#define POLYAD_FAST_TUCKER_OF_RANKS(Scalar, Index)                                                   \
  template FastTuckerOfRanks<Scalar, Kokkos::DefaultExecutionSpace> fast_tucker(                     \
      Communicator<Kokkos::DefaultExecutionSpace> const&,                                            \
      FastTuckerData<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, FastTuckerOptions const&, \
      FastTuckerCallback const&, AnyFormatOptions const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_FAST_TUCKER_OF_RANKS);

}  // namespace polyad
