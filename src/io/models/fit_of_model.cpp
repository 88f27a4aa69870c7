// SPDX-License-Identifier: BSD-3-Clause
// The fit of a model in host memory, by the sums of fit/fit.hpp.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "fit/cp_cells.hpp"
#include "fit/cp_norm.hpp"
#include "fit/exact_gram.hpp"
#include "fit/fit.hpp"
#include "fit/tucker_cells.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/model_file.hpp"
#include "tensor/nonzero_inside.hpp"

namespace polyad::io {

namespace {

using detail::DoubleDouble;

/// The exponent of the largest magnitude; 0 if all are zero.
int largest_exponent(std::span<double const> numbers, std::size_t first, std::size_t step) {
  double largest = 0;
  for (std::size_t k = first; k < numbers.size(); k += step)
    largest = std::max(largest, std::abs(numbers[k]));
  return largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
}

/// The sums over the nonzeros, with the values divided by a power of two. A model is zero in rows that it
/// does not store.
template <class Cells>
detail::CellSums sum_cells(CoordinateList const& X, std::vector<StoredRows> const& rows, Cells const& cells,
                           int exponent) {
  detail::CellSums sums;
  std::size_t const order = X.extents.size();
  std::visit(
      [&](auto const& indices) {
        count_t index[max_order];
        for (std::size_t p = 0; p < X.nnz(); ++p) {
          detail::expect_nonzero_inside(X.extents, p, indices.data() + p * order);
          bool is_stored = true;
          for (std::size_t n = 0; n < order; ++n) {
            index[n]  = indices[p * order + n];
            index[n]  = rows.empty() ? index[n] : rows[n].position(index[n]);
            is_stored = is_stored && index[n] != StoredRows::none;
          }
          using Number = decltype(cells(index));
          sums.add(std::ldexp(X.values[p], -exponent), is_stored ? cells(index) : Number(0.0));
        }
      },
      X.indices);
  return sums;
}

/// A model whose columns have entries near 1, and whose weights are those for a tensor with values near 1.
/// Only exponents differ from the model's.
struct ScaledModel {
  std::vector<double> weights;
  std::vector<std::vector<double>> factors;
  std::vector<StoredRows> rows;
};

ScaledModel scaled(HostKtensor const& model, int tensor_exponent) {
  ScaledModel result{model.weights, model.factors, model.rows};
  std::size_t const rank = model.rank();
  for (std::size_t r = 0; r < rank; ++r) {
    int exponent = -tensor_exponent;
    for (auto& factor : result.factors) {
      int const own = largest_exponent(factor, r, rank);
      for (std::size_t k = r; k < factor.size(); k += rank) factor[k] = std::ldexp(factor[k], -own);
      exponent += own;
    }
    result.weights[r] = std::ldexp(result.weights[r], exponent);
  }
  return result;
}

/// A'A in T, R x R.
template <class T>
void append_gram(std::vector<double> const& A, std::size_t rank, std::vector<DoubleDouble>& grams) {
  constexpr std::size_t rows_in_type = detail::gram_rows_in_type;
  std::vector<DoubleDouble> gram(rank * rank);
  std::vector<T> sums(rank);
  std::size_t const rows = A.size() / rank;
  for (std::size_t begin = 0; begin < rows; begin += rows_in_type)
    for (std::size_t r = 0; r < rank; ++r) {
      std::fill(sums.begin(), sums.end(), T(0.0));
      for (std::size_t i = begin; i < std::min(rows, begin + rows_in_type); ++i)
        for (std::size_t s = 0; s <= r; ++s)
          sums[s] += detail::exact_product<T>(A[i * rank + r], A[i * rank + s]);
      for (std::size_t s = 0; s <= r; ++s) gram[r * rank + s] += DoubleDouble(sums[s]);
    }
  grams.insert(grams.end(), gram.begin(), gram.end());
}

template <class T>
detail::Fit fit_in(CoordinateList const& X, ScaledModel const& model, int exponent) {
  detail::CpCells<double, T> cells;
  std::size_t const rank  = model.weights.size();
  std::size_t const order = model.factors.size();
  cells.order             = static_cast<int>(order);
  cells.rank              = static_cast<int>(rank);
  cells.weights           = model.weights.data();
  std::vector<DoubleDouble> grams;
  for (std::size_t n = 0; n < order; ++n) {
    cells.factors[n] = model.factors[n].data();
    cells.strides[n] = rank;
    append_gram<T>(model.factors[n], rank, grams);
  }
  auto const sums = sum_cells(X, model.rows, cells, exponent);
  auto const norm = detail::cp_norm(grams, model.weights);
  return detail::fit_of(detail::squares_of_cells<T>(
      sums, norm.squared, norm.components, {cells.roundings(), cells.order * detail::gram_roundings}));
}

/// A Tucker model with entries near 1 in its factors, and a core for a tensor with values near 1.
HostTucker scaled(HostTucker model, int tensor_exponent) {
  int exponent = -tensor_exponent;
  for (auto& factor : model.factors) {
    int const own = largest_exponent(factor, 0, 1);
    for (double& entry : factor) entry = std::ldexp(entry, -own);
    exponent += own;
  }
  for (double& entry : model.core) entry = std::ldexp(entry, exponent);
  return model;
}

/// The core times the matrices (R_n x R_n) along all modes, last mode fastest.
template <class T>
std::vector<T> multiply_modes(std::vector<double> const& core, std::vector<std::uint64_t> const& ranks,
                              std::vector<std::vector<DoubleDouble>> const& matrices) {
  std::vector<T> from(core.begin(), core.end());
  std::vector<T> to(from.size());
  std::size_t step = from.size();
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    step /= ranks[n];
    for (std::size_t e = 0; e < from.size(); ++e) {
      std::size_t const i = e / step % ranks[n];
      T sum               = 0.0;
      for (std::size_t j = 0; j < ranks[n]; ++j)
        sum += from[e - i * step + j * step] * static_cast<T>(matrices[n][i * ranks[n] + j]);
      to[e] = sum;
    }
    std::swap(from, to);
  }
  return from;
}

template <class T>
detail::Fit fit_in(CoordinateList const& X, HostTucker const& model, int exponent) {
  std::size_t const order = model.factors.size();
  std::size_t const last  = model.ranks.back();
  std::size_t const rest  = model.core.size() / last;
  std::vector<std::vector<DoubleDouble>> grams(order);
  detail::TuckerCells<double, T> cells;
  double terms     = 1;
  double roundings = 0;
  for (std::size_t n = 0; n < order; ++n) {
    cells.factors[n] = model.factors[n].data();
    cells.strides[n] = cells.ranks[n] = model.ranks[n];
    append_gram<T>(model.factors[n], model.ranks[n], grams[n]);
    double trace = 0;
    for (std::size_t r = 0; r < model.ranks[n]; ++r) {
      trace += grams[n][r * model.ranks[n] + r].high;
      for (std::size_t s = 0; s < r; ++s) grams[n][s * model.ranks[n] + r] = grams[n][r * model.ranks[n] + s];
    }
    terms *= trace;
    roundings += static_cast<double>(model.ranks[n]);
  }
  std::vector<double> unfolded(model.core.size());  // R_{N-1} x the others
  for (std::size_t e = 0; e < unfolded.size(); ++e) unfolded[e % last * rest + e / last] = model.core[e];
  cells.core        = unfolded.data();
  cells.core_stride = cells.columns = rest;
  cells.order                       = static_cast<int>(order);
  auto const product                = multiply_modes<T>(model.core, model.ranks, grams);
  DoubleDouble norm;
  double core = 0;
  for (std::size_t e = 0; e < product.size(); ++e) {
    norm += DoubleDouble(product[e]) * model.core[e];
    core += model.core[e] * model.core[e];
  }
  auto const sums = sum_cells(X, model.rows, cells, exponent);
  return detail::fit_of(detail::squares_of_cells<T>(
      sums, norm, std::sqrt(core * terms),
      {cells.roundings(), cells.order * (detail::gram_roundings + 1) + roundings}));
}

template <class Model>
double fit_of_host_model(CoordinateList const& X, Model const& model) {
  if (X.extents != model.extents) throw UsageError("the model and the tensor are of different extents");
  if (std::all_of(X.values.begin(), X.values.end(), [](double x) { return x == 0; }))
    throw NumericalError("a tensor of zeros has no fit");
  int const exponent = largest_exponent(X.values, 0, 1);
  auto const same    = scaled(model, exponent);
  return detail::exact_fit<double>([&]<class T>(T) { return fit_in<T>(X, same, exponent); }).value;
}

}  // namespace

double fit_of_model(CoordinateList const& X, HostKtensor const& model) {
  expect_consistent(model);
  return fit_of_host_model(X, model);
}

double fit_of_model(CoordinateList const& X, HostTucker const& model) {
  bool fits = model.factors.size() == model.extents.size() && model.ranks.size() == model.extents.size() &&
              (model.rows.empty() || model.rows.size() == model.extents.size());
  std::size_t cells = 1;
  for (std::size_t n = 0; fits && n < model.ranks.size(); ++n) {
    fits = model.ranks[n] > 0 &&
           model.factors[n].size() == stored_rows(model.rows, n, model.extents[n]) * model.ranks[n];
    cells *= model.ranks[n];
  }
  POLYAD_EXPECTS(fits && model.extents.size() >= 2 && cells == model.core.size(),
                 "the factors and the core of a Tucker model have other sizes than it says");
  return fit_of_host_model(X, model);
}

}  // namespace polyad::io
