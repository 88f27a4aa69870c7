// SPDX-License-Identifier: BSD-3-Clause
// Model files: what is written reads back to the last bit, in the form that other programs read, and what is
// damaged is refused with its reason. (That numpy reads our npz is unit_tests/io/check_npz.py's part.)
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "io/archive/npz.hpp"
#include "io/models/ktensor_text.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/array_npz.hpp"
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

TEST_CASE("model files keep the constraints of the modes", "[io]") {
  TemporaryFolder const folder;
  for (std::string const name : {"m.ktns", "m.npz"})
    for (int const base : {-1, 0}) {
      INFO(name << ", base " << base);
      auto model             = sample();
      model.names.index_base = base;
      model.constraints      = {{.lower = 0}, {}, {.lower = -0.1, .upper = 1. / 3, .l1 = 1e-300, .ridge = 2}};
      polyad::io::write_model(folder / name, model, true);
      auto const read = polyad::io::read_model(folder / name);
      REQUIRE(read.constraints == model.constraints);
      REQUIRE((base == -1 || read.names.index_base == base));
    }
  auto model        = sample();
  model.constraints = {{.lower = 0}};
  REQUIRE_THROWS_AS(polyad::io::write_model(folder / "m.npz", model), UsageError);
  REQUIRE(
      content_of(folder / "m.ktns")
          .ends_with("# index_base 0\n# constraints\n"
                     "0 1.7976931348623157e+308 0 0\n-1.7976931348623157e+308 1.7976931348623157e+308 0 0\n"
                     "-0.1 0.3333333333333333 1e-300 2\n"));
  std::string const text = "ktensor\n1\n1\n1\n1\nmatrix\n2\n1 1\n1\n";
  REQUIRE(text_error(text + "# constraints\n0 1 0 0\n").empty());
  REQUIRE(text_error(text + "# constraints\n0 1 0\n").find("expected a bound or a penalty") !=
          std::string::npos);
  REQUIRE(text_error(text + "# constraints\n1 0 0 0\n").find("an empty interval") != std::string::npos);
  REQUIRE(text_error(text + "# constraints\n0 1 -1 0\n").find("a penalty below 0") != std::string::npos);
  REQUIRE(text_error(text + "# constraints\n0 1 0 0 0\n").find("expected the end") != std::string::npos);
  REQUIRE(text_error(text + "# something\n").find("expected 'index_base'") != std::string::npos);
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

namespace {

/// A model that stores some rows of modes 0 and 2.
HostKtensor sample_of_some_rows() {
  HostKtensor model;
  model.weights = {3.5, 0.1};
  model.extents = {10'000'000'000'000, 2, 5};
  model.factors = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10}};
  model.rows    = {polyad::StoredRows(10'000'000'000'000, {7, 9'999'999'999'999}), polyad::StoredRows(2),
                   polyad::StoredRows(5, {4})};
  return model;
}

void replace_once(std::string& text, std::string_view from, std::string_view to) {
  auto const at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

std::string consistency_fault(HostKtensor const& model) {
  try {
    polyad::io::expect_consistent(model);
  } catch (UsageError const& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("models of some rows round-trip", "[io]") {
  TemporaryFolder const folder;
  for (std::string const name : {"m.ktns", "m.npz"}) {
    polyad::io::write_model(folder / name, sample_of_some_rows());
    REQUIRE(polyad::io::read_model(folder / name) == sample_of_some_rows());
  }
  REQUIRE(content_of(folder / "m.ktns") ==
          "ktensor\n3\n10000000000000 2 5\n2\n3.5 0.1\nrows\n2\n7\n9999999999999\nmatrix\n2\n2 2\n1 2\n3 4\n"
          "matrix\n2\n2 2\n5 6\n7 8\nrows\n1\n4\nmatrix\n2\n1 2\n9 10\n");
  auto beyond    = sample_of_some_rows();  // numpy has no signed integers of that size
  beyond.extents = {~std::uint64_t(0), 2, 5};
  beyond.rows[0] = polyad::StoredRows(beyond.extents[0], {0, ~std::uint64_t(0) - 1});
  polyad::io::write_model(folder / "m.npz", beyond);
  REQUIRE(polyad::io::read_model(folder / "m.npz") == beyond);
}

TEST_CASE("text models with lists of rows that are none are refused", "[io]") {
  TemporaryFolder const folder;
  polyad::io::write_model(folder / "m.ktns", sample_of_some_rows());
  std::string const whole  = content_of(folder / "m.ktns");
  auto const error_without = [&](std::string_view from, std::string_view to) {
    std::string text = whole;
    replace_once(text, from, to);
    return text_error(text);
  };
  REQUIRE(text_error(whole) == "");
  REQUIRE(error_without("9999999999999\nm", "10000000000000\nm") ==
          "9:1: the list of rows has row 10000000000000 of a mode of 10000000000000 rows");
  REQUIRE(error_without("9999999999999\nm", "7\nm") ==
          "9:1: the list of rows does not increase: row 7 follows row 7");
  REQUIRE(error_without("rows\n2\n", "rows\n18446744073709551615\n").find("too short") != std::string::npos);
  REQUIRE(error_without("matrix\n2\n1 2\n9 10", "matrix\n2\n5 2\n9 10").find("is 5 x 2, not 1 x 2") !=
          std::string::npos);
  REQUIRE(error_without("rows\n1\n4\n", "").find("is 1 x 2, not 5 x 2") != std::string::npos);
  REQUIRE(error_without("rows\n1\n4\n", "rows\n1\n-4\n") != "");
}

TEST_CASE("npz models with lists of rows that are none are refused", "[io]") {
  using polyad::StoredRows;
  TemporaryFolder const folder;
  auto const error_of = [&](std::map<std::string, polyad::io::HostArray> arrays,
                            std::vector<StoredRows> const& rows) {
    arrays["weights"] = {{1}, {1}};
    polyad::io::write_arrays_npz(folder / "m.npz", arrays, false, rows);
    try {
      (void)polyad::io::read_model(folder / "m.npz");
    } catch (InputError const& error) {
      return std::string(error.what()).substr((folder / "m.npz").string().size());
    }
    return std::string();
  };
  polyad::io::HostArray const two{{2, 1}, {1, 2}};
  REQUIRE(error_of({{"factor_0", two}, {"factor_1", two}}, {StoredRows(9, {3, 8}), StoredRows(2)}) == "");
  REQUIRE(error_of({{"factor_0", two}, {"factor_1", two}}, {StoredRows(9, {3}), StoredRows(2)}) ==
          ": 'rows_0' has 1 rows, but 'factor_0' has 2");
  REQUIRE(error_of({{"factor_0", two}, {"factor_1", two}}, {StoredRows(9, {3, 8}), StoredRows(4)}) ==
          ": 'factor_1' has 2 rows, but 'extents' says 4, and there is no 'rows_1'");
  REQUIRE(error_of({{"factor_0", two}}, {StoredRows(9, {3, 8}), StoredRows(2)}) ==
          ": 'extents' has 2 numbers for a model of 1 modes");
  // Row numbers are not doubles.
  REQUIRE(error_of({{"factor_0", two}, {"extents", {{1}, {9}}}}, {}) ==
          ": 'extents' is not a vector of integers");
  REQUIRE(error_of({{"factor_0", two}, {"rows_0", {{2}, {0, 1}}}}, {}) ==
          ": 'rows_0' is not a vector of integers");
}

TEST_CASE("models whose lists contradict their factors are not written", "[io]") {
  auto model = sample_of_some_rows();
  REQUIRE(consistency_fault(model) == "");
  model.rows.pop_back();
  REQUIRE(consistency_fault(model) == "2 lists of rows for 3 modes");
  model.rows.push_back(polyad::StoredRows(6, {4}));
  REQUIRE(consistency_fault(model) == "the stored rows of mode 2 are of 6 rows, not 5");
  model.rows.back() = polyad::StoredRows(5);
  REQUIRE(consistency_fault(model) == "factor 2 of a model has 2 elements, not 5 x 2");
}

TEST_CASE("rows of a model are looked up", "[io]") {
  using polyad::StoredRows;
  auto const model = sample_of_some_rows();
  auto const found =
      polyad::io::with_rows(model, {StoredRows(model.extents[0], {6, 7, 8}), StoredRows(2), StoredRows(5)});
  REQUIRE(found.factors[0] == std::vector<double>{0, 0, 1, 2, 0, 0});
  REQUIRE(found.factors[1] == model.factors[1]);
  REQUIRE(found.factors[2] == std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 9, 10});
  REQUIRE_THROWS_AS(polyad::io::with_rows(model, {StoredRows(3)}), UsageError);
  polyad::io::CoordinateList X;
  X.extents = model.extents;
  X.indices =
      polyad::io::UninitializedVector<std::uint64_t>{7, 0, 4, 8, 0, 4, 9'999'999'999'999, 1, 4, 7, 1, 3};
  X.values = {1, 2, 3, 4};
  polyad::io::keep_stored(X, model.rows, 2);  // mode 2 as it is, but only rows that are stored elsewhere
  REQUIRE(X.extents == std::vector<std::uint64_t>{2, 2, 5});
  REQUIRE(std::get<1>(X.indices) ==
          polyad::io::UninitializedVector<std::uint64_t>{0, 0, 4, 1, 1, 4, 0, 1, 3});
  REQUIRE(X.values == polyad::io::UninitializedVector<double>{1, 3, 4});
}

TEST_CASE("scores and fits of models of some rows are those of the same models with zeros", "[io]") {
  using polyad::StoredRows;
  HostKtensor some;
  some.weights     = {2, 1};
  some.extents     = {6, 3};
  some.factors     = {{1, 2, -1, 0.5, 3, 1}, {1, 0, 0.5, 2, -1, 1}};
  some.rows        = {StoredRows(6, {0, 3, 5}), StoredRows(3)};
  auto other       = some;
  other.factors[0] = {0.5, 1, 2, -3};
  other.rows[0]    = StoredRows(6, {3, 4});
  auto const all   = polyad::io::with_rows(some, {});
  auto const whole = polyad::io::with_rows(other, {});
  auto const found = polyad::io::match_score(some, other), expected = polyad::io::match_score(all, whole);
  REQUIRE(std::abs(found.score - expected.score) < 1e-15);
  REQUIRE(std::abs(found.weighted - expected.weighted) < 1e-15);
  REQUIRE(std::abs(polyad::io::match_score(some, all).score - 1) < 1e-15);
  polyad::io::CoordinateList X;
  X.extents = {6, 3};
  X.indices = polyad::io::UninitializedVector<std::uint32_t>{0, 0, 3, 1, 5, 2, 1, 1, 4, 0};
  X.values  = {1, 2, 3, 4, 5};
  REQUIRE(std::abs(polyad::io::fit_of_model(X, some) - polyad::io::fit_of_model(X, all)) < 1e-14);
  polyad::io::HostTucker tucker{{6, 3}, {2, 2}, {1, 2, 3, 4}, some.factors, some.rows};
  polyad::io::HostTucker const full{{6, 3}, {2, 2}, {1, 2, 3, 4}, all.factors, {}};
  REQUIRE(std::abs(polyad::io::fit_of_model(X, tucker) - polyad::io::fit_of_model(X, full)) < 1e-14);
  tucker.rows.pop_back();
  REQUIRE_THROWS_AS(polyad::io::fit_of_model(X, tucker), UsageError);
}
