// SPDX-License-Identifier: BSD-3-Clause
// A workspace serves the format and the rank that it was made for. Any other is refused with a UsageError
// before anything is written: of every format and of the variants with scratch of their own, in MTTKRPs,
// residual sweeps and least squares for rows, directly and through AnyFormat.
#include <Kokkos_Core.hpp>
#include <string>
#include <vector>

#include "formats/registry.hpp"
#include "polyad/formats/any_format.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/message_of.hpp"

namespace polyad::test {
namespace {

using DoubleFactors = FactorMatrices<double, TestSpace>;

/// Random cells, each at most once.
HostTensor some_tensor(std::size_t seed, std::size_t order, std::size_t nnz) {
  Random random(seed);
  return distinct(random_tensor(random, small_extents(order), nnz));
}

DoubleFactors some_factors(Extents const& extents, count_t rank) {
  DoubleFactors const factors(TestSpace(), extents, rank);
  fill_random(TestSpace(), factors, 7);
  return factors;
}

/// Whether f(V) throws a UsageError about the workspace and leaves V, which is full of canaries, as it is.
template <class F>
void expect_refused(count_t rows, count_t rank, F const& f) {
  TestSpace const space;
  auto const V = make_factor_matrix<double>(space, "polyad::test", rows, rank);
  Kokkos::deep_copy(V, canary);
  auto const message = message_of([&] { f(V); });
  space.fence("polyad::test");
  CAPTURE(message);
  CHECK(message.find("the workspace was ") == 0);
  for (double const entry : flat(V)) REQUIRE(entry == canary);
}

/// One operation on X with workspaces of X itself, of a copy of X, and of others.
/// \param make  (format, rank) -> workspace
/// \param run   (format, factors, mode, workspace, output)
template <class F, class Make, class Run>
void expect_own_workspace(F const& X, std::vector<F> const& others, count_t rank, Make const& make,
                          Run const& run) {
  Extents const extents = X.extents();
  for (int mode = 0; mode < extents.order(); ++mode) {
    CAPTURE(mode, rank);
    auto const factors = some_factors(extents, rank);
    auto const output  = [&] {
      return make_factor_matrix<double>(TestSpace(), "polyad::test", extents[mode], rank);
    };
    auto own = make(X, rank);
    CHECK_NOTHROW(run(X, factors, mode, own, output()));
    F const copy = X;
    CHECK_NOTHROW(run(copy, factors, mode, own, output()));
    for (count_t const other : {rank - 1, rank + 1, 2 * rank}) {
      auto wrong = make(X, other);
      expect_refused(extents[mode], rank, [&](auto const& V) { run(X, factors, mode, wrong, V); });
    }
    for (F const& other : others) {
      auto wrong = make(other, rank);
      expect_refused(extents[mode], rank, [&](auto const& V) { run(X, factors, mode, wrong, V); });
    }
    TestSpace().fence("polyad::test");
  }
}

/// MTTKRP and residual sweep of a format in some variant. The other formats hold the same tensor, fewer
/// nonzeros and more nonzeros.
template <class F>
void expect_workspaces(typename F::options_type const& options, std::size_t order) {
  TestSpace const space;
  auto const build = [&](HostTensor const& tensor) {
    return F::build(space, to_device<double, typename F::index_type>(space, tensor), options);
  };
  auto const tensor = some_tensor(1, order, 600);
  F const X         = build(tensor);
  std::vector<F> const others{build(tensor), build(some_tensor(2, order, 90)),
                              build(some_tensor(3, order, 2000))};
  CAPTURE(F::name, order);
  for (count_t const rank : {3, 20, 40}) {
    expect_own_workspace(
        X, others, rank, [&](F const& of, count_t R) { return of.make_workspace(space, R); },
        [&](F const& of, DoubleFactors const& factors, int mode, auto& workspace, auto const& V) {
          mttkrp(space, of, factors, mode, workspace, V);
        });
    if constexpr (offers<F>(Capability::residual_sweep))
      expect_own_workspace(
          X, others, rank, [&](F const& of, count_t R) { return make_residual_workspace(space, of, R); },
          [&](F const& of, DoubleFactors const& C, int mode, auto& workspace, auto const& G) {
            residual_mttkrp(space, of, C, mode, workspace, G);
          });
  }
}

TEST_CASE("workspaces: every format refuses those of others", "[formats][workspaces]") {
  for (std::size_t const order : {3, 4})
    for_each_format<double, std::uint32_t, TestSpace>([&](auto format) {
      using F = typename decltype(format)::type;
      expect_workspaces<F>({}, order);
    });
}

TEST_CASE("workspaces: variants with scratch of their own", "[formats][workspaces]") {
  using Copies   = detail::Sorted<double, std::uint32_t, TestSpace>;
  using Streamed = detail::StreamedSorted<double, std::uint32_t, TestSpace>;
  using Blocks   = detail::Blco<double, std::uint32_t, TestSpace>;
  using Sections = detail::StreamedBlco<double, std::uint32_t, TestSpace>;
  expect_workspaces<Copies>({.deterministic = true}, 3);
  expect_workspaces<Copies>({.storage = detail::SortedOptions::Storage::permutations}, 3);
  expect_workspaces<Copies>({.block_rows = 4}, 3);
  expect_workspaces<Streamed>({.deterministic = true}, 3);
  expect_workspaces<Streamed>({.buffer_bytes = 1 << 14}, 3);
  expect_workspaces<Blocks>({.resolution = detail::Resolution::hierarchical}, 3);
  expect_workspaces<Blocks>({.resolution = detail::Resolution::privatised}, 3);
  expect_workspaces<Sections>({.blco = {.resolution = detail::Resolution::hierarchical}, .instances = 2}, 3);
  if constexpr (detail::AltoStrategy<TestSpace>::has_chunks) {
    using Private = detail::Alto<double, std::uint32_t, TestSpace>;
    detail::AltoOptions options;
    options.deterministic = true;
    expect_workspaces<Private>(options, 3);
    options.deterministic     = false;
    options.most_private_rows = 1;  // rows are locked
    expect_workspaces<Private>(options, 3);
  }
}

TEST_CASE("workspaces: one that no format made", "[formats][workspaces]") {
  TestSpace const space;
  auto const coo     = to_device<double, std::uint32_t>(space, some_tensor(1, 3, 300));
  auto const factors = some_factors(coo.extents(), 4);
  for_each_format<double, std::uint32_t, TestSpace>([&](auto format) {
    using F         = typename decltype(format)::type;
    using Workspace = typename F::workspace_type;
    if constexpr (!std::is_same_v<Workspace, NoWorkspace>) {
      CAPTURE(F::name);
      F const X = F::build(space, coo, {});
      Workspace none{};
      expect_refused(coo.extents()[0], 4, [&](auto const& V) { mttkrp(space, X, factors, 0, none, V); });
    }
  });
}

TEST_CASE("workspaces: the starts of another tensor's rows", "[formats][workspaces]") {
  TestSpace const space;
  auto const tensor = some_tensor(1, 3, 600);
  auto const coo    = to_device<double, std::uint32_t>(space, tensor);
  auto const fewer  = to_device<double, std::uint32_t>(space, some_tensor(2, 3, 90));
  auto const C      = some_factors(coo.extents(), 4);
  auto const B      = make_factor_matrix<double>(space, "polyad::test", 4, 4);
  from_host<double>(space, {2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 5}, B);
  RowProblem<double, TestSpace> const problem{B, B, 0.5, false};
  auto const check = [&](auto const& X, auto const& same, auto const& other, std::string const& name) {
    CAPTURE(name);
    auto const solve = [&](auto const& starts, auto const& A) {
      least_squares_rows(space, X, C, 1, problem, starts, A, {});
    };
    solve(X.make_row_workspace(space), make_factor_matrix<double>(space, "polyad::test", 23, 4));
    space.fence("polyad::test");
    std::vector<RowStarts<TestSpace>> wrong(3);  // the last one is of no format
    wrong[0] = same.make_row_workspace(space);
    wrong[1] = other.make_row_workspace(space);
    for (auto const& starts : wrong) expect_refused(23, 4, [&](auto const& A) { solve(starts, A); });
  };
  for_each_format<double, std::uint32_t, TestSpace>([&](auto format) {
    using F = typename decltype(format)::type;
    if constexpr (offers<F>(Capability::row_least_squares)) {
      check(F::build(space, coo, {}), F::build(space, coo, {}), F::build(space, fewer, {}), F::name);
      auto const any = [&](auto const& from) { return any_format(space, F::build(space, from, {})); };
      check(any(coo), any(coo), any(fewer), F::name);
    }
  });
  using Copies        = detail::Sorted<double, std::uint32_t, TestSpace>;
  auto const permuted = [&](auto const& from) {
    return Copies::build(space, from, {.storage = detail::SortedOptions::Storage::permutations});
  };
  check(permuted(coo), permuted(coo), permuted(fewer), "permutations");
}

TEST_CASE("workspaces: AnyFormat refuses those of every other format", "[formats][workspaces]") {
  TestSpace const space;
  using Any         = AnyFormat<double, TestSpace>;
  auto const tensor = some_tensor(5, 3, 500);
  auto const coo    = to_device<double, std::uint32_t>(space, tensor);
  std::vector<Any> formats;
  for_each_format<double, std::uint32_t, TestSpace>([&](auto format) {
    formats.push_back(any_format(space, coo, {.rank = 4, .format = decltype(format)::type::name}));
  });
  auto const factors = some_factors(coo.extents(), 4);
  for (std::size_t x = 0; x < formats.size(); ++x) {
    Any const& X = formats[x];
    CAPTURE(X.chosen());
    auto own = X.make_workspace(space, 4);
    mttkrp(space, X, factors, 0, own, make_factor_matrix<double>(space, "polyad::test", 29, 4));
    auto const run = [&](AnyWorkspace& wrong) {
      expect_refused(29, 4, [&](auto const& V) { mttkrp(space, X, factors, 0, wrong, V); });
    };
    for (std::size_t y = 0; y < formats.size(); ++y) {
      if (x == y) continue;
      auto wrong = formats[y].make_workspace(space, 4);
      // The message names the operation if the classes of the workspaces differ.
      auto const V = make_factor_matrix<double>(space, "polyad::test", 29, 4);
      Kokkos::deep_copy(V, canary);
      CHECK_THROWS_AS(mttkrp(space, X, factors, 0, wrong, V), UsageError);
      for (double const entry : flat(V)) REQUIRE(entry == canary);
    }
    auto again = any_format(space, coo, {.rank = 4, .format = X.chosen()}).make_workspace(space, 4);
    run(again);
    auto wider = X.make_workspace(space, 5);
    run(wider);
    if (!X.supports(Capability::residual_sweep)) continue;
    auto sweep = make_residual_workspace(space, X, 4);
    auto G     = make_factor_matrix<double>(space, "polyad::test", 29, 4);
    residual_mttkrp(space, X, factors, 0, sweep, G);
    CHECK_THROWS_AS(residual_mttkrp(space, X, factors, 0, own, G), UsageError);
    CHECK_THROWS_AS(mttkrp(space, X, factors, 0, sweep, G), UsageError);
  }
  space.fence("polyad::test");
}

/// A user-defined format, which knows nothing of identities.
struct Own {
  using scalar_type                 = double;
  using index_type                  = std::uint32_t;
  using space_type                  = TestSpace;
  using workspace_type              = NoWorkspace;
  static constexpr char const* name = "own";
  struct options_type {};
  CooTensor<double, std::uint32_t, TestSpace> coo;

  static Own build(TestSpace const&, CooTensor<double, std::uint32_t, TestSpace> const& from,
                   options_type const& = {}) {
    return {from};
  }
  [[nodiscard]] Extents const& extents() const { return coo.extents(); }
  [[nodiscard]] count_t nnz() const { return coo.nnz(); }
  [[nodiscard]] count_t storage_bytes() const { return coo.storage_bytes(); }
  [[nodiscard]] double norm_squared() const { return 1; }
  [[nodiscard]] NoWorkspace make_workspace(TestSpace const&, count_t) const { return {}; }
};
void mttkrp(TestSpace const& space, Own const&, DoubleFactors const&, int, NoWorkspace&,
            FactorMatrix<double, TestSpace> const& V) {
  detail::zero_matrix(space, V);
}

TEST_CASE("workspaces: AnyFormat checks those of a user-defined format", "[formats][workspaces]") {
  TestSpace const space;
  auto const coo     = to_device<double, std::uint32_t>(space, some_tensor(1, 3, 30));
  auto const factors = some_factors(coo.extents(), 4);
  auto const X       = any_format(space, Own{coo});
  auto const Y       = any_format(space, Own{coo});
  auto own           = X.make_workspace(space, 4);
  CHECK_NOTHROW(mttkrp(space, X, factors, 0, own, make_factor_matrix<double>(space, "polyad::test", 29, 4)));
  auto other = Y.make_workspace(space, 4);
  auto wider = X.make_workspace(space, 8);
  for (auto* const wrong : {&other, &wider})
    expect_refused(29, 4, [&](auto const& V) { mttkrp(space, X, factors, 0, *wrong, V); });
}

}  // namespace
}  // namespace polyad::test
