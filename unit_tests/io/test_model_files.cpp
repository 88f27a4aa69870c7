// SPDX-License-Identifier: BSD-3-Clause
// Model files: what is written reads back to the last bit, in the form that other programs read, and what is
// damaged is refused with its reason. (That numpy reads our npz is unit_tests/io/check_npz.py's part.)
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "io/ktensor_text.hpp"
#include "io/npz.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/model_file.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

namespace {

using polyad::InputError;
using polyad::UsageError;
using polyad::WriteError;
using polyad::io::HostKtensor;
using polyad::test::content_of;
using polyad::test::TemporaryFolder;

/// Values with every kind of bits but those that are not finite.
HostKtensor sample() {
  using Limits = std::numeric_limits<double>;
  HostKtensor model;
  model.weights = {3.5, 0.1};
  model.extents = {3, 2, 1};
  model.factors = {{1. / 3, -0.0, Limits::max(), Limits::denorm_min(), 1e22, 1e23},
                   {123456789.123456789, -Limits::min(), 0, 1},
                   {-1, 0.30000000000000004}};
  return model;
}

bool same_bits(HostKtensor const& a, HostKtensor const& b) {
  auto const equal = [](std::vector<double> const& x, std::vector<double> const& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
  };
  bool same = a.extents == b.extents && equal(a.weights, b.weights) && a.factors.size() == b.factors.size();
  for (std::size_t n = 0; same && n < a.factors.size(); ++n) same = equal(a.factors[n], b.factors[n]);
  return same;
}

std::string text_error(std::string_view content) {
  TemporaryFolder const folder;
  auto const path = folder.write("m", content);
  try {
    (void)polyad::io::read_model(path);
  } catch (InputError const& error) {
    return std::string(error.what()).substr(path.string().size() + 1);
  }
  return "";
}

}  // namespace

TEST_CASE("ktensor text: the form of the Tensor Toolbox", "[io]") {
  TemporaryFolder const folder;
  polyad::io::write_ktensor_text(folder / "m.ktns", {{2, 0.5}, {1, 2}, {{1, -1.5}, {1e-300, 3, 0.1, 1e22}}});
  REQUIRE(content_of(folder / "m.ktns") ==
          "ktensor\n2\n1 2\n2\n2 0.5\nmatrix\n2\n1 2\n1 -1.5\nmatrix\n2\n2 2\n1e-300 3\n0.1 1e+22\n");
  REQUIRE(folder.files() == 1);
}

TEST_CASE("model files round-trip to the last bit", "[io]") {
  TemporaryFolder const folder;
  for (std::string const name : {"m.ktns", "m.txt", "m.npz"}) {
    INFO(name);
    polyad::io::write_model(folder / name, sample());
    std::filesystem::rename(folder / name, folder / "renamed");  // read by content
    REQUIRE(same_bits(polyad::io::read_model(folder / "renamed"), sample()));
  }
  polyad::io::write_npz(folder / "m.npz", sample(), {.force_zip64 = true});
  REQUIRE(same_bits(polyad::io::read_npz(folder / "m.npz"), sample()));
}

TEST_CASE("npz in single precision is rounded once", "[io]") {
  TemporaryFolder const folder;
  HostKtensor model = sample();
  model.factors[0]  = {1. / 3, -0.0, 1e10, 0.1, 2, 3};
  polyad::io::write_model(folder / "m.npz", model, true);
  HostKtensor const back = polyad::io::read_model(folder / "m.npz");
  for (std::size_t k = 0; k < 6; ++k)
    REQUIRE(back.factors[0][k] == static_cast<double>(static_cast<float>(model.factors[0][k])));
}

TEST_CASE("npz: equal models make equal files", "[io]") {
  TemporaryFolder const folder;
  polyad::io::write_npz(folder / "a.npz", sample());
  polyad::io::write_npz(folder / "b.npz", sample());
  REQUIRE(content_of(folder / "a.npz") == content_of(folder / "b.npz"));
}

TEST_CASE("models that do not fit together are not written", "[io]") {
  TemporaryFolder const folder;
  HostKtensor model = sample();
  model.factors[1].pop_back();
  REQUIRE_THROWS_AS(polyad::io::write_model(folder / "m.npz", model), UsageError);
  REQUIRE_THROWS_AS(polyad::io::write_model(folder / "m.ktns", model), UsageError);
  REQUIRE_THROWS_AS(polyad::io::write_model(folder / "m.mat", sample()), UsageError);
  REQUIRE_THROWS_AS(polyad::io::write_model(folder / "none/m.npz", sample()), WriteError);
  REQUIRE(folder.files() == 0);
}

TEST_CASE("ktensor text: other layouts of the same numbers", "[io]") {
  TemporaryFolder const folder;
  auto const path = folder.write("m", "  ktensor\r\n2 1\t2\n\n1 +2.0e0 matrix 2 1 1 -1 matrix 2\n2 1\n3 4");
  REQUIRE(polyad::io::read_model(path) == HostKtensor{{2}, {1, 2}, {{-1}, {3, 4}}});
}

TEST_CASE("ktensor text: faults have a position", "[io]") {
  REQUIRE(text_error("") == "1:1: expected 'ktensor', found the end of the file");
  REQUIRE(text_error("sptensor\n") == "1:1: is a sparse tensor, not a CP model");
  REQUIRE(text_error("ktensor\n0\n") == "3:1: the order is 1 to 16, not 0");
  REQUIRE(text_error("ktensor\n2\n3 x\n") == "3:3: expected an extent, found 'x'");
  REQUIRE(text_error("ktensor\n1\n3\n0\n") == "5:1: the rank is 0");
  REQUIRE(text_error("ktensor\n1\n3\n1\nnan\n") == "5:1: a weight is not finite: 'nan'");
  REQUIRE(text_error("ktensor\n1\n3\n1\n1\nmatrix\n2\n3 2\n") == "9:1: a factor matrix is 3 x 2, not 3 x 1");
  REQUIRE(text_error("ktensor\n1\n3\n1\n1\nmatrix\n2\n3 1\n1 2\n     \n") ==
          "11:1: expected an element, found the end of the file");
  REQUIRE(text_error("ktensor\n1\n1\n1\n1\nmatrix\n2\n1 1\n1\n2\n") ==
          "10:1: expected the end of the file, found '2'");
  // Sizes that would fill the memory are refused before it is taken.
  REQUIRE(text_error("ktensor\n1\n4000000000\n1\n1\nmatrix\n2\n4000000000 1\n1\n") ==
          "9:1: the text is too short for 4000000000 x 1 numbers");
  REQUIRE(text_error("ktensor\n1\n3\n18446744073709551615\n1\n") ==
          "5:1: the text is too short for 1 x 18446744073709551615 numbers");
}

TEST_CASE("npz: cut short or with any one byte changed it is refused or the same", "[io]") {
  TemporaryFolder const folder;
  for (bool const zip64 : {false, true}) {
    polyad::io::write_npz(folder / "m.npz", sample(), {.force_zip64 = zip64});
    std::string const whole = content_of(folder / "m.npz");
    for (std::size_t size = 0; size < whole.size(); ++size) {
      auto const path = folder.write("cut", whole.substr(0, size));
      REQUIRE_THROWS_AS(polyad::io::read_npz(path), InputError);
    }
    for (std::size_t k = 0; k < whole.size(); ++k) {
      std::string damaged = whole;
      damaged[k]          = static_cast<char>(damaged[k] ^ 0x41);
      auto const path     = folder.write("damaged", damaged);
      try {
        HostKtensor const model = polyad::io::read_npz(path);
        // A name in the directory may have changed, which hides a factor; what is read is never wrong.
        REQUIRE(model.weights == sample().weights);
        for (std::size_t n = 0; n < model.factors.size(); ++n)
          REQUIRE(model.factors[n] == sample().factors[n]);
      } catch (InputError const&) {
        SUCCEED();
      }
    }
  }
}

TEST_CASE("match_score finds the components of a model in another order and scale", "[io]") {
  HostKtensor const a{{2, 1}, {2, 3}, {{1, 0, 0, 1}, {1, 0, 0, 1, 0, 0}}};
  HostKtensor b{{1, 6}, {2, 3}, {{0, 1, 1, 0}, {0, 1, 1, 0, 0, 0}}};
  auto const same = polyad::io::match_score(a, b);
  REQUIRE(same.score == Approx(1));
  REQUIRE(same.partner == std::vector<std::int64_t>{1, 0});
  REQUIRE(same.weighted == Approx((1 + 2.0 / 6) / 2));
  // A component of one that the other lacks counts as zero.
  HostKtensor const one{{2}, {2, 3}, {{1, 0}, {1, 0, 0}}};
  REQUIRE(polyad::io::match_score(a, one).score == Approx(0.5));
  REQUIRE(polyad::io::match_score(a, one).partner == std::vector<std::int64_t>{0, -1});
  // Columns near the ends of the range of doubles.
  for (double const scale : {1e200, 1e300, 1e-170, 1e-300}) {
    HostKtensor scaled = b;
    for (double& element : scaled.factors[0]) element *= scale;
    for (double& element : scaled.factors[1]) element *= scale;
    REQUIRE(polyad::io::match_score(a, scaled).score == Approx(1));
    REQUIRE(polyad::io::match_score(scaled, scaled).weighted == Approx(1));
    if (std::numeric_limits<long double>::max_exponent > std::numeric_limits<double>::max_exponent)
      REQUIRE(polyad::io::match_score(scaled, a).weighted == Approx(0).margin(1e-100));
  }
  b.extents[0] = 4;
  REQUIRE_THROWS_AS(polyad::io::match_score(a, b), polyad::UsageError);
  REQUIRE_THROWS_AS(polyad::io::match_score(a, HostKtensor{{}, {2, 3}, {{}, {}}}), polyad::UsageError);
}

TEST_CASE("fit_of_model is that of the definition", "[io]") {
  HostKtensor const model{{2}, {2, 2}, {{1, 0}, {1, 1}}};
  polyad::io::CoordinateList X;
  X.extents = {2, 2};
  X.indices = polyad::io::UninitializedVector<std::uint32_t>{0, 0, 1, 1};
  X.values  = {2, 1};
  // The residual has the entries 0, -2, 0 and 1.
  REQUIRE(polyad::io::fit_of_model(X, model) == Approx(1 - std::sqrt(5.0) / std::sqrt(5.0)).margin(1e-15));
  X.values[1] = 0;
  REQUIRE(polyad::io::fit_of_model(X, model) == Approx(1 - 2.0 / 2));
  X.values[0] = 4;
  REQUIRE(polyad::io::fit_of_model(X, model) == Approx(1 - std::sqrt(8.0) / 4));
  X.values[0] = 0;
  REQUIRE_THROWS_AS(polyad::io::fit_of_model(X, model), polyad::NumericalError);
}
