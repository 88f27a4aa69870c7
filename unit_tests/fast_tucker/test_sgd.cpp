// SPDX-License-Identifier: BSD-3-Clause
// The paper's SGD on coordinates and on trees: its sweeps against the definition, its gradients against
// differences of the loss, and planted models found again.
#include "fast_tucker/optimizers/sgd.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "fast_tucker/optimizers/epochs.hpp"
#include "fast_tucker/planted.hpp"
#include "formats/coo/kernels/sgd/sgd_coo.hpp"
#include "formats/coo/storage/coo_permuted.hpp"
#include "formats/coo/storage/coo_tiny_vec.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "formats/csf/storage/b_csf.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/instances.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

/// What one observation contributes, in the notation of formats/format.hpp.
struct OracleUpdate {
  std::vector<long double> p, p_magnitude;  // R
  std::vector<long double> w, w_magnitude;  // J_n
  long double e           = 0;
  long double e_magnitude = 0;
};
OracleUpdate oracle_update(HostModel const& model, OracleIntermediates const& C, HostTensor const& X,
                           std::size_t i, std::size_t mode) {
  std::size_t const J = model.A[mode].columns, R = model.rank();
  OracleUpdate update{std::vector<long double>(R, 1),
                      std::vector<long double>(R, 1),
                      std::vector<long double>(J),
                      std::vector<long double>(J),
                      X.values[i],
                      std::abs(X.values[i])};
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t m = 0; m < model.order(); ++m) {
      if (m == mode) continue;
      update.p[r] *= C(m, X.index(i, m), r).value;
      update.p_magnitude[r] *= C(m, X.index(i, m), r).magnitude;
    }
    for (std::size_t j = 0; j < J; ++j) {
      update.w[j] += model.B[mode](j, r) * update.p[r];
      update.w_magnitude[j] += std::abs(model.B[mode](j, r)) * update.p_magnitude[r];
    }
  }
  for (std::size_t j = 0; j < J; ++j) {
    long double const a = model.A[mode](X.index(i, mode), j);
    update.e -= a * update.w[j];
    update.e_magnitude += std::abs(a) * update.w_magnitude[j];
  }
  return update;
}

/// Roundings in a term of a sum that is made of p, w and e: e has those of a prediction; p, or w, at most as
/// many again; and some of its own.
std::size_t update_factors(std::size_t order, std::size_t J, std::size_t rank) {
  return 2 * prediction_roundings(order, J, rank) + J + 4;
}

OracleSums oracle_core_sums(HostModel const& model, HostTensor const& X, std::size_t mode) {
  std::size_t const J = model.A[mode].columns, R = model.rank();
  OracleSums P(J, R);
  auto const C = oracle_intermediates(model);
  for (auto& terms : P.terms) terms = X.nnz();
  for (std::size_t i = 0; i < X.nnz(); ++i) {
    auto const update = oracle_update(model, C, X, i, mode);
    for (std::size_t j = 0; j < J; ++j)
      for (std::size_t r = 0; r < R; ++r) {
        long double const a = model.A[mode](X.index(i, mode), j);
        P.value[j * R + r] += update.e * a * update.p[r];
        P.magnitude[j * R + r] += update.e_magnitude * std::abs(a) * update.p_magnitude[r];
      }
  }
  return P;
}

template <class Scalar, class Index>
using Coo = CooTinyVec<Scalar, Index, TestSpace>;
template <class Scalar, class Index>
using Trees = BCsf<Scalar, Index, TestSpace>;

static_assert(SgdFormat<Coo<float, std::uint32_t>>);
static_assert(SgdFormat<Trees<double, std::uint64_t>>);
static_assert(SgdFormat<CooPermuted<float, std::uint64_t, TestSpace>>);
static_assert(SgdFormat<Sorted<double, std::uint32_t, TestSpace>>);

BCsfOptions splits(std::int64_t fiber_threshold, std::optional<std::int64_t> slice_threshold) {
  return {{}, fiber_threshold, slice_threshold, true};
}

/// Calls f(format, form) for all of the paper's methods.
template <class Scalar, class Index, class F>
void for_each_method(TestSpace const& space, HostTensor const& X, F&& f) {
  auto const coo   = to_device<Scalar, Index>(space, X);
  auto const plain = Coo<Scalar, Index>::build(space, coo);
  f(plain, SgdForm{.intermediates = false});
  f(plain, SgdForm{});
  f(CooPermuted<Scalar, Index, TestSpace>::build(space, coo), SgdForm{});
  using Copies = Sorted<Scalar, Index, TestSpace>;
  SortedOptions options;
  for (auto const storage : {SortedOptions::Storage::copies, SortedOptions::Storage::permutations}) {
    options.storage = storage;
    f(Copies::build(space, coo, options),
      SgdForm{.intermediates = storage == SortedOptions::Storage::copies});
  }
  options.storage    = SortedOptions::Storage::copies;
  options.block_rows = 2;
  f(Copies::build(space, coo, options), SgdForm{});
  for (std::int64_t const threshold : {std::int64_t(128), std::int64_t(3), no_split}) {
    auto const trees = Trees<Scalar, Index>::build(space, coo, splits(threshold, std::nullopt));
    f(trees, SgdForm{.share_fibers = false});
    f(trees, SgdForm{});
  }
  f(Trees<Scalar, Index>::build(space, coo, splits(128, 7)), SgdForm{.intermediates = false});
  f(Trees<Scalar, Index>::build(space, coo, splits(128, no_split)), SgdForm{});
}

template <class Scalar, class Index>
void expect_core_sums(HostTensor const& tensor, std::size_t J, std::size_t rank) {
  TestSpace const space;
  std::size_t const order = tensor.order();
  Random random(order + 10 * rank);
  auto const host  = random_model(random, tensor.extents, J, rank, false);
  auto const model = to_device<Scalar>(space, host);
  auto const C     = make_intermediates(space, model);
  std::vector<OracleSums> expected;
  for (std::size_t n = 0; n < order; ++n) expected.push_back(oracle_core_sums(host, tensor, n));
  for_each_method<Scalar, Index>(space, tensor, [&](auto const& X, SgdForm form) {
    for (std::size_t n = 0; n < order; ++n) {
      auto const mode      = static_cast<int>(n);
      auto const workspace = make_sgd_workspace(space, model, mode);
      Kokkos::deep_copy(workspace.P, std::numeric_limits<Scalar>::quiet_NaN());
      sgd_core_sweep(space, X, model, C, mode, form, workspace);
      space.fence("polyad::test");
      CAPTURE(X.name, tensor.name, n, rank, form.intermediates, form.share_fibers, sizeof(Scalar));
      CHECK(violation<Scalar>(expected[n], flat(workspace.P),
                              update_factors(order, host.A.back().columns, rank)) == "");
    }
  });
}

TEST_CASE("core sweeps sum over all observations", "[fast_tucker][sgd]") {
  constexpr std::array<std::size_t, 5> ranks{1, 5, 16, 31, 40};
  for (std::size_t k = 0; k < all_kinds.size(); ++k)
    for (std::size_t const order : {2, 3, 4}) {
      std::size_t const rank = ranks[(k + order) % ranks.size()];
      std::size_t const J    = ranks[(2 * k + order + 1) % ranks.size()];
      if ((k + order) % 2 == 0)
        expect_core_sums<double, std::uint32_t>(small_tensor(all_kinds[k], order), J, rank);
      else
        expect_core_sums<float, std::uint32_t>(small_tensor(all_kinds[k], order), J, rank);
    }
  expect_core_sums<double, std::uint64_t>(small_tensor(Kind::runs_at_borders, 3), 20, 9);
  Random random(6);
  auto const few = random_tensor(random, {7, 5, 6}, 60);
  expect_core_sums<double, std::uint32_t>(few, largest_rank - 8, 4);  // tiles that exceed the pad of a team
  expect_core_sums<float, std::uint64_t>(small_tensor(Kind::shuffled, 16), 2, 3);
}

/// Observations that share no row of mode `mode` with another one: a sweep makes each update from the start's
/// rows, whatever its order.
HostTensor without_shared_rows(HostTensor const& tensor, std::size_t mode) {
  HostTensor result{tensor.name, tensor.extents, {}, {}};
  std::vector<bool> seen(tensor.extents[mode]);
  for (std::size_t i = 0; i < tensor.nnz(); ++i) {
    std::size_t const k = tensor.index(i, mode);
    if (seen[k]) continue;
    seen[k] = true;
    for (std::size_t n = 0; n < tensor.order(); ++n) result.indices.push_back(tensor.index(i, n));
    result.values.push_back(tensor.values[i]);
  }
  return result;
}

template <class Scalar, class Index>
void expect_updates(Kind kind, std::size_t order, std::size_t mode, std::size_t J, std::size_t rank) {
  TestSpace const space;
  Random random(order + 10 * rank);
  auto const tensor = without_shared_rows(small_tensor(kind, order), mode);
  auto host         = random_model(random, tensor.extents, J, rank, false);
  constexpr SgdStep rates{0.25, 0.125};
  auto const& A = host.A[mode];
  OracleSums expected(A.rows, A.columns);
  for (std::size_t i = 0; i < A.data.size(); ++i) {
    expected.value[i]     = A.data[i];
    expected.magnitude[i] = std::abs(A.data[i]);
  }
  auto const of_host = oracle_intermediates(host);
  for (std::size_t i = 0; i < tensor.nnz(); ++i) {
    auto const update   = oracle_update(host, of_host, tensor, i, mode);
    std::size_t const k = tensor.index(i, mode);
    expected.terms[k]   = 2;
    for (std::size_t j = 0; j < A.columns; ++j) {
      expected.value[k * A.columns + j] += rates.step * (update.e * update.w[j] - rates.ridge * A(k, j));
      expected.magnitude[k * A.columns + j] +=
          rates.step * (update.e_magnitude * update.w_magnitude[j] + rates.ridge * std::abs(A(k, j)));
    }
  }
  for_each_method<Scalar, Index>(space, tensor, [&](auto const& X, SgdForm form) {
    auto const model     = to_device<Scalar>(space, host);
    auto const C         = make_intermediates(space, model);
    auto const workspace = make_sgd_workspace(space, model, static_cast<int>(mode));
    scaled_transpose(space, 1.0, model.B(static_cast<int>(mode)), workspace.transposed);
    sgd_factor_sweep(space, X, model, C, static_cast<int>(mode), rates, form, workspace);
    space.fence("polyad::test");
    CAPTURE(X.name, tensor.name, mode, J, rank, form.intermediates, form.share_fibers, sizeof(Scalar));
    CHECK(violation<Scalar>(expected, flat(model.A(static_cast<int>(mode))),
                            update_factors(order, host.A.back().columns, rank)) == "");
  });
}

TEST_CASE("all methods make the updates of the definition", "[fast_tucker][sgd]") {
  constexpr std::array<std::size_t, 5> ranks{1, 7, 16, 32, 45};
  for (std::size_t k = 0; k < all_kinds.size(); ++k)
    for (std::size_t const order : {2, 3, 5}) {
      std::size_t const rank = ranks[(k + order) % ranks.size()];
      std::size_t const J    = ranks[(2 * k + order + 1) % ranks.size()];
      if ((k + order) % 2 == 0)
        expect_updates<double, std::uint32_t>(all_kinds[k], order, k % order, J, rank);
      else
        expect_updates<float, std::uint32_t>(all_kinds[k], order, k % order, J, rank);
    }
  expect_updates<double, std::uint64_t>(Kind::shuffled, 4, 1, 20, 9);
  expect_updates<float, std::uint64_t>(Kind::shuffled, 16, 0, 2, 3);
}

/// A step so small that the loss is a plane for it: all updates of a row then add up to the row's gradient,
/// and one that were lost would be missed. What is left are second-order terms, and the rounding of the row
/// that grew.
TEST_CASE("no update is lost where observations share rows", "[fast_tucker][sgd]") {
  constexpr double step = 1.0 / (1 << 30);
  for (Kind const kind :
       {Kind::one_long_slice, Kind::duplicates, Kind::runs_at_borders, Kind::one_long_fiber}) {
    TestSpace const space;
    Random random(7);
    auto const tensor = small_tensor(kind, 3);
    auto host         = random_model(random, tensor.extents, 3, 5, false);
    for (auto& B : host.B)
      for (double& entry : B.data) entry /= 4;
    struct Wanted {
      std::vector<long double> sum, growth, curvature;
      std::vector<std::size_t> count;
    };
    std::vector<Wanted> wanted;
    auto const of_host = oracle_intermediates(host);
    for (std::size_t n = 0; n < 3; ++n) {
      std::size_t const J = host.A[n].columns, rows = host.A[n].rows;
      Wanted of_mode{std::vector<long double>(rows * J), std::vector<long double>(rows),
                     std::vector<long double>(rows), std::vector<std::size_t>(rows)};
      for (std::size_t i = 0; i < tensor.nnz(); ++i) {
        auto const update   = oracle_update(host, of_host, tensor, i, n);
        std::size_t const k = tensor.index(i, n);
        long double squares = 0;
        for (std::size_t j = 0; j < J; ++j) {
          of_mode.sum[k * J + j] += update.e * update.w[j];
          squares += update.w[j] * update.w[j];
        }
        of_mode.growth[k] += std::abs(update.e) * std::sqrt(squares);
        of_mode.curvature[k] += squares;
        ++of_mode.count[k];
      }
      wanted.push_back(std::move(of_mode));
    }
    for_each_method<double, std::uint32_t>(space, tensor, [&](auto const& X, SgdForm form) {
      auto const model = to_device<double>(space, host);
      auto const C     = make_intermediates(space, model);
      for (std::size_t n = 0; n < 3; ++n) {
        std::size_t const J                         = host.A[n].columns;
        auto const mode                             = static_cast<int>(n);
        auto const& [sum, growth, curvature, count] = wanted[n];
        auto const workspace                        = make_sgd_workspace(space, model, mode);
        scaled_transpose(space, 1.0, model.B(mode), workspace.transposed);
        sgd_factor_sweep(space, X, model, C, mode, {step, 0}, form, workspace);
        space.fence("polyad::test");
        auto const after = flat(model.A(mode));
        CAPTURE(X.name, tensor.name, n, form.intermediates, form.share_fibers);
        for (std::size_t i = 0; i < after.size(); ++i) {
          std::size_t const k = i / J;
          // The row moves by `growth` steps at most (twice that bounds what its own move adds); every
          // residual then by that times |w|. Each of `count` additions rounds a number below 4; the terms
          // themselves as elsewhere.
          long double const bound = 2 * step * growth[k] * curvature[k] +
                                    static_cast<long double>(count[k]) * gamma<double>(1) * 4 / step +
                                    gamma<double>(1000) * growth[k] * 100;
          REQUIRE(std::abs((after[i] - host.A[n].data[i]) / step - sum[i]) <= bound);
          // And the bound is far below what one observation adds, or the test would show nothing.
          if (count[k] > 0) REQUIRE(bound < 0.2 * growth[k] / static_cast<long double>(count[k]));
        }
        from_host<double>(space, host.A[n].data, model.A(mode));
      }
    });
  }
}

TEST_CASE("threads of a sorted copy walk every chunk once, neighbours far apart", "[fast_tucker][sgd]") {
  for (count_t bins = 1; bins < 700; ++bins) {
    CooFibers<float, std::uint32_t> fibers{};
    fibers.nnz    = 4 * bins - 3;
    fibers.chunk  = 4;
    fibers.spread = spread_of(bins);
    REQUIRE(fibers.bins() == bins);
    std::vector<bool> walked(bins);
    for (count_t b = 0; b < bins; ++b) {
      REQUIRE(fibers.walked(b) < bins);
      walked[fibers.walked(b)] = true;
    }
    CHECK(std::find(walked.begin(), walked.end(), false) == walked.end());
    if (bins > 100) CHECK(fibers.spread > bins / 2);
  }
  CHECK(spread_of(count_t(1) << 32) == 1);
}

long double sgd_loss(HostModel const& model, HostTensor const& X) {
  long double sum = 0;
  for (std::size_t i = 0; i < X.nnz(); ++i) {
    long double const e = X.values[i] - oracle_interaction(model, X, i).value;
    sum += e * e / 2;
  }
  return sum;
}

/// The loss is quadratic in any one entry, so that central differences are its derivative but for rounding.
void expect_difference(HostModel& model, HostTensor const& X, double& entry, double derivative) {
  constexpr double step    = 0.5;
  double const kept        = entry;
  entry                    = kept + step;
  long double const above  = sgd_loss(model, X);
  entry                    = kept - step;
  long double const below  = sgd_loss(model, X);
  entry                    = kept;
  long double const actual = (above - below) / (2 * step);
  CHECK(std::abs(derivative - actual) <= gamma<double>(1000) * (above + below));
}

TEST_CASE("the sweeps' gradients are those of the loss", "[fast_tucker][sgd]") {
  TestSpace const space;
  for (std::size_t const order : {3, 4, 5}) {
    Random random(order);
    auto const all  = small_tensor(Kind::shuffled, order);
    auto host_model = random_model(random, all.extents, 3, 4, false);
    for (auto& B : host_model.B)
      for (double& entry : B.data) entry /= 4;
    for (std::size_t n = 0; n < order; ++n) {
      auto const tensor = without_shared_rows(all, n);
      for_each_method<double, std::uint32_t>(space, tensor, [&](auto const& X, SgdForm form) {
        auto host            = host_model;
        auto const model     = to_device<double>(space, host);
        auto const C         = make_intermediates(space, model);
        auto const mode      = static_cast<int>(n);
        auto const workspace = make_sgd_workspace(space, model, mode);
        sgd_core_sweep(space, X, model, C, mode, form, workspace);
        auto const P = flat(workspace.P);
        scaled_transpose(space, 1.0, model.B(mode), workspace.transposed);
        sgd_factor_sweep(space, X, model, C, mode, {1.0, 0}, form, workspace);
        auto const after = flat(model.A(mode));
        CAPTURE(order, n, X.name, form.intermediates, form.share_fibers);
        for (std::size_t i = 0; i < P.size(); i += 3)
          expect_difference(host, tensor, host.B[n].data[i], -P[i]);
        for (std::size_t i = 0; i < after.size(); i += 1 + after.size() / 7)
          expect_difference(host, tensor, host.A[n].data[i], host.A[n].data[i] - after[i]);
      });
    }
  }
}

FastTuckerOptions sgd_options(SgdForm form) {
  FastTuckerOptions options;
  options.optimizer         = FastTuckerOptimizer::sgd;
  options.ridge             = 0;
  options.sgd.intermediates = form.intermediates;
  options.sgd.share_fibers  = form.share_fibers;
  // A device has nearly all observations of so small a tensor under way at once, about a hundred per row,
  // which is as good as one step for their sum. On hosts at 0.003 the trees took 66 to more than 400 epochs,
  // depending on the order of the threads, and at 0.002 90 to 230. The test must pass for any order.
  options.sgd.step      = is_device_space<TestSpace> ? 1e-4 : 0.002;
  options.sgd.core_step = 0.1;
  options.sgd.decay     = 0;
  return options;
}

template <class F>
void expect_recovery(F const& X, Planted const& data,
                     CooTensor<double, std::uint32_t, TestSpace> const& train, SgdForm form) {
  TestSpace const space;
  auto const held    = to_device<double, std::uint32_t>(space, data.held_out);
  auto options       = sgd_options(form);
  options.max_epochs = is_device_space<TestSpace> ? 10000 : 2000;
  auto const model   = start(space, data.train, 4, 4, data.deviation);
  bool done          = false;
  auto const result  = fit_to(space, X, {train, held, {}}, options, model, [&](FastTuckerEpoch const& epoch) {
    done = epoch.train.rmse < 0.01 * data.deviation && epoch.validation.rmse < 0.02 * data.deviation;
    return !done;
  });
  CAPTURE(X.name, form.intermediates, form.share_fibers, data.train.order(), result.history.size(),
          result.history.empty() ? 0.0 : result.history.back().train.rmse, data.deviation);
  CHECK(done);
}

TEST_CASE("sgd recovers planted models of orders 3 and 4 by each method", "[fast_tucker][sgd]") {
  TestSpace const space;
  for (std::size_t const order : {3, 4}) {
    auto const data  = planted_entries(order, order == 3 ? 20 : 12, 2000 * (order - 1));
    auto const train = to_device<double, std::uint32_t>(space, data.train);
    auto const plain = Coo<double, std::uint32_t>::build(space, train);
    auto const trees = Trees<double, std::uint32_t>::build(space, train, {.leaves = true});
    expect_recovery(trees, data, train, {});
    expect_recovery(plain, data, train, {});
    if (order == 4) continue;  // the others differ by what the sweeps' tests tell
    expect_recovery(plain, data, train, {.intermediates = false});
    expect_recovery(CooPermuted<double, std::uint32_t, TestSpace>::build(space, train), data, train, {});
    expect_recovery(Sorted<double, std::uint32_t, TestSpace>::build(space, train), data, train, {});
    expect_recovery(trees, data, train, {.share_fibers = false});
  }
}

TEST_CASE("sgd with a rate that is too large ends with the last sound model", "[fast_tucker][sgd]") {
  TestSpace const space;
  auto const data   = planted_entries(3, 12, 2000);
  auto const train  = to_device<double, std::uint32_t>(space, data.train);
  auto const X      = Trees<double, std::uint32_t>::build(space, train, {.leaves = true});
  auto options      = sgd_options({});
  options.sgd.step  = 100;
  auto const model  = start(space, data.train, 3, 4, data.deviation);
  auto const before = flat(model.A(0));
  auto const result =
      fit_to(space, X, {train, {}, {}}, options, model, [](FastTuckerEpoch const&) { return true; });
  CHECK(result.reason == StopReason::diverged);
  CHECK(result.history.empty());
  CHECK(flat(result.model.A(0)) == before);
}

TEST_CASE("sgd's rates decay, and its ridges draw rows to zero", "[fast_tucker][sgd]") {
  CHECK(SgdRates{.decay = 0}.share(9) == 1);
  CHECK(SgdRates{.decay = 0.5}.share(1) == 1);
  CHECK(std::abs(SgdRates{.decay = 0.5}.share(5) - 0.2) < 1e-15);  // 1 / (1 + 0.5 * 4^1.5)
  TestSpace const space;
  auto const data  = planted_entries(3, 12, 2000);
  auto const train = to_device<double, std::uint32_t>(space, data.train);
  auto const X     = Coo<double, std::uint32_t>::build(space, train);
  auto const norm  = [&](double ridge, bool per_entry) {
    auto options            = sgd_options({});
    options.max_epochs      = 5;
    options.ridge           = ridge;
    options.ridge_per_entry = per_entry;
    auto const model        = start(space, data.train, 3, 4, data.deviation);
    auto const result =
        fit_to(space, X, {train, {}, {}}, options, model, [](FastTuckerEpoch const&) { return true; });
    double squares = 0;
    for (double const a : flat(result.model.A(0))) squares += a * a;
    return squares;
  };
  double const free = norm(0, false);
  CHECK(norm(1, false) < free);
  CHECK(norm(1, true) < norm(1, false));  // about 170 observations per row
}

TEST_CASE("sgd refuses what makes no sense", "[fast_tucker][sgd]") {
  TestSpace const space;
  auto const data    = planted_entries(3, 12, 500);
  auto const train   = to_device<double, std::uint32_t>(space, data.train);
  auto const X       = Coo<double, std::uint32_t>::build(space, train);
  auto const model   = start(space, data.train, 3, 4, data.deviation);
  auto const refused = [&](auto const& change) {
    auto options = sgd_options({});
    change(options);
    CHECK_THROWS_AS(FastTuckerEpochs(space, any_format(space, X), model, options), UsageError);
  };
  refused([](auto& options) { options.sgd.step = 0; });
  refused([](auto& options) { options.sgd.core_step = -1; });
  refused([](auto& options) { options.sgd.decay = -1; });
  refused([](auto& options) {
    options.optimizer = FastTuckerOptimizer::adam;
  });  // coordinates have no residual sweep
  HostTensor one_mode{"one mode", {5}, {0, 3}, {1, 2}};
  CHECK_THROWS_AS((Trees<double, std::uint32_t>::build(
                      space, to_device<double, std::uint32_t>(space, one_mode), {.leaves = true})),
                  UsageError);
}

}  // namespace
}  // namespace polyad::test
