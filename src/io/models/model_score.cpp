// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <limits>

#include "polyad/core/error.hpp"
#include "polyad/io/model_file.hpp"

namespace polyad::io {

namespace {

/// The type of these sums. Squares and products of doubles neither overflow nor become zero if long double
/// has more bits for the exponent.
using Wide = long double;

/// rows x columns, row-major
struct ScoreMatrix {
  std::uint64_t rows, columns;
  std::vector<Wide> elements;
  Wide& operator()(std::uint64_t i, std::uint64_t j) { return elements[i * columns + j]; }
  Wide operator()(std::uint64_t i, std::uint64_t j) const { return elements[i * columns + j]; }
};

/// A'B of the factors of mode n, I x R and I x S. Rows that a model does not store are zero.
ScoreMatrix cross_gram(HostKtensor const& a, HostKtensor const& b, std::size_t n) {
  auto const& A         = a.factors[n];
  auto const& B         = b.factors[n];
  std::uint64_t const R = a.rank(), S = b.rank();
  ScoreMatrix result{R, S, std::vector<Wide>(R * S, 0)};
  auto const add = [&](std::uint64_t i, std::uint64_t j) {
    for (std::uint64_t r = 0; r < R; ++r)
      for (std::uint64_t s = 0; s < S; ++s) result(r, s) += Wide{A[i * R + r]} * B[j * S + s];
  };
  StoredRows const all(a.extents[n]);
  StoredRows const& rows_a = a.rows.empty() ? all : a.rows[n];
  StoredRows const& rows_b = b.rows.empty() ? all : b.rows[n];
  bool const is_same       = rows_a == rows_b;
  for (std::uint64_t i = 0; i < rows_a.size(); ++i) {
    std::uint64_t const j = is_same ? i : rows_b.position(rows_a.number(i));
    if (j != StoredRows::none) add(i, j);
  }
  return result;
}

/// The column of each row, or -1, in the assignment of the largest sum, for rows <= columns. This is the
/// Hungarian method with potentials: it adds one row at a time along a shortest augmenting path.
std::vector<std::int64_t> best_assignment(ScoreMatrix const& score) {
  constexpr double far  = std::numeric_limits<double>::infinity();
  std::uint64_t const n = score.rows, m = score.columns;
  // Row and column 0 stand for "none"; costs are -score.
  std::vector<double> row_potential(n + 1, 0), column_potential(m + 1, 0);
  std::vector<std::uint64_t> row_of(m + 1, 0), previous(m + 1, 0);
  for (std::uint64_t row = 1; row <= n; ++row) {
    row_of[0]            = row;
    std::uint64_t column = 0;
    std::vector<double> distance(m + 1, far);
    std::vector<bool> reached(m + 1, false);
    do {
      reached[column]          = true;
      std::uint64_t const from = row_of[column];
      std::uint64_t next       = 0;
      double step              = far;
      for (std::uint64_t j = 1; j <= m; ++j) {
        if (reached[j]) continue;
        double const reduced =
            -static_cast<double>(score(from - 1, j - 1)) - row_potential[from] - column_potential[j];
        if (reduced < distance[j]) {
          distance[j] = reduced;
          previous[j] = column;
        }
        if (distance[j] < step) {
          step = distance[j];
          next = j;
        }
      }
      for (std::uint64_t j = 0; j <= m; ++j) {
        if (reached[j]) {
          row_potential[row_of[j]] += step;
          column_potential[j] -= step;
        } else {
          distance[j] -= step;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    for (; column != 0; column = previous[column]) row_of[column] = row_of[previous[column]];
  }
  std::vector<std::int64_t> result(n, -1);
  for (std::uint64_t j = 1; j <= m; ++j)
    if (row_of[j] != 0) result[row_of[j] - 1] = j - 1;
  return result;
}

/// |lambda_r| times the norms of the columns of component r.
std::vector<Wide> component_norms(HostKtensor const& model) {
  std::vector<Wide> norms(model.rank());
  std::transform(model.weights.begin(), model.weights.end(), norms.begin(),
                 [](double w) { return std::abs(w); });
  for (std::size_t n = 0; n < model.factors.size(); ++n) {
    ScoreMatrix const gram = cross_gram(model, model, n);
    for (std::uint64_t r = 0; r < model.rank(); ++r) norms[r] *= std::sqrt(gram(r, r));
  }
  return norms;
}

}  // namespace

MatchScore match_score(HostKtensor const& a, HostKtensor const& b) {
  expect_consistent(a);
  expect_consistent(b);
  if (a.extents != b.extents) throw UsageError("the models have different extents");
  std::uint64_t const R = a.rank(), S = b.rank();
  if (R == 0 || S == 0) throw UsageError("a model of rank 0 has no components to compare");
  if (R > S) {
    MatchScore const turned = match_score(b, a);
    MatchScore result{turned.score, turned.weighted, std::vector<std::int64_t>(R, -1)};
    for (std::uint64_t s = 0; s < S; ++s) result.partner[turned.partner[s]] = s;
    return result;
  }
  ScoreMatrix score{R, S, std::vector<Wide>(R * S, 1)};
  for (std::size_t n = 0; n < a.factors.size(); ++n) {
    ScoreMatrix const cross = cross_gram(a, b, n), of_a = cross_gram(a, a, n), of_b = cross_gram(b, b, n);
    for (std::uint64_t r = 0; r < R; ++r)
      for (std::uint64_t s = 0; s < S; ++s) {
        Wide const norms = std::sqrt(of_a(r, r)) * std::sqrt(of_b(s, s));
        score(r, s) *= norms > 0 ? std::min(Wide{1}, std::abs(cross(r, s)) / norms) : Wide{0};
      }
  }
  MatchScore result{0, 0, best_assignment(score)};
  auto const norms_a = component_norms(a), norms_b = component_norms(b);
  for (std::uint64_t r = 0; r < R; ++r) {
    std::uint64_t const s = result.partner[r];
    Wide const larger     = std::max(norms_a[r], norms_b[s]);
    Wide const penalty    = larger > 0 ? std::abs(norms_a[r] - norms_b[s]) / larger : Wide{0};
    result.score += static_cast<double>(score(r, s));
    result.weighted += static_cast<double>(score(r, s) * (1 - penalty));
  }
  result.score /= static_cast<double>(S);
  result.weighted /= static_cast<double>(S);
  return result;
}

}  // namespace polyad::io
