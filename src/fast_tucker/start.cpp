// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/fast_tucker.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "fast_tucker/entries.hpp"
#include "polyad/core/counter_rng.hpp"
#include "polyad/core/instances.hpp"

namespace polyad {

using namespace detail;
namespace detail {

template <class Scalar, class Space>
struct FillSigned {
  FactorMatrix<Scalar, Space> matrix;
  std::uint64_t seed;
  std::uint64_t stream;
  double mean;
  double half_width;
  count_t first;
  KOKKOS_FUNCTION void operator()(count_t row) const {
    for (count_t j = 0; j < matrix.extent(1); ++j)
      matrix(row, j) = static_cast<Scalar>(
          Kokkos::fma(half_width, 2 * counter_uniform(seed, stream, first + row, j) - 1, mean));
  }
};

/// Fills a matrix with uniform numbers of the given mean and standard deviation, with the same bits on every
/// backend. Launches on `space` and returns without waiting. Streams 0 ... N - 1 are those of the factors,
/// max_order ... max_order + N - 1 those of the core matrices. The rows are numbered from `first` on.
template <class Scalar, class Space>
void fill_signed(Space const& space, FactorMatrix<Scalar, Space> const& matrix, std::uint64_t seed,
                 std::uint64_t stream, double mean, double deviation, count_t first = 0) {
  constexpr double root_3 = 1.7320508075688772;  // half the width of a uniform law of deviation 1
  Kokkos::parallel_for("polyad::fill_signed",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, matrix.extent(0)),
                       FillSigned<Scalar, Space>{matrix, seed, stream, mean, root_3 * deviation, first});
}

/// Vectors of one length, in host memory. Every sum has a fixed order, so that the bits are the same
/// everywhere.
class HostVectors {
public:
  HostVectors(count_t count, count_t size) : m_count(count), m_size(size), m_numbers(count * size) {}

  [[nodiscard]] double& at(count_t i, count_t k) { return m_numbers[i * m_size + k]; }
  [[nodiscard]] std::vector<double> const& numbers() const { return m_numbers; }
  [[nodiscard]] double dot(count_t i, count_t l) const {
    double sum = 0;
    for (count_t k = 0; k < m_size; ++k)
      sum = std::fma(m_numbers[i * m_size + k], m_numbers[l * m_size + k], sum);
    return sum;
  }
  /// Makes the vectors orthogonal and of this length (Gram and Schmidt).
  void orthogonalize(double length) {
    for (count_t i = 0; i < m_count; ++i) {
      for (int pass = 0; pass < 2; ++pass)  // a single pass leaves rounding errors
        for (count_t l = 0; l < i; ++l) subtract(i, l, dot(i, l) / (length * length));
      double const scale = length / std::sqrt(dot(i, i));
      for (count_t k = 0; k < m_size; ++k) at(i, k) *= scale;
    }
  }

private:
  void subtract(count_t i, count_t l, double share) {
    for (count_t k = 0; k < m_size; ++k) at(i, k) = std::fma(-share, at(l, k), at(i, k));
  }

  count_t m_count, m_size;
  std::vector<double> m_numbers;
};

/// J x R numbers of either sign and mean square 1 / R. The rows are orthogonal and of length 1; if there are
/// more rows than columns, the columns are orthogonal. A random matrix may be nearly singular, and then some
/// directions of C^(n) would be out of B^(n)'s reach.
/// \param ones  whether the rows must span a row of ones, if there are fewer rows than columns
inline std::vector<double> orthogonal_core(std::uint64_t seed, std::uint64_t stream, count_t J, count_t R,
                                           bool ones) {
  bool const by_rows  = J <= R;
  count_t const count = by_rows ? J : R;
  count_t const size  = by_rows ? R : J;
  HostVectors vectors(count, size);
  for (count_t i = 0; i < count; ++i)
    for (count_t k = 0; k < size; ++k)
      vectors.at(i, k) = 2 * counter_uniform(seed, stream, by_rows ? i : k, by_rows ? k : i) - 1;
  if (ones && by_rows)
    for (count_t k = 0; k < size; ++k) vectors.at(0, k) = 1;
  vectors.orthogonalize(std::sqrt(static_cast<double>(size) / static_cast<double>(R)));
  if (by_rows) return vectors.numbers();
  std::vector<double> core(J * R);
  for (count_t j = 0; j < J; ++j)
    for (count_t r = 0; r < R; ++r) core[j * R + r] = vectors.at(r, j);
  return core;
}

/// The row a with a mean square of 1 for which the entries of a B are all equal, as far as J rows allow.
inline std::vector<double> even_row(std::vector<double> const& core, count_t J, count_t R) {
  std::vector<double> row(
      J);  // B times ones: (B' B) is the identity times max(1, J / R), or projects on J rows
  for (count_t j = 0; j < J; ++j)
    for (count_t r = 0; r < R; ++r) row[j] += core[j * R + r];
  double squares = 0;
  for (double const a : row) squares = std::fma(a, a, squares);
  for (double& a : row)
    a *= std::sqrt(static_cast<double>(R) * std::min(1.0, static_cast<double>(R) / static_cast<double>(J)) /
                   squares);
  return row;
}

/// The first 24 bits. The deviation comes from a sum of squares that threads split, so its last bits depend
/// on the number of threads. The start must not.
double leading_bits(double x) {
  int exponent          = 0;
  double const fraction = std::frexp(x, &exponent);
  return std::ldexp(std::round(std::ldexp(fraction, 24)), exponent - 24);
}

template <class Scalar, class Space>
struct AddToRows {
  FactorMatrix<Scalar, Space> matrix;
  Kokkos::View<double*, typename Space::device_type> row;
  KOKKOS_FUNCTION void operator()(count_t k) const {
    for (count_t j = 0; j < matrix.extent(1); ++j)
      matrix(k, j) = static_cast<Scalar>(static_cast<double>(matrix(k, j)) + row(j));
  }
};

/// Adds the same numbers to all rows. Waits.
template <class Scalar, class Space>
void add_to_rows(Space const& space, std::vector<double> const& row, FactorMatrix<Scalar, Space> const& A) {
  Kokkos::View<double*, typename Space::device_type> const numbers("polyad::start_row", row.size());
  auto const host = Kokkos::create_mirror_view(numbers);
  std::copy(row.begin(), row.end(), host.data());
  Kokkos::deep_copy(space, numbers, host);
  Kokkos::parallel_for("polyad::start_row",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, A.extent(0)),
                       AddToRows<Scalar, Space>{A, numbers});
  space.fence("polyad::fill_start");
}

/// The modes of a start whose rows are not all ones.
class FreeModes {
public:
  FreeModes(Extents const& extents, std::span<RowTarget const> targets)
      : m_extents(extents), m_targets(targets) {}

  [[nodiscard]] bool has(int n) const { return m_targets.empty() || m_targets[n] == RowTarget::zero; }
  [[nodiscard]] int count() const {
    int modes = 0;
    for (int n = 0; n < m_extents.order(); ++n) modes += has(n) ? 1 : 0;
    return modes;
  }
  /// Free modes that are longer than n, or as long and earlier.
  [[nodiscard]] int longer(int n) const {
    int modes = 0;
    for (int m = 0; m < m_extents.order(); ++m) {
      bool const is_longer = m_extents[m] > m_extents[n] || (m_extents[m] == m_extents[n] && m < n);
      modes += has(m) && is_longer ? 1 : 0;
    }
    return modes;
  }

private:
  Extents m_extents;
  std::span<RowTarget const> m_targets;
};

template <class Scalar, class Space>
void fill_start_of_rows(Space const& space, FastTuckerModel<Scalar, Space> const& model, double deviation,
                        std::uint64_t seed, std::span<RowTarget const> targets,
                        std::span<count_t const> first_rows) {
  POLYAD_EXPECTS(targets.empty() || targets.size() == static_cast<std::size_t>(model.order()), "there are ",
                 targets.size(), " targets for ", model.order(), " modes");
  count_t const R = model.rank();
  FreeModes const free(model.extents(), targets);
  // R products of as many entries of C have the variance R c^(2 N); an entry of C has J a^2 / R.
  double const target =
      deviation > 0 && std::isfinite(deviation) ? 0.1 * detail::leading_bits(deviation) : 0.1;
  double const c = std::pow(target / std::sqrt(static_cast<double>(R)), 1.0 / std::max(1, free.count()));
  for (int n = 0; n < model.order(); ++n) {
    std::uint64_t const stream = n;
    count_t const J            = model.columns(n);
    double const scale         = free.has(n) ? c : 1.0;
    double const a             = scale * std::sqrt(static_cast<double>(R) / static_cast<double>(J));
    double const share         = !free.has(n) ? 1.0 : free.longer(n) < 2 ? 0.0 : 0.9;
    auto const core            = detail::orthogonal_core(seed, stream + max_order, J, R, !free.has(n));
    from_host<Scalar>(space, core, model.B(n));
    fill_signed(space, model.A(n), seed, stream, 0, a * std::sqrt(1 - share),
                first_rows.empty() ? 0 : first_rows[n]);
    if (share == 0) continue;
    auto even = detail::even_row(core, J, R);
    for (double& number : even) number = scale * std::sqrt(share) * number;
    detail::add_to_rows<Scalar>(space, even, model.A(n));
  }
  space.fence("polyad::fill_start");
}

}  // namespace detail

template <class Scalar, class Space>
void fill_start(Space const& space, FastTuckerModel<Scalar, Space> const& model, double deviation,
                std::uint64_t seed, std::span<RowTarget const> targets) {
  detail::fill_start_of_rows(space, model, deviation, seed, targets, {});
}

#define POLYAD_FILL_START(Scalar)                                                                       \
  template void detail::fill_start_of_rows(                                                             \
      CompiledSpace const&, FastTuckerModel<Scalar, CompiledSpace> const&, double, std::uint64_t,       \
      std::span<RowTarget const>, std::span<count_t const>);                                            \
  template void fill_start(CompiledSpace const&, FastTuckerModel<Scalar, CompiledSpace> const&, double, \
                           std::uint64_t, std::span<RowTarget const>)
POLYAD_EACH_SCALAR(, POLYAD_FILL_START);

}  // namespace polyad
