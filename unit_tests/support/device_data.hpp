// SPDX-License-Identifier: BSD-3-Clause
// Host data on the device under test, and back: tensors, and matrices that lie inside a larger one whose
// other entries are watched.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "support/host_data.hpp"

namespace polyad::test {

/// The tests' backend: one executable per backend.
using TestSpace = Kokkos::DefaultExecutionSpace;

template <class Scalar, class Index>
CooTensor<Scalar, Index, TestSpace> to_device(TestSpace const& space, HostTensor const& tensor) {
  std::vector<Index> const indices(tensor.indices.begin(), tensor.indices.end());
  return upload<Scalar, Index>(space, Extents(std::span<count_t const>(tensor.extents)),
                               std::span<Index const>(indices), std::span<double const>(tensor.values));
}

/// How the rows of a matrix lie in memory.
enum class RowLayout {
  padded,   // as make_factor_matrix lays them out: rows start at multiples of 16 bytes
  tight,    // exactly R columns a row: aligned for some R only
  subview,  // columns 3 ... 3 + R - 1 of a matrix of R + 7 columns: never aligned in all rows
};

inline constexpr std::array all_layouts{RowLayout::padded, RowLayout::tight, RowLayout::subview};

/// What stands around a watched matrix.
inline constexpr double canary = -77.25;

/// A matrix inside a larger one: one row above, one below, and the columns that its layout leaves.
template <class Scalar>
class WatchedMatrix {
public:
  using matrix_type = FactorMatrix<Scalar, TestSpace>;

  /// Around the matrix stands `surroundings`, in it `content`.
  WatchedMatrix(TestSpace const& space, RowLayout layout, std::size_t rows, std::size_t columns,
                double content = nan_value, double surroundings = canary)
      : m_space(space), m_first(layout == RowLayout::subview ? 3 : 0), m_surroundings(surroundings) {
    std::size_t const width = layout == RowLayout::padded  ? padded_rank<Scalar>(columns)
                              : layout == RowLayout::tight ? columns
                                                           : columns + 7;
    m_parent                = matrix_type("watched", rows + 2, width);
    m_matrix                = Kokkos::subview(m_parent, Kokkos::make_pair(std::size_t(1), rows + 1),
                                              Kokkos::make_pair(m_first, m_first + columns));
    write([&](std::size_t, std::size_t) { return content; });
  }
  WatchedMatrix(TestSpace const& space, RowLayout layout, HostMatrix const& content,
                double surroundings = canary)
      : WatchedMatrix(space, layout, content.rows, content.columns, 0, surroundings) {
    write([&](std::size_t i, std::size_t j) { return content(i, j); });
  }

  [[nodiscard]] matrix_type const& matrix() const { return m_matrix; }

  /// The matrix's entries, row-major.
  [[nodiscard]] std::vector<double> read() const {
    std::vector<double> result;
    auto const host = to_host<Scalar>(m_space, m_parent);
    for (std::size_t i = 0; i < m_matrix.extent(0); ++i)
      for (std::size_t j = 0; j < m_matrix.extent(1); ++j) result.push_back(host[at(i + 1, j + m_first)]);
    return result;
  }

  /// How many entries around the matrix changed.
  [[nodiscard]] std::size_t trespasses() const {
    std::size_t count = 0;
    auto const host   = to_host<Scalar>(m_space, m_parent);
    for (std::size_t i = 0; i < m_parent.extent(0); ++i)
      for (std::size_t j = 0; j < m_parent.extent(1); ++j)
        if (!inside(i, j) && !(host[at(i, j)] == m_surroundings) &&
            !(std::isnan(host[at(i, j)]) && std::isnan(m_surroundings)))
          ++count;
    return count;
  }

private:
  [[nodiscard]] bool inside(std::size_t i, std::size_t j) const {
    return i >= 1 && i <= m_matrix.extent(0) && j >= m_first && j < m_first + m_matrix.extent(1);
  }
  [[nodiscard]] std::size_t at(std::size_t i, std::size_t j) const { return i * m_parent.extent(1) + j; }
  template <class Content>
  void write(Content const& content) const {
    std::vector<double> host(m_parent.size());
    for (std::size_t i = 0; i < m_parent.extent(0); ++i)
      for (std::size_t j = 0; j < m_parent.extent(1); ++j)
        host[at(i, j)] = inside(i, j) ? content(i - 1, j - m_first) : m_surroundings;
    from_host<Scalar>(m_space, host, m_parent);
  }

  TestSpace m_space;
  std::size_t m_first;
  double m_surroundings;
  matrix_type m_parent;
  matrix_type m_matrix;
};

/// Factors in a given layout. NaN stands around them: a kernel that lets padding into a result shows it.
template <class Scalar>
FactorMatrices<Scalar, TestSpace> to_device(TestSpace const& space, HostFactors const& factors,
                                            RowLayout layout = RowLayout::padded) {
  std::vector<count_t> extents;
  for (auto const& matrix : factors) extents.push_back(matrix.rows);
  FactorMatrices<Scalar, TestSpace> result(space, Extents(std::span<count_t const>(extents)),
                                           factors[0].columns);
  for (std::size_t n = 0; n < factors.size(); ++n)
    result[static_cast<int>(n)] = WatchedMatrix<Scalar>(space, layout, factors[n], nan_value).matrix();
  space.fence("polyad::test");
  return result;
}

/// A vector of doubles on the device.
inline Kokkos::View<double*, TestSpace::device_type> to_device(std::vector<double> const& data) {
  Kokkos::View<double*, TestSpace::device_type> result("numbers", data.size());
  auto const host = Kokkos::create_mirror_view(result);
  for (std::size_t i = 0; i < data.size(); ++i) host(i) = data[i];
  Kokkos::deep_copy(result, host);
  return result;
}

/// Any View as a flat row-major vector.
template <class View>
std::vector<double> flat(View const& view) {
  using Scalar = typename View::non_const_value_type;
  std::vector<double> result;
  if constexpr (View::rank() == 1) {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
    for (std::size_t i = 0; i < host.extent(0); ++i) result.push_back(static_cast<double>(host(i)));
  } else {
    // Rows with padding cannot be copied between memories: first a copy without it.
    Kokkos::View<Scalar**, Kokkos::LayoutRight, typename View::device_type> packed("packed", view.extent(0),
                                                                                   view.extent(1));
    Kokkos::deep_copy(packed, view);
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), packed);
    for (std::size_t i = 0; i < host.extent(0); ++i)
      for (std::size_t j = 0; j < host.extent(1); ++j) result.push_back(static_cast<double>(host(i, j)));
  }
  return result;
}

}  // namespace polyad::test
