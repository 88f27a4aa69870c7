// SPDX-License-Identifier: BSD-3-Clause
// More oracles (polyad/testing/oracle.hpp): what else the library computes, written as the serial loops of
// the definitions, in long double over std::vector. It shares no code with the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "polyad/testing/oracle.hpp"

namespace polyad::test {

using namespace testing;

/// SpTTM on a mode: one row for every fiber of that mode that has nonzeros, by its other indices.
struct OracleFibers {
  std::vector<std::vector<std::uint64_t>> coordinates;  // those of the other modes, increasing
  OracleSums rows{0, 0};
};

/// Y(other indices, r) = sum over the fiber's nonzeros of x U(i_mode, r)
inline OracleFibers oracle_spttm(HostTensor const& X, HostMatrix const& U, std::size_t mode) {
  auto const others_of = [&](std::size_t p) {
    std::vector<std::uint64_t> others;
    for (std::size_t n = 0; n < X.order(); ++n)
      if (n != mode) others.push_back(X.index(p, n));
    return others;
  };
  std::map<std::vector<std::uint64_t>, std::size_t> numbers;
  for (std::size_t p = 0; p < X.nnz(); ++p) numbers[others_of(p)] = 0;
  OracleFibers Y;
  for (auto& [others, number] : numbers) {
    number = Y.coordinates.size();
    Y.coordinates.push_back(others);
  }
  Y.rows = OracleSums(Y.coordinates.size(), U.columns);
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    std::size_t const s = numbers[others_of(p)];
    ++Y.rows.terms[s];
    for (std::size_t r = 0; r < U.columns; ++r) {
      long double const term = static_cast<long double>(X.values[p]) * U(X.index(p, mode), r);
      Y.rows.value[s * U.columns + r] += term;
      Y.rows.magnitude[s * U.columns + r] += std::abs(term);
    }
  }
  return Y;
}

/// SpTTMc on a mode: Y(k, :) = sum over the nonzeros with i_mode = k of x times the Kronecker product of the
/// rows U^(m)(i_m, :) of all other modes, the last mode's column running fastest. U^(mode) plays no part.
inline OracleSums oracle_spttmc(HostTensor const& X, HostFactors const& U, std::size_t mode) {
  std::size_t columns = 1;
  for (std::size_t m = 0; m < X.order(); ++m)
    if (m != mode) columns *= U[m].columns;
  OracleSums Y(X.extents[mode], columns);
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    std::size_t const k = X.index(p, mode);
    ++Y.terms[k];
    for (std::size_t c = 0; c < columns; ++c) {
      long double term = X.values[p];
      std::size_t rest = c;
      for (std::size_t end = X.order(); end > 0; --end) {
        std::size_t const m = end - 1;
        if (m == mode) continue;
        term *= U[m](X.index(p, m), rest % U[m].columns);
        rest /= U[m].columns;
      }
      Y.value[k * columns + c] += term;
      Y.magnitude[k * columns + c] += std::abs(term);
    }
  }
  return Y;
}

/// Adds the products of x and y, `terms` of each, `x_step` and `y_step` apart, to an entry of the sums.
inline void add_products(OracleSums& sums, std::size_t entry, std::size_t terms, double const* x,
                         std::size_t x_step, double const* y, std::size_t y_step) {
  // Summed outside of the vectors: with sanitizers, each of their accesses is a call.
  long double value = 0, magnitude = 0;
  for (std::size_t k = 0; k < terms; ++k) {
    long double const term = static_cast<long double>(x[k * x_step]) * y[k * y_step];
    value += term;
    magnitude += std::abs(term);
  }
  sums.value[entry] += value;
  sums.magnitude[entry] += magnitude;
}

/// G = A' B
inline OracleSums oracle_product_of_transposed(HostMatrix const& A, HostMatrix const& B) {
  OracleSums G(A.columns, B.columns);
  for (std::size_t i = 0; i < A.columns; ++i) {
    G.terms[i] = A.rows;
    for (std::size_t j = 0; j < B.columns; ++j)
      add_products(G, i * G.columns + j, A.rows, A.data.data() + i, A.columns, B.data.data() + j, B.columns);
  }
  return G;
}

/// C = A B
inline OracleSums oracle_product(HostMatrix const& A, HostMatrix const& B) {
  OracleSums C(A.rows, B.columns);
  for (std::size_t i = 0; i < A.rows; ++i) {
    C.terms[i] = A.columns;
    for (std::size_t j = 0; j < B.columns; ++j)
      add_products(C, i * C.columns + j, A.columns, A.data.data() + i * A.columns, 1, B.data.data() + j,
                   B.columns);
  }
  return C;
}

/// A square matrix in long double.
struct OracleSquare {
  std::size_t size;
  std::vector<long double> data;
  explicit OracleSquare(std::size_t n) : size(n), data(n * n) {}
  [[nodiscard]] long double& operator()(std::size_t i, std::size_t j) { return data[i * size + j]; }
  [[nodiscard]] long double operator()(std::size_t i, std::size_t j) const { return data[i * size + j]; }
};

/// H^-1 by Gauss-Jordan elimination with partial pivoting. \throws std::domain_error when H is singular
inline OracleSquare oracle_inverse(OracleSquare H) {
  std::size_t const n = H.size;
  OracleSquare X(n);
  for (std::size_t i = 0; i < n; ++i) X(i, i) = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(H(i, k)) > std::abs(H(pivot, k))) pivot = i;
    if (H(pivot, k) == 0) throw std::domain_error("singular");
    for (std::size_t j = 0; j < n; ++j) {
      std::swap(H(k, j), H(pivot, j));
      std::swap(X(k, j), X(pivot, j));
    }
    long double const scale = 1 / H(k, k);
    for (std::size_t j = 0; j < n; ++j) {
      H(k, j) *= scale;
      X(k, j) *= scale;
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      long double const factor = H(i, k);
      for (std::size_t j = 0; j < n; ++j) {
        H(i, j) -= factor * H(k, j);
        X(i, j) -= factor * X(k, j);
      }
    }
  }
  return X;
}

/// A CP model in long double: weights (R) and one matrix (I_n x R, row-major) per mode.
struct OracleModel {
  std::size_t rank = 0;
  std::vector<std::uint64_t> extents;
  std::vector<long double> weights;
  std::vector<std::vector<long double>> factors;

  OracleModel() = default;
  OracleModel(HostFactors const& from, std::vector<long double> weights_)
      : rank(from[0].columns), weights(std::move(weights_)) {
    for (auto const& matrix : from) {
      extents.push_back(matrix.rows);
      factors.emplace_back(matrix.data.begin(), matrix.data.end());
    }
  }

  /// The entry of the model tensor at one cell.
  [[nodiscard]] long double at(std::vector<std::uint64_t> const& cell) const {
    long double sum = 0;
    for (std::size_t r = 0; r < rank; ++r) {
      long double product = weights[r];
      for (std::size_t n = 0; n < factors.size(); ++n) product *= factors[n][cell[n] * rank + r];
      sum += product;
    }
    return sum;
  }
};

/// Calls f(cell, position) for every cell of a dense tensor, the last mode fastest.
template <class F>
void for_each_cell(std::vector<std::uint64_t> const& extents, F&& f) {
  std::size_t cells = 1;
  for (auto const extent : extents) cells *= extent;
  std::vector<std::uint64_t> cell(extents.size(), 0);
  for (std::size_t position = 0; position < cells; ++position) {
    f(std::as_const(cell), position);
    for (std::size_t n = extents.size(); n > 0; --n) {
      if (++cell[n - 1] < extents[n - 1]) break;
      cell[n - 1] = 0;
    }
  }
}

/// ||M||^2 from the Gram matrices.
inline long double oracle_norm_squared(OracleModel const& M) {
  long double norm = 0;
  for (std::size_t r = 0; r < M.rank; ++r)
    for (std::size_t s = 0; s < M.rank; ++s) {
      long double product = M.weights[r] * M.weights[s];
      for (auto const& matrix : M.factors) {
        long double gram = 0;
        for (std::size_t row = 0; row < matrix.size(); row += M.rank)
          gram += matrix[row + r] * matrix[row + s];
        product *= gram;
      }
      norm += product;
    }
  return norm;
}

/// Cells that an oracle visits one by one.
inline constexpr long double most_cells = 1e7L;

/// How many cells a tensor of these extents has.
inline long double cells_of(std::vector<std::uint64_t> const& extents) {
  long double cells = 1;
  for (auto const extent : extents) cells *= static_cast<long double>(extent);
  return cells;
}

/// 1 - ||X - M|| / ||X|| without a visit to every cell. This cancels: where the fit is close to 1 its error
/// is up to about 1e-9. X has no duplicates.
inline long double oracle_fit_of_nonzeros(HostTensor const& X, OracleModel const& M) {
  long double residual = oracle_norm_squared(M);
  long double norm     = 0;
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    std::vector<std::uint64_t> cell;
    for (std::size_t n = 0; n < X.order(); ++n) cell.push_back(X.index(p, n));
    long double const x = X.values[p];
    residual += x * (x - 2 * M.at(cell));
    norm += x * x;
  }
  return 1 - std::sqrt(std::max(residual, 0.0L) / norm);
}

/// 1 - ||X - M|| / ||X|| by visiting every cell; duplicates of X add up. M.at(cell) is the model's entry.
template <class Model>
long double oracle_fit_of_cells(HostTensor const& X, Model const& M) {
  std::size_t cells = 1;
  for (auto const extent : X.extents) cells *= extent;
  std::vector<long double> dense(cells);
  for (std::size_t p = 0; p < X.nnz(); ++p) {
    std::size_t position = 0;
    for (std::size_t n = 0; n < X.order(); ++n) position = position * X.extents[n] + X.index(p, n);
    dense[position] += X.values[p];
  }
  long double residual = 0;
  long double norm     = 0;
  for_each_cell(X.extents, [&](auto const& cell, std::size_t position) {
    long double const difference = dense[position] - M.at(cell);
    residual += difference * difference;
    norm += dense[position] * dense[position];
  });
  return 1 - std::sqrt(residual / norm);
}

/// By visiting every cell, or, if there are too many, by visiting the nonzeros: then X has no duplicates.
inline long double oracle_fit(HostTensor const& X, OracleModel const& M) {
  return cells_of(X.extents) > most_cells ? oracle_fit_of_nonzeros(X, M) : oracle_fit_of_cells(X, M);
}

/// The least-squares update of one mode with all others fixed: A^(mode) = V H^-1, H the Hadamard product of
/// the other modes' Gram matrices. Only for models whose H is regular.
inline void oracle_update(HostTensor const& X, OracleModel& M, std::size_t mode) {
  std::size_t const rank = M.rank;
  OracleSquare H(rank);
  for (std::size_t i = 0; i < rank; ++i)
    for (std::size_t j = 0; j < rank; ++j) {
      H(i, j) = 1;
      for (std::size_t n = 0; n < X.order(); ++n) {
        if (n == mode) continue;
        long double sum = 0;
        for (std::size_t k = 0; k < X.extents[n]; ++k)
          sum += M.factors[n][k * rank + i] * M.factors[n][k * rank + j];
        H(i, j) *= sum;
      }
    }
  OracleSquare const inverse = oracle_inverse(H);
  std::vector<long double> V(X.extents[mode] * rank);
  for (std::size_t p = 0; p < X.nnz(); ++p)
    for (std::size_t r = 0; r < rank; ++r) {
      long double term = X.values[p];
      for (std::size_t n = 0; n < X.order(); ++n)
        if (n != mode) term *= M.factors[n][X.index(p, n) * rank + r];
      V[X.index(p, mode) * rank + r] += term;
    }
  for (std::size_t k = 0; k < X.extents[mode]; ++k)
    for (std::size_t r = 0; r < rank; ++r) {
      long double sum = 0;
      for (std::size_t s = 0; s < rank; ++s) sum += V[k * rank + s] * inverse(s, r);
      M.factors[mode][k * rank + r] = sum;
    }
}

/// Divides the columns of one mode by their 2-norms, which become the weights.
inline void oracle_normalize(OracleModel& M, std::size_t mode) {
  for (std::size_t r = 0; r < M.rank; ++r) {
    long double sum = 0;
    for (std::size_t k = 0; k < M.extents[mode]; ++k) {
      long double const entry = M.factors[mode][k * M.rank + r];
      sum += entry * entry;
    }
    M.weights[r] = std::sqrt(sum);
    if (M.weights[r] == 0) continue;
    for (std::size_t k = 0; k < M.extents[mode]; ++k) M.factors[mode][k * M.rank + r] /= M.weights[r];
  }
}

/// One iteration of CP-ALS over all modes.
inline void oracle_als_iteration(HostTensor const& X, OracleModel& M) {
  for (std::size_t n = 0; n < X.order(); ++n) {
    oracle_update(X, M, n);
    oracle_normalize(M, n);
  }
}

/// G(k, :) = sum over the nonzeros with i_mode = k of e p. A term's magnitude counts what e was made of.
inline OracleSums oracle_residual_mttkrp(HostTensor const& X, HostFactors const& C, std::size_t mode) {
  std::size_t const rank = C[0].columns;
  OracleSums G(X.extents[mode], rank);
  std::vector<long double> p(rank);
  for (std::size_t i = 0; i < X.nnz(); ++i) {
    std::size_t const k   = X.index(i, mode);
    long double e         = X.values[i];
    long double magnitude = std::abs(e);
    for (std::size_t r = 0; r < rank; ++r) {
      p[r] = 1;
      for (std::size_t m = 0; m < X.order(); ++m)
        if (m != mode) p[r] *= C[m](X.index(i, m), r);
      e -= p[r] * C[mode](k, r);
      magnitude += std::abs(p[r] * C[mode](k, r));
    }
    ++G.terms[k];
    for (std::size_t r = 0; r < rank; ++r) {
      G.value[k * rank + r] += e * p[r];
      G.magnitude[k * rank + r] += magnitude * std::abs(p[r]);
    }
  }
  return G;
}

/// A product e p has N - 2 roundings in p, and N - 1 + R in e (a product of N, R - 1 additions, the
/// subtraction), and one for itself: 2 N + R - 2, as if it had 2 N + R - 1 factors.
inline std::size_t residual_factors(std::size_t order, std::size_t rank) {
  return 2 * order + rank - 1;
}

}  // namespace polyad::test
