// SPDX-License-Identifier: BSD-3-Clause
// Sums that a team's threads leave to be added together: rows that extend over threads, teams and blocks of
// columns, threads that leave nothing or have no chunk. On hosts a team is as many threads as there are.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <vector>

#include "polyad/kernel/team_sums.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "support/catch.hpp"
#include "support/device_data.hpp"

namespace polyad::test {

/// Chunk c leaves c + 1 in every column to rows(c), or nothing if that is `nothing`.
template <class Scalar, int Block>
struct LeaveEnds {
  static constexpr std::uint32_t nothing = 1000000;
  using Row                              = TinyVec<TestSpace, Scalar, Block>;

  Kokkos::View<std::uint32_t*, TestSpace> rows;
  Scalar* output;
  count_t stride;
  ChunkWalk chunks;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    walk_with_team_sums<true, Row, Block, std::uint32_t>(
        chunks, member, output, stride, [&](count_t chunk, count_t, Columns columns, auto const& last) {
          if (rows(chunk) == nothing)
            last.leave_nothing();
          else
            last.leave(rows(chunk), Row(static_cast<Scalar>(chunk + 1)), columns);
        });
  }
};

template <class Scalar, int Block>
void expect_sums(std::vector<std::uint32_t> const& rows_of_chunks, int blocks) {
  using Kernel = LeaveEnds<Scalar, Block>;
  TestSpace const space;
  auto const chunks     = static_cast<count_t>(rows_of_chunks.size());
  auto const rank       = static_cast<count_t>(Block * blocks);
  constexpr count_t all = 40;
  Kokkos::View<std::uint32_t*, TestSpace> const rows("polyad::test_rows", chunks);
  auto const rows_on_host = Kokkos::create_mirror_view(rows);
  std::vector<double> want(all, 0);
  for (count_t c = 0; c < chunks; ++c) {
    rows_on_host(c) = rows_of_chunks[c];
    if (rows_of_chunks[c] != Kernel::nothing) want[rows_of_chunks[c]] += static_cast<double>(c + 1);
  }
  Kokkos::deep_copy(space, rows, rows_on_host);
  auto const V = make_factor_matrix<Scalar>(space, "polyad::test_output", all, rank);
  Kokkos::deep_copy(space, V, Scalar(0));
  ChunkWalk const walk{chunks, 1, ColumnBlocks{0, blocks, static_cast<int>(rank)}};
  constexpr int lanes = Kernel::Row::lanes;
  int const team      = is_device_space<TestSpace> ? device_team_threads / lanes : space.concurrency();
  auto policy         = team_policy(space, walk.shape(team, lanes));
  policy.set_scratch_size(0,
                          Kokkos::PerTeam(team * int(Block * sizeof(Scalar) + sizeof(std::uint32_t)) + 32));
  Kokkos::parallel_for("polyad::test", policy,
                       Kernel{rows, V.data(), static_cast<count_t>(V.stride(0)), walk});
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), V);
  for (count_t i = 0; i < all; ++i)
    for (count_t r = 0; r < rank; ++r) {
      CAPTURE(i, r, chunks, blocks, Block);
      CHECK(static_cast<double>(found(i, r)) == want[i]);
    }
}

TEST_CASE("A team adds the ends of its chunks together", "[formats]") {
  constexpr auto nothing = LeaveEnds<float, 8>::nothing;
  for (std::size_t const chunks : {1, 2, 3, 31, 64, 65, 777})
    for (std::size_t const length : {1, 2, 5, 1000}) {
      std::vector<std::uint32_t> rows;
      for (std::size_t c = 0; c < chunks; ++c)
        rows.push_back(c % 7 == 3 ? nothing : static_cast<std::uint32_t>(c / length % 40));
      expect_sums<float, 8>(rows, 1);
      expect_sums<float, 32>(rows, 2);
      expect_sums<double, 4>(rows, 3);
      expect_sums<double, 32>(rows, 1);
    }
}

}  // namespace polyad::test
