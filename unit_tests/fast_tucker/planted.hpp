// SPDX-License-Identifier: BSD-3-Clause
// Tensors that a FastTucker model equals, for runs to find it again, and the models that runs start from.
#pragma once

#include <cmath>
#include <vector>

#include "fast_tucker/oracle.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/testing/small_tensors.hpp"

namespace polyad::test {

/// The values, without noise, of a model of rank 2 at random places. Its entries have magnitudes from 0.7 to
/// 1.4, so that products of six do not spread too far; those of two modes have either sign. (Were all modes'
/// signs random, a value's sign would be a parity of six, of which no five tell anything: no descent finds a
/// way into that.)
struct Planted {
  HostTensor train, held_out;
  double deviation = 0;
};
inline Planted planted_entries(std::size_t order, std::size_t extent, std::size_t nnz) {
  Random random(order);
  std::vector<std::uint64_t> const extents(order, extent);
  HostModel model;
  for (std::size_t n = 0; n < order; ++n) {
    model.A.push_back(random_matrix(random, extent, 2));
    for (double& a : model.A[n].data) a = std::copysign(std::sqrt(std::abs(a)), n < 2 ? a : 1.0);
    model.B.emplace_back(2, 2);
    model.B[n](0, 0) = model.B[n](1, 1) = 1;
  }
  Planted result;
  result.train    = random_tensor(random, extents, nnz);
  result.held_out = random_tensor(random, extents, nnz / 10);
  long double sum = 0, squares = 0;
  for (auto* tensor : {&result.train, &result.held_out})
    for (std::size_t p = 0; p < tensor->nnz(); ++p)
      tensor->values[p] = static_cast<double>(oracle_interaction(model, *tensor, p).value);
  for (double const x : result.train.values) {
    sum += x;
    squares += static_cast<long double>(x) * x;
  }
  auto const count = static_cast<long double>(nnz);
  result.deviation = static_cast<double>(std::sqrt(squares / count - sum / count * (sum / count)));
  return result;
}

/// fast_tucker of data whose training set is X.
template <class F>
[[nodiscard]] FastTuckerResult<double, TestSpace> fit_to(
    TestSpace const& space, F const& X, FastTuckerData<double, std::uint32_t, TestSpace> data,
    FastTuckerOptions const& options, FastTuckerModel<double, TestSpace> const& model,
    FastTuckerCallback const& callback) {
  data.format = any_format(space, X);
  return fast_tucker(space, data, options, model, callback);
}

inline FastTuckerModel<double, TestSpace> start(TestSpace const& space, HostTensor const& X, count_t J,
                                                count_t rank, double deviation, std::uint64_t seed = 0) {
  FastTuckerModel<double, TestSpace> const model(space, Extents(std::span<count_t const>(X.extents)),
                                                 std::vector<count_t>(X.order(), J), rank, false);
  fill_start(space, model, deviation, seed);
  return model;
}

}  // namespace polyad::test
