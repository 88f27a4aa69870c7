// SPDX-License-Identifier: BSD-3-Clause
// CpAlsWorkspace: the arrays of an iteration of CP-ALS.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "cp/run/iteration_numbers.hpp"
#include "cp/update_memory.hpp"
#include "dense/gram.hpp"
#include "dense/update/hadamard_of_grams.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "run/row_distribution.hpp"

namespace polyad::detail {

/// Everything that an iteration writes except the factors; allocated once.
template <class Scalar, class Space>
struct CpAlsWorkspace {
  /// \param extents  those of this rank's nonzeros
  CpAlsWorkspace(Space const& space, Extents const& extents, count_t rank,
                 RowDistribution<Scalar, Space>& distribution);
  [[nodiscard]] GramMatrix<Space> gram_of(int n) const {
    return Kokkos::subview(grams, n, Kokkos::ALL, Kokkos::ALL);
  }
  [[nodiscard]] DeviceNumbers<Space> all_grams() const {
    return Kokkos::subview(gram_memory, Kokkos::make_pair(count_t(0), grams.size()));
  }
  [[nodiscard]] FactorMatrix<Scalar, Space> output(count_t rows) const {
    return Kokkos::subview(V, Kokkos::make_pair(count_t(0), rows), Kokkos::ALL);
  }

  /// One of the numbers, where an update writes it.
  [[nodiscard]] DeviceNumbers<Space> number(FitNumber number) const {
    return Kokkos::subview(numbers, Kokkos::make_pair(int(number), int(number) + 1));
  }
  /// s of mode n.
  [[nodiscard]] DeviceNumbers<Space> scale_of(int n) const {
    count_t const rank  = scales.weights.extent(0);
    count_t const first = n * rank;
    return Kokkos::subview(scales.of_modes, Kokkos::make_pair(first, first + rank));
  }

  /// What the update of mode n is given. \param fallbacks  the number that counts its pseudo-inverses; the
  /// one after it counts matrices that are nearly singular
  [[nodiscard]] ModeProblem<Space> problem(int n, FitNumber fallbacks) const {
    static_assert(nearly_singular == gram_fallbacks + 1 && trial_nearly_singular == trial_fallbacks + 1);
    auto const two = Kokkos::make_pair(int(fallbacks), int(fallbacks) + 2);
    return {hadamard,
            scales.weights,
            scale_of(n),
            scales.of_tensor,
            Kokkos::subview(numbers, two),
            number(largest_change)};
  }
  /// What it fills. The update of the last free mode sums <X, M>, unless it is a trial.
  [[nodiscard]] UpdateSums<Space> sums(int n, bool is_trial) const {
    return {gram_of(n), n == last_mode && !is_trial ? number(inner_product) : DeviceNumbers<Space>(),
            is_trial, &memory};
  }

  /// Calls f(numbers) for the arrays of mode n that ranks add up: its Gram matrix, and for the last free mode
  /// <X, M>, which its update computes. That of the last mode is part of the same array.
  template <class F>
  void for_each_sum(int n, F const& f) const {
    count_t const square = grams.extent(1) * grams.extent(2), at = n * square;
    bool const is_at_end = n + 1 == grams.extent_int(0);
    f(DeviceNumbers<Space>(gram_memory.data() + at, square + (is_at_end ? 1 : 0)));
    if (n == last_mode && !is_at_end) f(number(inner_product));
  }

  int last_mode;  // the last one that an iteration updates
  UpdateMemory<Space> memory;
  FactorMatrix<Scalar, Space> V;     // the longest mode's MTTKRP, shared by all modes
  GramMatrix<Space> hadamard;        // H, R x R
  DeviceNumbers<Space> gram_memory;  // the Gram matrices, then the numbers
  GramMatrices<Space> grams;         // N x R x R
  ColumnScales<Space> scales;
  DeviceNumbers<Space> column_factors;  // R numbers of scratch
  DeviceNumbers<Space> numbers;         // FitNumber; <X, M> comes first
  typename DeviceNumbers<Space>::host_mirror_type host_numbers;
};

template <class Scalar, class Space>
CpAlsWorkspace<Scalar, Space>::CpAlsWorkspace(Space const& space, Extents const& extents, count_t rank,
                                              RowDistribution<Scalar, Space>& distribution)
    : last_mode(extents.order() - 1), memory(space, rank) {
  count_t const order = extents.order();
  count_t longest     = 0;
  for (int n = 0; n < extents.order(); ++n) longest = std::max(longest, extents[n]);
  expect_fits(space, "the Gram matrices", (order + 1) * rank * rank, sizeof(double));
  V                     = distribution.make_output("polyad::mttkrp_output", longest, rank);
  hadamard              = GramMatrix<Space>(uninitialized(space, "polyad::hadamard"), rank, rank);
  count_t const entries = order * rank * rank;
  gram_memory =
      DeviceNumbers<Space>(Kokkos::view_alloc(space, "polyad::fit_numbers_and_grams"), entries + fit_numbers);
  grams   = GramMatrices<Space>(gram_memory.data(), order, rank, rank);
  numbers = Kokkos::subview(gram_memory, Kokkos::make_pair(entries, entries + fit_numbers));
  static_assert(inner_product == 0);
  scales.weights  = DeviceNumbers<Space>(Kokkos::view_alloc(space, "polyad::weights"), rank);
  scales.of_modes = DeviceNumbers<Space>(Kokkos::view_alloc(space, "polyad::scales"), order * rank);
  scales.before   = DeviceNumbers<Space>(Kokkos::view_alloc(space, "polyad::weights_before"), rank);
  column_factors  = DeviceNumbers<Space>(Kokkos::view_alloc(space, "polyad::column_factors"), rank);
  Kokkos::deep_copy(space, scales.weights, 1.0);
  Kokkos::deep_copy(space, scales.of_modes, 1.0);
  host_numbers = Kokkos::create_mirror_view(Kokkos::SharedHostPinnedSpace(), numbers);
}

}  // namespace polyad::detail
