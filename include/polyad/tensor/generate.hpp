// SPDX-License-Identifier: BSD-3-Clause
// Synthetic tensors: coordinates that are uniform or follow a power law, and a sparse tensor of known rank.
// Every number is a pure function of the seed and its place, made without library functions that round
// differently elsewhere: the same seed gives the same bits on every backend.
#pragma once

#include <Kokkos_Core.hpp>

#include "polyad/core/counter_rng.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/ktensor.hpp"

namespace polyad {

/// A planted tensor and the model that it equals.
template <class Scalar, class Index, class Space>
struct PlantedTensor {
  CooTensor<Scalar, Index, Space> tensor;
  Ktensor<Scalar, Space> model;
};

namespace detail {

template <class Tensor>
struct GeneratePowerLaw {
  typename Tensor::indices_type indices;
  typename Tensor::values_type values;
  Extents extents;
  int power;
  std::uint64_t seed;

  KOKKOS_FUNCTION void operator()(count_t p) const {
    using Index     = typename Tensor::index_type;
    int const order = extents.order();
    for (int n = 0; n < order; ++n) {
      double const u = counter_uniform(seed, static_cast<std::uint64_t>(n), p, 0);
      double skewed  = u;
      for (int k = 1; k < power; ++k) skewed *= u;
      auto const index = static_cast<count_t>(skewed * static_cast<double>(extents[n]));
      indices(p, n)    = static_cast<Index>(index < extents[n] ? index : extents[n] - 1);
    }
    values(p) = static_cast<typename Tensor::scalar_type>(
        1 - counter_uniform(seed, static_cast<std::uint64_t>(order), p, 0));
  }
};

template <class Scalar, class Space>
struct FillPlantedFactor {
  FactorMatrix<Scalar, Space> matrix;
  count_t block;
  std::uint64_t seed;
  std::uint64_t mode;

  /// The first row of component r.
  KOKKOS_FUNCTION static count_t first_row(count_t rows, count_t rank, count_t r) { return rows / rank * r; }

  KOKKOS_FUNCTION void operator()(count_t r) const {
    count_t const first = first_row(matrix.extent(0), matrix.extent(1), r);
    for (count_t i = first; i < first + block; ++i)
      matrix(i, r) = static_cast<Scalar>(0.5 + counter_uniform(seed, mode, i, r));
  }
};

template <class Tensor>
struct GeneratePlanted {
  using Space = typename Tensor::space_type;
  typename Tensor::indices_type indices;
  typename Tensor::values_type values;
  Kokkos::Array<FactorMatrix<typename Tensor::scalar_type, Space>, max_order> factors;
  Extents extents;
  count_t rank;
  count_t block;

  KOKKOS_FUNCTION void operator()(count_t p) const {
    // Nonzero p belongs to component p mod R, so that the components lie mixed; the rest of p counts
    // through the component's block^N entries.
    count_t const r = p % rank;
    count_t entry   = p / rank;
    double value    = 1;
    for (int n = 0; n < extents.order(); ++n) {
      count_t const row =
          FillPlantedFactor<typename Tensor::scalar_type, Space>::first_row(extents[n], rank, r) +
          entry % block;
      indices(p, n) = static_cast<typename Tensor::index_type>(row);
      value *= static_cast<double>(factors[n](row, r));
      entry /= block;
    }
    values(p) = static_cast<typename Tensor::scalar_type>(value);
  }
};

}  // namespace detail

/// nnz nonzeros whose indices follow a power law: row i of a mode of I rows is drawn with a density
/// proportional to ((i + 1) / I)^(1 / power - 1), so 1 is uniform and 3 puts half of the nonzeros into the
/// first eighth of the rows. Values are uniform in (0, 1]. Coordinates may repeat
/// (tensor/sum_duplicates.hpp). Launches on `space` and returns without waiting. \throws UsageError when
/// power < 1 or nonzeros are asked of a tensor with an empty mode; MemoryError
template <class Scalar, class Index, class Space>
CooTensor<Scalar, Index, Space> power_law_tensor(Space const& space, Extents const& extents, count_t nnz,
                                                 int power, std::uint64_t seed) {
  POLYAD_EXPECTS(power >= 1, "the power must be at least 1, not ", power);
  for (int n = 0; n < extents.order(); ++n)
    POLYAD_EXPECTS(nnz == 0 || extents[n] > 0, "mode ", n, " has no rows for ", nnz, " nonzeros");
  using Tensor      = CooTensor<Scalar, Index, Space>;
  auto const tensor = make_coo_tensor<Scalar, Index>(space, extents, nnz);
  Kokkos::parallel_for(
      "polyad::power_law_tensor", Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, nnz),
      detail::GeneratePowerLaw<Tensor>{tensor.indices(), tensor.values(), extents, power, seed});
  return tensor;
}

/// nnz nonzeros with uniform indices and values uniform in (0, 1]. Otherwise as power_law_tensor.
template <class Scalar, class Index, class Space>
CooTensor<Scalar, Index, Space> uniform_tensor(Space const& space, Extents const& extents, count_t nnz,
                                               std::uint64_t seed) {
  return power_law_tensor<Scalar, Index>(space, extents, nnz, 1, seed);
}

/// A sparse tensor of rank R exactly: component r is dense on `block` rows of each mode and zero elsewhere,
/// and no two components share a row, so that the decomposition is unique (Kruskal) and CP-ALS can reach a
/// fit of 1. nnz = R block^N, without duplicates. Launches on `space` and returns without waiting.
/// \throws UsageError when R blocks do not fit a mode; MemoryError
template <class Scalar, class Index, class Space>
PlantedTensor<Scalar, Index, Space> planted_tensor(Space const& space, Extents const& extents, count_t rank,
                                                   count_t block, std::uint64_t seed) {
  POLYAD_EXPECTS(rank >= 1 && block >= 1, "rank ", rank, " and block ", block, " must be at least 1");
  count_t nnz = rank;
  for (int n = 0; n < extents.order(); ++n) {
    POLYAD_EXPECTS(extents[n] / rank >= block, rank, " blocks of ", block, " rows do not fit mode ", n,
                   " of ", extents[n], " rows");
    nnz = checked_product("the planted tensor's nonzeros", nnz, block);
  }
  using Tensor = CooTensor<Scalar, Index, Space>;
  PlantedTensor<Scalar, Index, Space> planted{make_coo_tensor<Scalar, Index>(space, extents, nnz),
                                              {std::vector<double>(rank, 1.0), {space, extents, rank}}};
  detail::GeneratePlanted<Tensor> kernel{
      planted.tensor.indices(), planted.tensor.values(), {}, extents, rank, block};
  for (int n = 0; n < extents.order(); ++n) {
    auto const& factor                          = planted.model.factors[n];
    kernel.factors[static_cast<std::size_t>(n)] = factor;
    Kokkos::parallel_for(
        "polyad::planted_factor", Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, rank),
        detail::FillPlantedFactor<Scalar, Space>{factor, block, seed, static_cast<std::uint64_t>(n)});
  }
  Kokkos::parallel_for("polyad::planted_tensor",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, nnz), kernel);
  return planted;
}

}  // namespace polyad
