// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints: what is written reads back, and what is damaged is refused.
#include <string>

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
  REQUIRE(folder.files() == 1);
  std::string const whole = polyad::test::content_of(folder / "c");
  for (std::size_t k = 0; k < whole.size(); ++k) {
    std::string damaged = whole;
    damaged[k]          = static_cast<char>(damaged[k] ^ (1 << k % 8));
    REQUIRE(error_of(damaged) != "");
    REQUIRE(error_of(whole.substr(0, k)) != "");
  }
  REQUIRE(error_of(whole + "x") == ": the checkpoint is damaged or cut short: its checksum is wrong");
  REQUIRE(error_of("1 1 1\n") == ": is no checkpoint");
  REQUIRE(error_of(whole.substr(0, 12)) == ": the checkpoint is cut short");
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
