// SPDX-License-Identifier: BSD-3-Clause
// Between the module's arrays and the library's Views, without copies.
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/per_mode.hpp"
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

/// Numbers in host memory as an array that keeps them.
template <class T>
Array host_array(std::vector<T> numbers, std::vector<std::size_t> shape) {
  auto const kept = std::make_shared<std::vector<T>>(std::move(numbers));
  Array array{kept->data(), std::move(shape), {}, type_of<T>(), kept};
  array.strides.assign(array.shape.size(), 1);
  for (std::size_t k = array.shape.size(); k-- > 1;)
    array.strides[k - 1] = array.strides[k] * static_cast<std::int64_t>(array.shape[k]);
  return array;
}

/// A View as an array that keeps the View; on a device a copy in host memory.
template <class T, class... P>
Array to_array(Kokkos::View<T*, P...> const& view) {
  if constexpr (is_device_space<Space>) {
    std::vector<T> numbers(view.extent(0));
    Kokkos::deep_copy(Kokkos::View<T*, Kokkos::HostSpace>(numbers.data(), numbers.size()), view);
    return host_array(std::move(numbers), {view.extent(0)});
  } else {
    return {view.data(), {view.extent(0)}, {1}, type_of<T>(), std::make_shared<Kokkos::View<T*, P...>>(view)};
  }
}
template <class T, class... P>
Array to_array(Kokkos::View<T**, P...> const& view) {
  if constexpr (is_device_space<Space>) {
    std::vector<T> numbers(view.size());
    if constexpr (std::is_floating_point_v<T>) {
      auto const doubles = to_host<T>(Space(), view);
      for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<T>(doubles[k]);
    } else {  // coordinates, without gaps
      Kokkos::View<T**, Kokkos::LayoutRight, Kokkos::HostSpace> const host(numbers.data(), view.extent(0),
                                                                           view.extent(1));
      Kokkos::deep_copy(host, view);
    }
    return host_array(std::move(numbers), {view.extent(0), view.extent(1)});
  } else {
    return {view.data(),
            {view.extent(0), view.extent(1)},
            {static_cast<std::int64_t>(view.stride(0)), 1},
            type_of<T>(),
            std::make_shared<Kokkos::View<T**, P...>>(view)};
  }
}

/// A View of the caller's memory, which somebody else keeps; on a device a copy there.
template <class T>
Kokkos::View<T*, typename Space::device_type> vector_view(Array const& array) {
  POLYAD_EXPECTS(
      array.type == type_of<T>() && array.shape.size() == 1 && (array.strides[0] == 1 || array.shape[0] <= 1),
      "a vector of another type, or with gaps");
  return {static_cast<T*>(array.data), array.shape[0]};
}
template <class T>
FactorMatrix<T, Space> matrix_view(Array const& array) {
  POLYAD_EXPECTS(array.shape.size() == 2, "an array of ", array.shape.size(), " dimensions is no matrix");
  bool const row_major = array.shape[1] <= 1 || array.strides[1] == 1;
  auto const stride    = array.shape[0] <= 1 ? static_cast<std::int64_t>(array.shape[1]) : array.strides[0];
  POLYAD_EXPECTS(
      array.type == type_of<T>() && row_major && stride >= static_cast<std::int64_t>(array.shape[1]),
      "a matrix of another type, or not row-major");
  auto const* const data = static_cast<T const*>(array.data);
  if constexpr (is_device_space<Space>) {
    auto const copy = make_factor_matrix<T>(Space(), "polyad::matrix", array.shape[0], array.shape[1]);
    std::vector<double> numbers;
    numbers.reserve(array.shape[0] * array.shape[1]);
    for (std::size_t i = 0; i < array.shape[0]; ++i)
      for (std::size_t r = 0; r < array.shape[1]; ++r)
        numbers.push_back(static_cast<double>(data[i * static_cast<std::size_t>(stride) + r]));
    from_host<T>(Space(), numbers, copy);
    return copy;
  } else {
    FactorMatrix<T, Space> const rows(const_cast<T*>(data), array.shape[0], static_cast<std::size_t>(stride));
    return Kokkos::subview(rows, Kokkos::ALL, Kokkos::make_pair(std::size_t{0}, array.shape[1]));
  }
}
/// What was computed into vector_view or matrix_view, in the caller's memory.
template <class T>
void copy_back(Array const& array, Kokkos::View<T*, typename Space::device_type> const& view) {
  if constexpr (is_device_space<Space>)
    Kokkos::deep_copy(Kokkos::View<T*, Kokkos::HostSpace>(static_cast<T*>(array.data), view.extent(0)), view);
}
template <class T>
void copy_back(Array const& array, FactorMatrix<T, Space> const& view) {
  if constexpr (is_device_space<Space>) {
    auto const numbers = to_host<T>(Space(), view);
    auto const stride  = static_cast<std::size_t>(array.strides[0]);
    for (std::size_t i = 0; i < view.extent(0); ++i)
      for (std::size_t r = 0; r < view.extent(1); ++r)
        static_cast<T*>(array.data)[i * stride + r] = static_cast<T>(numbers[i * view.extent(1) + r]);
  }
}

/// Coordinates, nonzeros x N without gaps: the caller's memory, or a device's copy of it.
template <class Index>
typename CooTensor<double, Index, Space>::indices_type indices_view(Array const& array) {
  using View = typename CooTensor<double, Index, Space>::indices_type;
  if constexpr (is_device_space<Space>) {
    View const copy("polyad::coordinates", array.shape[0], array.shape[1]);
    using Host = Kokkos::View<Index const**, Kokkos::LayoutRight, Kokkos::HostSpace>;
    Kokkos::deep_copy(copy, Host(static_cast<Index const*>(array.data), array.shape[0], array.shape[1]));
    return copy;
  } else {
    return View(static_cast<Index*>(array.data), array.shape[0], array.shape[1]);
  }
}

/// The same of all factors.
template <class T>
FactorMatrices<T, Space> matrix_views(std::vector<Array> const& arrays, Extents const& extents) {
  POLYAD_EXPECTS(arrays.size() == static_cast<std::size_t>(extents.order()), arrays.size(),
                 " factor matrices for a tensor of order ", extents.order());
  count_t rank = 0;
  for (auto const& array : arrays)
    if (array.shape.size() == 2) rank = array.shape[1];
  checked_rank(rank);
  // Allocated empty: only order and rank are wanted.
  std::vector<count_t> const none(arrays.size(), 0);
  FactorMatrices<T, Space> factors(Space(), Extents(std::span<count_t const>(none)), rank);
  for (int n = 0; n < extents.order(); ++n) factors[n] = matrix_view<T>(of_mode(arrays, n));
  return factors;
}
template <class T>
std::vector<Array> to_arrays(FactorMatrices<T, Space> const& factors) {
  std::vector<Array> arrays;
  for (int n = 0; n < factors.order(); ++n) arrays.push_back(to_array(factors[n]));
  return arrays;
}

inline std::vector<std::uint64_t> to_vector(Extents const& extents) {
  std::vector<std::uint64_t> sizes;
  for (int n = 0; n < extents.order(); ++n) sizes.push_back(extents[n]);
  return sizes;
}

/// `owner` keeps memory that the Views do not.
template <class Scalar, class Index>
struct TensorOf final : Tensor {
  TensorOf(CooTensor<Scalar, Index, Space> tensor, std::shared_ptr<void> kept)
      : coo(std::move(tensor)), owner(std::move(kept)) {}
  std::vector<std::uint64_t> extents() const override { return to_vector(coo.extents()); }
  std::uint64_t nnz() const override { return coo.nnz(); }
  Array indices() const override { return kept(to_array(coo.indices())); }
  Array values() const override { return kept(to_array(coo.values())); }
  Array kept(Array array) const {
    if (owner) array.owner = owner;
    return array;
  }

  CooTensor<Scalar, Index, Space> coo;
  std::shared_ptr<void> owner;
};

/// A format may share the tensor's memory: it keeps the tensor.
template <class Scalar, class Index>
struct FormatOf final : Format {
  FormatOf(AnyFormat<Scalar, Index, Space> format, std::shared_ptr<void> kept)
      : any(std::move(format)), owner(std::move(kept)) {}
  std::vector<std::uint64_t> extents() const override { return to_vector(any.extents()); }
  std::uint64_t nnz() const override { return any.nnz(); }
  Type type() const override { return type_of<Scalar>(); }
  std::string chosen() const override { return any.chosen(); }
  std::string because() const override { return any.chosen_because(); }
  std::uint64_t storage_bytes() const override { return any.storage_bytes(); }
  std::uint64_t rank() const override { return any.rank(); }

  AnyFormat<Scalar, Index, Space> any;
  std::shared_ptr<void> owner;
};

/// Calls f with the TensorOf or FormatOf inside.
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
  return std::make_shared<FormatOf<Scalar, Index>>(any_format(Space(), tensor.coo, options), tensor.owner);
}

/// Adds what the caller asks for to what a driver does.
inline AnyFormatOptions with(AnyFormatOptions options, FormatOptions const& asked) {
  options.format        = asked.format;
  options.deterministic = asked.deterministic;
  return options;
}

}  // namespace polyad::python
