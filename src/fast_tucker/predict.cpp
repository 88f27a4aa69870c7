// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/predict.hpp"
#include "kernel/launch.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/kernel/rank_dispatch.hpp"

#include "dense/intermediates.hpp"
#include "fast_tucker/drift.hpp"
#include "fast_tucker/entries.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/kernel/lanes.hpp"
#include "polyad/kernel/row_form.hpp"
#include "polyad/kernel/whole_row_walk.hpp"
#include "tensor/coordinates_inside.hpp"

namespace polyad {

using namespace detail;
namespace {

/// Doubles of a row of ErrorSums.
constexpr count_t error_sums = 3;

/// Entries that a thread predicts. On hosts the number does not depend on the number of threads, so the
/// errors do not either.
template <class Space>
inline constexpr count_t predict_chunk = items_per_thread<Space>(128, 1024);

template <class Space, class Scalar, class Index, int Block>
struct PredictEntries {
  using Row = TinyVec<Space, Scalar, Block>;

  Index const* indices;  // P x N
  Scalar const* values;  // null: none to compare with
  Scalar const* C[max_order];
  count_t stride;  // the same for all C
  Scalar const* bias[max_order];
  DriftTerms<Scalar> drift;
  int order;
  int rank;
  bool has_biases;
  double mean;
  ValueRange range;
  Scalar* predictions;  // null: only the errors are needed
  double* sums;         // three for each chunk: squared errors, absolute errors, implicit losses
  double alpha;         // the weight in implicit feedback; 0: the values are the targets
  WholeRowWalk entries;

  [[nodiscard]] KOKKOS_FUNCTION Scalar const* row(int n, Index index) const { return C[n] + index * stride; }
  [[nodiscard]] KOKKOS_FUNCTION double predict(Index const* index, int lane) const {
    Scalar sum = 0;
    for (int first = 0; first < rank; first += Block) {
      Columns const columns = columns_or_none<Row>(first, rank, lane);
      Row product(row(1, index[1]), columns);
      for (int n = 2; n < order; ++n) product *= Row(row(n, index[n]), columns);
      sum += product.dot(Row(row(0, index[0]), columns), columns);
    }
    double prediction = mean + static_cast<double>(sum_over_lanes<Row::lanes>(sum));
    if (has_biases)
      for (int n = 0; n < order; ++n) prediction += static_cast<double>(bias[n][index[n]]);
    prediction += drift.at(index, -1);
    // Written so that NaN stays.
    if (prediction < range.lowest) prediction = range.lowest;
    if (prediction > range.highest) prediction = range.highest;
    return prediction;
  }

  KOKKOS_FUNCTION void walk(count_t begin, count_t end, int lane) const {
    double squares   = 0;
    double absolutes = 0;
    double losses    = 0;
    for (count_t p = begin; p < end; ++p) {
      double const prediction = predict(indices + p * order, lane);
      if (predictions != nullptr) {
        if (lane == 0) predictions[p] = static_cast<Scalar>(prediction);
      } else {
        auto const x       = static_cast<double>(values[p]);
        double const error = (alpha == 0 ? x : x > 0 ? 1.0 : 0.0) - prediction;
        squares += error * error;
        absolutes += Kokkos::abs(error);
        losses += (1 + alpha * x) * error * error - prediction * prediction;
      }
    }
    if (predictions == nullptr && lane == 0) {
      count_t const chunk          = begin / entries.chunk;
      sums[error_sums * chunk]     = squares;
      sums[error_sums * chunk + 1] = absolutes;
      sums[error_sums * chunk + 2] = losses;
    }
  }

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    entries.template operator()<Row>(member,
                                     [&](count_t begin, count_t end, int lane) { walk(begin, end, lane); });
  }
};

/// One team adds the chunks' sums, in the same order in every run on one device: total(j) = sum of sums(c,
/// j).
template <class Space>
struct AddErrorSums {
  static constexpr int threads = 32, vector = 32;
  // Without these bounds, code that is not optimised uses too many registers for such a team.
  using Bounds = Kokkos::LaunchBounds<threads * vector>;
  ErrorSums<Space> sums;
  count_t chunks;
  Kokkos::View<double*, typename Space::device_type> totals;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    for (int j = 0; j < static_cast<int>(error_sums); ++j) {
      double total = 0;
      Kokkos::parallel_reduce(
          Kokkos::TeamVectorRange(member, chunks),
          [&](count_t const c, double& partial) { partial += sums(c, j); }, total);
      Kokkos::single(Kokkos::PerTeam(member), [&] { totals(j) = total; });
    }
  }
};

template <class Space, class Scalar, class Index>
void launch_predictions(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                        FactorMatrices<Scalar, Space> const& C, CooTensor<Scalar, Index, Space> const& X,
                        Scalar* predictions, double* sums, double alpha = 0) {
  POLYAD_EXPECTS(X.order() == model.order(), "entries of order ", X.order(), " for a model of order ",
                 model.order());
  for (int n = 0; n < model.order(); ++n) {
    POLYAD_EXPECTS(X.extents()[n] <= model.extents()[n], "mode ", n, " of the entries has ", X.extents()[n],
                   " rows, but the model has ", model.extents()[n]);
    POLYAD_EXPECTS(
        C[n].stride(0) == C[0].stride(0) && rows_are_aligned(C[n].data(), C[n].stride(0), C.rank()),
        "the rows of C", n, " are not packed (FactorMatrices)");
  }
  expect_factors(C, model.extents());
  if (X.nnz() == 0) return;
  int const rank = checked_rank(C.rank());
  with_block(static_cast<count_t>(rank), [&](auto block) {
    using Kernel = PredictEntries<Space, Scalar, Index, block()>;
    Kernel kernel{};
    kernel.indices = X.indices().data();
    kernel.values  = X.values().data();
    for (int n = 0; n < model.order(); ++n) {
      kernel.C[n]    = C[n].data();
      kernel.bias[n] = model.bias(n).data();
    }
    kernel.drift       = drift_terms(model);
    kernel.stride      = C[0].stride(0);
    kernel.order       = model.order();
    kernel.rank        = rank;
    kernel.has_biases  = model.has_biases();
    kernel.mean        = model.mean;
    kernel.range       = model.range;
    kernel.predictions = predictions;
    kernel.sums        = sums;
    kernel.alpha       = alpha;
    kernel.entries     = {X.nnz(), predict_chunk<Space>};
    detail::launch("polyad::predict", kernel.entries.template policy<typename Kernel::Row>(space), kernel);
  });
}

}  // namespace

template <class Scalar, class Space>
void form_intermediates(Space const& space, FastTuckerModel<Scalar, Space> const& model, int n,
                        FactorMatrices<Scalar, Space> const& C) {
  intermediates(space, model.A(n), model.B(n), C[n]);
}

template <class Scalar, class Space>
FactorMatrices<Scalar, Space> make_intermediates(Space const& space,
                                                 FastTuckerModel<Scalar, Space> const& model) {
  FactorMatrices<Scalar, Space> const C(space, model.extents(), model.rank());
  for (int n = 0; n < model.order(); ++n) form_intermediates(space, model, n, C);
  return C;
}

template <class Space>
ErrorSums<Space> make_error_sums(Space const& space, count_t entries) {
  // The last row is for the totals.
  count_t const rows = ceil_div(entries, predict_chunk<Space>) + 1;
  expect_fits(space, "the partial sums of errors", rows, error_sums * sizeof(double));
  return ErrorSums<Space>(uninitialized(space, "polyad::error_sums"), rows, error_sums);
}

template <class Space, class Scalar, class Index>
void predict(Space const& space, FastTuckerModel<Scalar, Space> const& model,
             FactorMatrices<Scalar, Space> const& C, CooTensor<Scalar, Index, Space> const& places,
             Kokkos::View<Scalar*, typename Space::device_type> const& predictions) {
  POLYAD_EXPECTS(predictions.extent(0) == places.nnz(), "room for ", predictions.extent(0),
                 " predictions of ", places.nnz(), " entries");
  expect_coordinates_inside(space, places);
  launch_predictions(space, model, C, places, predictions.data(), static_cast<double*>(nullptr));
}

template <class Space, class Scalar, class Index>
SummedErrors detail::summed_errors(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                                   FactorMatrices<Scalar, Space> const& C,
                                   TrainingSet<Scalar, Index, Space> const& X, ErrorSums<Space> const& sums,
                                   double alpha) {
  constexpr count_t chunk = predict_chunk<Space>;
  static_assert(EntryBuffers<Scalar, Index, Space>::step % chunk == 0);
  if (X.nnz() == 0) return {};
  count_t const chunks = ceil_div(X.nnz(), chunk);
  POLYAD_EXPECTS(sums.extent(0) > chunks, "the sums of errors have ", sums.extent(0), " rows, not ",
                 chunks + 1);
  X.for_each_stretch(space,
                     [&](Space const& on, CooTensor<Scalar, Index, Space> const& stretch, count_t first) {
                       launch_predictions(on, model, C, stretch, static_cast<Scalar*>(nullptr),
                                          sums.data() + error_sums * (first / chunk), alpha);
                     });
  Kokkos::View<double*, typename Space::device_type> const totals(sums.data() + error_sums * chunks,
                                                                  error_sums);
  using Kernel            = AddErrorSums<Space>;
  LaunchShape const shape = launch_shape<Space>(1, Kernel::threads, Kernel::vector);
  Kokkos::parallel_for("polyad::add_error_sums", team_policy<typename Kernel::Bounds>(space, shape),
                       Kernel{sums, chunks, totals});
  double host[error_sums] = {};
  Kokkos::deep_copy(space, Kokkos::View<double*, Kokkos::HostSpace>(host, error_sums), totals);
  space.fence("polyad::errors");
  return {static_cast<double>(X.nnz()), host[0], host[1], host[2]};
}

template <class Space, class Scalar, class Index>
PredictionErrors errors(Space const& space, FastTuckerModel<Scalar, Space> const& model,
                        FactorMatrices<Scalar, Space> const& C, CooTensor<Scalar, Index, Space> const& X,
                        ErrorSums<Space> const& sums) {
  expect_coordinates_inside(space, X);
  return detail::summed_errors(space, model, C, TrainingSet<Scalar, Index, Space>(X), sums).means();
}

#define POLYAD_INTERMEDIATES(Scalar)                                                                         \
  template void form_intermediates(CompiledSpace const&, FastTuckerModel<Scalar, CompiledSpace> const&, int, \
                                   FactorMatrices<Scalar, CompiledSpace> const&);                            \
  template FactorMatrices<Scalar, CompiledSpace> make_intermediates(                                         \
      CompiledSpace const&, FastTuckerModel<Scalar, CompiledSpace> const&)
#define POLYAD_PREDICT(Scalar, Index)                                                        \
  template void predict(CompiledSpace const&, FastTuckerModel<Scalar, CompiledSpace> const&, \
                        FactorMatrices<Scalar, CompiledSpace> const&,                        \
                        CooTensor<Scalar, Index, CompiledSpace> const&,                      \
                        Kokkos::View<Scalar*, CompiledSpace::device_type> const&)
#define POLYAD_ERRORS(Scalar, Index)                                                                    \
  template PredictionErrors errors(CompiledSpace const&, FastTuckerModel<Scalar, CompiledSpace> const&, \
                                   FactorMatrices<Scalar, CompiledSpace> const&,                        \
                                   CooTensor<Scalar, Index, CompiledSpace> const&,                      \
                                   ErrorSums<CompiledSpace> const&);                                    \
  template SummedErrors detail::summed_errors(                                                          \
      CompiledSpace const&, FastTuckerModel<Scalar, CompiledSpace> const&,                              \
      FactorMatrices<Scalar, CompiledSpace> const&, TrainingSet<Scalar, Index, CompiledSpace> const&,   \
      ErrorSums<CompiledSpace> const&, double)
POLYAD_EACH_SCALAR(, POLYAD_INTERMEDIATES);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_PREDICT);
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_ERRORS);
template ErrorSums<Kokkos::DefaultExecutionSpace> make_error_sums(Kokkos::DefaultExecutionSpace const&,
                                                                  count_t);

}  // namespace polyad
