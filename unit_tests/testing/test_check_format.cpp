// SPDX-License-Identifier: BSD-3-Clause
// check_format finds the mistakes of a wrong format: each format here makes one mistake.
#include <Kokkos_Core.hpp>
#include <string>

#include "formats/coo/storage/coo_tiny_vec.hpp"
#include "polyad/testing/conformance.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {

enum class Mistake { none, forgets_last_nonzero, adds_to_V, writes_beyond, wrong_norm };

/// `coo-tiny-vec` with one mistake.
template <Mistake mistake>
class Wrong {
public:
  using Inside         = CooTinyVec<double, std::uint32_t, TestSpace>;
  using scalar_type    = double;
  using index_type     = std::uint32_t;
  using space_type     = TestSpace;
  using workspace_type = Inside::workspace_type;
  struct options_type {};
  static constexpr char const* name = "wrong";

  static Wrong build(TestSpace const& space, CooTensor<double, std::uint32_t, TestSpace> const& coo,
                     options_type const& = {}) {
    count_t const kept =
        mistake == Mistake::forgets_last_nonzero && coo.nnz() > 0 ? coo.nnz() - 1 : coo.nnz();
    CooTensor<double, std::uint32_t, TestSpace> const part(
        coo.extents(), Kokkos::subview(coo.indices(), Kokkos::make_pair(count_t(0), kept), Kokkos::ALL),
        Kokkos::subview(coo.values(), Kokkos::make_pair(count_t(0), kept)));
    return {Inside::build(space, part, {}), coo.nnz(), polyad::norm_squared(space, coo)};
  }
  Wrong(Inside const& inside, count_t nnz, double norm_squared)
      : m_inside(inside), m_nnz(nnz), m_norm_squared(norm_squared) {}

  [[nodiscard]] Extents const& extents() const { return m_inside.extents(); }
  [[nodiscard]] count_t nnz() const { return m_nnz; }
  [[nodiscard]] count_t storage_bytes() const { return m_inside.storage_bytes(); }
  [[nodiscard]] double norm_squared() const {
    return mistake == Mistake::wrong_norm ? 1.001 * m_norm_squared : m_norm_squared;
  }
  [[nodiscard]] workspace_type make_workspace(TestSpace const& space, count_t rank) const {
    return m_inside.make_workspace(space, rank);
  }
  [[nodiscard]] Inside const& erased() const { return m_inside; }

private:
  Inside m_inside;
  count_t m_nnz;
  double m_norm_squared;
};

template <Mistake mistake>
void mttkrp(TestSpace const& space, Wrong<mistake> const& X, FactorMatrices<double, TestSpace> const& factors,
            int mode, typename Wrong<mistake>::workspace_type& workspace,
            FactorMatrix<double, TestSpace> const& V) {
  auto const right = make_factor_matrix<double>(space, "polyad::right", V.extent(0), V.extent(1));
  mttkrp(space, X.erased(), factors, mode, workspace, FactorMatrix<double, TestSpace>(right));
  if (mistake == Mistake::adds_to_V) return;  // V stays NaN, as if it had been added to
  Kokkos::deep_copy(space, V, right);
  if (mistake != Mistake::writes_beyond || V.extent(0) == 0) return;
  // The row below the last, which belongs to another matrix.
  FactorMatrix<double, TestSpace> const beyond(V.data() + V.extent(0) * V.stride(0), 1, 1);
  Kokkos::deep_copy(space, beyond, 5.0);
}

namespace {

template <Mistake mistake>
testing::ConformanceReport report_of() {
  return testing::check_format<Wrong<mistake>>(TestSpace());
}

TEST_CASE("check_format finds mistakes and praises no wrong format", "[testing]") {
  auto const right = report_of<Mistake::none>();
  CHECK(right.passed());
  CHECK(right.checks > 1000);

  auto const forgetful = report_of<Mistake::forgets_last_nonzero>();
  CHECK_FALSE(forgetful.passed());
  REQUIRE_FALSE(forgetful.failures.empty());
  CHECK(forgetful.failures.front().find("one nonzero, order 2, rank 1, mode 0: entry (") == 0);

  auto const unset = report_of<Mistake::adds_to_V>();
  REQUIRE_FALSE(unset.failures.empty());
  CHECK(unset.failures.front().find("nan") != std::string::npos);

  auto const trespasser = report_of<Mistake::writes_beyond>();
  REQUIRE_FALSE(trespasser.failures.empty());
  CHECK(trespasser.failures.front().find("entries around V changed") != std::string::npos);

  auto const norm = report_of<Mistake::wrong_norm>();
  REQUIRE_FALSE(norm.failures.empty());
  CHECK(norm.failures.front().find("the squared norm is") != std::string::npos);

  CHECK_FALSE(testing::ConformanceReport{}.passed());  // nothing was checked
}

}  // namespace
}  // namespace polyad::test
