// SPDX-License-Identifier: BSD-3-Clause
// How held-out entries judge a model: the errors of gains by rows, and classes of rows.
#include <cmath>
#include <vector>

#include "fast_tucker/search/judgement.hpp"
#include "polyad/testing/small_tensors.hpp"
#include "support/catch.hpp"

namespace polyad::test {
namespace {

/// Entries of two modes, of which the first has these classes. The biases are off by 1 of either sign; the
/// model is off by 1 - gain(row).
template <class Gain, class Class>
detail::JudgedEntries judged_entries(std::size_t rows, std::size_t of_row, Gain const& gain, Class const& k) {
  detail::JudgedEntries entries;
  entries.order = 2;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < of_row; ++i) {
      double const sign = (row + i) % 2 == 0 ? 1 : -1;
      entries.values.push_back(sign);
      entries.biases.push_back(0);
      entries.model.push_back(sign * gain(row, i));
      entries.rows.push_back(row);
      entries.rows.push_back(row * of_row + i);
      entries.classes.push_back(static_cast<std::int8_t>(k(row)));
      entries.classes.push_back(2);
      entries.repeats.push_back(0);
    }
  entries.classes_with_held = entries.classes;
  return entries;
}

TEST_CASE("the error of a gain is that of rows drawn anew", "[fast_tucker]") {
  // All entries of a row gain or lose alike: 20 rows say less than 2,000 entries.
  auto const entries = judged_entries(
      20, 100, [](std::size_t row, std::size_t) { return row % 2 == 0 ? 0.2 : -0.1; },
      [](std::size_t) { return 2; });
  auto const all      = [](std::size_t) { return true; };
  auto const by_rows  = detail::gain_of(entries, {0}, all);
  auto const by_entry = detail::gain_of(entries, {1}, all);
  CHECK(by_rows.entries == 2000);
  CHECK(by_rows.sum == Approx(by_entry.sum));
  CHECK(by_rows.squares == Approx(2000));
  // 1 - 0.8^2 and 1 - 1.1^2: the sum of a row is 75 off their mean.
  double const of_row = 100 * (0.36 + 0.21) / 2;
  CHECK(by_rows.error == Approx(std::sqrt(20 * of_row * of_row * 20 / 19)));
  CHECK(by_entry.error < 0.2 * by_rows.error);
  CHECK(by_entry.in_errors() > 5);
  CHECK(by_rows.in_errors() < 2);
}

TEST_CASE("a class of rows for which the model loses is left to the biases", "[fast_tucker]") {
  auto const gain = [](std::size_t row, std::size_t i) {
    double const jitter = (row + i) % 3 == 0 ? 0.05 : 0;
    return row % 3 == 0 ? -0.2 + jitter : 0.2 + jitter;
  };
  auto const entries = judged_entries(300, 10, gain, [](std::size_t row) { return row % 3; });
  auto const found   = detail::judge(entries, -1);
  REQUIRE(found.classes.size() == 2);
  CHECK(found.classes[0] == 1);        // rows of class 0
  CHECK((found.classes[1] & 4) == 0);  // mode 1 gains
  CHECK(found.gain.sum > 0);
  CHECK(found.gain.in_errors() > 3);
  REQUIRE(found.by_class.size() == 4);     // three of mode 0, and the one class of mode 1
  CHECK(!detail::is_undecided(found, 1));  // the class that is left out loses
  CHECK(!found.by_class[0].learns);
  CHECK(found.by_class[0].model.rmse > found.by_class[0].biases.rmse);
  CHECK(found.by_class[1].learns);
  CHECK(!found.harms_new_places);
  // No class of a mode of time is judged.
  CHECK(detail::judge(entries, 0).classes[0] == 0);
}

TEST_CASE("rows that leave a class with their held-out entries do not speak for those that stay",
          "[fast_tucker]") {
  // Most rows of class 1 belong to class 2 with all of their entries. They gain, and those that stay lose.
  auto const stays = [](std::size_t row) { return row % 10 == 0; };
  auto entries     = judged_entries(
      300, 10,
      [&](std::size_t row, std::size_t i) { return (stays(row) ? -0.2 : 0.2) + (i % 3 == 0 ? 0.05 : 0); },
      [](std::size_t) { return 1; });
  CHECK(detail::judge(entries, -1).by_class[0].learns);
  for (std::size_t p = 0; p < entries.size(); ++p)
    entries.classes_with_held[2 * p] = stays(entries.rows[2 * p]) ? 1 : 2;
  auto const found = detail::judge(entries, -1);
  REQUIRE(!found.by_class[0].learns);
  CHECK(found.by_class[0].model.rmse < found.by_class[0].biases.rmse);
  CHECK((found.classes[0] & 2) == 2);
}

TEST_CASE("a lucky gain of small changes does not suffice", "[fast_tucker]") {
  // The same gain in standard errors, by changes that explain it and by ten times smaller ones in more noise.
  detail::Gain right, lucky;
  right.sum = lucky.sum = 30;
  right.error = lucky.error = 10;
  right.changes             = 30;
  lucky.changes             = 3;
  CHECK(right.in_errors() == lucky.in_errors());
  CHECK(right.evidence() == Approx(9));
  CHECK(lucky.evidence() == Approx(0.9));
  // Rows of few entries need both, and many entries of long rows do not.
  right.rows = lucky.rows = 50;
  auto const entries =
      judged_entries(100, 10, [](std::size_t, std::size_t) { return 0.2; }, [](std::size_t) { return 1; });
  CHECK(detail::class_learns(entries, 1, 1000, right, right));
  CHECK(!detail::class_learns(entries, 1, 1000, lucky, lucky));
  CHECK(detail::class_learns(entries, 2, 1000, lucky, lucky));
  CHECK(!detail::class_learns(entries, 2, 100, lucky, lucky));
}

TEST_CASE("a model that explains most in row after row gains, although a few rows have most of the squares",
          "[fast_tucker]") {
  // Values of two of 30 rows are 40 times as large, so the error of the sum is that of two rows.
  auto const scale = [](std::size_t row) { return row < 2 ? 40.0 : 1.0; };
  auto const of    = [&](auto const& gain) {
    auto entries = judged_entries(30, 20, gain, [](std::size_t) { return 2; });
    for (std::size_t p = 0; p < entries.size(); ++p)
      for (auto* numbers : {&entries.values, &entries.model}) (*numbers)[p] *= scale(entries.rows[2 * p]);
    return detail::gain_of(entries, {0, 1}, [](std::size_t) { return true; });
  };
  auto const explained = of([](std::size_t, std::size_t i) { return i % 2 == 0 ? 0.9 : 0.8; });
  CHECK(explained.in_errors() < 2.1);
  CHECK(explained.sum > 0.9 * explained.squares);
  CHECK(detail::is_gain(explained, 3));
  // The same of the two rows alone, while the model adds to the errors of all others by turns.
  auto const of_two =
      of([](std::size_t row, std::size_t i) { return row < 2 || (row + i / 2) % 2 == 0 ? 0.9 : -0.4; });
  CHECK(of_two.sum > 0.9 * of_two.squares);
  CHECK(!detail::is_gain(of_two, 2.1));
  // A part in each row, but too small a one of the whole.
  auto const small = of([](std::size_t row, std::size_t) { return row % 2 == 0 ? 0.2 : 0.1; });
  CHECK(small.in_each_row > 3);
  CHECK(small.in_errors() < 2.1);
  CHECK(!detail::is_gain(small, 2.1));
}

TEST_CASE("a class of few rows with few of the entries is found", "[fast_tucker]") {
  std::vector<double> counts(50, 30);
  CHECK(classes_of_few_rows(counts) == 0);
  counts[3] = 12;  // nothing of one row shows whether the model suits the next one
  CHECK(classes_of_few_rows(counts) == 2);
  counts[4] = 2;
  counts[5] = 0;  // no row that the model has
  CHECK(classes_of_few_rows(counts) == 3);
  for (std::size_t k = 10; k < 22; ++k) counts[k] = 12;
  CHECK(classes_of_few_rows(counts) == 1);
  CHECK(classes_of_few_rows({300, 200, 400}) == 0);  // a short mode
  CHECK(classes_of_few_rows({2, 3, 1}) == 0);
}

TEST_CASE("a class of few rows stays if the model explains it", "[fast_tucker]") {
  RowClass of_class{1, 4, {500, 1.7, 1.2}, {500, 0.3, 0.2}, true};
  CHECK(detail::explains(of_class));
  of_class.model.rmse = 0.7;
  CHECK(!detail::explains(of_class));
  of_class.model.rmse = 0.3;
  of_class.learns     = false;
  CHECK(!detail::explains(of_class));
}

TEST_CASE("a class that gains too little to stay is undecided", "[fast_tucker]") {
  // Rows of class 0 gain and lose by turns, and a little more often gain.
  auto const entries = judged_entries(
      300, 10, [](std::size_t row, std::size_t) { return row % 3 > 0    ? 0.3
                                                         : row % 2 == 0 ? 0.3
                                                                        : -0.204; },
      [](std::size_t row) { return row % 3; });
  auto const found = detail::judge(entries, -1);
  REQUIRE(!found.by_class[0].learns);
  REQUIRE(found.by_class[0].model.rmse < found.by_class[0].biases.rmse);
  CHECK(detail::is_undecided(found, 1000));
  CHECK(!detail::is_undecided(found, 1001));
}

TEST_CASE("a gain at places that occur again does not outweigh a loss at others", "[fast_tucker]") {
  auto entries = judged_entries(
      300, 10, [](std::size_t row, std::size_t i) { return row % 2 == 0 ? 0.5
                                                           : i % 2 == 0 ? -0.2
                                                                        : -0.25; },
      [](std::size_t) { return 2; });
  for (std::size_t p = 0; p < entries.size(); ++p) entries.repeats[p] = entries.rows[2 * p] % 2 == 0 ? 1 : 0;
  auto const found = detail::judge(entries, -1);
  CHECK(found.gain.sum > 0);
  CHECK(found.harms_new_places);
}

}  // namespace
}  // namespace polyad::test
