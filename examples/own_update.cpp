// SPDX-License-Identifier: BSD-3-Clause
// An update written outside the library: nonnegative factors by hierarchical alternating least squares
// (Cichocki & Phan, IEICE Trans. E92-A, 2009, algorithm 2). CP-ALS runs it for all modes,
// from 32 starts: such updates find local optima.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <polyad/polyad.hpp>

namespace own {
using polyad::count_t;

/// Row i of A, one column after the other: each becomes the best nonnegative one for the rest of the row.
template <class Scalar, class Space>
struct DescendRow {
  polyad::ModeProblem<Space> problem;
  polyad::FactorMatrix<Scalar, Space> V, A;

  KOKKOS_FUNCTION void operator()(count_t i) const {
    for (count_t r = 0; r < A.extent(1); ++r) {
      double left = V(i, r);
      for (count_t s = 0; s < A.extent(1); ++s)
        if (s != r) left -= A(i, s) * problem.weights(s) * problem.H(s, r);
      double const best = left / (problem.weights(r) * problem.H(r, r));
      A(i, r)           = static_cast<Scalar>(best > 0 ? best : 0);  // also where H(r, r) is 0
    }
  }
};

template <class Scalar, class Space>
class Nonnegative final : public polyad::FactorUpdate<Scalar, Space> {
public:
  using Matrix = polyad::FactorMatrix<Scalar, Space>;
  Nonnegative(Space const&, polyad::UpdateSite const&) {}  // it needs no workspace

  void apply(Space const& space, polyad::ModeProblem<Space> const& problem, Matrix const& V, Matrix const& A,
             polyad::UpdateSums<Space> const& sums) override {
    Kokkos::parallel_for("own::descend_row",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, A.extent(0)),
                         DescendRow<Scalar, Space>{problem, V, A});
    polyad::sum_update(space, problem, V, A, sums);
  }
};
}  // namespace own

int main(int argc, char** argv) try {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  using Space = Kokkos::DefaultExecutionSpace;
  Space const space;
  auto const planted = polyad::planted_tensor<double, std::uint32_t>(space, {60, 50, 40}, 3, 8, 0);
  auto const X       = polyad::any_format(space, planted.tensor, {.rank = 3});
  auto const update  = polyad::own_update<own::Nonnegative<double, Space>>();
  auto const result  = polyad::cp_als(space, X, {.rank = 3, .updates = {update}, .restarts = 32});
  auto const A       = polyad::to_host<double>(space, result.model.factors[0]);
  std::printf("fit %.3f, smallest entry %g\n", result.fit, *std::min_element(A.begin(), A.end()));
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
