// SPDX-License-Identifier: BSD-3-Clause
#include "fit/measure_tucker.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "fit/exact_gram.hpp"
#include "fit/sum_cells.hpp"
#include "fit/tucker_cells.hpp"
#include "polyad/core/spaces.hpp"

namespace polyad::detail {
namespace {

template <class T, class Space>
using Numbers = Kokkos::View<T*, typename Space::device_type>;

/// The rows of U^(N-1) times the core.
template <class T, class Space, class Scalar>
struct ContractRows {
  TuckerCells<Scalar, T> cells;  // without a table
  Numbers<T, Space> table;

  KOKKOS_FUNCTION void operator()(count_t e) const {
    table(e) = cells.contracted(e / cells.columns, e % cells.columns);
  }
};

template <class T, class Space, class Scalar>
struct CopyCore {
  FactorMatrix<Scalar, Space> core;
  Numbers<T, Space> to;

  KOKKOS_FUNCTION void operator()(count_t e) const {
    to(e) = T(static_cast<double>(core(e / core.extent(1), e % core.extent(1))));
  }
};

/// A tensor times a symmetric matrix along one mode: entries `step` apart differ in this mode's index.
template <class T, class Space>
struct MultiplyMode {
  Numbers<T, Space> from;
  Numbers<T, Space> to;
  Numbers<DoubleDouble, Space> matrix;  // size x size
  count_t size;
  count_t step;

  KOKKOS_FUNCTION void operator()(count_t e) const {
    count_t const i     = e / step % size;
    count_t const begin = e - i * step;
    T sum               = 0.0;
    for (count_t j = 0; j < size; ++j) sum += from(begin + j * step) * static_cast<T>(matrix(i * size + j));
    to(e) = sum;
  }
};

template <class T, class Space>
struct SumProducts {
  using value_type = DoubleDouble;
  Numbers<T, Space> one;
  Numbers<T, Space> other;

  KOKKOS_FUNCTION void operator()(count_t e, DoubleDouble& sum) const {
    sum += DoubleDouble(one(e)) * DoubleDouble(other(e));
  }
  KOKKOS_FUNCTION void init(DoubleDouble& sum) const { sum = DoubleDouble(); }
  KOKKOS_FUNCTION void join(DoubleDouble& sum, DoubleDouble const& other_sum) const { sum += other_sum; }
};

template <class T, class Space>
Numbers<T, Space> numbers_of(Space const& space, char const* label, count_t count) {
  expect_fits(space, label, count, sizeof(T));
  return Numbers<T, Space>(uninitialized(space, label), count);
}

template <class Space>
auto range(Space const& space, count_t count) {
  return Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, count);
}

struct CoreNorms {
  DoubleDouble model;  // ||M||^2
  double core  = 0;    // ||G||^2
  double terms = 1;    // the product of ||U^(n)||^2
};

/// ||M||^2 = <G, G times U^(n)' U^(n) along every mode>
template <class T, class Scalar, class Space>
CoreNorms core_norms(Space const& space, StoredTucker<Scalar, Space> const& model, RankSums const& ranks) {
  CoreNorms norms;
  count_t const size = model.core.size();
  auto const core    = numbers_of<T>(space, "polyad::fit_core", size);
  auto from          = numbers_of<T>(space, "polyad::fit_core_product", size);
  auto to            = numbers_of<T>(space, "polyad::fit_core_product", size);
  Kokkos::parallel_for("polyad::copy_core", range(space, size), CopyCore<T, Space, Scalar>{model.core, core});
  Kokkos::deep_copy(space, from, core);
  count_t step = model.core.extent(1);  // the last mode's index is the slowest, then come the others in order
  for (std::size_t k = 0; k < model.owned.size(); ++k) {
    auto const& U      = model.owned[k == 0 ? model.owned.size() - 1 : k - 1];
    count_t const rank = U.extent(1);
    auto gram          = exact_gram<T>(space, U);
    sum_over_ranks(ranks, gram);
    DoubleDouble trace;
    for (count_t r = 0; r < rank; ++r) trace += gram[r * rank + r];
    norms.terms *= static_cast<double>(trace);
    auto const matrix = numbers_of<DoubleDouble>(space, "polyad::fit_gram", gram.size());
    auto const host   = Kokkos::create_mirror_view(matrix);
    std::copy(gram.begin(), gram.end(), host.data());
    Kokkos::deep_copy(space, matrix, host);
    if (k > 0) step /= rank;
    Kokkos::parallel_for("polyad::multiply_mode", range(space, size),
                         MultiplyMode<T, Space>{from, to, matrix, rank, step});
    space.fence("polyad::fit");
    std::swap(from, to);
  }
  DoubleDouble squared;
  Kokkos::parallel_reduce("polyad::core_norm", range(space, size), SumProducts<T, Space>{core, from},
                          norms.model);
  Kokkos::parallel_reduce("polyad::core_norm", range(space, size), SumProducts<T, Space>{core, core},
                          squared);
  norms.core = static_cast<double>(squared);
  return norms;
}

template <class T, class Scalar, class Space>
Fit tucker_fit_in(Space const& space, FormatInterface<Scalar, Space> const& X,
                  StoredTucker<Scalar, Space> const& model, double scale, RankSums const& ranks) {
  auto const norms = core_norms<T>(space, model, ranks);
  TuckerCells<Scalar, T> cells;
  cells.order       = static_cast<int>(model.factors.size());
  cells.core        = model.core.data();
  cells.core_stride = model.core.stride(0);
  cells.columns     = model.core.extent(1);
  double roundings  = 0;
  for (int n = 0; n < cells.order; ++n) {
    auto const& U    = model.factors[n];
    cells.factors[n] = U.data();
    cells.strides[n] = U.stride(0);
    cells.ranks[n]   = U.extent(1);
    roundings += static_cast<double>(U.extent(1));
  }
  // A row of U^(N-1) times the core serves all nonzeros with this index.
  count_t const rows = model.factors.back().extent(0);
  Numbers<T, Space> table;
  if (rows < X.nnz() / 2 && cells.columns <= available_memory(space) / (2 * sizeof(T)) / rows) {
    table = numbers_of<T>(space, "polyad::fit_table", rows * cells.columns);
    Kokkos::parallel_for("polyad::contract_rows", range(space, table.size()),
                         ContractRows<T, Space, Scalar>{cells, table});
    cells.table = table.data();
  }
  auto const sums = sum_cells(space, X, cells, scale, ranks);
  // The sum of the terms' absolute values: |G| times |U^(n)|.
  double const components = std::sqrt(norms.core * norms.terms);
  return fit_of(squares_of_cells<T>(sums, norms.model, components,
                                    {cells.roundings(), cells.order * (gram_roundings + 1) + roundings}));
}

}  // namespace

template <class Scalar, class Space>
Fit measure_tucker_fit(Space const& space, FormatInterface<Scalar, Space> const& X,
                       StoredTucker<Scalar, Space> const& model, double scale, RankSums const& ranks) {
  return exact_fit<Scalar>([&]<class T>(T) { return tucker_fit_in<T>(space, X, model, scale, ranks); });
}

POLYAD_EACH_SCALAR(, POLYAD_MEASURE_TUCKER_FIT);

}  // namespace polyad::detail
