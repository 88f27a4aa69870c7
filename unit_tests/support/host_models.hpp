// SPDX-License-Identifier: BSD-3-Clause
// Models of drivers as the oracles take them, and tensors that models describe exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "polyad/tensor/ktensor.hpp"
#include "polyad/tensor/tucker_model.hpp"
#include "support/device_data.hpp"
#include "support/oracle.hpp"

namespace polyad::test {

/// All cells of a model as a sparse tensor.
inline HostTensor all_cells(OracleModel const& model) {
  HostTensor tensor{"all cells of a model", model.extents, {}, {}};
  for_each_cell(model.extents, [&](auto const& cell, std::size_t) {
    tensor.indices.insert(tensor.indices.end(), cell.begin(), cell.end());
    tensor.values.push_back(static_cast<double>(model.at(cell)));
  });
  return tensor;
}

template <class Scalar>
OracleModel on_host(Ktensor<Scalar, TestSpace> const& model) {
  HostFactors factors;
  for (int n = 0; n < model.factors.order(); ++n) {
    factors.emplace_back(model.factors[n].extent(0), model.factors[n].extent(1));
    factors.back().data = flat(model.factors[n]);
  }
  return OracleModel(factors, {model.weights.begin(), model.weights.end()});
}

/// A Tucker model in host memory.
struct HostTucker {
  HostFactors U;
  HostMatrix core;  // the last mode by the others, of which the last is the fastest

  /// The entry at one cell.
  [[nodiscard]] long double at(std::vector<std::uint64_t> const& cell) const {
    long double sum = 0;
    for (std::size_t e = 0; e < core.data.size(); ++e) {
      std::size_t column = e % core.columns;
      long double term   = core.data[e];
      term *= U.back()(cell.back(), e / core.columns);
      for (std::size_t n = U.size() - 1; n > 0; column /= U[n].columns) {
        --n;
        term *= U[n](cell[n], column % U[n].columns);
      }
      sum += term;
    }
    return sum;
  }
};

template <class Scalar>
HostTucker on_host(TuckerModel<Scalar, TestSpace> const& model) {
  HostTucker result;
  for (auto const& factor : model.factors) {
    result.U.emplace_back(factor.extent(0), factor.extent(1));
    result.U.back().data = flat(factor);
  }
  result.core      = HostMatrix(model.core.extent(0), model.core.extent(1));
  result.core.data = flat(model.core);
  return result;
}

/// 1 - ||X - M|| / ||X|| by visiting every cell.
inline long double oracle_fit(HostTensor const& X, HostTucker const& M) {
  return oracle_fit_of_cells(X, M);
}

/// The tensor times `scale`, with the values that a Scalar holds.
template <class Scalar>
HostTensor scaled_to(HostTensor tensor, double scale) {
  for (double& value : tensor.values) value = static_cast<double>(static_cast<Scalar>(value * scale));
  return tensor;
}

}  // namespace polyad::test
