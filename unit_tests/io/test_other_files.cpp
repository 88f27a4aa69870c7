// SPDX-License-Identifier: BSD-3-Clause
// Files that look like tensors or models and are something else: refused in words that say what they are.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "polyad/core/error.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/fast_tucker_file.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/tensor_file.hpp"
#include "read_in_parts.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

using namespace polyad::io;
using namespace std::string_literals;
using polyad::test::TemporaryFolder;

namespace {

/// The error of a reader, without the folder's name; empty if there is none.
template <class Read>
std::string error_of(TemporaryFolder const& folder, Read const& read) {
  try {
    read();
  } catch (polyad::Error const& error) {
    std::string text         = error.what();
    std::string const prefix = (folder / "").string();
    if (text.starts_with(prefix)) text.erase(0, prefix.size());
    return text;
  }
  return "";
}

std::string error_of_text(std::string const& name, std::string const& text) {
  TemporaryFolder const folder;
  folder.write(name, text);
  std::string error = error_of(folder, [&] { static_cast<void>(read_tensor(folder / name)); });
  // Several readers of parts see the same fault.
  auto const in_parts =
      error_of(folder, [&] { static_cast<void>(polyad::test::read_in_parts(folder / name, {}, 3)); });
  REQUIRE(in_parts == error);
  return error;
}

/// A matrix as Matrix Market's lines of sizes and entries.
std::string matrix_text(std::mt19937& random, bool pattern) {
  auto const number        = [&](std::uint64_t most) { return 1 + random() % most; };
  std::uint64_t const rows = number(9), columns = number(9), entries = 3 + number(12);
  std::string text =
      std::to_string(rows) + " " + std::to_string(columns) + "  " + std::to_string(entries) + "\n";
  for (std::uint64_t e = 0; e < entries; ++e) {
    text += std::to_string(number(rows)) + " " + std::to_string(number(columns));
    if (!pattern) text += " " + std::to_string(random() % 50) + (random() % 2 == 0 ? ".5" : "");
    text += "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("other files: Matrix Market whose header is damaged or not at the beginning", "[io]") {
  std::mt19937 random(1);
  auto const fault = [](std::string const& text) {
    auto const error = error_of_text("m.txt", text);
    return error.find("looks like the header of a Matrix Market file") == std::string::npos
               ? "read: " + error
               : error.substr(0, 7);
  };
  for (int k = 0; k < 20; ++k) {
    bool const pattern = k % 2 == 0;
    std::string const rest =
        " coordinate "s + (pattern ? "pattern" : "real") + " general\n" + matrix_text(random, pattern);
    REQUIRE(error_of_text("m.txt", "%%MatrixMarket matrix" + rest) == "");
    REQUIRE(fault("%MatrixMarket matrix" + rest) == "m.txt:1");
    REQUIRE(fault(" %%MatrixMarket matrix" + rest) == "m.txt:1");
    REQUIRE(fault("\t%%MatrixMarket matrix" + rest) == "m.txt:1");
    REQUIRE(fault("\n%%MatrixMarket matrix" + rest) == "m.txt:2");
    REQUIRE(fault("% made by hand\n\n%%MatrixMarket matrix" + rest) == "m.txt:3");
    REQUIRE(fault("%%%MatrixMarket matrix" + rest) == "m.txt:1");
    REQUIRE(fault("% %MatrixMarket matrix" + rest) == "m.txt:1");
    REQUIRE(fault("%% MatrixMarket matrix" + rest) == "m.txt:1");
    REQUIRE(fault("%matrixmarket MATRIX" + rest) == "m.txt:1");
    REQUIRE(fault("#MatrixMarket matrix" + rest) == "m.txt:1");
    REQUIRE(fault("MatrixMarket matrix" + rest) == "m.txt:1");
    REQUIRE(fault("1 1 2.5\n%%MatrixMarket matrix" + rest) == "m.txt:2");
    REQUIRE(fault("1 1 2.5\n  %MatrixMarket matrix" + rest) == "m.txt:2");
  }
  // A comment may be about Matrix Market.
  REQUIRE(error_of_text("m.txt", "# MatrixMarket data, converted\n% from MatrixMarket\n1 1 2.5\n") == "");
}

TEST_CASE("other files: Matrix Market without its header", "[io]") {
  std::mt19937 random(2);
  for (int k = 0; k < 40; ++k) {
    INFO(k);
    bool const pattern         = k % 3 == 0;
    std::string const text     = matrix_text(random, pattern),
                      comments = k % 2 == 0 ? "%-----\n% by hand\n\n" : "";
    std::string const line     = k % 2 == 0 ? "4" : "1";
    for (std::string const name : {"m.txt", "m.mtx", "m"})
      REQUIRE(error_of_text(name, comments + text).find(name + ":" + line + ":1: looks like the sizes") == 0);
    // What the message proposes.
    std::string const field = pattern ? "pattern" : "real";
    REQUIRE(error_of_text("m.txt", "%%MatrixMarket matrix coordinate " + field + " general\n" + text) == "");
    std::string const sizes = text.substr(0, text.find("  "));
    if (!pattern) REQUIRE(error_of_text("m.mtx", "2\n" + sizes + "\n" + text) == "");
  }
  // Few entries may look so by chance, unless the name or a comment says what they are.
  std::string const few = "2 2 1\n1 1 5\n";
  REQUIRE(error_of_text("m.tns", few) == "");
  REQUIRE(error_of_text("m.tns", "% c\n" + few) != "");
  REQUIRE(error_of_text("m.mtx", few) != "");
  REQUIRE(error_of_text("m.MTX", few) != "");
  // Not the sizes: another count, larger indices, index 0, a fraction.
  for (std::string const text : {"3 3 4\n1 1 1\n2 2 2\n3 3 3\n", "3 3 3\n1 1 1\n4 2 2\n3 3 3\n",
                                 "3 3 3\n0 1 1\n2 2 2\n3 3 3\n", "3 3 3.0\n1 1 1\n2 2 2\n3 3 3\n"})
    REQUIRE(error_of_text("m.tns", text) == "");
  REQUIRE(error_of_text("m.mtx", "1 1 2.5\n2 2 1\n") == "");
}

TEST_CASE("other files: separators and lines that name columns", "[io]") {
  for (char const separator : {',', ';', '|'}) {
    std::string const mark(1, separator);
    REQUIRE(error_of_text("t", "1" + mark + "31" + mark + "2.5\n") == "");
    REQUIRE(error_of_text("t", "# c\n1" + mark + " 31" + mark + " 2.5\n") == "");
    REQUIRE(error_of_text("t", "user" + mark + "item\n1" + mark + "2\n") == "");
    // Fields that no separator explains.
    std::string const reason = "separates its fields with '" + mark + "'";
    REQUIRE(error_of_text("t", "1" + mark + "31" + mark + "2.5\n4\n5\n").find("t:1:2: " + reason) == 0);
  }
  REQUIRE(error_of_text("t", "user\titem\trating\n1\t1\t2\n") == "");
  REQUIRE(error_of_text("t", "user item rating\n").find("t:1:1: holds words") == 0);
  REQUIRE(error_of_text("t", "1 31 2,5\n") ==
          "t:1:6: the value is not a number: '2,5'; decimals have a point");
}

TEST_CASE("other files: binary files of other programs are named", "[io]") {
  TemporaryFolder const folder;
  std::string tar(512, '\0');
  tar.replace(0, 5, "a.tns").replace(257, 5, "ustar");
  std::vector<std::pair<std::string, std::string>> const files = {
      {"PAR1\x15\x04\x15\x10", "a Parquet file"},
      {"ARROW1\0\0"s, "an Arrow (Feather) file"},
      {"FEA1\0\0\0\0\1\0\0\0\0\0\0\0"s, "a Feather file"},
      {"FEA1a\0\0\0\0\0\0\0b\0\0\0\0\0\0\0"s, "a Feather file"},  // the integers 97 and 98
      {"\x93NUMPY\1\0v\0{'descr': '<f8'}\n"s, "an array of numpy"},
      {"\x89HDF\r\n\x1A\n\0\0"s, "an HDF5 file"},
      {"MATLAB 5.0 MAT-file, Platform: GLNXA64\n", "a MATLAB .mat file"},
      {"MATLAB 7.3 MAT-file, Platform: GLNXA64\n", "a MATLAB .mat file of version 7.3"},
      {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1\0\0"s, "an Excel workbook"},
      {"\x80\x04\x95\x10\0\0\0"s, "a pickle"},
      {"\x80\x02}q\0."s, "a pickle"},
      {"%PDF-1.7\n%\xE2\xE3\n1 0 obj\n", "a PDF document"},
      {"SQLite format 3\0\x10\0"s, "an SQLite database"},
      {tar, "a tar archive"},
      {"<!DOCTYPE html>\n<html>\n", "an HTML page"},
      {"\n  <HTML>\n", "an HTML page"},
      {"{\"a\": [1, 2]}\n", "JSON"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "a pointer of Git LFS"}};
  for (auto const& [content, what] : files) {
    INFO(what);
    folder.write("f", content);
    std::string const start = "f: is " + what;
    REQUIRE(error_of(folder, [&] { static_cast<void>(read_tensor(folder / "f")); }).find(start) == 0);
    REQUIRE(error_of(folder, [&] { static_cast<void>(read_model(folder / "f")); }).find(start) == 0);
    REQUIRE(error_of(folder, [&] { static_cast<void>(read_fast_tucker(folder / "f")); }).find(start) == 0);
    REQUIRE(error_of(folder, [&] { static_cast<void>(read_array_npz(folder / "f", "a", 2)); }).find(start) ==
            0);
  }
  // Names of columns may begin like a signature.
  for (std::string const text : {"PAR1 PAR2 VALUE\n1 1 2\n", "ORCHARD\tTREE\tYIELD\n1\t1\t2\n"})
    REQUIRE(error_of_text("f", text) == "");
  REQUIRE(error_of_text("f", "ARROW1 x y\n").find("f:1:1: holds words") == 0);
}

TEST_CASE("other files: archives of another kind are named", "[io]") {
  TemporaryFolder const folder;
  HostKtensor cp;
  cp.weights = {1};
  cp.extents = {1, 1};
  cp.factors = {{1}, {1}};
  write_model(folder / "cp.npz", cp);
  write_model(folder / "cp.ktns", cp);
  HostFastTucker ft;
  ft.extents = {1, 1};
  ft.columns = {1, 1};
  ft.rank    = 1;
  ft.factors = ft.cores = {{1}, {1}};
  write_fast_tucker(folder / "ft.npz", ft);
  HostArray const one{{1, 1}, {1}};
  write_arrays_npz(folder / "tucker.npz", {{"core", one}, {"factor_0", one}, {"factor_1", one}}, false);
  CoordinateList list;
  list.extents = {1, 1};
  list.indices = UninitializedVector<std::uint32_t>{0, 0};
  list.values  = {1};
  write_tensor(folder / "tensor.npz", list);
  write_tensor(folder / "tensor.pten", list);
  write_tensor(folder / "tensor.txt", list, {.dialect = Dialect::tensor_toolbox});

  auto const tensor = [&](char const* name) {
    return error_of(folder, [&] { static_cast<void>(read_tensor(folder / name)); });
  };
  auto const model = [&](char const* name) {
    return error_of(folder, [&] { static_cast<void>(read_model(folder / name)); });
  };
  auto const fast_tucker = [&](char const* name) {
    return error_of(folder, [&] { static_cast<void>(read_fast_tucker(folder / name)); });
  };
  auto const matrix = [&](char const* name) {
    return error_of(folder, [&] { static_cast<void>(read_array_npz(folder / name, "matrix", 2)); });
  };
  REQUIRE(tensor("tensor.npz") == "");
  REQUIRE(tensor("cp.npz") == "cp.npz: is a CP model, not a sparse tensor");
  REQUIRE(tensor("ft.npz") == "ft.npz: is a model of fast-tucker, not a sparse tensor");
  REQUIRE(tensor("tucker.npz") == "tucker.npz: is a Tucker model, not a sparse tensor");
  REQUIRE(model("cp.npz") == "");
  REQUIRE(model("ft.npz") == "ft.npz: is a model of fast-tucker, not a CP model");
  REQUIRE(model("tucker.npz") == "tucker.npz: is a Tucker model, not a CP model");
  REQUIRE(model("tensor.npz") == "tensor.npz: is a sparse tensor, not a CP model");
  REQUIRE(model("tensor.txt") == "tensor.txt:1:1: is a sparse tensor, not a CP model");
  REQUIRE(fast_tucker("ft.npz") == "");
  REQUIRE(fast_tucker("cp.npz") == "cp.npz: is a CP model, not a model of fast-tucker");
  REQUIRE(fast_tucker("tucker.npz") == "tucker.npz: is a Tucker model, not a model of fast-tucker");
  REQUIRE(fast_tucker("tensor.npz") == "tensor.npz: is a sparse tensor, not a model of fast-tucker");
  REQUIRE(fast_tucker("cp.ktns") == "cp.ktns: is a CP model as text, not an npz archive");
  REQUIRE(fast_tucker("tensor.pten") == "tensor.pten: is a .pten tensor, not an npz archive");
  REQUIRE(matrix("cp.npz") == "cp.npz: is a CP model, not an archive with an array 'matrix'");
}

TEST_CASE("other files: GenTen's word for a factor matrix", "[io]") {
  TemporaryFolder const folder;
  std::string const head = "ktensor\n2\n2 1\n1\n3\n", first = "\n2\n2 1\n1\n2\n", second = "\n2\n1 1\n4\n";
  auto const read  = [&](std::string const& text) { return read_model(folder.write("m.ktns", text)); };
  auto const plain = read(head + "matrix" + first + "matrix" + second);
  REQUIRE(plain.factors == std::vector<std::vector<double>>{{1, 2}, {4}});
  REQUIRE(read(head + "facmatrix" + first + "facmatrix" + second) == plain);
  REQUIRE(read(head + "facmatrix" + first + "matrix" + second) == plain);
}

TEST_CASE("other files: single precision never makes a number infinite or zero", "[io]") {
  TemporaryFolder const folder;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-330, 300);
  constexpr double largest = std::numeric_limits<float>::max();
  int refused              = 0;
  for (int k = 0; k < 300; ++k) {
    CoordinateList list;
    list.extents   = {4};
    list.indices   = UninitializedVector<std::uint32_t>{0, 1, 2, 3};
    list.values    = {1, 0, -2.5, 3};
    double const x = k == 0 ? largest : k == 1 ? largest * (1 + 1e-7) : std::pow(10.0, exponent(random));
    list.values[static_cast<std::size_t>(k % 4)] = k % 2 == 0 ? x : -x;
    bool const fits = std::isfinite(static_cast<float>(x)) && (static_cast<float>(x) != 0 || x == 0);
    for (char const* name : {"t.pten", "t.npz"}) {
      auto const error =
          error_of(folder, [&] { write_tensor(folder / name, list, {.single_precision = true}); });
      INFO(x << " " << error);
      REQUIRE(error.empty() == fits);
      if (!fits) REQUIRE(error.find("nonzero " + std::to_string(k % 4 + 1) + " has the value ") == 0);
      if (fits)
        REQUIRE(read_tensor(folder / name).tensor.values[0] ==
                static_cast<double>(static_cast<float>(list.values[0])));
    }
    refused += fits ? 0 : 1;
    // A model is not lost: its array stays double.
    HostKtensor model;
    model.weights = {x, 2};
    model.extents = {1};
    model.factors = {{0.1, 1}};
    write_model(folder / "m.npz", model, true);
    auto const again = read_model(folder / "m.npz");
    REQUIRE(again.weights[0] == (fits ? static_cast<double>(static_cast<float>(x)) : x));
    REQUIRE(again.factors[0][0] == static_cast<double>(0.1F));
  }
  REQUIRE(refused > 100);
}
