// SPDX-License-Identifier: BSD-3-Clause
// White box: the format `f-coo`. What its flags, segments and partitions hold, and how many bytes; segments
// that end just before, at and just past the border of a partition and of a team; what validate refuses;
// SpTTM.
//
// The join of a team's chunks is walked here with teams of several threads on hosts too, where the
// library's own launches have one thread a team.
#include "formats/fcoo/storage/fcoo.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "formats/fcoo/build/build_flagged.hpp"
#include "formats/fcoo/kernels/hadamard_terms.hpp"
#include "formats/fcoo/kernels/sum_flagged.hpp"
#include "formats/fcoo/storage/validate_flagged.hpp"
#include "polyad/testing/oracle.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"
#include "support/oracle.hpp"

namespace polyad::test {

/// The format's terms, read in packs of Count nonzeros on any backend: hosts take one at a time.
template <class Terms, int Count>
struct InPacks : Terms {
  static constexpr int batch = Count;
};

namespace {

constexpr std::array<int, 4> all_threadlens{8, 16, 32, 64};

template <class Scalar, class Index>
using TestNonzeros = FlaggedNonzeros<Scalar, Index, TestSpace>;

template <class Scalar, class Index>
TestNonzeros<Scalar, Index> flagged(HostTensor const& tensor, std::size_t mode, FCooRows rows,
                                    int threadlen) {
  TestSpace const space;
  auto const coo  = to_device<Scalar, Index>(space, tensor);
  int const order = coo.order();
  int const n     = static_cast<int>(mode);
  if (rows == FCooRows::of_mode) return make_flagged(space, coo, mode_first(order, n), 1, rows, threadlen);
  return build_spttm(space, coo, n, threadlen);
}

template <class View>
auto host(View const& view) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
}

// ---- what is built

template <class Scalar, class Index>
void expect_flags(HostTensor const& tensor, std::size_t mode, FCooRows rows, int threadlen) {
  CAPTURE(tensor.name, tensor.nnz(), mode, static_cast<int>(rows), threadlen, sizeof(Scalar), sizeof(Index));
  auto const X            = flagged<Scalar, Index>(tensor, mode, rows, threadlen);
  std::size_t const P     = tensor.nnz();
  std::size_t const order = tensor.order();
  std::vector<std::size_t> index, product;
  for (std::size_t n = 0; n < order; ++n)
    ((n == mode) == (rows == FCooRows::of_mode) ? index : product).push_back(n);
  std::stable_sort(product.begin(), product.end(),
                   [&](std::size_t a, std::size_t b) { return tensor.extents[a] < tensor.extents[b]; });

  std::vector<std::size_t> visit(P);
  std::iota(visit.begin(), visit.end(), std::size_t(0));
  auto const less = [&](std::size_t a, std::size_t b, auto const& modes) {
    for (auto const n : modes)
      if (tensor.index(a, n) != tensor.index(b, n)) return tensor.index(a, n) < tensor.index(b, n);
    return false;
  };
  std::stable_sort(visit.begin(), visit.end(), [&](std::size_t a, std::size_t b) {
    if (less(a, b, index) || less(b, a, index)) return less(a, b, index);
    return less(a, b, product);
  });

  auto const indices = host(X.indices);
  auto const values  = host(X.values);
  bool same          = true;
  for (std::size_t p = 0; p < P; ++p) {
    same = same && values(p) == static_cast<Scalar>(tensor.values[visit[p]]);
    for (std::size_t m = 0; m < product.size(); ++m)
      same = same && indices(m, p) == tensor.index(visit[p], product[m]);
  }
  CHECK(same);
  CHECK((product.empty() || X.indices.stride(0) % 4 == 0));

  // Bit flags: 0 at the end of a segment.
  auto const flags       = host(X.flags);
  auto const starts      = host(X.starts);
  auto const first       = host(X.first_segment);
  auto const coordinates = host(X.coordinates);
  std::vector<std::size_t> segment_of(P);
  std::size_t segments = 0;
  bool right_flags = true, right_coordinates = true;
  for (std::size_t p = 0; p < P; ++p) {
    segment_of[p]   = segments;
    bool const ends = p + 1 == P || less(visit[p], visit[p + 1], index);
    right_flags     = right_flags && (flags(p / 64) >> p % 64 & 1U) == (ends ? 0U : 1U);
    if (!ends) continue;
    for (std::size_t k = 0; k < index.size(); ++k)
      right_coordinates = right_coordinates && coordinates(k, segments) == tensor.index(visit[p], index[k]);
    ++segments;
  }
  for (std::size_t p = P; p < flags.extent(0) * 64; ++p)
    right_flags = right_flags && (flags(p / 64) >> p % 64 & 1U) == 0;
  CHECK(right_flags);
  CHECK(right_coordinates);
  CHECK(X.segments == segments);

  // Start flags and segments of the partitions.
  auto const L        = static_cast<std::size_t>(threadlen);
  std::size_t const Q = (P + L - 1) / L;
  REQUIRE(first.extent(0) == Q);
  bool right_starts = true, right_numbers = true;
  for (std::size_t q = 0; q < Q; ++q) {
    bool const begins = q == 0 || segment_of[q * L] != segment_of[q * L - 1];
    right_starts      = right_starts && (starts(q / 32) >> q % 32 & 1U) == (begins ? 1U : 0U);
    right_numbers     = right_numbers && first(q) == segment_of[q * L];
  }
  CHECK(right_starts);
  CHECK(right_numbers);

  // Cleared: rows without nonzeros, and those that cross a border.
  std::vector<bool> whole(rows == FCooRows::of_mode ? tensor.extents[mode] : segments);
  auto const row_of = [&](std::size_t p) {
    return rows == FCooRows::of_mode ? tensor.index(visit[p], mode) : segment_of[p];
  };
  for (std::size_t p = 0; p < P; ++p) whole[row_of(p)] = true;
  for (std::size_t q = 1; q < Q; ++q)
    if (segment_of[q * L] == segment_of[q * L - 1]) whole[row_of(q * L)] = false;
  std::vector<double> listed;
  for (std::size_t i = 0; i < whole.size(); ++i)
    if (!whole[i]) listed.push_back(static_cast<double>(i));
  CHECK(flat(X.cleared) == listed);

  // Bytes: as the formula has them, and as they are.
  std::size_t const s_r = sizeof(Scalar), s_o = sizeof(Index);
  CHECK(X.nonzero_bytes() == P * (s_r + product.size() * s_o) + flags.size() * 8 + starts.size() * 4);
  CHECK(X.segment_bytes() == (segments * index.size() + Q + listed.size()) * s_o);
  CHECK_NOTHROW(validate(TestSpace(), X));
}

TEST_CASE("f-coo: flags, segments and partitions", "[formats][fcoo]") {
  std::size_t number = 0;
  for (std::size_t const order : {1, 2, 3, 4, 6, 16})
    for (Kind const kind : all_kinds) {
      auto const tensor = small_tensor(kind, order);
      for (std::size_t mode = 0; mode < order; mode += order > 4 ? 5 : 1)
        for (FCooRows const rows : {FCooRows::of_mode, FCooRows::of_segments}) {
          if (order == 1 && rows == FCooRows::of_segments) continue;
          int const threadlen = all_threadlens[++number % 4];
          if (number % 3 == 0)
            expect_flags<double, std::uint64_t>(tensor, mode, rows, threadlen);
          else
            expect_flags<float, std::uint32_t>(tensor, mode, rows, threadlen);
        }
    }
}

TEST_CASE("f-coo: the bytes of Table II", "[formats][fcoo]") {
  TestSpace const space;
  Random random(3);
  for (int const threadlen : all_threadlens) {
    // Whole words of both flags.
    std::size_t const P = 32 * 64 * 3;
    auto const tensor   = random_tensor(random, {60, 50, 40}, P);
    double const flags  = 1.0 / 8 + 1.0 / (8 * threadlen);
    auto const bytes    = [](auto const& X) { return static_cast<double>(X.nonzero_bytes()); };
    auto const of_mode  = FCooRows::of_mode;
    auto const of_seg   = FCooRows::of_segments;
    CHECK(bytes(flagged<float, std::uint32_t>(tensor, 2, of_seg, threadlen)) == P * (8 + flags));
    CHECK(bytes(flagged<float, std::uint32_t>(tensor, 0, of_mode, threadlen)) == P * (12 + flags));
    CHECK(bytes(flagged<double, std::uint64_t>(tensor, 0, of_mode, threadlen)) == P * (24 + flags));
    auto const X = FCoo<float, std::uint32_t, TestSpace>::build(
        space, to_device<float, std::uint32_t>(space, tensor), {threadlen, {}});
    double sum = 0;
    for (int n = 0; n < 3; ++n) {
      sum += P * (12 + flags);
      auto const& nonzeros = X.nonzeros(n);
      sum += static_cast<double>(4 * (nonzeros.segments + nonzeros.partitions() + nonzeros.cleared.size()));
    }
    CHECK(static_cast<double>(X.storage_bytes()) == sum);
  }
}

// ---- borders

/// A tensor whose mode 0 has rows of the given lengths, with rows that never occur before, between and after
/// them.
HostTensor tensor_of_rows(std::vector<std::size_t> const& lengths) {
  Random random(lengths.size());
  HostTensor tensor{"rows", {3 * lengths.size() + 5, 7, 40}, {}, {}};
  for (std::size_t row = 0; row < lengths.size(); ++row)
    for (std::size_t i = 0; i < lengths[row]; ++i) {
      tensor.indices.insert(tensor.indices.end(),
                            {3 * row + 2, random_below(random, 7), random_below(random, 40)});
      tensor.values.push_back(random_integer(random));
    }
  return reordered(tensor, random_order(random, tensor.nnz()));
}

/// Mode 0 of a tensor of small integers, exactly, over NaN, with teams of `team` threads of one partition
/// each.
template <class Scalar, int Block, int Count>
void expect_exact_team(HostTensor const& tensor, int threadlen, int team, std::size_t rank) {
  CAPTURE(threadlen, team, rank, Count, Block, sizeof(Scalar), tensor.nnz());
  using Terms  = InPacks<detail::HadamardTerms<TestSpace, Scalar, std::uint32_t, Block, 3>, Count>;
  using Kernel = detail::SumFlagged<Scalar, std::uint32_t, Terms>;
  TestSpace const space;
  Random random(rank);
  auto const host_factors = random_factors(random, tensor.extents, rank, random_integer);
  auto const factors      = to_device<Scalar>(space, host_factors);
  auto const X            = flagged<Scalar, std::uint32_t>(tensor, 0, FCooRows::of_mode, threadlen);
  WatchedMatrix<Scalar> const V(space, RowLayout::padded, tensor.extents[0], rank);
  ColumnBlocks const blocks{0, 1, static_cast<int>(rank)};
  detail::clear_rows<TestSpace, Scalar, std::uint32_t, Block>(space, X.cleared, blocks, V.matrix());
  ChunkWalk const chunks{X.nnz, static_cast<count_t>(threadlen), blocks};
  auto policy = team_policy(space, chunks.shape(team, Terms::lanes));
  policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::Heads::bytes(team)));
  Terms const terms{{X.indices.data(), static_cast<count_t>(X.indices.stride(0)), X.values.data(),
                     OtherFactors<Scalar, 3>(factors, X.modes), detail::RowsAt<Scalar>(V.matrix()),
                     static_cast<int>(rank)}};
  Kokkos::parallel_for("polyad::test", policy,
                       Kernel{terms, detail::FlaggedSegments<std::uint32_t>(X), chunks});
  auto expected = oracle_mttkrp(tensor, host_factors, 0);
  for (auto const magnitude : expected.magnitude) REQUIRE(magnitude < 0x1p24L);
  expected.magnitude.assign(expected.magnitude.size(), 0);
  CHECK(violation<Scalar>(expected, V.read(), 3) == "");
  CHECK(V.trespasses() == 0);
}

/// Teams that the backend can launch.
std::vector<int> some_teams() {
  if (is_device_space<TestSpace>) return {1, 2, 4, 16, 32};
  std::vector<int> teams{1};
  for (int const team : {2, 3, 4})
    if (team <= TestSpace().concurrency()) teams.push_back(team);
  return teams;
}

/// The rows' lengths at all threadlens, packs and teams; and by the library's own launch.
void expect_exact_rows(std::vector<std::size_t> const& lengths) {
  auto const tensor = tensor_of_rows(lengths);
  TestSpace const space;
  for (int const threadlen : all_threadlens)
    for (int const team : some_teams()) {
      expect_exact_team<float, 8, 4>(tensor, threadlen, team, 7);
      expect_exact_team<float, 32, 1>(tensor, threadlen, team, 32);
      expect_exact_team<double, 8, 2>(tensor, threadlen, team, 8);
    }
  Random random(lengths.size());
  auto const host_factors = random_factors(random, tensor.extents, 9, random_integer);
  auto const factors      = to_device<double>(space, host_factors);
  auto const coo          = to_device<double, std::uint32_t>(space, tensor);
  for (int const threadlen : all_threadlens)
    for (int const threads : {32, 64, 128, 256}) {
      auto const X = FCoo<double, std::uint32_t, TestSpace>::build(space, coo, {threadlen, {threads}});
      NoWorkspace none;
      for (std::size_t mode = 0; mode < 3; ++mode) {
        WatchedMatrix<double> const V(space, RowLayout::padded, tensor.extents[mode], 9);
        mttkrp(space, X, factors, static_cast<int>(mode), none, V.matrix());
        auto expected = oracle_mttkrp(tensor, host_factors, mode);
        expected.magnitude.assign(expected.magnitude.size(), 0);
        CAPTURE(threadlen, threads, mode);
        CHECK(violation<double>(expected, V.read(), 3) == "");
      }
    }
}

TEST_CASE("f-coo: segments that end just before, at and just past a border", "[formats][fcoo]") {
  for (std::size_t const L : {8, 16, 32, 64})
    expect_exact_rows({L - 1, 1, L, L + 1, L - 1, 1, 2, 3, 4, 5, L - 2, 2 * L, 2 * L - 1, 2 * L + 1, 7});
}
TEST_CASE("f-coo: one segment over many partitions and teams", "[formats][fcoo]") {
  expect_exact_rows({700});
  expect_exact_rows({3, 5000, 2});
  expect_exact_rows({64, 4096, 64});
}
TEST_CASE("f-coo: partitions full of segments", "[formats][fcoo]") {
  expect_exact_rows(std::vector<std::size_t>(64, 1));
  expect_exact_rows(std::vector<std::size_t>(301, 1));
  expect_exact_rows({1, 1, 1, 200, 1, 1, 130, 1});
}
TEST_CASE("f-coo: segments that end at every place of a partition", "[formats][fcoo]") {
  for (std::size_t const length : {3, 5, 9, 67}) expect_exact_rows(std::vector<std::size_t>(71, length));
}

// ---- SpTTM

template <class Scalar, class Index>
void expect_spttm(HostTensor const& tensor, std::size_t mode, std::size_t rank, RowLayout layout,
                  int threadlen) {
  CAPTURE(tensor.name, mode, rank, static_cast<int>(layout), threadlen, sizeof(Scalar), sizeof(Index));
  TestSpace const space;
  Random random(rank + mode);
  auto const U        = random_matrix(random, tensor.extents[mode], rank);
  auto const expected = oracle_spttm(tensor, U, mode);
  auto const X        = flagged<Scalar, Index>(tensor, mode, FCooRows::of_segments, threadlen);
  REQUIRE(X.segments == expected.coordinates.size());
  auto const coordinates = host(X.coordinates);
  bool same              = true;
  for (std::size_t s = 0; s < X.segments; ++s)
    for (std::size_t k = 0; k + 1 < tensor.order(); ++k)
      same = same && coordinates(k, s) == expected.coordinates[s][k];
  CHECK(same);
  WatchedMatrix<Scalar> const matrix(space, layout, U, std::numeric_limits<double>::quiet_NaN());
  WatchedMatrix<Scalar> const Y(space, layout, X.segments, rank);
  spttm(space, X, matrix.matrix(), Y.matrix());
  CHECK(violation<Scalar>(expected.rows, Y.read(), 2) == "");
  CHECK(Y.trespasses() == 0);
}

TEST_CASE("f-coo: SpTTM agrees with the oracle", "[formats][fcoo]") {
  std::size_t number = 0;
  for (std::size_t const order : {2, 3, 4, 5, 6})
    for (Kind const kind : all_kinds) {
      auto const tensor = small_tensor(kind, order);
      for (std::size_t mode = 0; mode < order; ++mode) {
        constexpr std::array<std::size_t, 5> ranks{1, 3, 16, 33, 70};
        ++number;
        auto const rank     = ranks[number % 5];
        auto const layout   = kernel_layout<TestSpace>(number / 2);
        int const threadlen = all_threadlens[number % 4];
        expect_spttm<float, std::uint32_t>(tensor, mode, rank, layout, threadlen);
        expect_spttm<double, std::uint32_t>(tensor, mode, rank, layout, threadlen);
        if (number % 3 == 0) expect_spttm<float, std::uint64_t>(tensor, mode, rank, layout, threadlen);
        if (number % 3 == 1) expect_spttm<double, std::uint64_t>(tensor, mode, rank, layout, threadlen);
      }
    }
}

// ---- what is refused

template <class Change>
void expect_invalid(std::string const& part_of_text, Change const& change) {
  CAPTURE(part_of_text);
  TestSpace const space;
  auto X = flagged<double, std::uint32_t>(small_tensor(Kind::shuffled, 3), 0, FCooRows::of_mode, 16);
  CHECK_NOTHROW(validate(space, X));
  change(X);
  try {
    validate(space, X);
    FAIL("nothing was thrown");
  } catch (UsageError const& error) {
    CHECK(std::string(error.what()).find(part_of_text) != std::string::npos);
  }
}

/// Changes one number of a View.
template <class View, class F>
void change_entry(View const& view, F const& f) {
  auto const copy = Kokkos::create_mirror_view(view);
  Kokkos::deep_copy(copy, view);
  f(copy);
  Kokkos::deep_copy(view, copy);
}

TEST_CASE("f-coo: what is inconsistent is refused", "[formats][fcoo]") {
  expect_invalid("outside their modes",
                 [](auto& X) { change_entry(X.indices, [](auto const& v) { v(1, 40) = 23; }); });
  expect_invalid("coordinates of segments lie outside",
                 [](auto& X) { change_entry(X.coordinates, [](auto const& v) { v(0, 28) = 29; }); });
  expect_invalid("unsorted",
                 [](auto& X) { change_entry(X.coordinates, [](auto const& v) { v(0, 5) = v(0, 4); }); });
  expect_invalid("unsorted",
                 [](auto& X) { change_entry(X.coordinates, [](auto const& v) { v(0, 5) = 0; }); });
  expect_invalid("start flags",
                 [](auto& X) { change_entry(X.starts, [](auto const& v) { v(0) ^= 1U << 7; }); });
  expect_invalid("begin in", [](auto& X) { change_entry(X.first_segment, [](auto const& v) { ++v(9); }); });
  expect_invalid("the bit flags end",
                 [](auto& X) { change_entry(X.flags, [](auto const& v) { v(2) ^= 1U << 3; }); });
  expect_invalid("does not end its segment", [](auto& X) {
    change_entry(X.flags, [](auto const& v) { v(610 / 64) |= std::uint64_t(1) << 610 % 64; });
  });
  expect_invalid("flags follow it", [](auto& X) {
    change_entry(X.flags, [](auto const& v) { v(611 / 64) |= std::uint64_t(1) << 611 % 64; });
  });
  expect_invalid("cleared", [](auto& X) { X.cleared = {}; });
  expect_invalid("coordinates of", [](auto& X) { --X.segments; });
  expect_invalid("the flags are not those", [](auto& X) { X.threadlen = 8; });
  expect_invalid("8, 16, 32 or 64", [](auto& X) { X.threadlen = 24; });
  expect_invalid("named twice", [](auto& X) { X.modes[1] = X.modes[2]; });
  expect_invalid("index modes", [](auto& X) { X.index_modes = 2; });
  expect_invalid("no product index or value", [](auto& X) { X.nnz += 64; });
}

TEST_CASE("f-coo: arguments that do not fit are refused", "[formats][fcoo]") {
  TestSpace const space;
  auto const tensor = small_tensor(Kind::shuffled, 3);
  auto const coo    = to_device<float, std::uint32_t>(space, tensor);
  using F           = FCoo<float, std::uint32_t, TestSpace>;
  CHECK_THROWS_AS(F::build(space, coo, {24, {}}), UsageError);
  CHECK_THROWS_AS(F::build(space, coo, {128, {}}), UsageError);
  CHECK_THROWS_AS(F::build(space, coo, {64, {512}}), UsageError);
  CHECK_THROWS_AS(F::build(space, coo, {64, {0}}), UsageError);
  CHECK_THROWS_AS(build_spttm(space, coo, 3), UsageError);
  CHECK_THROWS_AS(build_spttm(space, coo, -1), UsageError);
  CHECK_THROWS_AS(
      build_spttm(space, to_device<float, std::uint32_t>(space, small_tensor(Kind::shuffled, 1)), 0),
      UsageError);
  auto const X      = build_spttm(space, coo, 1);
  auto const matrix = [&](count_t rows, count_t columns) {
    return make_factor_matrix<float>(space, "polyad::test", rows, columns);
  };
  CHECK_NOTHROW(spttm(space, X, matrix(23, 4), matrix(X.segments, 4)));
  CHECK_THROWS_AS(spttm(space, X, matrix(24, 4), matrix(X.segments, 4)), UsageError);
  CHECK_THROWS_AS(spttm(space, X, matrix(23, 4), matrix(X.segments, 5)), UsageError);
  CHECK_THROWS_AS(spttm(space, X, matrix(23, 4), matrix(X.segments + 1, 4)), UsageError);
  CHECK_THROWS_AS(spttm(space, X, matrix(23, 0), matrix(X.segments, 0)), UsageError);
  auto const mttkrp_nonzeros = flagged<float, std::uint32_t>(tensor, 1, FCooRows::of_mode, 16);
  CHECK_THROWS_AS(spttm(space, mttkrp_nonzeros, matrix(23, 4), matrix(23, 4)), UsageError);
  space.fence("polyad::test");
}

TEST_CASE("f-coo: another threadlen shares the nonzeros", "[formats][fcoo]") {
  TestSpace const space;
  auto const coo = to_device<float, std::uint32_t>(space, small_tensor(Kind::runs_at_borders, 3));
  auto const X   = FCoo<float, std::uint32_t, TestSpace>::build(space, coo, {64, {}});
  auto const Y   = X.reshaped(space, {16, {64}});
  CHECK(Y.options().threadlen == 16);
  CHECK(Y.options().shape.team_threads == 64);
  for (int n = 0; n < 3; ++n) {
    CHECK(Y.nonzeros(n).threadlen == 16);
    CHECK(Y.nonzeros(n).values.data() == X.nonzeros(n).values.data());
    CHECK(X.nonzeros(n).threadlen == 64);
    CHECK_NOTHROW(validate(space, Y.nonzeros(n)));
    CHECK_NOTHROW(validate(space, X.nonzeros(n)));
  }
  // 0 is what a build would take.
  auto const Z = Y.reshaped(space, FCooOptions{});
  for (int n = 0; n < 3; ++n)
    CHECK(Z.nonzeros(n).threadlen ==
          (FCoo<float, std::uint32_t, TestSpace>::build(space, coo).nonzeros(n).threadlen));
}

TEST_CASE("f-coo: tune times every shape, the fastest first", "[formats][fcoo]") {
  TestSpace const space;
  auto const tensor = small_tensor(Kind::runs_at_borders, 3);
  auto const X =
      FCoo<float, std::uint32_t, TestSpace>::build(space, to_device<float, std::uint32_t>(space, tensor));
  auto const trials = tune(space, X, 5, 2);
  CHECK(trials.size() == (is_device_space<TestSpace> ? 16U : 4U));
  for (std::size_t i = 0; i < trials.size(); ++i) {
    CHECK(trials[i].seconds > 0);
    if (i > 0) CHECK(trials[i].seconds >= trials[i - 1].seconds);
    for (std::size_t j = 0; j < i; ++j)
      CHECK((trials[i].options.threadlen != trials[j].options.threadlen ||
             trials[i].options.shape.team_threads != trials[j].options.shape.team_threads));
    CHECK_NOTHROW(X.reshaped(space, trials[i].options));
  }
  CHECK_THROWS_AS(tune(space, X, 0), UsageError);
}

}  // namespace
}  // namespace polyad::test
