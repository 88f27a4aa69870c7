// SPDX-License-Identifier: BSD-3-Clause
// FastTucker by its definition, serial loops in long double; shares no code with the library. The model here
// is one of host data, and `to_device` makes the library's out of it.
#pragma once

#include <cmath>
#include <vector>

#include "polyad/tensor/fast_tucker_model.hpp"
#include "polyad/testing/oracle.hpp"
#include "support/device_data.hpp"
#include "support/oracle.hpp"

namespace polyad::test {

struct HostModel {
  HostFactors A;                          // I_n x J_n
  HostFactors B;                          // J_n x R
  std::vector<std::vector<double>> bias;  // or empty
  double mean = 0;

  [[nodiscard]] std::size_t order() const { return A.size(); }
  [[nodiscard]] std::size_t rank() const { return B[0].columns; }
};

/// A random model; J_n = J + n.
inline HostModel random_model(Random& random, std::vector<std::uint64_t> const& extents, std::size_t J,
                              std::size_t rank, bool biases) {
  HostModel model;
  for (std::size_t n = 0; n < extents.size(); ++n) {
    model.A.push_back(random_matrix(random, extents[n], J + n));
    model.B.push_back(random_matrix(random, J + n, rank));
    if (biases) model.bias.push_back(random_matrix(random, extents[n], 1).data);
  }
  if (biases) model.mean = random_number(random);
  return model;
}

/// sum_r prod_n C^(n)(i_n, r), and the same of absolute values.
struct OracleValue {
  long double value     = 0;
  long double magnitude = 0;
};
/// C^(n) = A^(n) B^(n) of all modes (I_n x R).
struct OracleIntermediates {
  std::vector<std::vector<OracleValue>> C;
  std::size_t rank = 0;
  [[nodiscard]] OracleValue const& operator()(std::size_t n, std::size_t k, std::size_t r) const {
    return C[n][k * rank + r];
  }
};
inline OracleIntermediates oracle_intermediates(HostModel const& model) {
  OracleIntermediates result{std::vector<std::vector<OracleValue>>(model.order()), model.rank()};
  for (std::size_t n = 0; n < model.order(); ++n) {
    result.C[n].resize(model.A[n].rows * result.rank);
    for (std::size_t k = 0; k < model.A[n].rows; ++k)
      for (std::size_t j = 0; j < model.A[n].columns; ++j)
        for (std::size_t r = 0; r < result.rank; ++r) {
          long double const term = static_cast<long double>(model.A[n](k, j)) * model.B[n](j, r);
          result.C[n][k * result.rank + r].value += term;
          result.C[n][k * result.rank + r].magnitude += std::abs(term);
        }
  }
  return result;
}

inline OracleValue oracle_interaction(HostModel const& model, HostTensor const& X, std::size_t p) {
  OracleValue sum;
  for (std::size_t r = 0; r < model.rank(); ++r) {
    OracleValue product{1, 1};
    for (std::size_t n = 0; n < model.order(); ++n) {
      OracleValue c;
      for (std::size_t j = 0; j < model.A[n].columns; ++j) {
        long double const term = static_cast<long double>(model.A[n](X.index(p, n), j)) * model.B[n](j, r);
        c.value += term;
        c.magnitude += std::abs(term);
      }
      product.value *= c.value;
      product.magnitude *= c.magnitude;
    }
    sum.value += product.value;
    sum.magnitude += product.magnitude;
  }
  return sum;
}

inline OracleValue oracle_prediction(HostModel const& model, HostTensor const& X, std::size_t p) {
  OracleValue sum = oracle_interaction(model, X, p);
  sum.value += model.mean;
  sum.magnitude += std::abs(model.mean);
  for (std::size_t n = 0; n < model.bias.size(); ++n) {
    sum.value += model.bias[n][X.index(p, n)];
    sum.magnitude += std::abs(model.bias[n][X.index(p, n)]);
  }
  return sum;
}

/// Roundings in a prediction: C^(n) has J - 1 additions and one multiplication (J_n <= J), each of the R
/// products takes N of these and N - 1 multiplications, then R - 1 additions, the mean, N biases, and one
/// rounding when the result is stored.
inline std::size_t prediction_roundings(std::size_t order, std::size_t J, std::size_t rank) {
  return order * J + order - 1 + rank - 1 + 1 + order + 1;
}

template <class Scalar>
FastTuckerModel<Scalar, TestSpace> to_device(TestSpace const& space, HostModel const& host) {
  std::vector<count_t> extents;
  std::vector<count_t> J;
  for (auto const& A : host.A) {
    extents.push_back(A.rows);
    J.push_back(A.columns);
  }
  FastTuckerModel<Scalar, TestSpace> model(space, Extents(std::span<count_t const>(extents)), J, host.rank(),
                                           !host.bias.empty());
  model.mean = host.mean;
  for (int n = 0; n < model.order(); ++n) {
    auto const m = static_cast<std::size_t>(n);
    from_host<Scalar>(space, host.A[m].data, model.A(n));
    from_host<Scalar>(space, host.B[m].data, model.B(n));
    if (!model.has_biases()) continue;
    auto const bias = Kokkos::create_mirror_view(model.bias(n));
    for (std::size_t i = 0; i < host.bias[m].size(); ++i) bias(i) = static_cast<Scalar>(host.bias[m][i]);
    Kokkos::deep_copy(model.bias(n), bias);
  }
  return model;
}

}  // namespace polyad::test
