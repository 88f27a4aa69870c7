// SPDX-License-Identifier: BSD-3-Clause
// Duplicates of a list against a map of places.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "polyad/io/clean_list.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

namespace {

using polyad::io::CoordinateList;
using polyad::io::Duplicates;

CoordinateList random_list(std::uint64_t nnz, std::uint64_t extent, bool wide) {
  CoordinateList list;
  list.extents = {extent, extent, wide ? std::uint64_t{1} << 40 : extent};
  if (wide) list.indices.emplace<1>();
  std::uint64_t state = 7;
  for (std::uint64_t p = 0; p < nnz; ++p) {
    for (int n = 0; n < 3; ++n) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      std::visit(
          [&](auto& indices) { indices.push_back(static_cast<std::uint32_t>((state >> 33) % extent)); },
          list.indices);
    }
    list.values.push_back(static_cast<double>(p + 1));
  }
  return list;
}

std::vector<std::uint64_t> row(CoordinateList const& list, std::uint64_t p) {
  std::vector<std::uint64_t> result;
  for (std::uint64_t n = 0; n < 3; ++n)
    result.push_back(
        std::visit([&](auto const& indices) -> std::uint64_t { return indices[3 * p + n]; }, list.indices));
  return result;
}

}  // namespace

TEST_CASE("duplicates are merged at the place of the first", "[io]") {
  for (bool const wide : {false, true})
    for (auto const what : {Duplicates::sum, Duplicates::last})
      for (std::uint64_t const extent : {1, 2, 9, 1000}) {
        CoordinateList list         = random_list(500, extent, wide);
        CoordinateList const before = list;
        std::vector<std::vector<std::uint64_t>> order;
        std::map<std::vector<std::uint64_t>, double> expected;
        std::uint64_t first_later = 500;
        for (std::uint64_t p = 0; p < 500; ++p) {
          auto const at    = row(before, p);
          auto const found = expected.find(at);
          if (found == expected.end()) {
            order.push_back(at);
            expected[at] = before.values[p];
          } else {
            if (first_later == 500) first_later = p;
            found->second = what == Duplicates::sum ? found->second + before.values[p] : before.values[p];
          }
        }
        auto const pair = polyad::io::first_duplicate(list);
        REQUIRE(pair.has_value() == (first_later < 500));
        if (pair) {
          REQUIRE(pair->later == first_later);
          REQUIRE(row(list, pair->earlier) == row(list, pair->later));
          REQUIRE(pair->earlier < pair->later);
        }
        REQUIRE(polyad::io::merge_duplicates(list, what) == 500 - order.size());
        REQUIRE(list.nnz() == order.size());
        for (std::uint64_t p = 0; p < order.size(); ++p) {
          REQUIRE(row(list, p) == order[p]);
          REQUIRE(list.values[p] == expected[order[p]]);
        }
      }
  CoordinateList list = random_list(50, 1, false);
  REQUIRE(polyad::io::merge_duplicates(list, Duplicates::keep) == 0);
  REQUIRE(list.nnz() == 50);
}

TEST_CASE("the line of a nonzero", "[io]") {
  polyad::test::TemporaryFolder const folder;
  auto const path = folder.write("t", "# c\nsptensor\n2\n\n3 3\n3\n1 1 1\n// c\n\n2 2 1\n3 3 1");
  REQUIRE(polyad::io::line_of_nonzero(path, 0) == 7);
  REQUIRE(polyad::io::line_of_nonzero(path, 1) == 10);
  REQUIRE(polyad::io::line_of_nonzero(path, 2) == 11);
  REQUIRE_FALSE(polyad::io::line_of_nonzero(path, 3).has_value());
  REQUIRE_FALSE(polyad::io::line_of_nonzero("/dev/null", 0).has_value());
  REQUIRE(polyad::io::line_of_nonzero(folder.write("u", "1 1 1\r\n\r\n2 2 1\r\n"), 1) == 3);
}

TEST_CASE("the entries that are held out do not depend on the parts that a list is read in", "[io]") {
  CoordinateList const list = random_list(600, 1000, false);
  auto const whole          = polyad::io::hold_out(list, 0.3, 5, 1, 0).second;
  REQUIRE(whole.nnz() > 100);
  CoordinateList joined;
  std::uint64_t first = 0;
  for (std::uint64_t const size : {1, 250, 349}) {
    auto const part =
        polyad::io::partition(list, [&](std::uint64_t p) { return p >= first && p < first + size; });
    auto const held = polyad::io::hold_out(part.second, 0.3, 5, 1, first).second;
    joined.values.insert(joined.values.end(), held.values.begin(), held.values.end());
    first += size;
  }
  REQUIRE(std::equal(joined.values.begin(), joined.values.end(), whole.values.begin(), whole.values.end()));
}
