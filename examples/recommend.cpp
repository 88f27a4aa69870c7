// SPDX-License-Identifier: BSD-3-Clause
// Learns from ratings of users for items and recommends: the items that a user has not rated, the best first:
//   example_recommend
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <polyad/polyad.hpp>
#include <vector>

int main(int argc, char** argv) try {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  using Space = Kokkos::DefaultExecutionSpace;
  Space const space;

  // Users like items of their own group: user u and item v have the groups u % 2 and v % 2. A third is rated.
  polyad::Extents const extents{40, 30};
  std::vector<std::uint32_t> indices;
  std::vector<double> ratings;
  for (std::uint32_t u = 0; u < 40; ++u)
    for (std::uint32_t v = 0; v < 30; ++v)
      if ((u * 7 + v * 11) % 3 == 0) {
        indices.insert(indices.end(), {u, v});
        ratings.push_back(u % 2 == v % 2 ? 4.5 : 1.5);
      }
  polyad::FastTuckerData<float, std::uint32_t, Space> const data{
      .train = polyad::upload<float, std::uint32_t>(space, extents, indices, ratings)};

  polyad::FastTuckerOptions options{.rank = 2, .columns = {2}};
  options.range     = {1, 5};
  options.shrinkage = polyad::Shrinkage{.observations = 1, .share = 0};
  auto const model  = polyad::fast_tucker(space, data, options).model;

  std::array<polyad::count_t, 1> const user{4};
  auto const best = polyad::recommend(space, model, 1, user, {.count = 4}, data.train);
  for (std::size_t k = 0; k < best.rows.size(); ++k)
    std::printf("item %llu: %.2f\n", static_cast<unsigned long long>(best.rows[k]), best.scores[k]);
  for (auto const item : best.rows)
    if (item % 2 != 0) return 1;  // user 4 likes even items
  return best.rows.size() == 4 ? 0 : 1;
} catch (std::exception const& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
