// SPDX-License-Identifier: BSD-3-Clause
#include "ratings.hpp"

#include <algorithm>
#include <numbers>

#include "polyad/core/sort.hpp"
#include "polyad/tensor/sort_by_mode.hpp"

namespace polyad::perf {
namespace {

using Keys      = Kokkos::View<std::uint64_t*, Space::device_type>;
using Positions = Kokkos::View<std::uint32_t*, Space::device_type>;

constexpr count_t session = 5;  // ratings of one user on one day

// Streams of random numbers; those of the values follow.
enum Stream : std::uint64_t { user_stream, day_stream, item_stream, order_stream, values_stream };

/// Row numbers with shares ~ (k + 60)^-skew for the k-th most frequent row, by inversion of the continuous
/// law. The frequent rows are scattered over the mode by a step that is prime to any number of rows below it.
struct SkewedRows {
  static constexpr double shift = 60;
  count_t rows;
  double skew;  // not 1

  KOKKOS_FUNCTION count_t operator()(double u) const {
    double const low  = Kokkos::pow(shift, 1 - skew);
    double const high = Kokkos::pow(static_cast<double>(rows) + shift, 1 - skew);
    double const x    = Kokkos::pow(low + u * (high - low), 1 / (1 - skew)) - shift;
    count_t const k   = x > 0 ? static_cast<count_t>(x) : 0;
    return (k < rows ? k : rows - 1) * 2654435761ULL % rows;
  }
};

/// The indices as one number, the day last.
struct Places {
  count_t items;
  count_t days;
  [[nodiscard]] KOKKOS_FUNCTION std::uint64_t key(count_t user, count_t item, count_t day) const {
    return (user * items + item) * days + day;
  }
  [[nodiscard]] KOKKOS_FUNCTION count_t day(std::uint64_t key) const { return key % days; }
  [[nodiscard]] KOKKOS_FUNCTION count_t item(std::uint64_t key) const { return key / days % items; }
  [[nodiscard]] KOKKOS_FUNCTION count_t user(std::uint64_t key) const { return key / days / items; }
};

struct DrawSessions {
  SkewedRows users;
  SkewedRows items;
  Places places;
  std::uint64_t seed;
  Keys keys;
  Positions positions;
  KOKKOS_FUNCTION void operator()(count_t s) const {
    count_t const user = users(counter_uniform(seed, user_stream, s, 0));
    // The number of ratings per day grows with time.
    auto const day = static_cast<count_t>(static_cast<double>(places.days) *
                                          Kokkos::pow(counter_uniform(seed, day_stream, s, 0), 0.55));
    for (count_t k = 0; k < session; ++k) {
      count_t const p = s * session + k;
      keys(p)         = places.key(user, items(counter_uniform(seed, item_stream, s, k)),
                                   day < places.days ? day : places.days - 1);
      positions(p)    = static_cast<std::uint32_t>(p);
    }
  }
};

/// Scan that keeps the first rating of each user and item.
struct KeepFirst {
  using value_type = count_t;
  Keys keys;  // sorted
  Places places;
  Keys kept;
  KOKKOS_FUNCTION void operator()(count_t p, count_t& count, bool final) const {
    if (p > 0 && keys(p) / places.days == keys(p - 1) / places.days) return;
    if (final) kept(count) = keys(p);
    ++count;
  }
};

struct DrawOrder {
  std::uint64_t seed;
  Keys keys;
  Positions order;
  KOKKOS_FUNCTION void operator()(count_t p) const {
    keys(p)  = counter_bits(seed, order_stream, p, 0) >> 24;
    order(p) = static_cast<std::uint32_t>(p);
  }
};

struct FillRatings {
  static constexpr int rank = 8;
  Keys keys;
  Positions order;
  count_t first;  // in `order`
  Places places;
  std::uint64_t seed;
  Tensor<double>::indices_type indices;
  Tensor<double>::values_type values;

  /// Normally distributed, with deviation 1 (Box and Muller).
  [[nodiscard]] KOKKOS_FUNCTION double normal(std::uint64_t stream, std::uint64_t row,
                                              std::uint64_t column) const {
    double const a = 1 - counter_uniform(seed, values_stream + stream, row, 2 * column);
    double const b = counter_uniform(seed, values_stream + stream, row, 2 * column + 1);
    return Kokkos::sqrt(-2 * Kokkos::log(a)) * Kokkos::cos(2 * std::numbers::pi * b);
  }
  KOKKOS_FUNCTION void operator()(count_t p) const {
    std::uint64_t const key = keys(order(first + p));
    count_t const user = places.user(key), item = places.item(key), day = places.day(key);
    indices(p, 0)      = static_cast<std::uint32_t>(user);
    indices(p, 1)      = static_cast<std::uint32_t>(item);
    indices(p, 2)      = static_cast<std::uint32_t>(day);
    double interaction = 0;
    for (int r = 0; r < rank; ++r)
      interaction += normal(0, user, static_cast<std::uint64_t>(r)) *
                     normal(1, item, static_cast<std::uint64_t>(r)) *
                     (1 + 0.2 * normal(2, day, static_cast<std::uint64_t>(r)));
    double const rating = 3.6 + 0.42 * normal(3, user, 0) + 0.5 * normal(4, item, 0) +
                          0.1 * Kokkos::sin(0.01 * static_cast<double>(day)) + 0.05 * normal(5, day, 0) +
                          0.55 * interaction / Kokkos::sqrt(static_cast<double>(rank)) +
                          0.75 * normal(6, key, 0);
    values(p)           = Kokkos::min(5.0, Kokkos::max(1.0, Kokkos::floor(rating + 0.5)));
  }
};

Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>> each(Space const& space, count_t count) {
  return {space, 0, count};
}

}  // namespace

Ratings make_ratings(Space const& space, Extents const& extents, count_t train, count_t test,
                     std::uint64_t seed) {
  POLYAD_EXPECTS(extents.order() == 3 && extents[0] > 0 && extents[1] > 0 && extents[2] > 0 && train > 0,
                 "ratings are made for three modes and one entry at least");
  Places const places{extents[1], extents[2]};
  // Duplicate draws are dropped: a seventh of them at Netflix' extents.
  count_t const sessions = ceil_div(7 * (train + test), 6 * session);
  count_t const drawn    = sessions * session;
  expect_fits(space, "the ratings' places", 2 * drawn, 2 * (sizeof(std::uint64_t) + sizeof(std::uint32_t)));
  Keys const keys(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::rating_keys"), drawn);
  Keys const kept(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::rating_places"), drawn);
  Positions const order(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::rating_order"),
                        drawn);
  Kokkos::parallel_for("polyad::draw_sessions", each(space, sessions),
                       DrawSessions{{extents[0], 0.62}, {extents[1], 0.95}, places, seed, keys, order});
  sort_pairs<Space>(space, keys, order, bits_for(extents[0] * extents[1] * extents[2]));
  count_t distinct = 0;
  Kokkos::parallel_scan("polyad::keep_first_ratings", each(space, drawn), KeepFirst{keys, places, kept},
                        distinct);
  space.fence("polyad::make_ratings");
  auto const all = Kokkos::make_pair(count_t(0), distinct);
  Keys const random(Kokkos::subview(keys, all));
  Positions const chosen(Kokkos::subview(order, all));
  Kokkos::parallel_for("polyad::draw_order", each(space, distinct), DrawOrder{seed, random, chosen});
  sort_pairs<Space>(space, random, chosen, 40);
  if (distinct < train + test) {
    test  = static_cast<count_t>(static_cast<double>(test) / static_cast<double>(train + test) *
                                 static_cast<double>(distinct));
    train = distinct - test;
  }
  auto const fill = [&](count_t first, count_t count) {
    auto const tensor = make_coo_tensor<double, std::uint32_t>(space, extents, count);
    Kokkos::parallel_for("polyad::fill_ratings", each(space, count),
                         FillRatings{kept, chosen, first, places, seed, tensor.indices(), tensor.values()});
    return tensor;
  };
  Ratings const ratings{fill(test, train), fill(0, test)};
  space.fence("polyad::make_ratings");
  return ratings;
}

}  // namespace polyad::perf
