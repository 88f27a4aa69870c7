// SPDX-License-Identifier: BSD-3-Clause
// Compiled for backends that use it (dense/dense_tuning.hpp), and for the tests of all backends.
#include "dense/blas.hpp"

#include <KokkosBlas3_gemm.hpp>
#include <algorithm>

#include "core/default_environment.hpp"
#include "polyad/core/error.hpp"

namespace polyad::detail {
namespace {

/// Gives cuBLAS two workspaces of 32 MiB, unless the environment names others. Streams share its own
/// workspace: where another stream has it, cuBLAS takes another algorithm, with other bits (its manual,
/// "Results reproducibility"). Smaller workspaces made wide products half as fast. Set while the library is
/// loaded, before a program has threads: setenv may move the environment while other threads read it.
[[maybe_unused]] int const named_workspaces = set_default_environment("CUBLAS_WORKSPACE_CONFIG", ":32768:2");

/// Kokkos Kernels casts extents to int.
constexpr count_t most_rows = count_t(1) << 30;

/// The most numbers of a piece as doubles, 64 MiB. Smaller ones would take more launches than time.
constexpr count_t most_doubles = count_t(1) << 23;

/// Calls f(range), which calls the BLAS, for pieces of at most the given number of rows.
template <class F>
void for_each_piece(count_t rows, F&& f, count_t most = most_rows) {
  for (count_t first = 0; first < rows; first += most)
    f(Kokkos::make_pair(first, std::min(rows, first + most)));
}

/// target = source, entry by entry, as doubles without gaps between the rows.
template <class Space>
struct ToDoubles {
  FactorMatrix<float, Space> source;
  FactorMatrix<double, Space> target;
  int columns;
  KOKKOS_FUNCTION void operator()(int e) const { target.data()[e] = source(e / columns, e % columns); }
};

template <class Space>
void to_doubles(Space const& space, FactorMatrix<float, Space> const& source,
                FactorMatrix<double, Space> const& target) {
  Kokkos::parallel_for(
      "polyad::to_doubles",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<int>>(space, 0, static_cast<int>(target.size())),
      ToDoubles<Space>{source, target, target.extent_int(1)});
}

}  // namespace

template <class Space, class Scalar>
void blas_product(Space const& space, FactorMatrix<Scalar, Space> const& A,
                  FactorMatrix<Scalar, Space> const& B, FactorMatrix<Scalar, Space> const& C) {
  for_each_piece(A.extent(0), [&](auto const& rows) {
    FactorMatrix<Scalar, Space> const left   = Kokkos::subview(A, rows, Kokkos::ALL);
    FactorMatrix<Scalar, Space> const output = Kokkos::subview(C, rows, Kokkos::ALL);
    KokkosBlas::gemm(space, "N", "N", Scalar(1), left, B, Scalar(0), output);
  });
}

template <class Space>
void blas_gram(Space const& space, FactorMatrix<double, Space> const& A,
               Kokkos::View<double**, Kokkos::LayoutRight, typename Space::device_type> const& G) {
  for_each_piece(A.extent(0), [&](auto const& rows) {
    FactorMatrix<double, Space> const piece = Kokkos::subview(A, rows, Kokkos::ALL);
    KokkosBlas::gemm(space, "T", "N", 1.0, piece, piece, rows.first == 0 ? 0.0 : 1.0, G);
  });
}

template <class Space>
void blas_transposed_product(Space const& space, double scale, FactorMatrix<double, Space> const& A,
                             FactorMatrix<double, Space> const& B, FactorMatrix<double, Space> const& D) {
  for_each_piece(A.extent(0), [&](auto const& rows) {
    FactorMatrix<double, Space> const left  = Kokkos::subview(A, rows, Kokkos::ALL);
    FactorMatrix<double, Space> const right = Kokkos::subview(B, rows, Kokkos::ALL);
    KokkosBlas::gemm(space, "T", "N", scale, left, right, rows.first == 0 ? 0.0 : 1.0, D);
  });
}

template <class Space>
void blas_transposed_product(Space const& space, FactorMatrix<float, Space> const& A,
                             FactorMatrix<float, Space> const& B,
                             Kokkos::View<double*, typename Space::device_type> const& scratch,
                             FactorMatrix<double, Space> const& sums) {
  using Doubles   = FactorMatrix<double, Space>;
  using Floats    = FactorMatrix<float, Space>;
  count_t const J = A.extent(1);
  count_t const R = B.extent(1);
  POLYAD_EXPECTS(scratch.size() >= J + R, "the scratch of a transposed product is too small");
  auto const product = [&](auto const& rows) {
    count_t const count = rows.second - rows.first;
    Doubles const left(scratch.data(), count, J);
    Doubles const right(left.data() + left.size(), count, R);
    to_doubles(space, Floats(Kokkos::subview(A, rows, Kokkos::ALL)), left);
    to_doubles(space, Floats(Kokkos::subview(B, rows, Kokkos::ALL)), right);
    KokkosBlas::gemm(space, "T", "N", 1.0, left, right, rows.first == 0 ? 0.0 : 1.0, sums);
  };
  for_each_piece(A.extent(0), product,
                 std::max<count_t>(std::min<count_t>(scratch.size(), most_doubles) / (J + R), 1));
}

using Default = Kokkos::DefaultExecutionSpace;
template void blas_product(Default const&, FactorMatrix<float, Default> const&,
                           FactorMatrix<float, Default> const&, FactorMatrix<float, Default> const&);
template void blas_product(Default const&, FactorMatrix<double, Default> const&,
                           FactorMatrix<double, Default> const&, FactorMatrix<double, Default> const&);
template void blas_gram(Default const&, FactorMatrix<double, Default> const&,
                        Kokkos::View<double**, Kokkos::LayoutRight, Default::device_type> const&);
template void blas_transposed_product(Default const&, double, FactorMatrix<double, Default> const&,
                                      FactorMatrix<double, Default> const&,
                                      FactorMatrix<double, Default> const&);
template void blas_transposed_product(Default const&, FactorMatrix<float, Default> const&,
                                      FactorMatrix<float, Default> const&,
                                      Kokkos::View<double*, Default::device_type> const&,
                                      FactorMatrix<double, Default> const&);

}  // namespace polyad::detail
