// SPDX-License-Identifier: BSD-3-Clause
// Files of FastTucker models: what is written reads back, and what does not fit together is refused.
#include <limits>
#include <string>
#include <utility>

#include "io/archive/npz.hpp"
#include "io/archive/npz_arrays.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/fast_tucker_file.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

namespace {

using polyad::InputError;
using polyad::UsageError;
using polyad::io::HostFastTucker;
using polyad::test::TemporaryFolder;

HostFastTucker sample() {
  HostFastTucker model;
  model.extents = {3, 2};
  model.columns = {2, 1};
  model.rank    = 2;
  model.factors = {{1. / 3, -0.5, 1e300, 4, 5, 6}, {7, 0.1}};
  model.cores   = {{1, 2, 3, 4}, {-5, 1e-300}};
  model.mean    = 3.6;
  model.biases  = {{0.1, 0.2, 0.3}, {-1, 1}};
  return model;
}

/// An archive of arrays whose elements are 1, 2, ...; the text of the error that reading it gives.
std::string error_of(std::vector<std::pair<std::string, std::vector<std::uint64_t>>> const& arrays) {
  TemporaryFolder const folder;
  auto const path = folder / "m.npz";
  polyad::io::AtomicFile file(path);
  polyad::io::ZipWriter zip(file, false);
  for (auto const& [name, shape] : arrays) {
    std::uint64_t size = 1;
    for (auto const extent : shape) size *= extent;
    std::vector<double> elements(size);
    for (std::size_t i = 0; i < size; ++i) elements[i] = static_cast<double>(size - i);
    polyad::io::add_array(zip, name, shape, elements, false);
  }
  zip.finish();
  file.commit();
  try {
    static_cast<void>(polyad::io::read_fast_tucker(path));
  } catch (InputError const& error) {
    return std::string(error.what()).substr(path.string().size() + 2);
  }
  return "";
}

}  // namespace

TEST_CASE("FastTucker models read back to the last bit", "[io][fast_tucker]") {
  TemporaryFolder const folder;
  auto const path = folder / "m.npz";
  auto model      = sample();
  write_fast_tucker(path, model);
  CHECK(polyad::io::read_fast_tucker(path) == model);
  model.time_mode = 1;
  model.bins      = {2, 0};
  model.drifts    = {{1, 2, 3, 4, 5, 0.1}, {}};
  write_fast_tucker(path, model);
  CHECK(polyad::io::read_fast_tucker(path) == model);
  model.bins   = {0, 0};  // time is known, and nothing drifts
  model.drifts = {{}, {}};
  write_fast_tucker(path, model);
  CHECK(polyad::io::read_fast_tucker(path) == model);
  model.time_mode = -1;
  model.bins.clear();
  model.drifts.clear();
  model.biases.clear();
  model.lowest = 1;
  write_fast_tucker(path, model);
  CHECK(polyad::io::read_fast_tucker(path) == model);
  CHECK_THROWS_AS(polyad::io::read_npz(path), InputError);  // it is not a Kruskal tensor
  // Found by fuzzing: as an end that is not there was taken the largest number of either sign.
  constexpr double largest = std::numeric_limits<double>::max();
  constexpr double none    = std::numeric_limits<double>::infinity();
  for (auto const& [lowest, highest] : {std::pair(-none, -largest), {largest, none}, {-3.0, none}}) {
    model.lowest  = lowest;
    model.highest = highest;
    write_fast_tucker(path, model);
    CHECK(polyad::io::read_fast_tucker(path) == model);
  }

  model.factors[0][2] = 0.5;
  model.cores[1][1]   = 0.25;
  write_fast_tucker(path, model, true);
  auto const rounded = polyad::io::read_fast_tucker(path);
  CHECK(rounded.factors[0][0] == static_cast<double>(static_cast<float>(1. / 3)));
  CHECK(rounded.mean == 3.6);  // not rounded
}

TEST_CASE("FastTucker files say how rows were fitted", "[io][fast_tucker]") {
  using polyad::RowFit;
  using polyad::RowTarget;
  TemporaryFolder const folder;
  auto const path = folder / "m.npz";
  auto model      = sample();
  write_fast_tucker(path, model);
  CHECK_FALSE(polyad::io::read_fast_tucker(path).fit);  // as in older files
  auto const expect_read_back = [&](RowFit const& fit) {
    model.fit = fit;
    write_fast_tucker(path, model, true);  // these numbers are not rounded
    CHECK(polyad::io::read_fast_tucker(path).fit == model.fit);
  };
  expect_read_back({});
  expect_read_back({.implicit = 40, .ridge = 1. / 3});
  expect_read_back({.ridge = 0, .ridge_per_entry = true, .bias_damping = 0.1});
  expect_read_back(
      {.shrinkage = polyad::Shrinkage{1, 0, 1. / 3}, .targets = {RowTarget::left_out, RowTarget::one}});
  auto const refused = [&](RowFit const& fit) {
    model.fit = fit;
    CHECK_THROWS_AS(write_fast_tucker(path, model), UsageError);
  };
  refused({.bias_damping = -1});
  refused({.implicit = std::numeric_limits<double>::infinity()});
  refused({.ridge = std::numeric_limits<double>::quiet_NaN()});
  refused({.ridge_per_entry = true});
  refused({.shrinkage = polyad::Shrinkage{1, -1, 1}});
  refused({.targets = {RowTarget::one}});
}

TEST_CASE("inconsistent FastTucker models are not written", "[io][fast_tucker]") {
  TemporaryFolder const folder;
  auto const path    = folder / "m.npz";
  auto const refused = [&](auto const& change) {
    auto model = sample();
    change(model);
    CHECK_THROWS_AS(write_fast_tucker(path, model), UsageError);
  };
  refused([](auto& model) { model.factors[1].pop_back(); });
  refused([](auto& model) { model.cores[0].push_back(0); });
  refused([](auto& model) { model.biases.pop_back(); });
  refused([](auto& model) { model.biases[1].pop_back(); });
  refused([](auto& model) { model.rank = 0; });
  refused([](auto& model) { model.columns[1] = 0; });
  refused([](auto& model) { model.time_mode = 1; });
  refused([](auto& model) { model.bins = {0, 0}; });
  refused([](auto& model) {
    model.time_mode = 0;
    model.bins      = {0, 3};
    model.drifts    = {{}, {1, 2, 3}};
  });
  refused([](auto& model) {
    model.time_mode = 1;
    model.bins      = {0, 3};
    model.drifts    = {{}, {1, 2, 3, 4, 5, 6}};
  });
  refused([](auto& model) {
    model.time_mode = 2;
    model.bins      = {0, 0};
    model.drifts    = {{}, {}};
  });
  refused([](auto& model) {
    model.lowest  = std::numeric_limits<double>::infinity();
    model.highest = 0;
  });
  refused([](auto& model) { model.lowest = std::numeric_limits<double>::infinity(); });
  refused([](auto& model) { model.highest = -std::numeric_limits<double>::infinity(); });
  CHECK_THROWS_AS(write_fast_tucker(folder / "m.ktns", sample()), UsageError);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("FastTucker files that do not fit together are refused", "[io][fast_tucker]") {
  using Shape = std::vector<std::uint64_t>;
  std::pair<std::string, Shape> const f0{"factor_0", {3, 2}}, f1{"factor_1", {2, 1}}, b0{"core_0", {2, 2}},
      b1{"core_1", {1, 2}}, mean{"mean", {1}};
  CHECK(error_of({f0, f1, b0, b1, mean}) == "");
  CHECK(error_of({f0, b0, mean}) ==
        "holds 1 of the arrays factor_0, factor_1, ...; a FastTucker model has two modes or more");
  CHECK(error_of({f0, f1, b0, mean}) == "holds no array 'core_1'");
  CHECK(error_of({f0, f1, b0, b1}) == "holds no array 'mean'");
  CHECK(error_of({f0, f1, {"core_0", {3, 2}}, b1, mean}) == "core_0 is 3 x 2, but factor_0 has 2 columns");
  CHECK(error_of({f0, f1, b0, {"core_1", {1, 3}}, mean}) == "core_1 has 3 columns, but core_0 has 2");
  CHECK(error_of({f0, f1, {"core_0", {2, 0}}, b1, mean}) == "core_0 has 0 columns");
  CHECK(error_of({{"factor_0", {3, 0}}, f1, {"core_0", {0, 2}}, b1, mean}) == "factor_0 has no columns");
  CHECK(error_of({f0, f1, b0, b1, mean, {"bias_0", {3}}}) == "has biases for some modes only");
  CHECK(error_of({f0, f1, b0, b1, mean, {"bias_1", {2}}}) == "has biases for some modes only");
  CHECK(error_of({f0, f1, b0, b1, mean, {"bias_0", {2}}, {"bias_1", {2}}}) ==
        "bias_0 has 2 numbers, but factor_0 has 3 rows");
  std::pair<std::string, Shape> const time{"time_mode", {1}}, d0{"drift_0", {3, 4}};
  CHECK(error_of({f0, f1, b0, b1, mean, time, d0}) == "");
  CHECK(error_of({f0, f1, b0, b1, mean, d0}) == "has drift_0, but no time_mode");
  CHECK(error_of({f0, f1, b0, b1, mean, {"time_mode", {2}}, d0}) == "time_mode is not the number of a mode");
  CHECK(error_of({f0, f1, b0, b1, mean, time, {"drift_0", {2, 4}}}) ==
        "drift_0 is 2 x 4, but factor_0 has 3 rows");
  CHECK(error_of({f0, f1, b0, b1, mean, time, {"drift_1", {2, 4}}}) == "has drift_1, but mode 1 is time");
  CHECK(error_of({f0, f1, b0, b1, mean, time, {"drift_1", {2, 0}}}) ==
        "drift_1 is 2 x 0, but factor_1 has 2 rows");
  CHECK(error_of({f0, f1, b0, b1, {"mean", {2}}}) == "mean has 2 numbers, not 1");
  CHECK(error_of({f0, f1, b0, b1, mean, {"range", {2}}}) == "range is not a lowest and a highest number");
  std::pair<std::string, Shape> const damping{"bias_damping", {1}};
  std::string const wrong = " does not say how rows were fitted";
  CHECK(error_of({f0, f1, b0, b1, mean, damping, {"shrinkage", {3}}}) == "");
  CHECK(error_of({f0, f1, b0, b1, mean, {"bias_damping", {2}}}) == "bias_damping" + wrong);
  CHECK(error_of({f0, f1, b0, b1, mean, damping, {"ridge", {1}}}) == "ridge" + wrong);
  CHECK(error_of({f0, f1, b0, b1, mean, damping, {"targets", {3}}}) == "targets" + wrong);  // for two modes
  CHECK(error_of({f0, f1, b0, b1, mean, damping, {"implicit", {2}}}) == "implicit" + wrong);
}
