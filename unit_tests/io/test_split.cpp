// SPDX-License-Identifier: BSD-3-Clause
// Splits of entries: by coordinates, rows, time, and the last entries of rows.
#include "polyad/io/split.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "polyad/core/counter_rng.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/clean_list.hpp"
#include "support/catch.hpp"

namespace polyad::test {
namespace {

using SplitPlace = std::vector<std::uint64_t>;

/// A list of users, items and times; the value of an entry is its number.
io::CoordinateList list_to_split(std::vector<SplitPlace> const& places, bool wide = false) {
  io::CoordinateList list;
  list.extents.assign(places.empty() ? 3 : places[0].size(), 100);
  auto& narrow = list.indices.emplace<0>();
  for (auto const& place : places)
    for (auto const index : place) narrow.push_back(static_cast<std::uint32_t>(index));
  if (wide) {
    auto const copy = narrow;
    list.indices    = io::UninitializedVector<std::uint64_t>(copy.begin(), copy.end());
  }
  for (std::size_t p = 0; p < places.size(); ++p) list.values.push_back(static_cast<double>(p));
  return list;
}

std::vector<SplitPlace> random_places(std::uint64_t count, std::uint64_t seed) {
  std::vector<SplitPlace> places;
  for (std::uint64_t p = 0; p < count; ++p)
    places.push_back({counter_bits(seed, 0, p, 0) % 17, counter_bits(seed, 1, p, 0) % 11,
                      counter_bits(seed, 2, p, 0) % 7});
  return places;
}

/// The numbers of held-out entries.
std::vector<std::uint64_t> held_by(std::vector<SplitPlace> const& places, io::SplitOptions const& options) {
  auto const marks = io::held_out_entries(list_to_split(places), options);
  REQUIRE(marks == io::held_out_entries(list_to_split(places, true), options));
  std::vector<std::uint64_t> held;
  for (std::uint64_t p = 0; p < marks.size(); ++p)
    if (marks[p] != 0) held.push_back(p);
  return held;
}

using Held = std::vector<std::uint64_t>;

TEST_CASE("the latest entries are held out, those of one time together", "[split]") {
  auto const at = [](std::vector<std::uint64_t> const& times) {
    std::vector<SplitPlace> places;
    for (auto const time : times) places.push_back({places.size(), 0, time});
    return places;
  };
  auto const by_time = [&](std::vector<std::uint64_t> const& times, double share) {
    return held_by(at(times), {.rule = io::SplitRule::time, .share = share, .time_mode = 2});
  };
  CHECK(by_time({5, 1, 9, 2, 3, 4, 0, 6, 7, 8}, 0.1) == Held{2});
  CHECK(by_time({5, 1, 9, 2, 3, 4, 0, 6, 7, 8}, 0.3) == Held{2, 8, 9});
  // 1 or 4 of ten entries are nearest to 2 and 3. If 1 and 3 are equally near to 2, it is the smaller.
  CHECK(by_time({0, 0, 0, 0, 0, 0, 7, 7, 7, 9}, 0.2) == Held{9});
  CHECK(by_time({0, 0, 0, 0, 0, 0, 7, 7, 7, 9}, 0.3) == Held{6, 7, 8, 9});
  CHECK(by_time({0, 0, 0, 0, 0, 0, 0, 7, 7, 9}, 0.2) == Held{9});
  // At least the last time goes, and at least the first one stays.
  CHECK(by_time({0, 0, 0, 1, 1, 1, 1, 1, 1, 1}, 0.1) == Held{3, 4, 5, 6, 7, 8, 9});
  CHECK(by_time({0, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 0.99) == Held{1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(by_time({0, 1}, 0).empty());
  CHECK(by_time({}, 0.5).empty());
  CHECK_THROWS_AS(by_time({4, 4, 4}, 0.5), UsageError);
  CHECK_THROWS_AS(by_time({1, 2}, 1), UsageError);
}

TEST_CASE("the last entry of each row is held out", "[split]") {
  //                                    0          1          2          3          4          5          6
  std::vector<SplitPlace> const places{{1, 0, 3}, {1, 1, 5}, {2, 4, 1}, {3, 0, 2},
                                       {3, 1, 2}, {1, 2, 5}, {1, 9, 0}};
  auto const last = [&](int time_mode, bool one, std::uint64_t seed) {
    return held_by(
        places,
        {.rule = io::SplitRule::last, .mode = 0, .time_mode = time_mode, .one_of_ties = one, .seed = seed});
  };
  // Row 2 has one entry, and row 3 entries of one time.
  CHECK(last(2, false, 0) == Held{1, 5});
  // In the order of the list.
  CHECK(last(-1, false, 0) == Held{4, 6});
  std::set<Held> drawn;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto const held = last(2, true, seed);
    REQUIRE(held.size() == 2);
    CHECK((held[0] == 1 || held[0] == 3 || held[0] == 4));
    CHECK((held[1] == 3 || held[1] == 4 || held[1] == 5));
    CHECK(held == last(2, true, seed));
    drawn.insert(held);
  }
  CHECK(drawn.size() == 4);
  // The entries at the place that is drawn go together.
  std::vector<SplitPlace> const twice{{1, 0, 3}, {1, 1, 5}, {1, 0, 2}, {1, 1, 5}};
  CHECK(held_by(twice, {.rule = io::SplitRule::last, .mode = 0, .time_mode = 2, .one_of_ties = true}) ==
        Held{1, 3});
}

TEST_CASE("last entries and a share of the others are held out", "[split]") {
  // 300 rows of one to eight entries at other times, and an entry that is repeated in most of them.
  std::vector<SplitPlace> places;
  for (std::uint64_t row = 0; row < 300; ++row)
    for (std::uint64_t k = 0; k <= row % 8; ++k) places.push_back({row, (7 * k) % 10, k});
  for (std::uint64_t row = 3; row < 300; row += 8) places.push_back({row, 14 % 10, 2});
  io::SplitOptions options{
      .rule = io::SplitRule::last, .share = 0.25, .mode = 0, .time_mode = 2, .one_of_ties = true, .seed = 3};
  auto const last  = held_by(places, options);
  options.rule     = io::SplitRule::last_and_share;
  auto const held  = held_by(places, options);
  auto const marks = io::held_out_entries(list_to_split(places), options);
  CHECK(std::includes(held.begin(), held.end(), last.begin(), last.end()));
  auto const others = static_cast<double>(places.size() - last.size());
  auto const drawn  = static_cast<double>(held.size() - last.size());
  CHECK(drawn > 0.13 * others);  // the first entries stay
  CHECK(drawn < 0.25 * others);
  std::map<SplitPlace, std::set<bool>> found;
  for (std::size_t p = 0; p < places.size(); ++p) {
    if (places[p][2] == 0) CHECK(marks[p] == 0);
    found[places[p]].insert(marks[p] != 0);
  }
  for (auto const& [place, is_held] : found) CHECK(is_held.size() == 1);
  // The order of the list does not matter. A row is divided alike in a part of the list, as ranks have it.
  std::vector<SplitPlace> const backwards(places.rbegin(), places.rend());
  auto const other = io::held_out_entries(list_to_split(backwards), options);
  for (std::size_t p = 0; p < places.size(); ++p) REQUIRE(other[places.size() - 1 - p] == marks[p]);
  std::vector<SplitPlace> const part(places.begin(), places.begin() + 36);  // eight rows
  auto const of_part = io::held_out_entries(list_to_split(part), options);
  for (std::size_t p = 0; p < part.size(); ++p) CHECK(of_part[p] == marks[p]);
  options.seed = 4;
  CHECK(held_by(places, options) != held);
  options.share = 0;
  CHECK(held_by(places, options) == last);
  options.share = 1;
  CHECK(held_by(places, options).size() == places.size() - 300);
}

TEST_CASE("random splits keep repeated places together unless entries are drawn", "[split]") {
  auto places = random_places(4000, 3);
  // Some entries are repeated later in the list.
  for (std::size_t p = 0; p < 500; ++p) places.push_back(places[7 * p]);
  std::map<SplitPlace, std::set<bool>> found;
  io::SplitOptions options{.share = 0.25, .seed = 5};
  auto const list  = list_to_split(places);
  auto const parts = io::split(list, options);
  auto const marks = io::held_out_entries(list, options);
  for (std::size_t p = 0; p < places.size(); ++p) found[places[p]].insert(marks[p] != 0);
  for (auto const& [place, held] : found) CHECK(held.size() == 1);
  CHECK(parts.separated == 0);
  CHECK(parts.repeated == places.size() - found.size());
  CHECK(parts.kept.nnz() + parts.held.nnz() == places.size());
  CHECK(static_cast<double>(parts.held.nnz()) > 0.2 * static_cast<double>(places.size()));
  CHECK(static_cast<double>(parts.held.nnz()) < 0.3 * static_cast<double>(places.size()));
  CHECK(parts.held.extents == list.extents);
  // The order of the list does not matter: the value is the number of the entry.
  std::vector<SplitPlace> backwards(places.rbegin(), places.rend());
  auto const other = io::held_out_entries(list_to_split(backwards), options);
  for (std::size_t p = 0; p < places.size(); ++p) REQUIRE(other[places.size() - 1 - p] == marks[p]);
  options.seed = 6;
  CHECK(io::held_out_entries(list, options) != marks);
  options.rule      = io::SplitRule::entries;
  auto const apart  = io::split(list, options);
  auto const by_old = io::hold_out(list, 0.25, 6);
  CHECK(apart.held.values == by_old.second.values);
  CHECK(apart.separated > 0);
  CHECK(apart.repeated == parts.repeated);
  options.share = 0;
  CHECK(io::split(list, options).held.nnz() == 0);
  CHECK(io::split(list_to_split({}), options).kept.nnz() == 0);
}

TEST_CASE("all entries of drawn rows are held out", "[split]") {
  auto const places = random_places(600, 9);
  for (double const share : {0.01, 0.3, 0.99}) {
    auto const held = held_by(places, {.rule = io::SplitRule::rows, .share = share, .mode = 0, .seed = 2});
    std::set<std::uint64_t> rows;
    for (auto const p : held) rows.insert(places[p][0]);
    CHECK(rows.size() == (share < 0.1 ? 1U : share < 0.5 ? 5U : 16U));  // there are 17 rows
    std::size_t entries = 0;
    for (auto const& place : places) entries += rows.count(place[0]);
    CHECK(held.size() == entries);
  }
  CHECK_THROWS_AS(held_by({{1, 0, 0}, {1, 2, 2}}, {.rule = io::SplitRule::rows, .mode = 0}), UsageError);
}

TEST_CASE("splits that make no sense are refused", "[split]") {
  auto const refused = [](io::SplitOptions const& options) {
    CHECK_THROWS_AS(io::held_out_entries(list_to_split({{0, 1, 2}, {1, 1, 1}}), options), UsageError);
  };
  refused({.share = -0.1});
  refused({.share = 1.5});
  refused({.share = std::numeric_limits<double>::quiet_NaN()});
  refused({.rule = io::SplitRule::rows});
  refused({.rule = io::SplitRule::rows, .mode = 3});
  refused({.rule = io::SplitRule::time});
  refused({.rule = io::SplitRule::time, .time_mode = 3});
  refused({.rule = io::SplitRule::last});
  refused({.rule = io::SplitRule::last, .mode = 1, .time_mode = 1});
  refused({.rule = io::SplitRule::last, .mode = 1, .time_mode = 7});
  refused({.rule = io::SplitRule::last_and_share});
  refused({.rule = io::SplitRule::last_and_share, .share = 2, .mode = 0});
}

}  // namespace
}  // namespace polyad::test
