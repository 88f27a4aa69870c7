// SPDX-License-Identifier: BSD-3-Clause
// The residual sweep of every format that offers it, against the definition.
#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <vector>

#include "formats/blco/storage/alto.hpp"
#include "formats/blco/storage/blco.hpp"
#include "formats/coo/storage/sorted.hpp"
#include "formats/csf/storage/b_csf.hpp"
#include "formats/csf/storage/hb_csf.hpp"
#include "polyad/tensor/fast_tucker_model.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/instances.hpp"
#include "support/oracle.hpp"

namespace polyad::test {
namespace {

template <class F>
void expect_residual(TestSpace const& space, F const& X, HostTensor const& tensor,
                     HostFactors const& host_C) {
  using Scalar           = typename F::scalar_type;
  std::size_t const rank = host_C[0].columns;
  auto const C           = to_device<Scalar>(space, host_C);
  auto workspace         = make_residual_workspace(space, X, rank);
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    auto const G = make_factor_matrix<Scalar>(space, "polyad::test", tensor.extents[mode], rank);
    Kokkos::deep_copy(G, std::numeric_limits<Scalar>::quiet_NaN());
    residual_mttkrp(space, X, C, static_cast<int>(mode), workspace, G);
    space.fence("polyad::test");
    CAPTURE(F::name, tensor.name, mode, rank, sizeof(Scalar), sizeof(typename F::index_type));
    CHECK(violation<Scalar>(oracle_residual_mttkrp(tensor, host_C, mode), flat(G),
                            residual_factors(tensor.order(), rank)) == "");
  }
}

/// On `blco` by every resolution of conflicts, in blocks with stripped bits and without.
template <class Scalar, class Index>
void blco_residuals(TestSpace const& space, CooTensor<Scalar, Index, TestSpace> const& coo,
                    HostTensor const& tensor, HostFactors const& C) {
  for (Resolution const resolution :
       {Resolution::automatic, Resolution::registers, Resolution::hierarchical, Resolution::privatised}) {
    BlcoOptions options;
    options.resolution = resolution;
    if (resolution == Resolution::privatised) options.index_bits = 6;
    if (resolution == Resolution::registers) options.index_bits = 128;
    CAPTURE(static_cast<int>(resolution));
    expect_residual(space, Blco<Scalar, Index, TestSpace>::build(space, coo, options), tensor, C);
  }
}

/// On `alto`, on hosts also with the modes of a mask grouped, in chunks, with private rows or locked ones.
template <class Scalar, class Index>
void alto_residuals(TestSpace const& space, CooTensor<Scalar, Index, TestSpace> const& coo,
                    HostTensor const& tensor, HostFactors const& C) {
  using F = Alto<Scalar, Index, TestSpace>;
  expect_residual(space, F::build(space, coo, {}), tensor, C);
  if constexpr (!is_device_space<TestSpace>) {
    for (std::uint32_t const grouped : {0U, 1U, 2U, tensor.order() > 2 ? 5U : 1U})
      for (count_t const chunks : {1, 3}) {
        AltoOptions options;
        options.choice = AltoOptions::Order::given;
        options.order  = {grouped, 0, 0, grouped == 2};
        options.chunks = chunks;
        if (grouped == 1) options.most_private_rows = 1;
        CAPTURE(grouped, chunks);
        expect_residual(space, F::build(space, coo, options), tensor, C);
      }
  }
}

template <class Scalar, class Index>
void all_residuals(HostTensor const& tensor, std::size_t rank) {
  TestSpace const space;
  Random random(rank + tensor.order());
  auto const C   = random_factors(random, tensor.extents, rank);
  auto const coo = to_device<Scalar, Index>(space, tensor);
  // By name and not from the registry, which would compile the builds of all formats once more.
  expect_residual(space, Sorted<Scalar, Index, TestSpace>::build(space, coo, {}), tensor, C);
  expect_residual(space, CooPermuted<Scalar, Index, TestSpace>::build(space, coo, {}), tensor, C);
  for (std::int64_t const threshold : {std::int64_t(3), no_split}) {
    BCsfOptions splits;
    splits.fiber_threshold = splits.slice_threshold.emplace(threshold);
    expect_residual(space, BCsf<Scalar, Index, TestSpace>::build(space, coo, splits), tensor, C);
    expect_residual(space, HbCsf<Scalar, Index, TestSpace>::build(space, coo, splits), tensor, C);
  }
  using Storage = SortedOptions::Storage;
  for (auto const& options :
       {SortedOptions{.deterministic = true}, SortedOptions{.storage = Storage::permutations},
        SortedOptions{.storage = Storage::copies, .block_rows = 5}})
    expect_residual(space, Sorted<Scalar, Index, TestSpace>::build(space, coo, options), tensor, C);
  blco_residuals(space, coo, tensor, C);
  alto_residuals(space, coo, tensor, C);
}

static_assert(ResidualFormat<Sorted<float, std::uint32_t, TestSpace>>);
static_assert(ResidualFormat<CooPermuted<float, std::uint32_t, TestSpace>>);
static_assert(ResidualFormat<BCsf<float, std::uint32_t, TestSpace>>);
static_assert(ResidualFormat<HbCsf<float, std::uint32_t, TestSpace>>);
static_assert(ResidualFormat<Blco<float, std::uint32_t, TestSpace>>);
static_assert(ResidualFormat<Alto<float, std::uint32_t, TestSpace>>);

TEST_CASE("residual sweeps agree with the definition", "[formats][fast_tucker]") {
  constexpr std::array<std::size_t, 8> ranks{1, 2, 5, 8, 16, 31, 32, 45};
  for (std::size_t k = 0; k < all_kinds.size(); ++k)
    for (std::size_t const order : {2, 3, 4, 6}) {
      std::size_t const rank = ranks[(k + order) % ranks.size()];
      auto const tensor      = small_tensor(all_kinds[k], order);
      if ((k + order / 2) % 2 == 0)
        all_residuals<double, std::uint32_t>(tensor, rank);
      else
        all_residuals<float, std::uint32_t>(tensor, rank);
    }
  for (std::size_t const rank : ranks)
    all_residuals<double, std::uint32_t>(small_tensor(Kind::runs_at_borders, 3), rank);
  all_residuals<double, std::uint64_t>(small_tensor(Kind::runs_at_borders, 3), 9);
  all_residuals<float, std::uint64_t>(small_tensor(Kind::shuffled, 16), 40);
  // A row so hot that `sorted` merges its borders on a device.
  Random random(1);
  for (std::size_t const rank : {8, 45})
    all_residuals<double, std::uint32_t>(random_tensor(random, {1, 40, 50}, 20000), rank);
}

template <class F>
void expect_same_bits() {
  auto const tensor = small_tensor(Kind::one_long_slice, 3);
  Random random(5);
  for (std::size_t const rank : {16, 40}) {
    auto const host_C = random_factors(random, tensor.extents, rank);
    std::vector<double> first;
    for (auto const& space : instances_of<TestSpace>({1, 2, 5})) {
      auto const coo = to_device<float, std::uint32_t>(TestSpace(), tensor);
      auto const C   = to_device<float>(TestSpace(), host_C);
      typename F::options_type options;
      options.deterministic = true;
      auto const X          = F::build(space, coo, options);
      auto workspace        = make_residual_workspace(space, X, rank);
      auto const G          = make_factor_matrix<float>(space, "polyad::test", tensor.extents[1], rank);
      residual_mttkrp(space, X, C, 1, workspace, G);
      space.fence("polyad::test");
      if (first.empty()) first = flat(G);
      CAPTURE(F::name, rank, space.concurrency());
      CHECK(flat(G) == first);
    }
  }
}

TEST_CASE("a deterministic residual sweep has the same bits for any number of threads",
          "[formats][fast_tucker]") {
  expect_same_bits<Sorted<float, std::uint32_t, TestSpace>>();
}

TEST_CASE("alto: a deterministic residual sweep has the same bits for any number of threads",
          POLYAD_HOST_ONLY "[formats][fast_tucker]") {
  expect_same_bits<Alto<float, std::uint32_t, TestSpace>>();
}

TEST_CASE("residual sweeps refuse what does not fit", "[formats][fast_tucker]") {
  TestSpace const space;
  auto const tensor = small_tensor(Kind::shuffled, 3);
  auto const coo    = to_device<double, std::uint32_t>(space, tensor);
  auto const X      = Sorted<double, std::uint32_t, TestSpace>::build(space, coo, {});
  auto workspace    = make_residual_workspace(space, X, 4);
  FactorMatrices<double, TestSpace> const C(space, X.extents(), 4);
  auto const G = [&](count_t rows, count_t rank) {
    return make_factor_matrix<double>(space, "polyad::test", rows, rank);
  };
  CHECK_NOTHROW(residual_mttkrp(space, X, C, 0, workspace, G(tensor.extents[0], 4)));
  CHECK_THROWS_AS(residual_mttkrp(space, X, C, 0, workspace, G(tensor.extents[0] + 1, 4)), UsageError);
  CHECK_THROWS_AS(residual_mttkrp(space, X, C, 0, workspace, G(tensor.extents[0], 5)), UsageError);
  CHECK_THROWS_AS(residual_mttkrp(space, X, C, 3, workspace, G(tensor.extents[0], 4)), UsageError);
  // A workspace for few columns has no room for the residuals that more of them need.
  FactorMatrices<double, TestSpace> const wide(space, X.extents(), 40);
  CHECK_THROWS_AS(residual_mttkrp(space, X, wide, 0, workspace, G(tensor.extents[0], 40)), UsageError);
  auto const blco = Blco<double, std::uint32_t, TestSpace>::build(space, coo, {});
  auto of_blco    = make_residual_workspace(space, blco, 4);
  CHECK_THROWS_AS(residual_mttkrp(space, blco, wide, 0, of_blco, G(tensor.extents[0], 40)), UsageError);
  auto const alto = Alto<double, std::uint32_t, TestSpace>::build(space, coo, {});
  auto of_alto    = make_residual_workspace(space, alto, 4);
  CHECK_THROWS_AS(residual_mttkrp(space, alto, wide, 0, of_alto, G(tensor.extents[0], 40)), UsageError);
  space.fence("polyad::test");
}

}  // namespace
}  // namespace polyad::test
