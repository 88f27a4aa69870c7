// SPDX-License-Identifier: BSD-3-Clause
// The reader of tables of text: what it finds, how it numbers labels, and the exact text of every fault.
// Each text is read in blocks of 1 to 64 bytes, by several threads, and in parts, with one outcome.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/delimited/label_table.hpp"
#include "io/delimited/time_steps.hpp"
#include "io/read_in_parts.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/match_rows.hpp"
#include "polyad/io/tensor_file.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

namespace {

using polyad::InputError;
using polyad::UsageError;
using polyad::io::DelimitedOptions;
using polyad::io::ReadOptions;
using polyad::io::TimeUnit;
using polyad::test::TemporaryFolder;

/// Entries as text, "alice,rome=3 ...", or the error.
struct TableOutcome {
  std::string entries, found, error;
  std::uint64_t lines = 0, bytes = 0;
  bool operator==(TableOutcome const&) const = default;
};

std::string number_text(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string entries_text(polyad::io::TensorFile const& file) {
  std::string text;
  auto const order = file.tensor.extents.size();
  std::visit(
      [&](auto const& indices) {
        for (std::size_t p = 0; p < file.tensor.values.size(); ++p) {
          if (p > 0) text += ' ';
          for (std::size_t n = 0; n < order; ++n) {
            auto const row = static_cast<std::size_t>(indices[p * order + n]);
            text +=
                (n > 0 ? "," : "") + std::to_string(row) + ":" + std::string(file.labels.at(n).label(row));
          }
          text += "=" + number_text(file.tensor.values[p]);
        }
      },
      file.tensor.indices);
  return text;
}

TableOutcome read_table(TemporaryFolder const& folder, ReadOptions const& options, int parts = 1) {
  TableOutcome outcome;
  try {
    auto file = parts == 1 ? polyad::io::read_tensor(folder / "t", options)
                           : polyad::test::read_in_parts(folder / "t", options, parts);
    REQUIRE(file.report.dialect == polyad::io::Dialect::delimited);
    for (std::size_t n = 0; n < file.labels.size(); ++n)
      REQUIRE(file.labels[n].rows() == file.tensor.extents[n]);
    outcome.entries = entries_text(file);
    outcome.found   = polyad::io::describe(file.report.table.value());
    outcome.lines   = file.report.lines;
    outcome.bytes   = file.report.text_bytes;
  } catch (InputError const& error) {
    std::string const name = (folder / "").string();
    outcome.error          = std::string(error.what()).substr(name.size());
  }
  return outcome;
}

TableOutcome read_table_all_ways(std::string_view text, DelimitedOptions const& table = {}) {
  TemporaryFolder const folder;
  folder.write("t", text);
  ReadOptions options;
  options.table       = table;
  options.threads     = 1;
  auto const expected = read_table(folder, options);
  for (std::size_t const chunk : {1, 2, 3, 5, 7, 11, 16, 23, 40, 64})
    for (int const threads : {1, 2, 3, 5, 8}) {
      INFO("chunk " << chunk << ", threads " << threads);
      options.chunk_bytes = chunk;
      options.threads     = threads;
      auto const outcome  = read_table(folder, options);
      REQUIRE(outcome.error == expected.error);
      REQUIRE(outcome == expected);
    }
  options.threads     = 1;
  auto const in_parts = read_table(folder, options, 3);
  REQUIRE(in_parts.error == expected.error);
  REQUIRE(in_parts.entries == expected.entries);
  REQUIRE(in_parts.found == expected.found);
  REQUIRE(in_parts == expected);
  return expected;
}

std::string table_entries(std::string_view text, DelimitedOptions const& table = {}) {
  auto const outcome = read_table_all_ways(text, table);
  REQUIRE(outcome.error == "");
  return outcome.entries;
}
std::string found_in(std::string_view text, DelimitedOptions const& table = {}) {
  auto const outcome = read_table_all_ways(text, table);
  REQUIRE(outcome.error == "");
  return outcome.found;
}
std::string table_error(std::string_view text, DelimitedOptions const& table = {}) {
  return read_table_all_ways(text, table).error;
}

polyad::io::Dialect dialect_of(std::string_view text) {
  TemporaryFolder const folder;
  folder.write("t", text);
  return polyad::io::read_tensor(folder / "t").report.dialect;
}

}  // namespace

TEST_CASE("table: separators, with and without a header", "[io]") {
  for (std::string const mark : {",", ";", "|", "\t", "::", " "}) {
    INFO(mark);
    std::string const rows   = "alice" + mark + "rome" + mark + "3\nbob" + mark + "rome" + mark + "2.5\n";
    std::string const wanted = "0:alice,0:rome=3 1:bob,0:rome=2.5";
    REQUIRE(table_entries(rows) == wanted);
    std::string const header = "who" + mark + "where" + mark + "stars\n";
    REQUIRE(table_entries(header + rows) == wanted);
    REQUIRE(table_entries("\xEF\xBB\xBF" + header + rows) == wanted);
    REQUIRE(table_entries("# made by hand\n\n" + header + rows) == wanted);
    REQUIRE(table_entries("#" + header + rows) == wanted);
    REQUIRE(table_entries(header + rows.substr(0, rows.size() - 1)) == wanted);
    std::string crlf;
    for (char const c : header + "\n" + rows) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
    REQUIRE(table_entries(crlf) == wanted);
    REQUIRE(table_entries(rows, {.delimiter = mark, .header = false}) == wanted);
  }
  REQUIRE(found_in("userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n") ==
          "comma-separated with a header: columns userId, movieId -> value rating; left out: timestamp");
  REQUIRE(found_in("1::1193::5::978300760\n1::661::3::978302109\n") ==
          "separated by :: without a header: columns 0, 1 -> value 2; left out: 3");
  REQUIRE(found_in("user;item\n1;2\n") ==
          "semicolon-separated with a header: columns user, item; each line counts 1");
  REQUIRE(found_in(",user,item,n\n0,a,b,2\n1,a,c,3\n") ==
          "comma-separated with a header: columns user, item -> value n; left out: the one without a name");
  REQUIRE(found_in("1, 31, 2.5\n1, 40, 3.0\n") ==
          "comma-separated without a header: columns 0, 1 -> value 2");
}

TEST_CASE("table: coordinate text stays what it is", "[io]") {
  using polyad::io::Dialect;
  REQUIRE(dialect_of("1 2 3\n4 5 6\n") == Dialect::frostt);
  REQUIRE(dialect_of("196\t242\t3\t881250949\n186\t302\t3\t891717742\n") == Dialect::frostt);
  REQUIRE(dialect_of("2\n3 4\n1 1 1\n") == Dialect::dims_header);
  REQUIRE(dialect_of("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n") ==
          Dialect::matrix_market);
  REQUIRE(dialect_of("sptensor\n2\n3 3\n1\n1 1 5\n") == Dialect::tensor_toolbox);
  REQUIRE(dialect_of("1\t2\t3\n") == Dialect::frostt);
  // A mistake in coordinates does not make a label.
  for (std::string const text :
       {"1 2 3\n1 b 3\n", "1 b 3\n", "x 2 3\n4 5 6\n", "1 31 2,5\n", "1 1 nan\n2 1 inf\n"}) {
    TemporaryFolder const folder;
    folder.write("t", text);
    REQUIRE_THROWS_AS(polyad::io::read_tensor(folder / "t"), InputError);
  }
  TemporaryFolder const folder;
  folder.write("t", "196\t242\t3\t881250949\n186\t302\t3\t891717742\n");
  REQUIRE(polyad::io::read_tensor(folder / "t").report.values_look_like_times);
  folder.write("t", "196\t242\t3\n186\t302\t3\n");
  REQUIRE(!polyad::io::read_tensor(folder / "t").report.values_look_like_times);
  REQUIRE(table_entries("196\t242\t3\t881250949\n186\t302\t4\t891717742\n", {.columns = {"0", "1", "2"}}) ==
          "1:196,0:242=3 0:186,1:302=4");
}

TEST_CASE("table: integers ascend, texts come as they come", "[io]") {
  REQUIRE(table_entries("30,7,1.5\n-5,9,2\n9223372036854775807,7,1\n-9223372036854775808,9,1\n") ==
          "2:30,0:7=1.5 1:-5,1:9=2 3:9223372036854775807,0:7=1 0:-9223372036854775808,1:9=1");
  // One word makes texts of all; what is not the one form of an integer is a text.
  REQUIRE(table_entries("30,b,1.5\n7,a,2\n30,b,1\nx,a,1\n") == "0:30,0:b=1.5 1:7,1:a=2 0:30,0:b=1 2:x,1:a=1");
  REQUIRE(table_entries("7,1,1.5\n007,1,2\n+7,1,2\n") == "0:7,0:1=1.5 1:007,0:1=2 2:+7,0:1=2");
  REQUIRE(table_entries("9223372036854775808,1,1.5\n7,1,1\n") == "0:9223372036854775808,0:1=1.5 1:7,0:1=1");
  REQUIRE(table_entries("a,x,1\nb,x,1\na,x,1\n") == "0:a,0:x=1 1:b,0:x=1 0:a,0:x=1");
}

TEST_CASE("table: quotes", "[io]") {
  REQUIRE(table_entries("\"a,b\",\"x\",1.5\n\"a \"\"q\"\"\",y,2\n") == "0:a,b,0:x=1.5 1:a \"q\",1:y=2");
  REQUIRE(table_entries("\"two\nlines\",x,1.5\n\"two\nlines\",y,2\n\"\r\n\",y,\"3\"\n") ==
          "0:two\nlines,0:x=1.5 0:two\nlines,1:y=2 1:\r\n,1:y=3");
  REQUIRE(table_entries("\"us\ner\",item,rating\n\"5\",6,1\n7,6,2\n") == "0:5,0:6=1 1:7,0:6=2");
  REQUIRE(table_entries(" \"a b\" , x , 1.5\n") == "0:a b,0:x=1.5");
  REQUIRE(table_error("a,x,1\nb,\"y,2\nc,z,3\n") == "t:2:3: begins a quoted field that is not closed");
  REQUIRE(table_error("a,x,1\n\"b\nc\"d,y,2\n") ==
          "t:3:3: a closing quote is followed by more of the field; a quote within one is written twice");
  REQUIRE(table_error("a,x,1\n5\" disk,y,2\n") ==
          "t:2:2: a quote is inside a field that does not begin with one");
}

TEST_CASE("table: columns that the user names", "[io]") {
  std::string const text = "user,item,day,stars\na,x,5,1\nb,y,6,2\n";
  REQUIRE(found_in(text) == "comma-separated with a header: columns user, item, day -> value stars");
  REQUIRE(table_entries(text, {.columns = {"item", "user", "stars"}}) == "0:x,0:a=1 1:y,1:b=2");
  REQUIRE(table_entries(text, {.columns = {"item", "0"}}) == "0:x,0:a=1 1:y,1:b=1");
  REQUIRE(table_entries(text, {.columns = {"user"}, .value = "day"}) == "0:a=5 1:b=6");
  REQUIRE(table_entries(text, {.columns = {"user", "item"}, .value = "none"}) == "0:a,0:x=1 1:b,1:y=1");
  REQUIRE(found_in("a,b\nc,d\n", {.header = true}) ==
          "comma-separated with a header: columns a, b; each line counts 1");
  REQUIRE(found_in("a,b\nc,d\n", {.header = false}) ==
          "comma-separated without a header: columns 0, 1; each line counts 1");
  REQUIRE(
      table_error("a,b\nc,d\n") ==
      "t:1:1: may name the columns or be a row: no column holds numbers; say which with the header: 'a,b'");
  REQUIRE_THROWS_AS(read_table_all_ways(text, {.columns = {"user", "user"}}), UsageError);
  REQUIRE_THROWS_AS(read_table_all_ways(text, {.columns = {"user", "city"}}), UsageError);
  REQUIRE_THROWS_AS(read_table_all_ways(text, {.columns = {"user", "4"}}), UsageError);
  REQUIRE_THROWS_AS(read_table_all_ways(text, {.delimiter = "x"}), UsageError);
  REQUIRE_THROWS_AS(read_table_all_ways(text, {.time = "day"}), UsageError);
  REQUIRE_THROWS_AS(read_table_all_ways(text, {.value = "day", .time = "day", .time_unit = TimeUnit::day}),
                    UsageError);
}

TEST_CASE("table: faults have their place", "[io]") {
  std::string const head = "user,item,rating\na,x,1\n";
  REQUIRE(table_error(head + "b,y\n") == "t:3:4: expected 3 fields, comma-separated, found 2: 'b,y'");
  REQUIRE(table_error(head + "b,y,2,5\n") == "t:3:7: expected 3 fields, comma-separated, found 4: 'b,y,2,5'");
  REQUIRE(table_error(head + "b,,2\n") == "t:3:3: column 'item' is empty");
  REQUIRE(table_error(head + "b,y,\r\n") == "t:3:5: the value of column 'rating' is empty");
  REQUIRE(table_error(head + "b,y,NA\n") == "t:3:5: the value of column 'rating' is not a number: 'NA'");
  REQUIRE(table_error(head + "b,y,nan\n") == "t:3:5: the value of column 'rating' is not finite: 'nan'");
  REQUIRE(table_error(head + "b,y,1e999\n") ==
          "t:3:5: the value of column 'rating' exceeds the range of a double: '1e999'");
  REQUIRE(table_error(head + "b\xFF,y,2\n") == "t:3:1: column 'user' is not UTF-8 text: 'b\\xFF'");
  REQUIRE(table_error("user,item,user\na,x,1\n") == "t:1:11: column 2 has the name of column 0: 'user'");
  REQUIRE(table_error("1;31;2,5\n") ==
          "t:1:6: the value of column '2' is not a number: '2,5'; decimals have a point");
  REQUIRE(table_error("1;31;2,5\n2;40;3,5\n") ==
          "t:1:6: the value of column '2' is not a number: '2,5'; decimals have a point");
  std::string const lone_return =
      "a carriage return is inside a line, which ends with a line feed, or with both";
  REQUIRE(table_error("user,item,rating\rann,tea,1\rbob,rice,2\r") == "t:1:17: " + lone_return);
  REQUIRE(table_error(head + "b\rc,y,2\n") == "t:3:2: " + lone_return);
  REQUIRE(table_error("user,item,rating\n\"ann,tea,1\nbob,rice,2\n") ==
          "t:2:1: begins a quoted field that is not closed");
  REQUIRE(table_error("user,item,rating\n\"ann\"x,tea,1\nbob,rice,2\n") ==
          "t:2:6: a closing quote is followed by more of the field; a quote within one is written twice");
  REQUIRE(table_error("user,item,rating\nann,tea,1,\nbob,rice,2,\n") ==
          "t:2:11: expected 3 fields, comma-separated, found 4: 'ann,tea,1,'");
  REQUIRE(table_error("user,item\nann,tea,1\nbob,rice,2\n") ==
          "t:2:9: expected 2 fields, comma-separated, found 3: 'ann,tea,1'");
  REQUIRE(table_error("user,item,rating\n") ==
          "t:1:1: may name the columns or be a row: no column holds numbers; say which with the header: "
          "'user,item,rating'");
  REQUIRE(table_error("user,item,rating\n", {.header = true}) == "t: holds no nonzeros");
  TemporaryFolder const folder;
  folder.write("t", head);
  REQUIRE_THROWS_AS(polyad::io::read_tensor(folder / "t", {.index_base = 1}), UsageError);
  folder.write("t", "PAR1\x15\x04");
  std::string message;
  try {
    static_cast<void>(polyad::io::read_tensor(folder / "t"));
  } catch (InputError const& error) {
    message = error.what();
  }
  REQUIRE(message.find("read it with pandas, and give the table to polyad.asarray") != std::string::npos);
}

TEST_CASE("table: steps of time", "[io]") {
  std::string const text =
      "user,at,n\na,2024-01-31T23:30:00Z,1\nb,2024-02-02 00:15:00+01:00,2\nc,2024-02-03,4\n";
  auto const in = [&](TimeUnit unit) { return table_entries(text, {.time = "at", .time_unit = unit}); };
  REQUIRE(in(TimeUnit::day) == "0:a,0:2024-01-31=1 1:b,1:2024-02-01=2 2:c,3:2024-02-03=4");
  REQUIRE(in(TimeUnit::hour) == "0:a,0:2024-01-31T23=1 1:b,24:2024-02-01T23=2 2:c,49:2024-02-03T00=4");
  REQUIRE(in(TimeUnit::week) == "0:a,0:2024-W05=1 1:b,0:2024-W05=2 2:c,0:2024-W05=4");
  REQUIRE(in(TimeUnit::month) == "0:a,0:2024-01=1 1:b,1:2024-02=2 2:c,1:2024-02=4");
  REQUIRE(in(TimeUnit::year) == "0:a,0:2024=1 1:b,0:2024=2 2:c,0:2024=4");
  REQUIRE(found_in(text, {.time = "at", .time_unit = TimeUnit::day}) ==
          "comma-separated with a header: columns user, at (by day) -> value n");
  REQUIRE(found_in(text) == "comma-separated with a header: column user -> value n; left out: at");
  for (std::string const zeros : {"", "000"})
    REQUIRE(table_entries("u,1260759144" + zeros + ",1.5\nu,1260845544" + zeros + ",2\n",
                          {.time = "1", .time_unit = TimeUnit::day}) ==
            "0:u,0:2009-12-14=1.5 0:u,1:2009-12-15=2");
  DelimitedOptions const by_day{.time = "at", .time_unit = TimeUnit::day};
  REQUIRE(table_error("u,at,n\na,1260759144,1\nb,1260759144000,1\n", by_day) ==
          "t:3:3: column 'at' is not a time in seconds since 1970, as the first one is: '1260759144000'");
  REQUIRE(table_error("# made by hand\nu,at,n\n\na,20240131,1\n", by_day)
              .find("t:4:3: the times of column 'at' are neither seconds nor milliseconds") == 0);
  for (std::string const wrong :
       {"2024-02-30", "2024-1-3", "2024-01-03T25:00", "2024-01-03T10:00+1", "03.01.2024"})
    REQUIRE(table_error("u,at,n\na,2024-01-03,1\nb," + wrong + ",1\n", by_day) ==
            "t:3:3: column 'at' is not an ISO date such as 2024-01-31T15:30:00Z: '" + wrong + "'");
  // Before 1970, and at the turn of ISO years.
  REQUIRE(polyad::io::step_label(-1, TimeUnit::hour) == "1969-12-31T23");
  REQUIRE(polyad::io::step_label(-1, TimeUnit::month) == "1969-12");
  std::int64_t week = 0;
  for (auto const& [date, label] :
       std::vector<std::pair<std::string, std::string>>{{"2021-01-03", "2020-W53"},
                                                        {"2021-01-04", "2021-W01"},
                                                        {"2019-12-30", "2020-W01"},
                                                        {"1969-12-29", "1970-W01"}}) {
    REQUIRE(!polyad::io::read_step(date, polyad::io::TimeForm::iso, TimeUnit::week, week));
    REQUIRE(polyad::io::step_label(week, TimeUnit::week) == label);
  }
}

TEST_CASE("table: many labels are numbered alike by any number of threads", "[io]") {
  std::string text;
  std::uint64_t state = 1;
  auto const draw     = [&](std::uint64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % below;
  };
  for (int k = 0; k < 20000; ++k)
    text += "u" + std::to_string(draw(3000)) + "," + std::to_string(draw(100000)) + "," +
            std::to_string(draw(10)) + ".5\n";
  TemporaryFolder const folder;
  folder.write("t", text);
  auto const expected = polyad::io::read_tensor(folder / "t", {.threads = 1});
  REQUIRE(expected.tensor.nnz() == 20000);
  for (int threads = 2; threads <= 8; ++threads)
    for (std::size_t const chunk : {1000, 9999}) {
      auto const file = polyad::io::read_tensor(folder / "t", {.threads = threads, .chunk_bytes = chunk});
      REQUIRE(file.labels == expected.labels);
      REQUIRE(file.tensor.indices == expected.tensor.indices);
      REQUIRE(file.tensor.values == expected.tensor.values);
    }
}

TEST_CASE("table: a second table gets the numbers of the first", "[io]") {
  TemporaryFolder const folder;
  auto const read = [&](std::string const& text) {
    folder.write("t", text);
    return polyad::io::read_tensor(folder / "t");
  };
  auto const first = read("user,item,rating\nbob,30,1\namy,10,2\n");
  auto const match = [&](polyad::io::TensorFile& file) {
    return polyad::io::match_rows(file, {0, first.labels}, first.tensor.extents, "t");
  };
  auto second        = read("item,user,rating\n10,bob,5\n20,zoe,6\n30,amy,7\n");
  auto const unknown = match(second);
  REQUIRE(unknown[0].rows() == 1);
  REQUIRE(unknown[0].label(0) == "zoe");
  REQUIRE(unknown[1].rows() == 1);
  REQUIRE(unknown[1].label(0) == "20");
  second.labels = first.labels;
  second.labels[0].add("zoe");
  second.labels[1].add("20");
  REQUIRE(entries_text(second) == "0:bob,0:10=5 2:zoe,2:20=6 1:amy,1:30=7");
  auto numbers = read("1 1 3\n2 2 1\n");
  REQUIRE_THROWS_AS(match(numbers), UsageError);
  auto renamed = read("guest,item,rating\nbob,30,1\n");
  REQUIRE_THROWS_AS(match(renamed), UsageError);
}

TEST_CASE("table: the hash table of texts finds what it has", "[io]") {
  polyad::io::TextTable table;
  REQUIRE(table.find("x") == polyad::io::TextTable::nothing_found);
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t k = 0; k < 5000; ++k)
      REQUIRE(table.number(std::string(k % 40, 'x') + std::to_string(k)) == k);
  REQUIRE(table.number("") == 5000);
  REQUIRE(table.find("") == 5000);
  REQUIRE(table.find("xx") == polyad::io::TextTable::nothing_found);
}
