// SPDX-License-Identifier: BSD-3-Clause
// check_format: whether a storage format fulfils the core of the contract (formats/format.hpp). It builds the
// format from small tensors, each of a kind that some kernel may get wrong, checks extents, nonzeros and
// norm, and compares the MTTKRPs with the oracle, within the derived bound. Other operations of the format
// are not checked.
//
//   auto const report = polyad::testing::check_format<Mine<double, std::uint32_t, Space>>(space);
//   for (auto const& failure : report.failures) std::puts(failure.c_str());
//   return report.passed() ? 0 : 1;
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "polyad/formats/format.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"

namespace polyad::testing {

template <class Scalar, class Index, class Space>
CooTensor<Scalar, Index, Space> to_device(Space const& space, HostTensor const& tensor) {
  std::vector<Index> const indices(tensor.indices.begin(), tensor.indices.end());
  return upload<Scalar, Index>(space, Extents(std::span<count_t const>(tensor.extents)),
                               std::span<Index const>(indices), std::span<double const>(tensor.values));
}

/// How the rows of a matrix are laid out in memory.
enum class RowLayout {
  padded,   // as make_factor_matrix lays them out: rows start at multiples of 16 bytes
  roomy,    // as make_output_matrix lays them out: on a host at multiples of 64 bytes
  wide,     // the same with 16 bytes more on either side
  tight,    // exactly R columns per row: packed for some R only
  subview,  // columns 3 ... 3 + R - 1 of a matrix of R + 7 columns: never packed
};

inline constexpr std::array all_layouts{RowLayout::padded, RowLayout::roomy, RowLayout::wide,
                                        RowLayout::tight, RowLayout::subview};
/// The layouts that kernels must accept (formats/format.hpp): only packed rows on a device.
template <class Space>
inline constexpr std::span<RowLayout const> kernel_layouts =
    std::span(all_layouts).first(takes_packed_rows<Space> ? 3 : all_layouts.size());
/// One of these layouts in turn, for a running number.
template <class Space>
constexpr RowLayout kernel_layout(std::size_t number) {
  return kernel_layouts<Space>[number % kernel_layouts<Space>.size()];
}

/// The value of the entries around a watched matrix.
inline constexpr double canary = -77.25;

/// A matrix inside a larger one: one row above, one below, and the columns that its layout leaves.
template <class Scalar, class Space>
class WatchedMatrix {
public:
  using matrix_type = FactorMatrix<Scalar, Space>;

  /// Fills the matrix with `content` and the memory around it with `surroundings`.
  WatchedMatrix(Space const& space, RowLayout layout, std::size_t rows, std::size_t columns,
                double content = nan_value, double surroundings = canary)
      : m_space(space), m_surroundings(surroundings) {
    std::size_t const pack  = row_alignment / sizeof(Scalar);
    std::size_t const whole = padded_rank<Scalar>(columns);
    m_first                 = layout == RowLayout::wide ? pack : layout == RowLayout::subview ? 3 : 0;
    std::size_t const width = layout == RowLayout::padded  ? whole
                              : layout == RowLayout::roomy ? output_columns<Scalar, Space>(columns)
                              : layout == RowLayout::wide  ? whole + 2 * pack
                              : layout == RowLayout::tight ? columns
                                                           : columns + 7;
    m_parent                = matrix_type("watched", rows + 2, width);
    m_matrix                = Kokkos::subview(m_parent, Kokkos::make_pair(std::size_t(1), rows + 1),
                                              Kokkos::make_pair(m_first, m_first + columns));
    write([&](std::size_t, std::size_t) { return content; });
  }
  WatchedMatrix(Space const& space, RowLayout layout, HostMatrix const& content, double surroundings = canary)
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

  Space m_space;
  std::size_t m_first;  // column of the parent
  double m_surroundings;
  matrix_type m_parent;
  matrix_type m_matrix;
};

/// Factors in a given layout. The memory around them holds NaN: a kernel that lets padding into a result
/// shows it.
template <class Scalar, class Space>
FactorMatrices<Scalar, Space> to_device(Space const& space, HostFactors const& factors,
                                        RowLayout layout = RowLayout::padded) {
  std::vector<count_t> extents;
  for (auto const& matrix : factors) extents.push_back(matrix.rows);
  FactorMatrices<Scalar, Space> result(space, Extents(std::span<count_t const>(extents)), factors[0].columns);
  for (std::size_t n = 0; n < factors.size(); ++n)
    result[n] = WatchedMatrix<Scalar, Space>(space, layout, factors[n], nan_value).matrix();
  space.fence("polyad::testing");
  return result;
}

/// The faults of the MTTKRP of a mode, as text; empty if there are none. V is NaN before the call, and its
/// surroundings must not change. Waits for `space`.
/// \param factors   A^(n) as X's space has them
/// \param expected  oracle_mttkrp of the tensor that X holds
template <Format F>
std::string mttkrp_violation(typename F::space_type const& space, F const& X,
                             FactorMatrices<typename F::scalar_type, typename F::space_type> const& factors,
                             OracleSums const& expected, std::size_t mode, RowLayout layout) {
  using Scalar   = typename F::scalar_type;
  auto workspace = X.make_workspace(space, factors.rank());
  WatchedMatrix<Scalar, typename F::space_type> V(space, layout, expected.rows, expected.columns);
  mttkrp(space, X, factors, static_cast<int>(mode), workspace, V.matrix());
  space.fence("polyad::testing");
  std::string text = violation<Scalar>(expected, V.read(), factors.order());
  if (auto const trespasses = V.trespasses(); trespasses > 0)
    text += (text.empty() ? "" : "; ") + std::to_string(trespasses) + " entries around V changed";
  return text;
}

struct ConformanceReport {
  std::size_t checks = 0;
  std::vector<std::string> failures;

  [[nodiscard]] bool passed() const { return checks > 0 && failures.empty(); }
  /// Counts a check, and keeps `text` if it is not empty.
  void add(std::string const& where, std::string const& text) {
    ++checks;
    if (!text.empty()) failures.push_back(where + ": " + text);
  }
};

/// Compares X's extents, nonzeros and norm with the tensor that it was built from.
template <Format F>
void check_facts(F const& X, HostTensor const& tensor, std::string const& where, ConformanceReport& report) {
  report.add(where, X.extents() == Extents(std::span<count_t const>(tensor.extents)) ? "" : "other extents");
  report.add(where, X.nnz() == tensor.nnz() ? "" : std::to_string(X.nnz()) + " nonzeros");
  long double squares = 0;
  for (double const x : tensor.values) squares += static_cast<long double>(x) * x;
  // Summed in double: L additions of squares.
  bool const near = std::abs(squares - X.norm_squared()) <= gamma<double>(tensor.nnz() + 1) * squares;
  report.add(where, near ? "" : "the squared norm is " + std::to_string(X.norm_squared()));
}

/// Checks extents, nonzeros, norm and the MTTKRP of every mode, for every kind of small tensor, orders 2 to 5
/// and 10, and ranks 1, 3, 16 and 33. The layouts of rows that kernels must accept are used in turn. Takes
/// about a second on a host. Waits for `space`. \throws what F throws
template <Format F>
ConformanceReport check_format(typename F::space_type const& space,
                               typename F::options_type const& options = {}) {
  using Scalar = typename F::scalar_type;
  ConformanceReport report;
  std::size_t turn = 0;
  for (Kind const kind : all_kinds)
    for (std::size_t const order : {2, 3, 4, 5, 10}) {
      auto const tensor = small_tensor(kind, order);
      auto const X      = F::build(space, to_device<Scalar, typename F::index_type>(space, tensor), options);
      check_facts(X, tensor, tensor.name, report);
      for (std::size_t const rank : {1, 3, 16, 33}) {
        Random random(7 * order + rank);
        auto const factors     = random_factors(random, tensor.extents, rank);
        RowLayout const layout = kernel_layout<typename F::space_type>(turn++);
        auto const on_device   = to_device<Scalar>(space, factors, layout);
        for (std::size_t mode = 0; mode < order; ++mode)
          report.add(
              tensor.name + ", rank " + std::to_string(rank) + ", mode " + std::to_string(mode),
              mttkrp_violation(space, X, on_device, oracle_mttkrp(tensor, factors, mode), mode, layout));
      }
    }
  return report;
}

}  // namespace polyad::testing
