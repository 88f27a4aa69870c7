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
#include "polyad/core/per_mode.hpp"

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

/// Fills a matrix with uniform numbers of the given mean and standard deviation, the same bits on every
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

/// J x R numbers of either sign and mean square 1 / R. The rows are orthogonal and of length 1; if there are
/// more rows than columns, the columns are orthogonal. A random matrix may be nearly singular, and then some
/// directions of C^(n) would be out of B^(n)'s reach. Made on the host with every sum in a fixed order, so
/// that the bits are the same everywhere.
/// \param ones  whether the rows must span a row of ones, if there are fewer rows than columns
inline std::vector<double> orthogonal_core(std::uint64_t seed, std::uint64_t stream, count_t J, count_t R,
                                           bool ones) {
  bool const by_rows  = J <= R;
  count_t const count = by_rows ? J : R;  // vectors
  count_t const size  = by_rows ? R : J;  // of a vector
  std::vector<double> vectors(count * size);
  for (count_t i = 0; i < count; ++i)
    for (count_t k = 0; k < size; ++k)
      vectors[i * size + k] = 2 * counter_uniform(seed, stream, by_rows ? i : k, by_rows ? k : i) - 1;
  if (ones && by_rows)
    for (count_t k = 0; k < size; ++k) vectors[k] = 1;
  auto const dot = [&](count_t i, count_t l) {
    double sum = 0;
    for (count_t k = 0; k < size; ++k) sum = std::fma(vectors[i * size + k], vectors[l * size + k], sum);
    return sum;
  };
  double const length = std::sqrt(static_cast<double>(size) / static_cast<double>(R));
  for (count_t i = 0; i < count; ++i) {
    for (int pass = 0; pass < 2; ++pass)  // a single pass leaves rounding errors
      for (count_t l = 0; l < i; ++l) {
        double const share = dot(i, l) / (length * length);
        for (count_t k = 0; k < size; ++k)
          vectors[i * size + k] = std::fma(-share, vectors[l * size + k], vectors[i * size + k]);
      }
    double const scale = length / std::sqrt(dot(i, i));
    for (count_t k = 0; k < size; ++k) vectors[i * size + k] *= scale;
  }
  if (by_rows) return vectors;
  std::vector<double> core(J * R);
  for (count_t j = 0; j < J; ++j)
    for (count_t r = 0; r < R; ++r) core[j * R + r] = vectors[r * size + j];
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
/// on their number. The start must not.
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

template <class Scalar, class Space>
void fill_start_of_rows(Space const& space, FastTuckerModel<Scalar, Space> const& model, double deviation,
                        std::uint64_t seed, std::span<RowTarget const> targets,
                        std::span<count_t const> first_rows) {
  POLYAD_EXPECTS(targets.empty() || targets.size() == static_cast<std::size_t>(model.order()), "there are ",
                 targets.size(), " targets for ", model.order(), " modes");
  count_t const R    = model.rank();
  auto const is_free = [&](int n) {  // not all ones
    return targets.empty() || targets[static_cast<std::size_t>(n)] == RowTarget::zero;
  };
  int free_modes = 0;
  for (int n = 0; n < model.order(); ++n) free_modes += is_free(n) ? 1 : 0;
  // R products of as many entries of C have the variance R c^(2 N); an entry of C has J a^2 / R.
  double const target =
      deviation > 0 && std::isfinite(deviation) ? 0.1 * detail::leading_bits(deviation) : 0.1;
  double const c    = std::pow(target / std::sqrt(static_cast<double>(R)), 1.0 / std::max(1, free_modes));
  auto const longer = [&](int n) {  // free modes that are longer, or as long and earlier
    int count = 0;
    for (int m = 0; m < model.order(); ++m)
      count += is_free(m) && (model.extents()[m] > model.extents()[n] ||
                              (model.extents()[m] == model.extents()[n] && m < n))
                   ? 1
                   : 0;
    return count;
  };
  for (int n = 0; n < model.order(); ++n) {
    auto const stream  = static_cast<std::uint64_t>(n);
    count_t const J    = model.columns(n);
    double const scale = is_free(n) ? c : 1.0;
    double const a     = scale * std::sqrt(static_cast<double>(R) / static_cast<double>(J));
    double const share = !is_free(n) ? 1.0 : longer(n) < 2 ? 0.0 : 0.9;
    auto const core    = detail::orthogonal_core(seed, stream + max_order, J, R, !is_free(n));
    from_host<Scalar>(space, core, model.B(n));
    fill_signed(space, model.A(n), seed, stream, 0, a * std::sqrt(1 - share),
                first_rows.empty() ? 0 : of_mode(first_rows, n));
    if (share > 0) {
      Kokkos::View<double*, typename Space::device_type> const row("polyad::start_row", J);
      auto const host = Kokkos::create_mirror_view(row);
      auto const even = detail::even_row(core, J, R);
      for (count_t j = 0; j < J; ++j) host(j) = scale * std::sqrt(share) * even[j];
      Kokkos::deep_copy(space, row, host);
      Kokkos::parallel_for(
          "polyad::start_row",
          Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, model.A(n).extent(0)),
          detail::AddToRows<Scalar, Space>{model.A(n), row});
      space.fence("polyad::fill_start");
    }
  }
  space.fence("polyad::fill_start");
}

}  // namespace detail

template <class Scalar, class Space>
void fill_start(Space const& space, FastTuckerModel<Scalar, Space> const& model, double deviation,
                std::uint64_t seed, std::span<RowTarget const> targets) {
  detail::fill_start_of_rows(space, model, deviation, seed, targets, {});
}

#define POLYAD_FILL_START(Scalar)                                                                          \
  template void detail::fill_start_of_rows(                                                                \
      Kokkos::DefaultExecutionSpace const&, FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&, \
      double, std::uint64_t, std::span<RowTarget const>, std::span<count_t const>);                        \
  template void fill_start(Kokkos::DefaultExecutionSpace const&,                                           \
                           FastTuckerModel<Scalar, Kokkos::DefaultExecutionSpace> const&, double,          \
                           std::uint64_t, std::span<RowTarget const>)
POLYAD_EACH_SCALAR(, POLYAD_FILL_START);

}  // namespace polyad
