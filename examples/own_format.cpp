// SPDX-License-Identifier: BSD-3-Clause
// A storage format written outside the library: the nonzeros as they come, one thread per nonzero. It is
// checked like the library's own, and CP-ALS runs on it:
//   example_own_format
#include <cstdint>
#include <cstdio>
#include <exception>
#include <polyad/kernel/other_factors.hpp>
#include <polyad/polyad.hpp>
#include <polyad/testing/conformance.hpp>

namespace own {

using polyad::count_t;

/// Holds a coordinate tensor; its Views are shared when it is copied.
template <class Scalar, class Index, class Space>
class Plain {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using workspace_type = polyad::NoWorkspace;
  struct options_type {};
  static constexpr char const* name = "plain";

  using Coordinates = polyad::CooTensor<Scalar, Index, Space>;

  /// Waits for `space`, since the norm comes to the host.
  static Plain build(Space const& space, Coordinates const& coo, options_type const& = {}) {
    Plain X;
    X.m_coo          = coo;
    X.m_norm_squared = polyad::norm_squared(space, coo);
    return X;
  }

  [[nodiscard]] polyad::Extents const& extents() const { return m_coo.extents(); }
  [[nodiscard]] count_t nnz() const { return m_coo.nnz(); }
  [[nodiscard]] count_t storage_bytes() const { return m_coo.storage_bytes(); }
  [[nodiscard]] double norm_squared() const { return m_norm_squared; }
  [[nodiscard]] workspace_type make_workspace(Space const&, count_t) const { return {}; }
  [[nodiscard]] Coordinates const& coordinates() const { return m_coo; }

private:
  Coordinates m_coo;
  double m_norm_squared = 0;
};

/// V(i_mode, r) += x * prod over m != mode of A^(m)(i_m, r), for nonzero p.
template <class Scalar, class Index, class Space>
struct AddNonzero {
  typename Plain<Scalar, Index, Space>::Coordinates::indices_type indices;  // P x N
  typename Plain<Scalar, Index, Space>::Coordinates::values_type values;
  polyad::OtherFactors<Scalar, polyad::any_order> factors;
  int mode;
  polyad::FactorMatrix<Scalar, Space> V;

  KOKKOS_FUNCTION void operator()(count_t p) const {
    for (count_t r = 0; r < V.extent(1); ++r) {
      Scalar product = values(p);
      for (int m = 0; m < factors.size(); ++m) product *= factors.row(m, indices(p, factors.mode(m)))[r];
      Kokkos::atomic_add(&V(indices(p, mode), r), product);  // any thread may add to this row
    }
  }
};

template <class Scalar, class Index, class Space>
void mttkrp(Space const& space, Plain<Scalar, Index, Space> const& X,
            polyad::FactorMatrices<Scalar, Space> const& factors, int mode, polyad::NoWorkspace&,
            polyad::FactorMatrix<Scalar, Space> const& V) {
  polyad::expect_mttkrp_arguments(X.extents(), factors, mode, V);
  Kokkos::deep_copy(space, V, Scalar(0));
  Kokkos::parallel_for("own::mttkrp",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, X.nnz()),
                       AddNonzero<Scalar, Index, Space>{
                           X.coordinates().indices(), X.coordinates().values(), {factors, mode}, mode, V});
}

}  // namespace own

int main(int argc, char** argv) try {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  using Space  = Kokkos::DefaultExecutionSpace;
  using Format = own::Plain<double, std::uint32_t, Space>;
  Space const space;

  auto const report = polyad::testing::check_format<Format>(space);
  for (auto const& failure : report.failures) std::printf("%s\n", failure.c_str());
  std::printf("%zu checks, %zu failures\n", report.checks, report.failures.size());
  if (!report.passed()) return 1;

  // A tensor of rank 3 exactly, which CP-ALS finds.
  auto const planted = polyad::planted_tensor<double, std::uint32_t>(space, {60, 50, 40}, 3, 8, 0);
  auto const X       = Format::build(space, planted.tensor);
  auto const result  = polyad::cp_als(space, X, {.rank = 3, .max_iterations = 100, .tolerance = 1e-9});
  std::printf("fit %.6f after %zu iterations\n", result.fit, result.history.size());
  return result.fit > 0.999 ? 0 : 1;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
