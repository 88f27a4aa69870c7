// SPDX-License-Identifier: BSD-3-Clause
// Shrinkage: the weight that draws rows to zero in least squares, in units of observations. The loss of a row
// c of C^(n) with n observations gets the additional term
//
//   weight |c|^2,   weight = P_n (observations + share n),   P_n = sum_r prod over m != n of q^(m)(r).
//
// Here q^(m)(r) is the mean square of column r of C^(m) over the observations. So P_n is about the mean of
// |p|^2, where p is the product that multiplies c. (Li et al. have one ridge for the rows of all A^(n)
// instead.)
//
// Why: if the entries of c have variance v and the values have noise of variance s, the best ridge is s / v.
// With R columns the interaction has the variance V = v P_n, so the best ridge is P_n s / V. This is P_n
// times a number that depends neither on the mode nor on the scales of the C^(n). One ridge for all modes
// does not have this property.
//
// `share` represents the uncertainty of the other modes' rows: E |p|^2 exceeds the square of the mean. This
// term grows with the observations. It suppresses columns that only fit noise, so R may be larger than
// needed.
//
// Each solve shrinks one mode, and the other modes compensate, so the scales of the C^(n) would drift apart.
// `balance` equalises them after each epoch. Modes drawn to one get their scale from their target.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <vector>

#include "dense/transposed_product.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"

namespace polyad::detail {

/// weighted(k, r) = the observations of row k times C(k, r).
template <class Scalar, class Space>
struct WeighRows {
  FactorMatrix<Scalar, Space> C;
  Kokkos::View<count_t*, typename Space::device_type> starts;
  FactorMatrix<Scalar, Space> weighted;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    count_t const k = i / C.extent(1);
    count_t const r = i % C.extent(1);
    weighted(k, r)  = static_cast<Scalar>(starts(k + 1) - starts(k)) * C(k, r);
  }
};

template <class Scalar, class Space, class Squares>
struct TakeDiagonal {
  FactorMatrix<Scalar, Space> gram;
  Squares squares;
  int mode;
  KOKKOS_FUNCTION void operator()(count_t r) const { squares(mode, r) = static_cast<double>(gram(r, r)); }
};

/// One team: P_n.
template <class Squares, class Unit>
struct SquareOfProducts {
  Squares squares;
  int mode;
  Unit unit;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    double total = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(member, squares.extent(1)),
        [&](count_t const r, double& sum) {
          double product = 1;
          for (int m = 0; m < static_cast<int>(squares.extent(0)); ++m)
            if (m != mode) product *= squares(m, r);
          sum += product;
        },
        total);
    Kokkos::single(Kokkos::PerTeam(member), [&] { unit() = total; });
  }
};

/// One thread: factors that equalise the sums of mean squares of the balanced modes' C^(n). The product of
/// all C^(n) stays the same.
template <class Squares, class Factors>
struct BalanceFactors {
  Squares squares;
  Kokkos::Array<bool, max_order> balanced;
  Factors factors;
  KOKKOS_FUNCTION void operator()(int) const {
    int const order = static_cast<int>(squares.extent(0));
    int modes       = 0;
    double mean     = 0;  // mean of the logarithms
    for (int n = 0; n < order; ++n) {
      double sum = 0;
      for (count_t r = 0; r < squares.extent(1); ++r) sum += squares(n, r);
      factors(n) = Kokkos::log(sum);
      if (!balanced[n]) continue;
      mean += factors(n);
      ++modes;
    }
    for (int n = 0; n < order; ++n) {
      double const factor = balanced[n] ? Kokkos::exp((mean / modes - factors(n)) / 2) : 1.0;
      // A vanished interaction cannot be balanced.
      factors(n) = Kokkos::isfinite(factor) && factor > 0 ? factor : 1.0;
      for (count_t r = 0; r < squares.extent(1); ++r) squares(n, r) *= factors(n) * factors(n);
    }
  }
};

template <class Scalar, class Space, class Factors>
struct ScaleByFactor {
  FactorMatrix<Scalar, Space> matrix;
  Factors factors;
  int mode;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    matrix(i / matrix.extent(1), i % matrix.extent(1)) *= static_cast<Scalar>(factors(mode));
  }
};

/// The mean squares of the columns of all C^(n) over the observations, on the device, and the quantities
/// derived from them. Its functions launch on the space and return without waiting, except to_host and
/// from_host.
template <class Scalar, class Space>
class ColumnSquares {
public:
  ColumnSquares() = default;
  /// \throws MemoryError
  ColumnSquares(Space const& space, int order, count_t rank)
      : m_squares(Kokkos::view_alloc(space, "polyad::column_squares"), static_cast<std::size_t>(order), rank),
        m_unit(Kokkos::view_alloc(space, "polyad::shrinkage_unit")),
        m_factors(Kokkos::view_alloc(space, "polyad::balance_factors"), static_cast<std::size_t>(order)),
        m_gram(make_factor_matrix<Scalar>(space, "polyad::column_gram", rank, rank)),
        m_sums(make_transposed_product_workspace(space, rank, rank)) {}

  /// Updates mode n from C^(n) and the starts of each row's observations. `scratch` is I_n x R. If C^(n) has
  /// only some of the rows, its sums over all rows have to be added up (of_columns).
  void update(Space const& space, int n, FactorMatrix<Scalar, Space> const& C,
              Kokkos::View<count_t*, typename Space::device_type> const& starts, count_t observations,
              FactorMatrix<Scalar, Space> const& scratch) const {
    if (C.extent(0) == 0)
      return Kokkos::deep_copy(space, Kokkos::subview(m_squares, static_cast<std::size_t>(n), Kokkos::ALL),
                               0.0);
    Kokkos::parallel_for("polyad::weigh_rows", entries_of(space, C),
                         detail::WeighRows<Scalar, Space>{C, starts, scratch});
    transposed_product(space, 1 / static_cast<double>(observations), C, scratch, m_sums, m_gram);
    Kokkos::parallel_for("polyad::column_squares", Range(space, 0, C.extent(1)),
                         detail::TakeDiagonal<Scalar, Space, Squares>{m_gram, m_squares, n});
  }

  /// The R mean squares of mode n, on the device.
  [[nodiscard]] double* of_columns(int n) const {
    return m_squares.data() + static_cast<count_t>(n) * m_squares.extent(1);
  }

  /// Computes P_n, to which unit() points.
  void set_unit(Space const& space, int n) const {
    LaunchShape const shape = launch_shape<Space>(1, 1, 32);
    Kokkos::parallel_for("polyad::shrinkage_unit", team_policy(space, shape),
                         detail::SquareOfProducts<Squares, Unit>{m_squares, n, m_unit});
  }
  [[nodiscard]] double const* unit() const { return m_unit.data(); }

  /// The N x R mean squares, for checkpoints between epochs. to_host and from_host wait.
  [[nodiscard]] std::vector<double> to_host(Space const& space) const {
    auto const host = Kokkos::create_mirror_view(m_squares);
    Kokkos::deep_copy(space, host, m_squares);
    space.fence("polyad::column_squares");
    return {host.data(), host.data() + host.size()};
  }
  void from_host(Space const& space, std::vector<double> const& squares) const {
    auto const host = Kokkos::create_mirror_view(m_squares);
    std::copy(squares.begin(), squares.end(), host.data());
    Kokkos::deep_copy(space, m_squares, host);
    space.fence("polyad::column_squares");
  }

  /// Scales A^(n) and C^(n) so that the C^(n) of all balanced modes have the same mean square. Predictions do
  /// not change.
  void balance(Space const& space, FastTuckerModel<Scalar, Space> const& model,
               FactorMatrices<Scalar, Space> const& C, Kokkos::Array<bool, max_order> const& balanced) const {
    Kokkos::parallel_for("polyad::balance_factors",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<int>>(space, 0, 1),
                         detail::BalanceFactors<Squares, Factors>{m_squares, balanced, m_factors});
    for (int n = 0; n < model.order(); ++n)
      if (balanced[n])
        for (auto const& matrix : {model.A(n), C[n]})
          Kokkos::parallel_for("polyad::balance", entries_of(space, matrix),
                               detail::ScaleByFactor<Scalar, Space, Factors>{matrix, m_factors, n});
  }

private:
  using Range   = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  using Squares = Kokkos::View<double**, Kokkos::LayoutRight, typename Space::device_type>;
  using Unit    = Kokkos::View<double, typename Space::device_type>;
  using Factors = Kokkos::View<double*, typename Space::device_type>;

  static Range entries_of(Space const& space, FactorMatrix<Scalar, Space> const& matrix) {
    return Range(space, 0, matrix.extent(0) * matrix.extent(1));
  }

  Squares m_squares;  // N x R
  Unit m_unit;
  Factors m_factors;
  FactorMatrix<Scalar, Space> m_gram;
  TransposedProductWorkspace<Space> m_sums;
};

}  // namespace polyad::detail
