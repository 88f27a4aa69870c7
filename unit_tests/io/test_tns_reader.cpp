// SPDX-License-Identifier: BSD-3-Clause
// The reader of coordinate text: every form that is allowed, every fault with its exact text, and that
// neither depends on the chunk size or the number of threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/read_in_parts.hpp"
#include "io/text/tns_reader.hpp"
#include "polyad/core/error.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

namespace {

using polyad::io::ReadOptions;
using polyad::test::TemporaryFolder;

/// What became of reading a text: the tensor, or the words of the error without the folder's name.
struct Outcome {
  std::vector<std::uint64_t> extents, indices;
  std::vector<double> values;
  bool wide = false;
  int base  = -1;
  std::string dialect;
  std::uint64_t zeros = 0;
  std::uint64_t lines = 0, text_bytes = 0;
  std::string error;
  std::uint64_t line = 0, column = 0;

  bool operator==(Outcome const&) const = default;
};

/// \param parts  how many read it together
Outcome read(TemporaryFolder const& folder, std::string_view name, ReadOptions const& options,
             int parts = 1) {
  Outcome outcome;
  try {
    auto const file = parts == 1 ? polyad::io::read_tns(folder / name, options)
                                 : polyad::test::read_in_parts(folder / name, options, parts);
    outcome.extents = file.tensor.extents;
    std::visit([&](auto const& list) { outcome.indices.assign(list.begin(), list.end()); },
               file.tensor.indices);
    outcome.values.assign(file.tensor.values.begin(), file.tensor.values.end());
    outcome.wide       = file.tensor.wide();
    outcome.base       = file.report.index_base;
    outcome.dialect    = to_string(file.report.dialect);
    outcome.zeros      = file.report.zeros;
    outcome.lines      = file.report.lines;
    outcome.text_bytes = file.report.text_bytes;
  } catch (polyad::InputError const& error) {
    std::string const folder_name = (folder / "").string();
    outcome.error                 = error.what();
    REQUIRE(outcome.error.substr(0, folder_name.size()) == folder_name);
    outcome.error.erase(0, folder_name.size());
    outcome.line   = error.line();
    outcome.column = error.column();
    REQUIRE(error.exit_code() == polyad::ExitCode::bad_input);
  }
  return outcome;
}

std::multiset<std::vector<double>> entries_of(Outcome const& outcome) {
  std::multiset<std::vector<double>> entries;
  std::size_t const order = outcome.extents.size();
  for (std::size_t p = 0; p < outcome.values.size(); ++p) {
    std::vector<double> entry(outcome.indices.begin() + static_cast<std::ptrdiff_t>(p * order),
                              outcome.indices.begin() + static_cast<std::ptrdiff_t>((p + 1) * order));
    entry.push_back(outcome.values[p]);
    entries.insert(entry);
  }
  return entries;
}

/// Reads `text` in every way and requires one outcome of all.
Outcome read_all_ways(std::string_view text, ReadOptions options = {}) {
  TemporaryFolder const folder;
  folder.write("t", text);
  options.threads        = 1;
  options.chunk_bytes    = 1 << 20;
  Outcome const expected = read(folder, "t", options);
  for (std::size_t chunk = 1; chunk <= 64; ++chunk)
    for (int const threads : {1, 2, 7}) {
      options.chunk_bytes = chunk;
      options.threads     = threads;
      INFO("chunk " << chunk << ", threads " << threads);
      Outcome const outcome = read(folder, "t", options);
      REQUIRE(outcome.error == expected.error);
      REQUIRE(outcome == expected);
    }
  options.threads = 1;
  for (int const parts : {2, 3, 7}) {
    INFO("in " << parts << " parts");
    Outcome outcome = read(folder, "t", options, parts);
    REQUIRE(outcome.error == expected.error);
    // Each part mirrors a symmetric matrix's entries of its own.
    if (outcome.dialect == "matrix-market") {
      REQUIRE(entries_of(outcome) == entries_of(expected));
      continue;
    }
    REQUIRE(outcome == expected);
  }
  return expected;
}

std::string error_of(std::string_view text, ReadOptions const& options = {}) {
  return read_all_ways(text, options).error;
}

using Numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("tns: plain lines", "[io]") {
  Outcome const outcome = read_all_ways("1 2 3 1.5\n4 1 1 -2\n1 1 1 0.25\n");
  REQUIRE(outcome.error == "");
  REQUIRE(outcome.extents == Numbers{4, 2, 3});
  REQUIRE(outcome.indices == Numbers{0, 1, 2, 3, 0, 0, 0, 0, 0});
  REQUIRE(outcome.values == std::vector<double>{1.5, -2, 0.25});
  REQUIRE(outcome.base == 1);
  REQUIRE(outcome.lines == 3);
  REQUIRE(outcome.text_bytes == 30);
  REQUIRE_FALSE(outcome.wide);
}

TEST_CASE("tns: every well-formed variation gives the same tensor", "[io]") {
  Outcome const plain = read_all_ways("1 2 3 1000\n4 1 1 -2\n");
  for (std::string_view const text : {
           "1 2 3 1000\n4 1 1 -2",                                    // no last line end
           "1 2 3 1000\r\n4 1 1 -2\r\n",                              // CRLF
           "1 2 3 1000\r\n4 1 1 -2\r",                                // CR at the end of the file
           "1\t2\t3\t1000\n4\t1 \t1  -2\n",                           // tabs
           "   1 2 3 1000\n\t4 1 1 -2  \t \n",                        // blanks around
           "# a comment\n1 2 3 1000\n\n  # more: 1 2 3\n4 1 1 -2\n",  // comments, empty lines
           "\n\r\n  \t\n1 2 3 1000\n4 1 1 -2\n\n\n#",                 // nothing but blanks
           "+1 2 +3 +1000\n+4 1 1 -2\n",                              // plus signs
           "1 2 3 1e3\n4 1 1 -2E0\n",                                 // exponents
           "1 2 3 1.0e+3\n4 1 1 -.2e1\n",                             // no digit before the point
           "1 2 3 1000.\n4 1 1 -2.000000000000000000000000000\n",     // none, and many, after it
           "0001 02 3 1000\n00000000000000000000000004 1 1 -0002\n",  // leading zeros
       }) {
    INFO(text);
    Outcome const outcome = read_all_ways(text);
    REQUIRE(outcome.error == "");
    REQUIRE(outcome.extents == plain.extents);
    REQUIRE(outcome.indices == plain.indices);
    REQUIRE(outcome.values == plain.values);
  }
}

TEST_CASE("tns: lines and bytes are counted with comments and without a made-up line end", "[io]") {
  Outcome const outcome = read_all_ways("# c\n\n1 1\n2 2");
  REQUIRE(outcome.lines == 4);
  REQUIRE(outcome.text_bytes == 12);
}

TEST_CASE("tns: the index base is found, or what was asked for", "[io]") {
  REQUIRE(read_all_ways("1 1 5\n2 3 5\n").extents == Numbers{2, 3});
  Outcome const zero = read_all_ways("1 1 5\n2 0 5\n");
  REQUIRE(zero.base == 0);
  REQUIRE(zero.extents == Numbers{3, 2});
  REQUIRE(zero.indices == Numbers{1, 1, 2, 0});
  ReadOptions options;
  options.index_base = 0;
  REQUIRE(read_all_ways("1 1 5\n2 3 5\n", options).extents == Numbers{3, 4});
  options.index_base = 1;
  REQUIRE(read_all_ways("1 1 5\n2 3 5\n", options).extents == Numbers{2, 3});
}

TEST_CASE("tns: orders 1 to 16", "[io]") {
  std::string line;
  for (int order = 1; order <= 16; ++order) {
    line += std::to_string(order) + " ";
    Outcome const outcome = read_all_ways(line + "0.5\n" + line + "7\n");
    REQUIRE(outcome.error == "");
    REQUIRE(outcome.extents.size() == static_cast<std::size_t>(order));
    REQUIRE(outcome.extents.back() == static_cast<std::uint64_t>(order));
    REQUIRE(outcome.values == std::vector<double>{0.5, 7});
  }
  REQUIRE(error_of(line + "17 1\n") ==
          "t:1:1: expected at most 16 indices and a value, found 18: '1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 "
          "1...'");
}

TEST_CASE("tns: indices are 64-bit exactly when an extent needs it", "[io]") {
  Outcome const narrow = read_all_ways("4294967295 1 1\n1 1 1\n");
  REQUIRE_FALSE(narrow.wide);
  REQUIRE(narrow.indices == Numbers{4294967294, 0, 0, 0});
  Outcome const edge = read_all_ways("4294967295 0 1\n1 1 1\n");  // extent 2^32
  REQUIRE(edge.wide);
  REQUIRE(edge.extents == Numbers{4294967296, 2});
  REQUIRE(edge.indices == Numbers{4294967295, 0, 1, 1});
  Outcome const wide = read_all_ways("1 1 1\n5 4294967296 2\n7 7 3\n18446744073709551615 1 1\n");
  REQUIRE(wide.wide);
  REQUIRE(wide.extents == Numbers{18446744073709551615U, 4294967296});
  REQUIRE(wide.indices == Numbers{0, 0, 4, 4294967295, 6, 6, 18446744073709551614U, 0});
  REQUIRE(wide.values == std::vector<double>{1, 2, 3, 1});
  // What is read without a header must be readable after one, too: found by fuzzing.
  Outcome const longest = read_all_ways("2 1\n18446744073709551615 3\n18446744073709551615 2 4\n");
  REQUIRE(longest.extents == Numbers{18446744073709551615U, 3});
  REQUIRE(longest.indices == Numbers{18446744073709551614U, 1});
}

TEST_CASE("tns: values are the nearest doubles", "[io]") {
  // The short path and the careful one must agree with the C library to the last bit.
  std::vector<std::string> const texts = {"0",
                                          "-0",
                                          "0.1",
                                          "123456.789",
                                          "9007199254740991",
                                          "9007199254740993.",
                                          "9007199254740994",
                                          "18446744073709551616",
                                          "0.30000000000000004",
                                          "1e-5",
                                          "1e22",
                                          "1e23",
                                          "5e-324",
                                          "2.2250738585072014e-308",
                                          "1.7976931348623157e308",
                                          "0.000000000000001",
                                          "0.0000000000000001",
                                          "99999999.99999999",
                                          "12345678901234567168",
                                          "12345678901234567890.0",
                                          "1234567812345678",
                                          "0.1234567812345678",
                                          "12345678.1234567",
                                          "3.141592653589793238462643383279"};
  std::string file;
  for (std::string const& text : texts) file += "1 " + text + "\n";
  Outcome const outcome = read_all_ways(file);
  REQUIRE(outcome.error == "");
  REQUIRE(outcome.values.size() == texts.size());
  for (std::size_t k = 0; k < texts.size(); ++k) {
    INFO(texts[k]);
    double const expected = std::strtod(texts[k].c_str(), nullptr);
    REQUIRE(outcome.values[k] == expected);
    REQUIRE(std::signbit(outcome.values[k]) == std::signbit(expected));
  }
}

TEST_CASE("tns: many random lines agree with the C library", "[io]") {
  std::mt19937_64 random(1);
  std::string file;
  Numbers indices;
  std::vector<std::string> values;
  for (int line = 0; line < 3000; ++line) {
    for (int n = 0; n < 3; ++n) {
      indices.push_back(random() >> (1 + random() % 63));
      file += std::to_string(indices.back() + 1) + (random() % 5 == 0 ? "\t " : " ");
    }
    std::string value   = (random() % 3 == 0 ? "-" : "") + std::to_string(random() >> (random() % 64));
    bool const is_small = value.size() < 16;  // other integers may not be doubles
    if (!is_small || random() % 2 == 0) value += "." + std::to_string(random() >> (random() % 64));
    if (random() % 7 == 0) value += "e" + std::to_string(static_cast<int>(random() % 40) - 20);
    values.push_back(value);
    file += value + "\n";
  }
  TemporaryFolder const folder;
  folder.write("t", file);
  ReadOptions options;
  options.chunk_bytes   = 5000;
  options.threads       = 3;
  options.index_base    = 1;
  Outcome const outcome = read(folder, "t", options);
  REQUIRE(outcome.error == "");
  REQUIRE(outcome.indices == indices);
  for (std::size_t k = 0; k < values.size(); ++k)
    if (outcome.values[k] != std::strtod(values[k].c_str(), nullptr)) FAIL(values[k]);
}

TEST_CASE("tns: too few and too many numbers", "[io]") {
  REQUIRE(error_of("1 2 3 4\n1 2 3\n") ==
          "t:2:6: expected 4 numbers (3 indices and a value), found 3: '1 2 3'");
  REQUIRE(error_of("1 2 3 4\n1 2 3 4 5\n") ==
          "t:2:9: expected 4 numbers (3 indices and a value), found 5: '1 2 3 4 5'");
  REQUIRE(error_of("1 2 3 4\n# c\n\n 7 8\n1 x 3 4\n") ==
          "t:4:5: expected 4 numbers (3 indices and a value), found 2: ' 7 8'");
  REQUIRE(error_of("1 4\n1 2 3 4 5") ==
          "t:2:5: expected 2 numbers (1 index and a value), found 5: '1 2 3 4 5'");
  REQUIRE(error_of("1.5\n") == "t:1:4: expected at least one index and a value, found 1: '1.5'");
  REQUIRE(error_of("1 2 3 4\n1 2 3 4 # why\n") ==
          "t:2:9: expected 4 numbers (3 indices and a value), found 6: '1 2 3 4 # why'");
}

// Every way to write and to get wrong a header is unit_tests/io/check_text_files.py's part; here, that chunks
// and threads do not matter to it.
TEST_CASE("tns: headers declare extents", "[io]") {
  for (auto const& [dialect, head] : {std::pair{"frostt", ""},
                                      {"extended-frostt", "3 2\n9 4 6\n"},
                                      {"tensor-toolbox", "sptensor\n3\n9 4 6\n2\n"},
                                      {"dims-header", "3\n9 4 6\n"}}) {
    INFO(dialect);
    Outcome const outcome = read_all_ways("# c\n" + std::string(head) + "// c\n1 2 3 1.5\n4 1 1 -2\n");
    REQUIRE(outcome.error == "");
    REQUIRE(outcome.dialect == dialect);
    REQUIRE(outcome.extents == (*head == '\0' ? Numbers{4, 2, 3} : Numbers{9, 4, 6}));
    REQUIRE(outcome.indices == Numbers{0, 1, 2, 3, 0, 0});
    REQUIRE(outcome.values == std::vector<double>{1.5, -2});
    REQUIRE(outcome.lines ==
            4 + static_cast<std::uint64_t>(std::count(head, head + std::string(head).size(), '\n')));
  }
}

TEST_CASE("tns: two numbers on the first line are a header only if the next lines say so", "[io]") {
  REQUIRE(read_all_ways("2 5\n").dialect == "frostt");
  REQUIRE(read_all_ways("2 5\n10 20\n").extents == Numbers{10});
  REQUIRE(read_all_ways("2 5\n10 20\n3 7\n").extents == Numbers{10});
  Outcome const two = read_all_ways("2 1\n10 20\n3 7 1.5\n");
  REQUIRE(two.dialect == "extended-frostt");
  REQUIRE(two.extents == Numbers{10, 20});
  Outcome const one = read_all_ways("1 2\n10\n3 7\n4 8\n");
  REQUIRE(one.dialect == "extended-frostt");
  REQUIRE(one.indices == Numbers{2, 3});
  REQUIRE(error_of("3 1\n4 3\n1 1 1 1\n") == "t:2:4: expected 3 extents, found 2: '4 3'");
  REQUIRE(error_of("1 5\n2 3\n1 2 3\n") ==
          "t:3:5: expected 2 numbers (1 index and a value), found 3: '1 2 3'");
}

TEST_CASE("tns: an index at its limit is a fault only under base 0", "[io]") {
  std::string const head = "2\n3 2\n";
  REQUIRE(read_all_ways(head + "3 2 1\n1 1 1\n3 2 1\n").indices == Numbers{2, 1, 0, 0, 2, 1});
  REQUIRE(error_of(head + "1 1 1\n3 1 1\n3 2 1\n1 0 1\n") ==
          "t:4:1: index 1 counted from 0 is beyond the extent 3: '3'");
  Outcome const zero = read_all_ways(head + "1 1 1\n2 0 1\n");
  REQUIRE(zero.base == 0);
  REQUIRE(zero.extents == Numbers{3, 2});
}

TEST_CASE("tns: Matrix Market's fields and symmetries", "[io]") {
  auto const matrix = [](std::string const& kind, std::string const& lines) {
    Outcome outcome = read_all_ways("%%MatrixMarket matrix coordinate " + kind + "\n% c\n3 3 3\n" + lines);
    REQUIRE(outcome.error == "");
    REQUIRE(outcome.dialect == "matrix-market");
    REQUIRE(outcome.extents == Numbers{3, 3});
    return outcome;
  };
  Outcome const pattern = matrix("pattern general", "1 2\n3 1 \r\n2 2\n");
  REQUIRE(pattern.indices == Numbers{0, 1, 2, 0, 1, 1});
  REQUIRE(pattern.values == std::vector<double>{1, 1, 1});
  Outcome const symmetric = matrix("Integer Symmetric", "1 1 5\n3 1 6\n3 2 7\n");
  REQUIRE(symmetric.indices == Numbers{0, 0, 2, 0, 2, 1, 0, 2, 1, 2});
  REQUIRE(symmetric.values == std::vector<double>{5, 6, 7, 6, 7});
  Outcome const skew = matrix("real skew-symmetric", "2 1 0.5\n3 1 6\n3 2 -7\n");
  REQUIRE(skew.indices == Numbers{1, 0, 2, 0, 2, 1, 0, 1, 0, 2, 1, 2});
  REQUIRE(skew.values == std::vector<double>{0.5, 6, -7, -0.5, -6, 7});
}

TEST_CASE("tns: explicit zeros are counted, and dropped when asked to", "[io]") {
  ReadOptions options;
  std::string const text = "1 1 0\n2 3 -0.0\n1 2 4\n";
  Outcome const kept     = read_all_ways(text, options);
  REQUIRE(kept.zeros == 2);
  REQUIRE(kept.values.size() == 3);
  options.drop_zeros    = true;
  Outcome const dropped = read_all_ways(text, options);
  REQUIRE(dropped.zeros == 2);
  REQUIRE(dropped.indices == Numbers{0, 1});
  REQUIRE(dropped.extents == Numbers{2, 3});
  REQUIRE(dropped.values == std::vector<double>{4});
  REQUIRE(error_of("1 1 0\n", options) == "t: holds no nonzeros but explicit zeros");
}

TEST_CASE("tns: letters and other text", "[io]") {
  REQUIRE(error_of("1 2 3\n1 b 3\n") == "t:2:3: index 2 is not a number: 'b'");
  REQUIRE(error_of("1 2 3\n12x 2 3\n") == "t:2:1: index 1 is not a number: '12x'");
  REQUIRE(error_of("1 2 3\n1 2 abc\n") == "t:2:5: the value is not a number: 'abc'");
  REQUIRE(error_of("1 2 3\n1 2 3x\n") == "t:2:5: the value is not a number: '3x'");
  REQUIRE(error_of("1 2 0x10\n") == "t:1:5: the value is not a number: '0x10'");
  REQUIRE(error_of("1 2 1e\n") == "t:1:5: the value is not a number: '1e'");
  REQUIRE(error_of("1 2 -\n") == "t:1:5: the value is not a number: '-'");
  REQUIRE(error_of("1 2 +-3\n") == "t:1:5: the value is not a number: '+-3'");
  REQUIRE(error_of("1 +-2 3\n") == "t:1:3: index 2 is not a number: '+-2'");
  REQUIRE(error_of("1 2 3\n1 \x01\x02 3\n") == "t:2:3: index 2 is not a number: '\\x01\\x02'");
  REQUIRE(error_of("1 2\r3 4\n") == "t:1:3: index 2 is not a number: '2\\x0D3'");
  REQUIRE(error_of(std::string_view("1 2 3\n1 \0 3\n", 12)) == "t:2:3: index 2 is not a number: '\\x00'");
  // UTF-8 as it is, other bytes by their numbers: too long, a surrogate, beyond the last character, cut off.
  for (auto const& [bytes, shown] : std::vector<std::pair<std::string, std::string>>{
           {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"},
           {"\xFF\x80", "\\xFF\\x80"},
           {"\xC0\xAF", "\\xC0\\xAF"},
           {"\xE0\x9F\xBF", "\\xE0\\x9F\\xBF"},
           {"\xED\xA0\x80", "\\xED\\xA0\\x80"},
           {"\xF4\x90\x80\x80", "\\xF4\\x90\\x80\\x80"},
           {"\xE2\x82", "\\xE2\\x82"}})
    REQUIRE(error_of("1 2 3\n1 " + bytes + " 3\n") == "t:2:3: index 2 is not a number: '" + shown + "'");
  REQUIRE(error_of("1 " + std::string(39, 'x') + "\xE2\x82\xAC" + "y 3\n") ==
          "t:1:3: index 2 is not a number: '" + std::string(39, 'x') + "\xE2\x82\xAC...'");
  REQUIRE(error_of("1 " + std::string(60, 'y') + " 3\n") ==
          "t:1:3: index 2 is not a number: '" + std::string(40, 'y') + "...'");
  REQUIRE(error_of("1 nan 3\n") == "t:1:3: index 2 is not a number: 'nan'");
}

TEST_CASE("tns: indices out of range", "[io]") {
  ReadOptions one;
  one.index_base = 1;
  ReadOptions zero;
  zero.index_base = 0;
  REQUIRE(error_of("1 2 3\n1 0 3\n", one) == "t:2:3: index 2 is below 1, the index base: '0'");
  REQUIRE(error_of("1 -2 3\n") == "t:1:3: index 2 is negative: '-2'");
  REQUIRE(error_of("1 1.5 3\n") == "t:1:3: index 2 is not an integer: '1.5'");
  REQUIRE(error_of("1e3 1 3\n") == "t:1:1: index 1 is not an integer: '1e3'");
  REQUIRE(error_of("1 18446744073709551616 3\n") ==
          "t:1:3: index 2 exceeds 2^64 - 1: '18446744073709551616'");
  REQUIRE(error_of("1 99999999999999999999999999 3\n") ==
          "t:1:3: index 2 exceeds 2^64 - 1: '99999999999999999999999999'");
  REQUIRE(error_of("18446744073709551615 1 3\n", one) == "");
  std::string const beyond = "index 1 counted from 0 makes the extent 2^64: '18446744073709551615'";
  REQUIRE(error_of("1 2 3\n18446744073709551615 1 3\n", zero) == "t:2:1: " + beyond);
  REQUIRE(error_of("1 2 3\n18446744073709551615 1 3\n1 1 1\n0 0 1\n") == "t:2:1: " + beyond);
}

TEST_CASE("tns: values that are not finite or too large", "[io]") {
  REQUIRE(error_of("1 2 3\n1 2 nan\n") == "t:2:5: the value is not finite: 'nan'");
  REQUIRE(error_of("1 2 -inf\n") == "t:1:5: the value is not finite: '-inf'");
  REQUIRE(error_of("1 2 Infinity\n") == "t:1:5: the value is not finite: 'Infinity'");
  for (std::string const text : {"1e999", "-1e999", "0.001e999", "1000000e305", "1e99999999999999999999"})
    REQUIRE(error_of("1 2 " + text + "\n") ==
            "t:1:5: the value exceeds the range of a double: '" + text + "'");
  for (std::string const text : {"1e-999", "0.0001e-320", "-1e-99999999999999999999", "2e-324"})
    REQUIRE(error_of("1 2 " + text + "\n") ==
            "t:1:5: the value is not zero, but closer to it than any double: '" + text + "'");
  for (std::string const text : {"0e999", "-0.000e-999", "3e-324", "0.0000000000000000000000"})
    REQUIRE(error_of("1 2 " + text + "\n") == "");
  TemporaryFolder const folder;
  folder.write("t", "1 1 nan\n1 2 -inf\n");
  ReadOptions options;
  options.allow_non_finite = true;
  Outcome const outcome    = read(folder, "t", options);
  REQUIRE(outcome.error == "");
  REQUIRE(std::isnan(outcome.values[0]));
  REQUIRE(outcome.values[1] == -std::numeric_limits<double>::infinity());
}

TEST_CASE("tns: the first fault of the file wins", "[io]") {
  std::string text;
  for (int line = 1; line <= 200; ++line) text += line >= 120 ? "1 x 1\n" : std::to_string(line) + " 1 2.5\n";
  REQUIRE(error_of(text) == "t:120:3: index 2 is not a number: 'x'");
}

TEST_CASE("tns: files that hold nothing", "[io]") {
  REQUIRE(error_of("") == "t: holds no nonzeros");
  REQUIRE(error_of("\n") == "t: holds no nonzeros");
  REQUIRE(error_of("# only a comment") == "t: holds no nonzeros");
  TemporaryFolder const folder;
  REQUIRE(read(folder, "missing.tns", {}).error == "missing.tns: no such file");
  std::filesystem::create_directory(folder / "d");
  REQUIRE(read(folder, "d", {}).error == "d: is a directory, not a file");
  folder.write("t", "1 1\n");
  ReadOptions options;
  options.index_base = 2;
  REQUIRE_THROWS_AS(polyad::io::read_tns(folder / "t", options), polyad::UsageError);
}

TEST_CASE("tns: a file without line ends is refused before it fills the memory", "[io]") {
  TemporaryFolder const folder;
  folder.write("t", "1 1 1\n" + std::string(std::size_t{17} << 20, ' ') + "1 1 1\n");
  REQUIRE(read(folder, "t", {}).error == "t: has a line of more than 16777216 bytes; is it a text file?");
}
