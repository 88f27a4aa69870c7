// SPDX-License-Identifier: BSD-3-Clause
// CpAlsWorkspace: the arrays of an iteration of CP-ALS.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "cp/iteration_numbers.hpp"
#include "dense/gram.hpp"
#include "dense/inner_product.hpp"
#include "dense/normal_equations.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

/// Everything an iteration writes besides the factors; allocated once.
template <class Scalar, class Space>
struct CpAlsWorkspace {
  /// \param is_sent  whether ranks add up the outputs; their rows are then no longer than they must be
  CpAlsWorkspace(Space const& space, Extents const& extents, count_t rank, bool is_sent);
  [[nodiscard]] GramMatrix<Space> gram_of(int n) const {
    return Kokkos::subview(grams, n, Kokkos::ALL, Kokkos::ALL);
  }
  [[nodiscard]] FactorMatrix<Scalar, Space> output(count_t rows) const {
    return Kokkos::subview(V, Kokkos::make_pair(count_t(0), rows), Kokkos::ALL);
  }

  /// Where normal_equations counts its pseudo-inverses.
  [[nodiscard]] DeviceNumbers<Space> fallbacks(FitNumber number) const {
    return Kokkos::subview(numbers, Kokkos::make_pair(int(number), int(number) + 1));
  }

  /// Where the last mode's update sums <X, M>.
  [[nodiscard]] InnerProductSums<Space> inner() const {
    return {weights, inner_partials,
            Kokkos::subview(numbers, Kokkos::make_pair(int(inner_product), int(inner_product) + 1))};
  }

  /// The Gram matrix of mode n as an array that ranks add up. For the last mode it includes <X, M>, which the
  /// last update computes.
  [[nodiscard]] double* to_be_summed(int n) const {
    return gram_memory.data() + static_cast<count_t>(n) * grams.extent(1) * grams.extent(2);
  }
  [[nodiscard]] count_t count_to_be_summed(int n) const {
    return grams.extent(1) * grams.extent(2) + (static_cast<count_t>(n) + 1 == grams.extent(0) ? 1 : 0);
  }

  GramWorkspace<Space> gram_sums;
  FactorMatrix<Scalar, Space> V;        // the longest mode's MTTKRP, shared by all modes
  FactorMatrix<Scalar, Space> inverse;  // R x R
  DeviceNumbers<Space> gram_memory;     // the Gram matrices, then the numbers
  GramMatrices<Space> grams;            // N x R x R
  DeviceNumbers<Space> scratch;
  DeviceNumbers<Space> weights;  // powers of two by which the last updated factor was divided
  DeviceNumbers<Space> numbers;  // FitNumber; <X, M> comes first
  DeviceNumbers<Space> inner_partials;
  typename DeviceNumbers<Space>::host_mirror_type host_numbers;
};

template <class Scalar, class Space>
CpAlsWorkspace<Scalar, Space>::CpAlsWorkspace(Space const& space, Extents const& extents, count_t rank,
                                              bool is_sent)
    : gram_sums(space, rank) {
  auto const order = static_cast<count_t>(extents.order());
  count_t longest  = 0;
  for (int n = 0; n < extents.order(); ++n) longest = std::max(longest, extents[n]);
  expect_fits(space, "the Gram matrices", order * rank * rank + normal_equations_scratch(rank),
              sizeof(double));
  char const* const label = "polyad::mttkrp_output";
  V                       = is_sent ? make_factor_matrix<Scalar>(space, label, longest, rank)
                                    : make_output_matrix<Scalar>(space, label, longest, rank);
  inverse                 = make_factor_matrix<Scalar>(space, "polyad::inverse_gram", rank, rank);
  count_t const entries   = order * rank * rank;
  gram_memory             = DeviceNumbers<Space>(Kokkos::view_alloc(space, "polyad::fit_numbers_and_grams"),
                                                 entries + static_cast<count_t>(fit_numbers));
  grams                   = GramMatrices<Space>(gram_memory.data(), order, rank, rank);
  numbers =
      Kokkos::subview(gram_memory, Kokkos::make_pair(entries, entries + static_cast<count_t>(fit_numbers)));
  static_assert(inner_product == 0);
  scratch = DeviceNumbers<Space>(Kokkos::view_alloc(space, "polyad::normal_equations"),
                                 normal_equations_scratch(rank));
  weights = DeviceNumbers<Space>(Kokkos::view_alloc(space, "polyad::weights"), rank);
  Kokkos::deep_copy(space, weights, 1.0);
  inner_partials =
      DeviceNumbers<Space>(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::inner_product"),
                           gram_sums.partials().extent(0));
  host_numbers = Kokkos::create_mirror_view(Kokkos::SharedHostPinnedSpace(), numbers);
}

}  // namespace polyad::detail
