// SPDX-License-Identifier: BSD-3-Clause
// Between the module's arrays and the library's Views, without copies.
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine.hpp"
#include "polyad/core/error.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::python {

using Space = Kokkos::DefaultExecutionSpace;

template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, float>)
    return Type::f32;
  else if constexpr (std::is_same_v<T, double>)
    return Type::f64;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return Type::u32;
  else
    return Type::u64;
}

/// Elements from the first to the last, gaps included.
inline std::size_t span_of(Array const& array) {
  std::size_t last = 0;
  for (std::size_t k = 0; k < array.shape.size(); ++k) {
    if (array.shape[k] == 0) return 0;
    last += (array.shape[k] - 1) * static_cast<std::size_t>(array.strides[k]);
  }
  return last + 1;
}

/// A View as an array that keeps the View. \param stays  on a device; otherwise it is copied to the host
template <class T, class... P>
Array to_array(Kokkos::View<T*, P...> const& view, bool stays) {
  Array const array{view.data(),
                    {view.extent(0)},
                    {1},
                    type_of<T>(),
                    std::make_shared<Kokkos::View<T*, P...>>(view),
                    is_device_space<Space>};
  return stays ? array : in_host_memory(array);
}
template <class T, class... P>
Array to_array(Kokkos::View<T**, P...> const& view, bool stays) {
  Array const array{view.data(),
                    {view.extent(0), view.extent(1)},
                    {static_cast<std::int64_t>(view.stride(0)), 1},
                    type_of<T>(),
                    std::make_shared<Kokkos::View<T**, P...>>(view),
                    is_device_space<Space>};
  return stays ? array : in_host_memory(array);
}

/// The array's elements where Views are: its own memory, or a copy on the device, which `View` allocates for
/// span_of elements.
template <class View, class T>
View where_views_are(Array const& array, std::size_t rows, std::size_t columns) {
  View const copy(Kokkos::view_alloc("polyad::copied_array", Kokkos::WithoutInitializing), rows, columns);
  using Host = Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Flat = Kokkos::View<T*, typename Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  std::size_t const span = span_of(array);
  Kokkos::deep_copy(Flat(copy.data(), span), Host(static_cast<T const*>(array.data), span));
  return copy;
}

/// Whether Views can use the array's memory directly.
inline bool is_at_hand(Array const& array) {
  return array.on_device == is_device_space<Space>;
}

/// A View of the caller's memory, which the caller keeps alive; on a device, a copy of a host's array.
template <class T>
Kokkos::View<T*, typename Space::device_type> vector_view(Array const& array) {
  POLYAD_EXPECTS(
      array.type == type_of<T>() && array.shape.size() == 1 && (array.strides[0] == 1 || array.shape[0] <= 1),
      "a vector of another type, or with gaps");
  using View = Kokkos::View<T*, typename Space::device_type>;
  if (is_at_hand(array)) return View(static_cast<T*>(array.data), array.shape[0]);
  using Matrix      = Kokkos::View<T**, Kokkos::LayoutRight, typename Space::device_type>;
  Matrix const copy = where_views_are<Matrix, T>(array, 1, array.shape[0]);
  return Kokkos::subview(copy, 0, Kokkos::ALL);
}
template <class T>
FactorMatrix<T, Space> matrix_view(Array const& array) {
  POLYAD_EXPECTS(array.shape.size() == 2, "an array of ", array.shape.size(), " dimensions is not a matrix");
  bool const row_major = array.shape[1] <= 1 || array.strides[1] == 1;
  auto const stride    = array.shape[0] <= 1 ? array.shape[1] : static_cast<std::size_t>(array.strides[0]);
  POLYAD_EXPECTS(array.type == type_of<T>() && row_major && stride >= array.shape[1],
                 "a matrix of another type, or not row-major");
  using Matrix      = FactorMatrix<T, Space>;
  Matrix const rows = is_at_hand(array) ? Matrix(static_cast<T*>(array.data), array.shape[0], stride)
                                        : where_views_are<Matrix, T>(array, array.shape[0], stride);
  return Kokkos::subview(rows, Kokkos::ALL, Kokkos::make_pair(std::size_t{0}, array.shape[1]));
}
/// The same for kernels that accept only packed rows: on a device possibly a copy.
template <class T>
FactorMatrix<T, Space> packed_matrix_view(Array const& array) {
  return with_packed_rows<T, Space>(Space(), matrix_view<T>(array));
}
/// Copies the result in vector_view or matrix_view to the caller's memory, whose gaps do not change.
template <class T>
void copy_back(Array const& array, Kokkos::View<T*, typename Space::device_type> const& view) {
  if (is_at_hand(array)) return;
  Kokkos::deep_copy(Kokkos::View<T*, Kokkos::HostSpace>(static_cast<T*>(array.data), view.extent(0)), view);
}
template <class T>
void copy_back(Array const& array, FactorMatrix<T, Space> const& view) {
  if (is_at_hand(array)) return;
  auto const numbers = to_host<T>(Space(), view);
  auto const stride  = static_cast<std::size_t>(array.strides[0]);
  for (std::size_t i = 0; i < view.extent(0); ++i)
    for (std::size_t r = 0; r < view.extent(1); ++r)
      static_cast<T*>(array.data)[i * stride + r] = static_cast<T>(numbers[i * view.extent(1) + r]);
}

/// Coordinates, nonzeros x N without gaps: the caller's memory, or a device's copy of it.
template <class Index>
typename CooTensor<double, Index, Space>::indices_type indices_view(Array const& array) {
  using View = typename CooTensor<double, Index, Space>::indices_type;
  if (is_at_hand(array)) return View(static_cast<Index*>(array.data), array.shape[0], array.shape[1]);
  return where_views_are<View, Index>(array, array.shape[0], array.shape[1]);
}

/// The same for all factors.
template <class T>
FactorMatrices<T, Space> matrix_views(std::vector<Array> const& arrays, Extents const& extents) {
  POLYAD_EXPECTS(arrays.size() == static_cast<std::size_t>(extents.order()), arrays.size(),
                 " factor matrices for a tensor of order ", extents.order());
  count_t rank = 0;
  for (auto const& array : arrays)
    if (array.shape.size() == 2) rank = array.shape[1];
  checked_rank(rank);
  // Allocated empty: only order and rank are needed.
  std::vector<count_t> const none(arrays.size(), 0);
  FactorMatrices<T, Space> factors(Space(), Extents(std::span<count_t const>(none)), rank);
  for (int n = 0; n < extents.order(); ++n) factors[n] = matrix_view<T>(arrays[n]);
  return factors;
}
template <class T>
std::vector<Array> to_arrays(FactorMatrices<T, Space> const& factors, bool stay) {
  std::vector<Array> arrays;
  for (int n = 0; n < factors.order(); ++n) arrays.push_back(to_array(factors[n], stay));
  return arrays;
}

inline std::vector<std::uint64_t> to_vector(Extents const& extents) {
  std::vector<std::uint64_t> sizes;
  for (int n = 0; n < extents.order(); ++n) sizes.push_back(extents[n]);
  return sizes;
}

/// `owner` keeps alive the memory that the Views do not own.
template <class Scalar, class Index>
struct TensorOf final : Tensor {
  TensorOf(CooTensor<Scalar, Index, Space> tensor, std::shared_ptr<void> kept, bool stay)
      : coo(std::move(tensor)), owner(std::move(kept)), stays(stay) {}
  bool on_device() const override { return stays; }
  std::vector<std::uint64_t> extents() const override { return to_vector(coo.extents()); }
  std::uint64_t nnz() const override { return coo.nnz(); }
  Array indices() const override { return kept(to_array(coo.indices(), stays)); }
  Array values() const override { return kept(to_array(coo.values(), stays)); }
  Array kept(Array array) const {
    if (owner && is_at_hand(array)) array.owner = owner;
    return array;
  }

  CooTensor<Scalar, Index, Space> coo;
  std::shared_ptr<void> owner;
  bool stays;  // on the device
};

/// A format may share the tensor's memory, so it keeps the tensor alive.
template <class Scalar>
struct FormatOf final : Format {
  FormatOf(AnyFormat<Scalar, Space> format, std::shared_ptr<void> kept, bool stay)
      : any(std::move(format)), owner(std::move(kept)), stays(stay) {}
  bool on_device() const override { return stays; }
  std::vector<std::uint64_t> extents() const override { return to_vector(any.extents()); }
  std::uint64_t nnz() const override { return any.nnz(); }
  Type type() const override { return type_of<Scalar>(); }
  std::string chosen() const override { return any.chosen(); }
  std::string because() const override { return any.chosen_because(); }
  std::string warning() const override { return any.warning(); }
  std::uint64_t storage_bytes() const override { return any.storage_bytes(); }
  std::uint64_t rank() const override { return any.rank(); }

  AnyFormat<Scalar, Space> any;
  std::shared_ptr<void> owner;
  bool stays;  // on the device: what is computed with it
};

/// Calls f with the FormatOf inside.
template <template <class> class Of, class Base, class F>
auto visit(Base const& base, F&& f) {
  if (auto const* const p = dynamic_cast<Of<float> const*>(&base)) return f(*p);
  if (auto const* const p = dynamic_cast<Of<double> const*>(&base)) return f(*p);
  throw UsageError("a tensor of unknown type");
}
/// Calls f with the TensorOf inside.
template <template <class, class> class Of, class Base, class F>
auto visit(Base const& base, F&& f) {
  if (auto const* const p = dynamic_cast<Of<float, std::uint32_t> const*>(&base)) return f(*p);
  if (auto const* const p = dynamic_cast<Of<float, std::uint64_t> const*>(&base)) return f(*p);
  if (auto const* const p = dynamic_cast<Of<double, std::uint32_t> const*>(&base)) return f(*p);
  if (auto const* const p = dynamic_cast<Of<double, std::uint64_t> const*>(&base)) return f(*p);
  throw UsageError("a tensor of unknown type");
}

template <class Scalar, class Index>
FormatPtr build(TensorOf<Scalar, Index> const& tensor, AnyFormatOptions const& options) {
  return std::make_shared<FormatOf<Scalar>>(any_format(Space(), tensor.coo, options), tensor.owner,
                                            tensor.stays);
}

/// The function as the hook of a format's choice.
inline std::function<void(char const*)> at_each_step(std::function<void()> const& between_steps) {
  if (!between_steps) return {};
  return [between_steps](char const*) { between_steps(); };
}

/// Adds the caller's requests to the work of a driver.
inline AnyFormatOptions with(AnyFormatOptions options, FormatOptions const& asked) {
  if (asked.format != "auto") options.format = asked.format;
  options.deterministic  = asked.deterministic;
  options.hooks.progress = at_each_step(asked.between_steps);
  return options;
}

}  // namespace polyad::python
