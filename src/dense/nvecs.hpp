// SPDX-License-Identifier: BSD-3-Clause
// nvecs: a starting guess for CP-ALS from the leading left singular vectors of every unfolding X_(n) (the
// initialisation by HOSVD of Kolda & Bader, SIAM Review 51(3), 2009, section 3.4).
//
// The method is orthogonal iteration (Golub & Van Loan, 4th ed., section 8.2.4): Y = X_(n) X_(n)' Q, and the
// columns of Y are orthonormalised to the next Q. The nonzeros are sorted by mode-n fibers; a fiber f has
// indices i and values x. For short modes S = X_(n) X_(n)' (I_n x I_n) is summed once: a fiber adds x x' to
// S(i, i). Then Y = S Q. For long modes S is never formed: a fiber adds x z to Y(i, :), where z = sum over f
// of x Q(i, :).
//
// The values are multiplied by a power of two that brings the largest one near 1. Neither squares nor fourth
// powers then leave the range of Scalar, and the singular vectors do not change.
//
// A thread processes a fiber. Long modes may have fibers of more than 1,024 nonzeros, which several threads
// share (long_fibers.hpp).
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/run_limits.hpp"
#include "dense/gram.hpp"
#include "dense/intermediates.hpp"
#include "dense/long_fibers.hpp"
#include "dense/mode_fibers.hpp"
#include "kernel/launch_shape.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/dense/nvecs.hpp"
#include "polyad/tensor/compact.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/sort_by_mode.hpp"
#include "tensor/coordinates_inside.hpp"
#include "tensor/largest_value.hpp"

namespace polyad {

using namespace detail;

namespace detail {

/// Modes up to this length are short: S takes 8 MiB in doubles.
inline constexpr count_t longest_short_mode = 1024;

/// Whether to form S: a product with S must not cost more than one with the nonzeros.
inline bool sums_unfolding_gram(count_t extent, count_t nnz) {
  return extent <= longest_short_mode && extent * extent <= nnz;
}

/// S(i, j) += x_i x_j over all fibers of mode n. Atomic: fibers share rows.
template <class Tensor>
struct GramOfUnfolding {
  using Scalar = typename Tensor::scalar_type;
  ModeFibers<Tensor> fibers;
  FactorMatrix<Scalar, typename Tensor::space_type> S;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    // Without duplicates, a fiber of a short mode has at most 1,024 nonzeros.
    fibers.for_each_fiber(member, true, [&](count_t begin, count_t end) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, end - begin), [&](count_t const k) {
        for (count_t i = begin; i < end; ++i)
          Kokkos::atomic_add(&S(fibers.row(i), fibers.row(begin + k)),
                             static_cast<Scalar>(fibers.value(i) * fibers.value(begin + k)));
      });
    });
  }
};

/// Y(i, :) += x z over those fibers of mode n that are not long; the lanes share the columns. Atomic, since
/// fibers share rows.
template <class Tensor>
struct UnfoldingTimesItsTranspose {
  using Scalar = typename Tensor::scalar_type;
  ModeFibers<Tensor> fibers;
  FactorMatrix<Scalar, typename Tensor::space_type> Q;
  FactorMatrix<Scalar, typename Tensor::space_type> Y;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    fibers.for_each_fiber(member, false, [&](count_t begin, count_t end) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, Q.extent(1)), [&](count_t const r) {
        double z = 0;
        for (count_t i = begin; i < end; ++i) z += fibers.value(i) * Q(fibers.row(i), r);
        for (count_t i = begin; i < end; ++i)
          Kokkos::atomic_add(&Y(fibers.row(i), r), static_cast<Scalar>(fibers.value(i) * z));
      });
    });
  }
};

/// Columns `columns(c)` of a matrix become the random numbers of `seed`.
template <class Scalar, class Space>
struct RefillColumns {
  FactorMatrix<Scalar, Space> matrix;
  Kokkos::View<int*, typename Space::device_type> dependent;
  std::uint64_t seed;
  std::uint64_t mode;
  RowNumbers<Space> rows;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    for (count_t r = 0; r < matrix.extent(1); ++r)
      if (dependent(r) != 0) matrix(i, r) = static_cast<Scalar>(counter_uniform(seed, mode, rows(i), r));
  }
};

/// T such that Y T has orthonormal columns, given G = Y'Y (R x R, row-major): with D the columns' norms and
/// G = D L L' D by Cholesky, T = D^-1 L^-T. A column that depends on those before it becomes zero in T.
struct Orthonormalizer {
  std::vector<double> T;       // R x R, row-major, upper triangular
  std::vector<int> dependent;  // R: 1 where the column is zero

  Orthonormalizer(std::vector<double> const& G, std::size_t rank) : T(rank * rank), dependent(rank) {
    // Relative to the square of a unit column. Gram matrices see no smaller angles.
    constexpr double negligible = 1e-12;
    std::vector<double> L(rank * rank);
    std::vector<double> inverse(rank * rank);  // L^-1
    for (std::size_t i = 0; i < rank; ++i) {
      double* const row = &L[i * rank];
      double const norm = std::sqrt(G[i * rank + i]);
      double pivot      = 1;
      for (std::size_t j = 0; j < i && norm > 0; ++j) {
        if (dependent[j] != 0) continue;
        double sum = G[i * rank + j] / (norm * std::sqrt(G[j * rank + j]));
        for (std::size_t k = 0; k < j; ++k) sum -= row[k] * L[j * rank + k];
        row[j] = sum / L[j * rank + j];
        pivot -= row[j] * row[j];
      }
      dependent[i] = norm > 0 && pivot > negligible ? 0 : 1;
      if (dependent[i] != 0) continue;
      row[i] = std::sqrt(pivot);
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = i == j ? 1 : 0;
        for (std::size_t k = j; k < i; ++k) sum -= row[k] * inverse[k * rank + j];
        inverse[i * rank + j] = sum / row[i];
        if (dependent[j] == 0) T[j * rank + i] = inverse[i * rank + j] / std::sqrt(G[j * rank + j]);
      }
    }
  }
};

}  // namespace detail

template <class Scalar, class Index, class Space>
FactorMatrices<Scalar, Space> nvecs(Space const& space, CooTensor<Scalar, Index, Space> const& tensor,
                                    count_t rank, NvecsOptions const& options) {
  using Tensor = CooTensor<Scalar, Index, Space>;
  using Range  = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
  expect_run_limits(options.max_iterations, options.tolerance);
  Extents const extents = tensor.extents();
  detail::expect_coordinates_inside(space, tensor);
  FactorMatrices<Scalar, Space> factors(space, extents, rank);
  expect_stored_rows(options.rows, extents);
  fill_random(space, factors, options.rows, options.seed);
  if (tensor.nnz() == 0) return factors;
  double const largest = largest_value(space, tensor);
  if (!std::isfinite(largest)) throw NumericalError("the tensor has values that are not finite numbers");
  // The scale stays a normal number, even for subnormal values.
  double const scale = largest > 0 ? std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1022, 1000)) : 1;

  GramWorkspace<Space> const workspace(space, rank);
  GramMatrix<Space> const G(Kokkos::view_alloc(space, "polyad::nvecs_gram"), rank, rank);
  auto const T = make_factor_matrix<Scalar>(space, "polyad::nvecs_basis", rank, rank);
  Kokkos::View<int*, typename Space::device_type> const dependent(
      Kokkos::view_alloc(space, "polyad::nvecs_dependent"), rank);
  for (int n = 0; n < extents.order(); ++n) {
    auto const Y        = make_factor_matrix<Scalar>(space, "polyad::nvecs_product", extents[n], rank);
    auto const by_fiber = identity_permutation<std::uint64_t>(space, tensor.nnz());
    sort_by_other_modes(space, tensor, n, by_fiber);

    detail::ModeFibers<Tensor> const fibers{tensor.indices(), tensor.values(), by_fiber, n, scale};
    LaunchShape const shape = detail::fibers_shape<Space>(tensor.nnz());
    auto const numbers      = row_numbers(space, options.rows, n);
    bool const is_short     = detail::sums_unfolding_gram(extents[n], tensor.nnz());
    FactorMatrix<Scalar, Space> S;
    if (is_short) {
      S = make_factor_matrix<Scalar>(space, "polyad::nvecs_gram_of_unfolding", extents[n], extents[n]);
      zero_matrix(space, S);
      Kokkos::parallel_for("polyad::gram_of_unfolding", team_policy(space, shape),
                           detail::GramOfUnfolding<Tensor>{fibers, S});
    }
    auto const pieces =
        is_short ? detail::FiberPieces<Space>{} : detail::cut_long_fibers(space, fibers, rank);
    double sum = 0;
    for (int iteration = 1; iteration <= options.max_iterations; ++iteration) {
      if (is_short) {
        intermediates(space, S, factors[n], Y);
      } else {
        zero_matrix(space, Y);
        Kokkos::parallel_for("polyad::unfolding_times_its_transpose", team_policy(space, shape),
                             detail::UnfoldingTimesItsTranspose<Tensor>{fibers, factors[n], Y});
        detail::add_long_fibers(space, fibers, pieces, factors[n], Y);
      }
      gram(space, Y, workspace, G);
      auto const host_gram = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), G);
      detail::Orthonormalizer const basis(
          std::vector<double>(host_gram.data(), host_gram.data() + host_gram.size()), rank);
      from_host(space, basis.T, T);
      Kokkos::deep_copy(dependent, Kokkos::View<int const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                                       basis.dependent.data(), rank));
      intermediates(space, Y, T, factors[n]);
      // The random directions differ in each iteration, so that some of them reach what the converged columns
      // lack.
      Kokkos::parallel_for(
          "polyad::refill_columns", Range(space, 0, extents[n]),
          detail::RefillColumns<Scalar, Space>{factors[n], dependent, options.seed + iteration,
                                               static_cast<std::uint64_t>(n), numbers});
      double const previous = sum;
      sum                   = 0;  // sum of the singular values: the columns of Y grow by their squares
      for (std::size_t r = 0; r < rank; ++r)
        if (basis.dependent[r] == 0) sum += std::sqrt(std::sqrt(host_gram(r, r)));
      if (std::abs(sum - previous) <= options.tolerance * sum) break;
    }
  }
  space.fence("polyad::nvecs");
  return factors;
}

#define POLYAD_NVECS(Scalar, Index)                     \
  template FactorMatrices<Scalar, CompiledSpace> nvecs( \
      CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&, count_t, NvecsOptions const&)

}  // namespace polyad
