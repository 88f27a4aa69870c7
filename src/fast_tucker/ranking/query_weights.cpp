// SPDX-License-Identifier: BSD-3-Clause
#include "fast_tucker/ranking/query_weights.hpp"

#include "dense/intermediates.hpp"
#include "fast_tucker/ranking/seen_rows.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/kernel/machine.hpp"

namespace polyad::detail {

namespace {

/// One team per column: mean(j) over the rows of a matrix that have entries, `count` of them.
template <class Scalar, class Space>
struct MeanOfRows {
  Scalar const* matrix;
  count_t stride;
  count_t rows;
  Observed<Space> observed;
  count_t count;
  QueryDoubles<Space> mean;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    count_t const j = member.league_rank();
    double total    = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, rows),
        [&](count_t const i, double& sum) {
          if (observed.extent(0) == 0 || observed(i) != 0) sum += static_cast<double>(matrix[i * stride + j]);
        },
        total);
    Kokkos::single(Kokkos::PerTeam(member), [&] { mean(j) = total / static_cast<double>(count); });
  }
};

template <class Scalar, class Space>
struct AddBiases {
  QueryNumbers<Space> indices;
  count_t stride;
  count_t position;
  BiasVector<Scalar, Space> bias;
  QueryDoubles<Space> mean;
  QueryDoubles<Space> base;
  KOKKOS_FUNCTION void operator()(count_t q) const {
    count_t const index = indices(q * stride + position);
    if (index < bias.extent(0))
      base(q) += static_cast<double>(bias(index));
    else if (index == every_row)
      base(q) += mean(0);
  }
};

/// The bins of mode n's drift. Waits.
template <class Scalar, class Space>
TimeBins<Space> time_bins(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                          ObservedRows const& observed, int n) {
  count_t const times = model.extents()[model.time_mode], bins = model.drift(n).extent(1);
  std::vector<double> shares(bins, 0);
  for (count_t t = 0; t < times; ++t)
    if (is_observed(observed, model.time_mode, t)) shares[time_bin(t, bins, times)] += 1;
  for (double& share : shares) share /= static_cast<double>(observed_count(observed, model.time_mode, times));
  QueryDoubles<Space> const copy("polyad::shares_of_bins", bins);
  Kokkos::deep_copy(
      space, copy,
      Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(shares.data(), bins));
  space.fence("polyad::shares_of_bins");
  return {copy, times};
}

/// The drift of the biases of a row, or of the mean row; 0 for a row that the mode does not have.
template <class Scalar, class Space>
struct RowDrift {
  FactorMatrix<Scalar, Space> drift;
  QueryDoubles<Space> mean;
  [[nodiscard]] KOKKOS_FUNCTION double at(count_t row, count_t b) const {
    return row < drift.extent(0) ? static_cast<double>(drift(row, b)) : row == every_row ? mean(b) : 0;
  }
};

/// base(q) += the drift of the query's row at the query's time.
template <class Scalar, class Space>
struct AddDrifts {
  QueryIndices<Space> queries;
  count_t position;
  count_t position_of_time;
  RowDrift<Scalar, Space> drifts;
  TimeBins<Space> time;
  QueryDoubles<Space> base;
  KOKKOS_FUNCTION void operator()(count_t q) const {
    count_t const bins = drifts.drift.extent(1);
    for (count_t b = 0; b < bins; ++b)
      base(q) += time.share(queries.at(q, position_of_time), b) * drifts.at(queries.at(q, position), b);
  }
};

/// The drifts of the ranked mode enter the scores as a product: the rows' drifts times the shares of the
/// bins.
template <class Scalar, class Space>
struct TakeShares {
  QueryIndices<Space> queries;
  count_t position_of_time;
  TimeBins<Space> time;
  FactorMatrix<Scalar, Space> shares;  // Q x bins
  KOKKOS_FUNCTION void operator()(count_t i) const {
    count_t const bins = shares.extent(1);
    shares(i / bins, i % bins) =
        static_cast<Scalar>(time.share(queries.at(i / bins, position_of_time), i % bins));
  }
};

/// If times are ranked, the part of the drifts is a product of the query's drifts and the bins of the times.
template <class Scalar, class Space>
struct TakeDrifts {
  QueryIndices<Space> queries;
  count_t position;
  RowDrift<Scalar, Space> drifts;
  FactorMatrix<Scalar, Space> taken;  // Q x bins
  KOKKOS_FUNCTION void operator()(count_t i) const {
    count_t const bins        = taken.extent(1);
    taken(i / bins, i % bins) = static_cast<Scalar>(drifts.at(queries.at(i / bins, position), i % bins));
  }
};

template <class Scalar, class Space>
struct MultiplyEntries {
  FactorMatrix<Scalar, Space> by;
  FactorMatrix<Scalar, Space> product;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    product(i / by.extent(1), i % by.extent(1)) *= by(i / by.extent(1), i % by.extent(1));
  }
};

template <class Scalar, class Space>
QueryDoubles<Space> mean_of_rows(Space const& space, Scalar const* matrix, count_t stride, count_t rows,
                                 Observed<Space> const& observed, count_t count, count_t columns) {
  QueryDoubles<Space> const mean("polyad::mean_row", columns);
  Kokkos::parallel_for("polyad::mean_of_rows", team_policy(space, launch_shape<Space>(columns, 256, 1)),
                       MeanOfRows<Scalar, Space>{matrix, stride, rows, observed, count, mean});
  return mean;
}

}  // namespace

template <class Scalar, class Space>
QueryWeights<Scalar, Space>::QueryWeights(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                          int mode, count_t batch, ObservedRows const& observed)
    : m_space(space), m_model(model), m_mode(mode) {
  m_factors = make_factor_matrix<Scalar>(space, "polyad::query_factors", batch, model.rank());
  for (int n = 0; n < model.order(); ++n) {
    if (n == mode) continue;
    auto const& A      = model.A(n);
    m_rows[n]          = make_factor_matrix<Scalar>(space, "polyad::query_rows", batch, A.extent(1));
    auto const of_rows = observed_of(space, observed, n);
    auto const mean_of = [&](Scalar const* matrix, count_t stride, count_t columns) {
      return mean_of_rows<Scalar>(space, matrix, stride, A.extent(0), of_rows,
                                  observed_count(observed, n, A.extent(0)), columns);
    };
    m_mean_row[n] = mean_of(A.data(), static_cast<count_t>(A.stride(0)), A.extent(1));
    if (model.has_biases()) m_mean_bias[n] = mean_of(model.bias(n).data(), 1, 1);
    auto const& drift = model.drift(n);
    if (drift.extent(1) > 0)
      m_mean_drift[n] = mean_of(drift.data(), static_cast<count_t>(drift.stride(0)), drift.extent(1));
  }
  for (int n = 0; n < model.order() && model.time_mode >= 0; ++n)
    if (model.drift(n).extent(1) > 0) m_bins[n] = time_bins(space, model, observed, n);
}

template <class Scalar, class Space>
void QueryWeights<Scalar, Space>::form(std::vector<count_t> const& indices,
                                       FactorMatrix<Scalar, Space> const& weights,
                                       QueryDoubles<Space> const& base) const {
  auto const on_device = numbers_from(m_space, "polyad::queries", indices);
  count_t const width  = m_model.order() - 1;
  count_t const Q      = indices.size() / width;
  auto const range     = [&](count_t end) {
    return Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, end);
  };
  auto const first = [&](FactorMatrix<Scalar, Space> const& matrix) -> FactorMatrix<Scalar, Space> {
    return Kokkos::subview(matrix, Kokkos::make_pair(count_t(0), Q), Kokkos::ALL);
  };
  FactorMatrix<Scalar, Space> const products =
      Kokkos::subview(weights, Kokkos::ALL, Kokkos::make_pair(count_t(0), m_model.rank()));
  Kokkos::deep_copy(m_space, base, m_model.mean);
  count_t position = 0;
  for (int n = 0; n < m_model.order(); ++n) {
    if (n == m_mode) continue;
    auto const& A   = m_model.A(n);
    auto const rows = first(m_rows[n]);
    Kokkos::parallel_for("polyad::take_rows", range(Q * A.extent(1)),
                         GatherRows<Scalar, Space>{on_device, width, position, A, m_mean_row[n], rows});
    intermediates(m_space, rows, m_model.B(n), first(position == 0 ? products : m_factors));
    if (position > 0)
      Kokkos::parallel_for("polyad::query_weights", range(Q * m_model.rank()),
                           MultiplyEntries<Scalar, Space>{m_factors, products});
    if (m_model.has_biases())
      Kokkos::parallel_for(
          "polyad::query_biases", range(Q),
          AddBiases<Scalar, Space>{on_device, width, position, m_model.bias(n), m_mean_bias[n], base});
    ++position;
  }
  if (m_model.time_mode >= 0) form_drifts({on_device, width}, Q, weights, base);
  m_space.fence("polyad::query_weights");  // the indices go
}

template <class Scalar, class Space>
void QueryWeights<Scalar, Space>::form_drifts(QueryIndices<Space> const& queries, count_t Q,
                                              FactorMatrix<Scalar, Space> const& weights,
                                              QueryDoubles<Space> const& base) const {
  int const time      = m_model.time_mode;
  bool const of_times = m_mode == time;
  count_t column      = m_model.rank();
  auto const range    = [&](count_t end) {
    return Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(m_space, 0, end);
  };
  for (int n = 0; n < m_model.order(); ++n) {
    auto const& drift  = m_model.drift(n);
    count_t const bins = drift.extent(1);
    if (bins == 0) continue;
    RowDrift<Scalar, Space> const drifts{drift, m_mean_drift[n]};
    if (!of_times && n != m_mode) {
      Kokkos::parallel_for(
          "polyad::query_drifts", range(Q),
          AddDrifts<Scalar, Space>{queries, position_of(n), position_of(time), drifts, m_bins[n], base});
      continue;
    }
    FactorMatrix<Scalar, Space> const columns =
        Kokkos::subview(weights, Kokkos::make_pair(count_t(0), Q), Kokkos::make_pair(column, column + bins));
    if (of_times)
      Kokkos::parallel_for("polyad::query_drifts", range(Q * bins),
                           TakeDrifts<Scalar, Space>{queries, position_of(n), drifts, columns});
    else
      Kokkos::parallel_for("polyad::query_drifts", range(Q * bins),
                           TakeShares<Scalar, Space>{queries, position_of(time), m_bins[n], columns});
    column += bins;
  }
}

POLYAD_EACH_SCALAR(, POLYAD_QUERY_WEIGHTS);

}  // namespace polyad::detail
