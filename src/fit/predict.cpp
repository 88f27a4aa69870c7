// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fit/predict.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "fit/model_values.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/error.hpp"
#include "polyad/kernel/rank_dispatch.hpp"
#include "tensor/coordinates_inside.hpp"

namespace polyad {

using namespace detail;
namespace {

/// Entries per thread. On hosts the number does not depend on the number of threads, so the errors do not
/// either.
template <class Space>
inline constexpr count_t value_chunk = items_per_thread<Space>(128, 1024);

/// \throws MemoryError
template <class Number, class Space>
Kokkos::View<Number*, typename Space::device_type> copied_to(Space const& space, char const* what,
                                                             std::vector<Number> const& numbers) {
  expect_fits(space, what, numbers.size(), sizeof(Number));
  Kokkos::View<Number*, typename Space::device_type> const copy(
      Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::" + std::string(what)), numbers.size());
  auto const host = Kokkos::create_mirror_view(Kokkos::HostSpace(), copy);
  std::copy(numbers.begin(), numbers.end(), host.data());
  Kokkos::deep_copy(space, copy, host);
  space.fence("polyad::copied_to");
  return copy;
}

/// A model's factors in the form that a kernel uses, and the owners of the memory.
template <class Scalar, class Space>
struct HeldRows {
  RowsOfModel<Scalar> rows;
  std::vector<FactorMatrix<Scalar, Space>> factors;
  std::vector<Kokkos::View<count_t*, typename Space::device_type>> numbers;

  HeldRows(Space const& space, std::vector<StoredRows> const& stored, Extents const& places) {
    m_stored = &stored;
    POLYAD_EXPECTS(stored.empty() || stored.size() == static_cast<std::size_t>(places.order()),
                   "the model has lists of rows of ", stored.size(), " modes for entries of order ",
                   places.order());
    m_space  = &space;
    m_places = &places;
  }

  /// The factor of the next mode. \throws UsageError when it has other rows than the lists say, or fewer than
  /// the places
  void add(FactorMatrix<Scalar, Space> const& factor) {
    int const n        = rows.order;
    count_t const size = factor.extent(0);
    bool const listed  = !m_stored->empty() && (*m_stored)[n].is_list();
    count_t extent     = size;
    if (!m_stored->empty()) {
      StoredRows const& list = (*m_stored)[n];
      POLYAD_EXPECTS(list.size() == size, "factor ", n, " has ", size, " rows, but ", list.size(),
                     " are stored");
      extent = list.extent();
    }
    POLYAD_EXPECTS((*m_places)[n] <= extent, "mode ", n, " of the entries has ", (*m_places)[n],
                   " rows, but the model has ", extent);
    factors.push_back(with_packed_rows<Scalar, Space>(*m_space, factor));
    auto const& packed  = factors.back();
    std::size_t const m = n;
    rows.factors[m]     = packed.data();
    rows.strides[m]     = static_cast<count_t>(packed.stride(0));
    if (listed) {
      numbers.push_back(copied_to(*m_space, "stored_rows", (*m_stored)[n].numbers()));
      rows.numbers[m] = numbers.back().data();
      rows.stored[m]  = size;
      // A list of no rows has no memory, and all its rows are missing.
      if (size == 0) rows.numbers[m] = none().data();
    }
    ++rows.order;
  }

private:
  /// One number that is never read.
  Kokkos::View<count_t*, typename Space::device_type> const& none() {
    if (m_none.extent(0) == 0) m_none = copied_to(*m_space, "stored_rows", std::vector<count_t>{0});
    return m_none;
  }

  std::vector<StoredRows> const* m_stored = nullptr;
  Space const* m_space                    = nullptr;
  Extents const* m_places                 = nullptr;
  Kokkos::View<count_t*, typename Space::device_type> m_none;
};

template <class Value, class Index, class Space>
void launch_values(Space const& space, Value const& value,
                   CooTensor<typename Value::scalar_type, Index, Space> const& X,
                   ValueOutputs<typename Value::scalar_type> const& out) {
  ValuesOfEntries<Value, Index> const kernel{
      value, X.indices().data(), X.values().data(), out, {X.nnz(), value_chunk<Space>}};
  detail::launch("polyad::model_values", kernel.entries.template policy<typename Value::Row>(space), kernel);
}

template <class Space, class Scalar, class Index>
void evaluate(Space const& space, Ktensor<Scalar, Space> const& model,
              CooTensor<Scalar, Index, Space> const& X, ValueOutputs<Scalar> const& out) {
  auto const& factors = model.factors;
  POLYAD_EXPECTS(X.order() == factors.order(), "entries of order ", X.order(), " for a model of order ",
                 factors.order());
  POLYAD_EXPECTS(model.weights.size() == factors.rank(), "the model has ", model.weights.size(),
                 " weights and the rank ", factors.rank());
  int const rank = checked_rank(factors.rank());
  HeldRows<Scalar, Space> held(space, model.rows, X.extents());
  for (int n = 0; n < factors.order(); ++n) {
    POLYAD_EXPECTS(factors[n].extent(1) == factors.rank(), "factor ", n, " has ", factors[n].extent(1),
                   " columns, not ", factors.rank());
    held.add(factors[n]);
  }
  expect_coordinates_inside(space, X);
  if (X.nnz() == 0) return;
  auto const weights = copied_to(space, "weights", model.weights);
  with_block(static_cast<count_t>(rank), [&](auto block) {
    launch_values(space, CpValue<Space, Scalar, block()>{held.rows, weights.data(), rank}, X, out);
  });
}

template <int Block, class Space, class Scalar>
TuckerValue<Space, Scalar, Block> tucker_value(RowsOfModel<Scalar> const& rows, std::vector<int> const& ranks,
                                               FactorMatrix<Scalar, Space> const& core) {
  TuckerValue<Space, Scalar, Block> value;
  value.rows = rows;
  std::copy(ranks.begin(), ranks.end(), value.ranks);
  value.core        = core.data();
  value.core_stride = static_cast<count_t>(core.stride(0));
  value.columns     = static_cast<int>(core.extent(1));
  return value;
}

template <class Space, class Scalar, class Index>
void evaluate(Space const& space, TuckerModel<Scalar, Space> const& model,
              CooTensor<Scalar, Index, Space> const& X, ValueOutputs<Scalar> const& out) {
  POLYAD_EXPECTS(static_cast<std::size_t>(X.order()) == model.factors.size(), "entries of order ", X.order(),
                 " for a model of order ", model.factors.size());
  HeldRows<Scalar, Space> held(space, model.rows, X.extents());
  std::vector<int> ranks;
  count_t others = 1;
  for (int n = 0; n < X.order(); ++n) {
    auto const& factor = model.factors[n];
    held.add(factor);
    ranks.push_back(checked_rank(factor.extent(1)));
    if (n + 1 < X.order()) others = checked_product("the columns of the core", others, factor.extent(1));
  }
  POLYAD_EXPECTS(model.core.extent(0) == static_cast<count_t>(ranks.back()) && model.core.extent(1) == others,
                 "the core is ", model.core.extent(0), " x ", model.core.extent(1), ", not ", ranks.back(),
                 " x ", others);
  POLYAD_EXPECTS(others <= static_cast<count_t>(std::numeric_limits<int>::max() - full_block), "a core of ",
                 others, " columns is too large");
  expect_coordinates_inside(space, X);
  if (X.nnz() == 0) return;
  auto const core = with_packed_rows<Scalar, Space>(space, model.core);
  if (others <= 8)
    launch_values(space, tucker_value<8, Space>(held.rows, ranks, core), X, out);
  else
    launch_values(space, tucker_value<full_block, Space>(held.rows, ranks, core), X, out);
}

}  // namespace

template <class Space, class Model, class Scalar, class Index>
  requires HasValues<Model, Scalar, Space>
void predict(Space const& space, Model const& model, CooTensor<Scalar, Index, Space> const& places,
             EntryNumbers<Scalar, Space> const& values) {
  POLYAD_EXPECTS(values.extent(0) == places.nnz(), "room for ", values.extent(0), " values of ", places.nnz(),
                 " entries");
  evaluate(space, model, places, ValueOutputs<Scalar>{values.data(), nullptr, nullptr});
}

template <class Space, class Model, class Scalar, class Index>
  requires HasValues<Model, Scalar, Space>
void residuals(Space const& space, Model const& model, CooTensor<Scalar, Index, Space> const& X,
               EntryNumbers<Scalar, Space> const& residuals) {
  POLYAD_EXPECTS(residuals.extent(0) == X.nnz(), "room for ", residuals.extent(0), " residuals of ", X.nnz(),
                 " entries");
  evaluate(space, model, X, ValueOutputs<Scalar>{nullptr, residuals.data(), nullptr});
}

template <class Space, class Model, class Scalar, class Index>
  requires HasValues<Model, Scalar, Space>
PredictionErrors errors(Space const& space, Model const& model, CooTensor<Scalar, Index, Space> const& X) {
  count_t const chunks = ceil_div(X.nnz(), value_chunk<Space>);
  expect_fits(space, "the partial sums of errors", chunks, 3 * sizeof(double));
  Kokkos::View<double*, typename Space::device_type> const sums(uninitialized(space, "polyad::error_sums"),
                                                                3 * chunks);
  evaluate(space, model, X, ValueOutputs<Scalar>{nullptr, nullptr, sums.data()});
  auto const host = Kokkos::create_mirror_view(Kokkos::HostSpace(), sums);
  Kokkos::deep_copy(space, host, sums);
  space.fence("polyad::errors");
  if (X.nnz() == 0) return {};
  double largest = 0, squares = 0, absolutes = 0;
  for (count_t c = 0; c < chunks; ++c) largest = std::max(largest, host(3 * c));
  for (count_t c = 0; c < chunks; ++c) {
    double const share = largest > 0 ? host(3 * c) / largest : 1;
    squares += host(3 * c + 1) * share * share;
    absolutes += host(3 * c + 2);
  }
  auto const count = static_cast<double>(X.nnz());
  return {X.nnz(), largest > 0 ? largest * std::sqrt(squares / count) : std::sqrt(squares),
          absolutes / count};
}

#define POLYAD_MODEL_VALUES_OF(Model, Scalar, Index)                                          \
  template void predict(CompiledSpace const&, Model<Scalar, CompiledSpace> const&,            \
                        CooTensor<Scalar, Index, CompiledSpace> const&,                       \
                        EntryNumbers<Scalar, CompiledSpace> const&);                          \
  template void residuals(CompiledSpace const&, Model<Scalar, CompiledSpace> const&,          \
                          CooTensor<Scalar, Index, CompiledSpace> const&,                     \
                          EntryNumbers<Scalar, CompiledSpace> const&);                        \
  template PredictionErrors errors(CompiledSpace const&, Model<Scalar, CompiledSpace> const&, \
                                   CooTensor<Scalar, Index, CompiledSpace> const&)
POLYAD_EACH_OF(Ktensor, POLYAD_MODEL_VALUES_OF);
POLYAD_EACH_OF(TuckerModel, POLYAD_MODEL_VALUES_OF);

}  // namespace polyad
