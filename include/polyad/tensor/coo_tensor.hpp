// SPDX-License-Identifier: BSD-3-Clause
// CooTensor: a sparse tensor as coordinates and values (GenTen, section 4.1). Every format is built from it.
#pragma once

#include <Kokkos_Core.hpp>
#include <span>
#include <utility>

#include "polyad/core/instances.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"

namespace polyad {

/// P nonzeros: subscripts P x N, row-major, counting from 0, and P values.
/// Shares its Views when copied, as Views do.
template <class Scalar, class Index, class Space>
class CooTensor {
public:
  using scalar_type  = Scalar;
  using index_type   = Index;
  using space_type   = Space;
  using indices_type = Kokkos::View<Index**, Kokkos::LayoutRight, typename Space::device_type>;
  using values_type  = Kokkos::View<Scalar*, typename Space::device_type>;

  CooTensor() = default;

  /// \throws UsageError when the Views' shapes do not match, or an extent exceeds what Index can count
  CooTensor(Extents const& extents, indices_type indices, values_type values)
      : m_extents(extents), m_indices(std::move(indices)), m_values(std::move(values)) {
    POLYAD_EXPECTS(m_indices.extent(0) == m_values.extent(0), m_indices.extent(0), " coordinates but ",
                   m_values.extent(0), " values");
    POLYAD_EXPECTS(m_indices.extent_int(1) == extents.order(), "coordinates of ", m_indices.extent(1),
                   " numbers for a tensor of order ", extents.order());
    for (int n = 0; n < extents.order(); ++n)
      // The largest Index is not used for rows: kernels use it for "none" (TeamSum::no_row).
      POLYAD_EXPECTS(extents[n] <= std::numeric_limits<Index>::max(), "mode ", n, " of ", extents[n],
                     " rows needs 64-bit indices");
  }

  [[nodiscard]] Extents const& extents() const { return m_extents; }
  [[nodiscard]] int order() const { return m_extents.order(); }
  [[nodiscard]] count_t nnz() const { return m_values.extent(0); }
  [[nodiscard]] indices_type const& indices() const { return m_indices; }
  [[nodiscard]] values_type const& values() const { return m_values; }

  /// A value and N coordinates for each nonzero.
  [[nodiscard]] count_t storage_bytes() const { return nnz() * (sizeof(Scalar) + order() * sizeof(Index)); }

private:
  Extents m_extents;
  indices_type m_indices;
  values_type m_values;
};

/// Allocates the Views of a tensor, uninitialised. Does not wait. \throws MemoryError before allocating
template <class Scalar, class Index, class Space>
[[nodiscard]] CooTensor<Scalar, Index, Space> make_coo_tensor(Space const& space, Extents const& extents,
                                                              count_t nnz) {
  using Tensor        = CooTensor<Scalar, Index, Space>;
  count_t const order = extents.order();
  expect_fits(space, "the tensor's coordinates and values", nnz, sizeof(Scalar) + order * sizeof(Index));
  return Tensor(extents,
                typename Tensor::indices_type(uninitialized(space, "polyad::coo_indices"), nnz, order),
                typename Tensor::values_type(uninitialized(space, "polyad::coo_values"), nnz));
}

/// Copies a tensor from host arrays: `indices` holds P x N numbers, row-major, from 0. Waits for `space`.
/// \throws UsageError when the sizes do not match, a coordinate lies outside the extents or Index is too
///         small for a mode; MemoryError before allocating
template <class Scalar, class Index, class Space>
[[nodiscard]] CooTensor<Scalar, Index, Space> upload(Space const& space, Extents const& extents,
                                                     std::span<Index const> indices,
                                                     std::span<double const> values) {
  count_t const order = extents.order();
  POLYAD_EXPECTS(indices.size() == values.size() * order, indices.size(), " indices for ", values.size(),
                 " nonzeros of order ", order);
  auto const tensor       = make_coo_tensor<Scalar, Index>(space, extents, values.size());
  auto const host_values  = Kokkos::create_mirror_view(tensor.values());
  auto const host_indices = Kokkos::create_mirror_view(tensor.indices());
  for (count_t p = 0; p < values.size(); ++p) {
    host_values(p) = static_cast<Scalar>(values[p]);
    for (count_t n = 0; n < order; ++n) {
      Index const index = indices[p * order + n];
      POLYAD_EXPECTS(index < extents[n], "nonzero ", p, " has index ", index, " in mode ", n, " of ",
                     extents[n], " rows");
      host_indices(p, n) = index;
    }
  }
  Kokkos::deep_copy(space, tensor.values(), host_values);
  Kokkos::deep_copy(space, tensor.indices(), host_indices);
  space.fence("polyad::upload");
  return tensor;
}

namespace detail {

template <class Values>
struct SumOfSquares {
  Values values;
  KOKKOS_FUNCTION void operator()(count_t p, double& sum) const {
    double const value = static_cast<double>(values(p));
    sum += value * value;
  }
};

}  // namespace detail

/// ||X||_F^2, summed in double. Waits for `space`.
template <class Scalar, class Index, class Space>
[[nodiscard]] double norm_squared(Space const& space, CooTensor<Scalar, Index, Space> const& tensor) {
  double sum = 0;
  Kokkos::parallel_reduce(
      "polyad::norm_squared", Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, tensor.nnz()),
      detail::SumOfSquares<typename CooTensor<Scalar, Index, Space>::values_type>{tensor.values()}, sum);
  return sum;
}

/// The tensor in the memory of HostSpace; no copy if it is there. Waits for `space`. \throws MemoryError
template <class HostSpace, class Scalar, class Index, class Space>
[[nodiscard]] CooTensor<Scalar, Index, HostSpace> download(Space const& space,
                                                           CooTensor<Scalar, Index, Space> const& coo) {
  if constexpr (std::is_same_v<Space, HostSpace>) {
    return coo;
  } else {
    auto const copy = make_coo_tensor<Scalar, Index>(HostSpace(), coo.extents(), coo.nnz());
    Kokkos::deep_copy(space, copy.indices(), coo.indices());
    Kokkos::deep_copy(space, copy.values(), coo.values());
    space.fence("polyad::download");
    return copy;
  }
}

#define POLYAD_UPLOAD(Scalar, Index)                                                            \
  template CooTensor<Scalar, Index, CompiledSpace> upload(CompiledSpace const&, Extents const&, \
                                                          std::span<Index const>, std::span<double const>)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_UPLOAD);
#define POLYAD_NORM_SQUARED(Scalar, Index) \
  template double norm_squared(CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_NORM_SQUARED);

}  // namespace polyad
