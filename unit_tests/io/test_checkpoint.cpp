// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints: what is written reads back, and what is damaged is refused.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "io/streams/crc32c.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/checkpoint.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

namespace {

polyad::io::Checkpoint sample() {
  polyad::io::Checkpoint checkpoint;
  checkpoint.precision      = "f64";
  checkpoint.format         = "sorted";
  checkpoint.seed           = 7;
  checkpoint.rank           = 2;
  checkpoint.extents        = {3, 2};
  checkpoint.nnz            = 5;
  checkpoint.norm_squared   = 0.1;
  checkpoint.iteration      = 4;
  checkpoint.fit            = 1. / 3;
  checkpoint.gram_fallbacks = 1;
  checkpoint.factors        = {{1, -0.0, 1e300, 5e-324, 0.1, 0.2}, {1, 2, 3, 4}};
  checkpoint.grams          = {1, 2, 2, 3, 4, 5, 5, 6};
  checkpoint.weights        = {0.25, 0x1p90};
  return checkpoint;
}

std::string error_of(std::string_view content) {
  polyad::test::TemporaryFolder const folder;
  auto const path = folder.write("c", content);
  try {
    (void)polyad::io::read_checkpoint(path);
  } catch (polyad::InputError const& error) {
    return std::string(error.what()).substr(path.string().size());
  }
  return "";
}

}  // namespace

TEST_CASE("checkpoints round-trip, and damage is detected", "[io]") {
  polyad::test::TemporaryFolder const folder;
  polyad::io::write_checkpoint(folder / "c", sample());
  REQUIRE(polyad::io::read_checkpoint(folder / "c") == sample());
  REQUIRE(polyad::io::read_checkpoint_format(folder / "c") == sample().format);
  REQUIRE(folder.files() == 1);
  std::string const whole = polyad::test::content_of(folder / "c");
  for (std::size_t k = 0; k < whole.size(); ++k) {
    std::string damaged = whole;
    damaged[k]          = static_cast<char>(damaged[k] ^ (1 << k % 8));
    REQUIRE(error_of(damaged) != "");
    REQUIRE(error_of(whole.substr(0, k)) != "");
  }
  REQUIRE(error_of(whole + "x") == ": the checkpoint is damaged or cut short: its checksum is wrong");
  REQUIRE(error_of("1 1 1\n") == ": is not a checkpoint");
  REQUIRE(error_of(whole.substr(0, 12)) == ": the checkpoint is cut short");
  for (std::size_t const length : {std::size_t{12}, std::size_t{30}})
    REQUIRE_THROWS_AS(polyad::io::read_checkpoint_format(folder.write("part", whole.substr(0, length))),
                      polyad::InputError);
  REQUIRE_THROWS_AS(polyad::io::read_checkpoint_format(folder.write("x.tns", "1 1 1\n")), polyad::InputError);
}

TEST_CASE("checkpoints of version 1 have no weights", "[io]") {
  polyad::test::TemporaryFolder const folder;
  auto first = sample();
  first.weights.clear();
  polyad::io::write_checkpoint(folder / "c", first);
  REQUIRE(polyad::test::content_of(folder / "c")[8] == '\1');
  REQUIRE(polyad::io::read_checkpoint(folder / "c") == first);
  polyad::io::write_checkpoint(folder / "c", sample());
  REQUIRE(polyad::test::content_of(folder / "c")[8] == '\2');
}

TEST_CASE("checkpoints whose sizes do not fit are refused", "[io]") {
  polyad::test::TemporaryFolder const folder;
  auto const refused = [&](auto change) {
    auto checkpoint = sample();
    change(checkpoint);
    polyad::io::write_checkpoint(folder / "c", checkpoint);
    return error_of(polyad::test::content_of(folder / "c"));
  };
  REQUIRE(refused([](auto& c) { c.extents = {}; }) == ": the checkpoint has no modes or no components");
  REQUIRE(refused([](auto& c) { c.rank = 0; }) == ": the checkpoint has no modes or no components");
  REQUIRE(refused([](auto& c) { c.extents[0] = 1ULL << 62; }) ==
          ": is too short for 4611686018427387904 x 2 numbers");
  REQUIRE(refused([](auto& c) { c.weights.pop_back(); }) == ": is too short for 1 x 2 numbers");
  REQUIRE(refused([](auto& c) { c.weights.push_back(1); }) == ": the checkpoint holds more than it says");
  REQUIRE(refused([](auto& c) {
            c.grams.pop_back();
            c.weights.clear();
          }) == ": is too short for 4 x 2 numbers");
  REQUIRE(refused([](auto& c) { c.fit = 1. / 0.; }) == ": holds a number that is not finite");
  REQUIRE(refused([](auto& c) { c.format = std::string(65, 'x'); }) == ": holds a name of 65 bytes");
}

namespace {

/// Order 2, 3 x 2, J = (2, 1), R = 2; all that a state can have.
polyad::FastTuckerState full_state() {
  polyad::FastTuckerState state;
  state.precision       = "f32";
  state.format          = "sorted";
  state.asked           = "rank 2; columns 2,1; seed 5";
  state.extents         = {3, 2};
  state.nnz             = 6;
  state.validation_nnz  = 1;
  state.norm_squared    = 0.7;
  state.rank            = 2;
  state.columns         = {2, 1};
  state.targets         = {0, 2};
  state.shrinkage       = {10, 0.05, 1000};
  state.ridge           = {0.25};
  state.ridge_per_entry = true;
  state.drift_bins      = {2, 0};
  state.drift_damping   = {30, 30};
  state.has_choice      = true;
  state.candidates      = 12;
  state.choice_s        = 0.5;
  state.choice_biases   = {4, 1.5, 1.25};
  state.choice_model    = {4, 1.25, 1};
  state.mean            = 3.5;
  state.biases          = {{1, 2, -0.0}, {0.5, 5e-324}};
  state.time_mode       = 1;
  state.bins            = {2, 0};
  state.drifts          = {{1, 2, 3, 4, 5, 6}, {}};
  state.epoch           = 7;
  state.kept_epoch      = 5;
  state.best            = 1.125;
  state.kept_errors     = {{{6, 1, 0.5}, {1, 2, 2}, {0, 0, 0}}};
  state.factors         = {{1, 2, 3, 4, 5, 6}, {7, 8}};
  state.cores           = {{1, 2, 3, 4}, {5, 6}};
  state.intermediates   = {{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10}};
  state.squares         = {1, 2, 3, 4};
  state.moments         = {
      {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4}, {1, 2, 3, 4}, {7, 8}, {7, 8}, {5, 6}, {5, 6}};
  state.kept = {{6, 5, 4, 3, 2, 1}, {4, 3, 2, 1}, {8, 7}, {6, 5}};
  return state;
}

std::string error_of_state(std::string_view content) {
  polyad::test::TemporaryFolder const folder;
  auto const path = folder.write("c", content);
  try {
    (void)polyad::io::read_fast_tucker_checkpoint(path);
  } catch (polyad::InputError const& error) {
    return std::string(error.what()).substr(path.string().size());
  }
  return "";
}

/// With each matrix empty.
polyad::FastTuckerState without_matrices(polyad::FastTuckerState state) {
  for (auto* matrices : {&state.biases, &state.drifts, &state.factors, &state.cores, &state.intermediates,
                         &state.moments, &state.kept})
    for (auto& matrix : *matrices) matrix.clear();
  return state;
}

/// Whether the facts of `content`, which is damaged, are refused or are facts, with matrices that are empty.
bool facts_or_error_of(std::string_view content, polyad::FastTuckerState const& undamaged) {
  polyad::test::TemporaryFolder const folder;
  try {
    auto const facts = polyad::io::read_fast_tucker_facts(folder.write("c", content));
    return facts.factors.size() == undamaged.factors.size() && facts == without_matrices(facts);
  } catch (polyad::InputError const& error) {
    return std::string_view(error.what()).starts_with((folder / "c").string());
  }
}

/// With a right checksum, as somebody writes it who means harm.
std::string resealed(std::string bytes) {
  std::uint32_t const crc = polyad::io::crc32c(0, std::string_view(bytes).substr(0, bytes.size() - 4));
  for (std::size_t k = 0; k < 4; ++k) bytes[bytes.size() - 4 + k] = static_cast<char>(crc >> 8 * k & 0xFF);
  return bytes;
}

}  // namespace

TEST_CASE("checkpoints of fast_tucker round-trip, and damage is detected", "[io]") {
  polyad::test::TemporaryFolder const folder;
  polyad::FastTuckerState bare;
  bare.precision      = "f64";
  bare.format         = "coo-permuted";
  bare.extents        = {1, 0};
  bare.columns        = {1, 1};
  bare.rank           = 1;
  bare.factors        = {{1}, {}};
  bare.cores          = {{2}, {3}};
  bare.intermediates  = {{2}, {}};
  auto damped         = full_state();
  damped.bias_damping = {12.5};
  int version         = 4;
  // The lowest version that holds a state, so that earlier versions of Polyad read it.
  for (auto const& state : {damped, full_state(), bare}) {
    polyad::io::write_fast_tucker_checkpoint(folder / "c", state);
    REQUIRE(polyad::test::content_of(folder / "c").at(8) == --version);
    auto read = polyad::io::read_fast_tucker_checkpoint(folder / "c");
    REQUIRE(read.file == (folder / "c").string());
    read.file.clear();
    REQUIRE(read == state);
    auto facts = polyad::io::read_fast_tucker_facts(folder / "c");
    REQUIRE(facts.file == (folder / "c").string());
    facts.file.clear();
    REQUIRE(facts == without_matrices(state));
    std::string const whole = polyad::test::content_of(folder / "c");
    for (std::size_t k = 0; k < whole.size(); ++k) {
      std::string damaged = whole;
      damaged[k]          = static_cast<char>(damaged[k] ^ (1 << k % 8));
      REQUIRE(error_of_state(damaged) != "");
      REQUIRE(error_of_state(whole.substr(0, k)) != "");
      REQUIRE(facts_or_error_of(damaged, state));
      // Even with a right checksum the fields are refused, or they are a state whose arrays fit its sizes.
      damaged = resealed(damaged);
      if (k + 4 < whole.size() && error_of_state(damaged).empty()) {
        folder.write("d", damaged);
        auto const other = polyad::io::read_fast_tucker_checkpoint(folder / "d");
        REQUIRE_NOTHROW(polyad::io::write_fast_tucker_checkpoint(folder / "e", other));
        REQUIRE(polyad::test::content_of(folder / "e") == damaged);
      }
    }
  }
  polyad::io::write_checkpoint(folder / "c", sample());
  REQUIRE(error_of_state(polyad::test::content_of(folder / "c")) == ": is a checkpoint of another command");
  REQUIRE(error_of_state("1 1 1\n") == ": is not a checkpoint");
  REQUIRE_THROWS_AS(polyad::io::read_fast_tucker_facts(folder / "c"), polyad::InputError);
  REQUIRE_THROWS_AS(polyad::io::read_fast_tucker_facts(folder / "none"), polyad::InputError);
}

TEST_CASE("a snapshot whose matrices are read in blocks is written as its state", "[io]") {
  polyad::test::TemporaryFolder const folder;
  auto state                   = full_state();
  constexpr std::uint64_t many = 70000;  // numbers: more than a block
  state.extents                = {many / 2, 2};
  state.biases[0]              = std::vector<double>(many / 2, 0.5);
  state.drifts[0]              = std::vector<double>(many, 0.25);
  std::vector<double> numbers(many);
  for (std::uint64_t k = 0; k < many; ++k) numbers[k] = static_cast<double>(k);
  state.factors[0] = state.intermediates[0] = state.moments[0] = state.moments[1] = state.kept[0] = numbers;
  auto facts                                                                                      = state;
  for (auto* arrays : {&facts.factors, &facts.cores, &facts.intermediates, &facts.moments, &facts.kept})
    arrays->clear();
  polyad::FastTuckerSnapshot snapshot{facts};
  std::size_t most  = 0;
  auto const matrix = [&](std::vector<double> const& of, std::uint64_t rows) {
    return polyad::FastTuckerSnapshot::Matrix{
        rows, of.size() / rows,
        [&most, &of, columns = of.size() / rows](std::uint64_t first, std::uint64_t count) {
          most = std::max<std::size_t>(most, count * columns);
          return std::span<double const>(of).subspan(first * columns, count * columns);
        }};
  };
  for (std::size_t n = 0; n < 2; ++n) {
    snapshot.factors.push_back(matrix(state.factors[n], state.extents[n]));
    snapshot.cores.push_back(matrix(state.cores[n], state.columns[n]));
    snapshot.intermediates.push_back(matrix(state.intermediates[n], state.extents[n]));
    for (std::size_t k = 4 * n; k < 4 * n + 4; ++k)
      snapshot.moments.push_back(matrix(state.moments[k], k % 4 < 2 ? state.extents[n] : state.columns[n]));
    snapshot.kept.push_back(matrix(state.kept[2 * n], state.extents[n]));
    snapshot.kept.push_back(matrix(state.kept[2 * n + 1], state.columns[n]));
  }
  polyad::io::write_fast_tucker_checkpoint(folder / "whole", state);
  polyad::io::write_fast_tucker_checkpoint(folder / "blocks", snapshot);
  REQUIRE(polyad::test::content_of(folder / "blocks") == polyad::test::content_of(folder / "whole"));
  REQUIRE(most == 65536);
  REQUIRE(snapshot.state() == state);
  snapshot.kept.pop_back();
  REQUIRE_THROWS_AS(polyad::io::write_fast_tucker_checkpoint(folder / "blocks", snapshot),
                    polyad::UsageError);
  REQUIRE(polyad::test::content_of(folder / "blocks") == polyad::test::content_of(folder / "whole"));
}

TEST_CASE("checkpoints of fast_tucker are refused where arrays and sizes disagree", "[io]") {
  polyad::test::TemporaryFolder const folder;
  auto const refused = [&](auto const& change) {
    auto state = full_state();
    change(state);
    REQUIRE_THROWS_AS(polyad::io::write_fast_tucker_checkpoint(folder / "c", state), polyad::UsageError);
    REQUIRE(folder.files() == 0);
  };
  refused([](auto& state) { state.factors[0].pop_back(); });
  refused([](auto& state) { state.cores.pop_back(); });
  refused([](auto& state) { state.columns.push_back(1); });
  refused([](auto& state) { state.rank = 0; });
  refused([](auto& state) { state.precision = "f16"; });
  refused([](auto& state) { state.bins[1] = 1; });
  refused([](auto& state) { state.extents = {3}; });
  refused([](auto& state) { state.targets = {3, 0}; });
}

TEST_CASE("checkpoints with penalties are of version 4, with lists of rows or without", "[io]") {
  using polyad::StoredRows;
  polyad::test::TemporaryFolder const folder;
  for (bool const has_lists : {false, true}) {
    auto penalised = sample();
    if (has_lists) penalised.extents = {1'000'000'000'000, 2};
    if (has_lists) penalised.rows = {StoredRows(1'000'000'000'000, {1, 5, 999'999'999'999}), StoredRows(2)};
    penalised.penalties = {0.5, 2};
    penalised.scales    = {1, 2, 0.5, 4};
    polyad::io::write_checkpoint(folder / "c", penalised);
    std::string const whole = polyad::test::content_of(folder / "c");
    REQUIRE(whole[8] == '\4');
    REQUIRE(polyad::io::read_checkpoint(folder / "c") == penalised);
    for (std::size_t k = 0; k < whole.size(); ++k) REQUIRE(error_of(whole.substr(0, k)) != "");
    penalised.weights.clear();
    polyad::io::write_checkpoint(folder / "c", penalised);
    penalised.weights = {1, 1};
    REQUIRE(polyad::io::read_checkpoint(folder / "c") == penalised);
    auto const refused = [&](auto change) {
      auto checkpoint = penalised;
      change(checkpoint);
      REQUIRE_THROWS_AS(polyad::io::write_checkpoint(folder / "d", checkpoint), polyad::UsageError);
    };
    refused([](auto& c) { c.penalties.pop_back(); });
    refused([](auto& c) { c.penalties.clear(); });
    refused([](auto& c) { c.scales.pop_back(); });
  }
}

TEST_CASE("checkpoints with bounds are of version 5, with lists of rows or without", "[io]") {
  using polyad::StoredRows;
  constexpr double none = std::numeric_limits<double>::max();
  polyad::test::TemporaryFolder const folder;
  for (bool const has_lists : {false, true}) {
    auto bounded = sample();
    if (has_lists) bounded.extents = {1'000'000'000'000, 2};
    if (has_lists) bounded.rows = {StoredRows(1'000'000'000'000, {1, 5, 999'999'999'999}), StoredRows(2)};
    bounded.constraints = {0, none, 0.5, 0, 3, -none, none, 0, 2, 3};
    bounded.scales      = {1, 2, 0.5, 4};
    polyad::io::write_checkpoint(folder / "c", bounded);
    std::string const whole = polyad::test::content_of(folder / "c");
    REQUIRE(whole[8] == '\5');
    REQUIRE(polyad::io::read_checkpoint(folder / "c") == bounded);
    for (std::size_t k = 0; k < whole.size(); ++k) REQUIRE(error_of(whole.substr(0, k)) != "");
    auto const refused = [&](auto change) {
      auto checkpoint = bounded;
      change(checkpoint);
      REQUIRE_THROWS_AS(polyad::io::write_checkpoint(folder / "d", checkpoint), polyad::UsageError);
    };
    refused([](auto& c) { c.constraints.pop_back(); });
    refused([](auto& c) { c.penalties = {1, 1}; });
    refused([](auto& c) { c.scales.clear(); });
  }
}

TEST_CASE("checkpoints with lists of rows are of version 3, and their lists are checked", "[io]") {
  using polyad::StoredRows;
  polyad::test::TemporaryFolder const folder;
  auto some    = sample();
  some.extents = {1'000'000'000'000, 2};
  some.rows    = {StoredRows(1'000'000'000'000, {1, 5, 999'999'999'999}), StoredRows(2)};
  polyad::io::write_checkpoint(folder / "c", some);
  std::string const whole = polyad::test::content_of(folder / "c");
  REQUIRE(whole[8] == '\3');
  REQUIRE(polyad::io::read_checkpoint(folder / "c") == some);
  for (std::size_t k = 0; k < whole.size(); ++k) REQUIRE(error_of(whole.substr(0, k)) != "");
  auto const with_checksum = [](std::string bytes) {
    bytes.resize(bytes.size() - 4);
    std::uint32_t const sum = polyad::io::crc32c(0, bytes);
    for (int k = 0; k < 4; ++k) bytes += static_cast<char>(sum >> 8 * k & 0xFF);
    return bytes;
  };
  std::string const list("\1\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0", 16);  // rows 1 and 5
  auto const at = whole.find(list);
  REQUIRE(at != std::string::npos);
  auto damaged = whole;
  damaged[at]  = '\5';
  REQUIRE(error_of(with_checksum(damaged)).find("a list of rows that does not increase") !=
          std::string::npos);
  damaged         = whole;
  damaged[at + 7] = '\1';
  REQUIRE(error_of(with_checksum(damaged)).find("a list of rows that has row") != std::string::npos);
  damaged         = whole;
  damaged[at - 1] = '\1';  // the number of rows
  REQUIRE(error_of(with_checksum(damaged)).find("is too short for") != std::string::npos);
  some.weights.clear();
  polyad::io::write_checkpoint(folder / "c", some);
  some.weights = {1, 1};
  REQUIRE(polyad::io::read_checkpoint(folder / "c") == some);
}
