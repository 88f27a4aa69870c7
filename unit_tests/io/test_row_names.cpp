// SPDX-License-Identifier: BSD-3-Clause
// What rows are called: names read back from files, and the rows of a second table get the numbers of the
// first.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/archive/npz.hpp"
#include "io/read_in_parts.hpp"
#include "io/streams/crc32c.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/fast_tucker_file.hpp"
#include "polyad/io/match_rows.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/io/tensor_file.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

namespace {

using polyad::InputError;
using polyad::UsageError;
using polyad::io::Labels;
using polyad::io::ModeLabels;
using polyad::io::RowNames;
using polyad::io::TensorFile;
using polyad::test::content_of;
using polyad::test::TemporaryFolder;

ModeLabels labels_of(std::string name, std::vector<std::string> const& labels) {
  ModeLabels mode;
  mode.name = std::move(name);
  for (auto const& label : labels) mode.add(label);
  return mode;
}

/// Two modes; entry p is in row rows[p] of each, and has the value p.
TensorFile file_of(Labels labels, std::vector<std::uint32_t> const& first,
                   std::vector<std::uint32_t> const& second) {
  TensorFile file;
  file.labels         = std::move(labels);
  file.tensor.extents = {4, 4};
  auto& indices       = std::get<0>(file.tensor.indices);
  for (std::size_t p = 0; p < first.size(); ++p) {
    indices.push_back(first[p]);
    indices.push_back(second[p]);
    file.tensor.values.push_back(static_cast<double>(p));
  }
  file.report.index_base = 0;
  return file;
}

std::vector<std::uint64_t> rows_of(TensorFile const& file, std::size_t n) {
  std::vector<std::uint64_t> rows;
  std::visit(
      [&](auto const& indices) {
        for (std::size_t e = n; e < indices.size(); e += file.tensor.extents.size())
          rows.push_back(indices[e]);
      },
      file.tensor.indices);
  return rows;
}

std::string usage_error(TensorFile file, RowNames const& names) {
  try {
    static_cast<void>(polyad::io::match_rows(file, names, {3, 3}, "f"));
  } catch (UsageError const& error) {
    return error.what();
  }
  return "";
}

RowNames const sample_names{0,
                            {labels_of("user", {"alice", "",
                                                "b\xC3\xA9"
                                                "a"}),
                             labels_of("item", {"7", "-9"})}};

}  // namespace

TEST_CASE("names read back with every kind of npz", "[io][names]") {
  TemporaryFolder const folder;
  auto const path = folder / "m.npz";
  polyad::io::HostKtensor cp{{2}, {3, 2}, {{1, 2, 3}, {4, 5}}, {}, sample_names};
  polyad::io::write_model(path, cp);
  CHECK(polyad::io::read_model(path) == cp);

  polyad::io::HostFastTucker completion;
  completion.extents                 = {3, 2};
  completion.columns                 = {1, 1};
  completion.rank                    = 1;
  completion.factors                 = {{1, 2, 3}, {4, 5}};
  completion.cores                   = {{1}, {1}};
  completion.observed                = {{1, 0, 1}, {}};
  completion.names                   = sample_names;
  completion.names.labels[1].is_text = true;
  polyad::io::write_fast_tucker(path, completion);
  CHECK(polyad::io::read_fast_tucker(path) == completion);
  completion.names = {1, {}};
  polyad::io::write_fast_tucker(path, completion);
  CHECK(polyad::io::read_fast_tucker(path) == completion);

  auto const tensor                  = file_of({}, {0, 2}, {1, 0}).tensor;
  polyad::io::CoordinateList fitting = tensor;
  fitting.extents                    = {3, 2};
  polyad::io::write_tensor(path, fitting, {.labels = sample_names.labels});
  CHECK(polyad::io::read_tensor(path).labels == sample_names.labels);
}

TEST_CASE("a .pten keeps names and the index base in version 2", "[io][names]") {
  TemporaryFolder const folder;
  auto list          = file_of({}, {0, 2}, {1, 0}).tensor;
  list.extents       = {3, 2};
  auto const version = [&] { return content_of(folder / "t.pten")[8]; };
  auto const refused = [&](std::string const& bytes) -> std::string {
    folder.write("d.pten", bytes);
    try {
      static_cast<void>(polyad::io::read_tensor(folder / "d.pten"));
    } catch (InputError const& error) {
      return error.what();
    }
    return "";
  };
  polyad::io::write_tensor(folder / "t.pten", list);
  CHECK(version() == 1);
  CHECK(!polyad::io::read_tensor(folder / "t.pten").report.knows_index_base);
  polyad::io::write_tensor(folder / "t.pten", list, {.labels = Labels(2)});  // nothing is named
  CHECK(version() == 1);

  auto names              = sample_names.labels;
  names[1].is_text        = true;
  Labels const only_modes = {labels_of("user", {}), labels_of("", {})};
  for (auto const& labels : {names, only_modes, Labels{{}, names[1]}, Labels{}})
    for (int const base : {-1, 0, 1}) {
      if (labels.empty() && base < 0) continue;
      polyad::io::write_tensor(folder / "t.pten", list, {.index_base = base, .labels = labels});
      CHECK(version() == 2);
      auto const read = polyad::io::read_tensor(folder / "t.pten");
      CHECK(read.labels == labels);
      CHECK(read.tensor.extents == list.extents);
      CHECK(read.tensor.indices == list.indices);
      CHECK(read.tensor.values == list.values);
      CHECK(read.report.knows_index_base == (base >= 0));
      CHECK(read.report.index_base == std::max(base, 0));
      auto const parts = polyad::test::read_parts(folder / "t.pten", {}, 2);
      CHECK(parts[0].labels == labels);
      CHECK(parts[1].labels.empty());
      CHECK(parts[1].report.index_base == std::max(base, 0));
    }

  polyad::io::write_tensor(folder / "t.pten", list, {.index_base = 1, .labels = names});
  std::string const whole = content_of(folder / "t.pten");
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8]    = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    INFO("bit " << bit);
    CHECK(!refused(damaged).empty());
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size << " bytes");
    CHECK(!refused(whole.substr(0, size)).empty());
  }
}

TEST_CASE("names in a .pten that contradict are refused, though all checksums are right", "[io][names]") {
  TemporaryFolder const folder;
  auto list    = file_of({}, {0, 2}, {1, 0}).tensor;
  list.extents = {3, 2};
  polyad::io::write_tensor(folder / "t.pten", list, {.labels = {labels_of("u", {"a", "b", "c"}), {}}});
  std::string const whole = content_of(folder / "t.pten");
  // 72 bytes of header: the length of the names is at 56, their checksum at 64. The names: flags, 1, "u",
  // three ends of 8 bytes, "abc", and 8 bytes of 0.
  constexpr std::size_t begin = 72, size = 4 + 4 + 1 + 24 + 3 + 8;
  auto const with = [&](std::size_t at, std::string const& bytes) -> std::string {
    std::string changed = whole;
    changed.replace(at, bytes.size(), bytes);
    auto const put = [&](std::size_t where, std::uint32_t crc) {
      for (std::size_t k = 0; k < 4; ++k) changed[where + k] = static_cast<char>(crc >> 8 * k & 0xFF);
    };
    put(64, polyad::io::crc32c(0, std::string_view(changed).substr(begin, size)));
    put(68, polyad::io::crc32c(0, std::string_view(changed).substr(0, 68)));
    folder.write("d.pten", changed);
    try {
      static_cast<void>(polyad::io::read_tensor(folder / "d.pten"));
    } catch (InputError const& error) {
      return std::string(error.what()).substr((folder / "d.pten").string().size());
    }
    return "";
  };
  std::string const most(8, '\xFF');
  CHECK(with(begin + 8, "v") == "");
  CHECK(with(20, "\x02") == ": the header says what version 2 does not know");
  CHECK(with(56, most) == ": the names are cut short");
  CHECK(with(begin, "\x04") == ": the names of mode 0 have unknown flags");
  CHECK(with(begin + 4, "\x7F").find("ends") != std::string::npos);
  CHECK(with(begin + 8, "\xFF") == ": the name of mode 0 is not UTF-8");
  CHECK(with(begin + 9, "\x04") == ": the ends of the labels of mode 0 do not increase");
  CHECK(with(begin + 9 + 16, most) == ": the labels of mode 0 are cut short");
  CHECK(with(begin + 9 + 16, "\x01") == ": the ends of the labels of mode 0 do not increase");
  CHECK(with(begin + 9 + 24, "\xC3") == ": a label of mode 0 is not UTF-8");
  CHECK(with(begin + 36, "\x01") == ": the names of mode 1 end before the 2 labels of its rows");
  CHECK(with(40, most).find("end before the 18446744073709551615 labels") != std::string::npos);
}

TEST_CASE("a model in text has its labels in a file next to it", "[io][names]") {
  TemporaryFolder const folder;
  auto const path = folder / "m.ktns";
  auto names      = sample_names;
  polyad::io::HostKtensor const cp{{2}, {3, 2}, {{1, 2, 3}, {4, 5}}, {}, names};
  auto const refused = [&]() -> std::string {
    try {
      static_cast<void>(polyad::io::read_model(path));
    } catch (InputError const& error) {
      return error.what();
    }
    return "";
  };
  polyad::io::write_model(path, cp);
  CHECK(polyad::io::read_model(path) == cp);
  std::string const text = content_of(path), labels = content_of(folder / "m.ktns.labels");
  CHECK(text.find("\n# index_base 0\n# labels ") != std::string::npos);

  std::filesystem::remove(folder / "m.ktns.labels");
  CHECK(refused().find("m.ktns.labels: is missing") != std::string::npos);
  auto other            = cp;
  other.names.labels[0] = labels_of("user", {"x", "y", "z"});
  polyad::io::write_model(folder / "o.ktns", other);
  folder.write("m.ktns.labels", content_of(folder / "o.ktns.labels"));
  CHECK(refused().find("has the labels of another model") != std::string::npos);
  for (std::size_t bit = 0; bit < 8 * labels.size(); ++bit) {
    std::string damaged = labels;
    damaged[bit / 8]    = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    folder.write("m.ktns.labels", damaged);
    INFO("bit " << bit);
    CHECK(!refused().empty());
  }
  for (std::size_t size = 0; size < labels.size(); ++size) {
    folder.write("m.ktns.labels", labels.substr(0, size));
    INFO(size << " bytes");
    CHECK(!refused().empty());
  }
  folder.write("m.ktns.labels", labels + '\0');
  CHECK(refused().find("cut short, or continues") != std::string::npos);
  folder.write("m.ktns.labels", labels);
  CHECK(polyad::io::read_model(path) == cp);

  for (char const* const end :
       {"# labels 12\n", "# labels 0123456g\n", "# labels\n", "# index_base 0\n# labels",
        "# labels 00000000\n# index_base 0\n", "# index_base 0\n# index_base 0\n"}) {
    folder.write("m.ktns", text.substr(0, text.find("# index_base")) + end);
    INFO(end);
    CHECK(!refused().empty());
  }
  // A model without names has no such file, and does not look at one.
  polyad::io::HostKtensor plain = cp;
  plain.names                   = {1, {}};
  polyad::io::write_model(path, plain);
  CHECK(content_of(path).find("labels") == std::string::npos);
  CHECK(polyad::io::read_model(path).names.labels.empty());
}

TEST_CASE("a model in text that cannot be written leaves no labels", "[io][names]") {
  TemporaryFolder const folder;
  std::filesystem::create_directory(folder / "m.ktns");
  polyad::io::HostKtensor const cp{{2}, {3, 2}, {{1, 2, 3}, {4, 5}}, {}, sample_names};
  CHECK_THROWS_AS(polyad::io::write_model(folder / "m.ktns", cp), polyad::WriteError);
  CHECK(!std::filesystem::exists(folder / "m.ktns.labels"));
  std::filesystem::create_directory(folder / "n.ktns.labels");
  CHECK_THROWS_AS(polyad::io::write_model(folder / "n.ktns", cp), polyad::WriteError);
  CHECK(!std::filesystem::exists(folder / "n.ktns"));
}

TEST_CASE("names of other rows are not written", "[io][names]") {
  TemporaryFolder const folder;
  auto const path = folder / "m.npz";
  for (auto const& names : {RowNames{2, {}}, RowNames{0, {labels_of("user", {"a"})}},
                            RowNames{0, {labels_of("user", {"a"}), labels_of("item", {"b"})}}}) {
    polyad::io::HostKtensor const cp{{2}, {3, 2}, {{1, 2, 3}, {4, 5}}, {}, names};
    CHECK_THROWS_AS(polyad::io::write_model(path, cp), UsageError);
  }
  CHECK(!std::filesystem::exists(path));
}

TEST_CASE("text keeps an index base of 0", "[io][names]") {
  TemporaryFolder const folder;
  auto const path = folder / "m.ktns";
  polyad::io::HostKtensor const cp{{2}, {3, 2}, {{1, 2, 3}, {4, 5}}, {}, {0, {}}};
  polyad::io::write_model(path, cp);
  CHECK(polyad::io::read_model(path) == cp);
  std::ofstream(path, std::ios::app) << "more";
  CHECK_THROWS_AS(polyad::io::read_model(path), InputError);

  auto const tensor = file_of({}, {1, 2}, {1, 3}).tensor;
  for (auto const* name : {"t.tns", "t.txt"}) {
    polyad::io::write_tensor(folder / name, tensor, {.index_base = 0});
    auto const read = polyad::io::read_tensor(folder / name, {.index_base_of_text = 0});
    CHECK(read.report.index_base == 0);
    CHECK(rows_of(read, 1) == std::vector<std::uint64_t>{1, 3});
  }
  polyad::io::write_tensor(folder / "t.tns", tensor,
                           {.dialect = polyad::io::Dialect::tensor_toolbox, .index_base = 0});
  auto const toolbox = polyad::io::read_tensor(folder / "t.tns", {.index_base_of_text = 1});
  CHECK(toolbox.report.index_base == 0);  // the dialect says so
  CHECK(toolbox.tensor.extents == tensor.extents);
}

TEST_CASE("the base of a text may be that of another file", "[io][names]") {
  TemporaryFolder const folder;
  std::ofstream(folder / "x.tns") << "1 2 5\n3 1 6\n";
  for (int const base : {0, 1}) {
    auto const read = polyad::io::read_tensor(folder / "x.tns", {.index_base_of_text = base});
    CHECK(read.report.index_base == base);
    CHECK(rows_of(read, 0) ==
          std::vector<std::uint64_t>{1U - static_cast<unsigned>(base), 3U - static_cast<unsigned>(base)});
  }
  CHECK(polyad::io::read_tensor(folder / "x.tns", {.index_base = 1, .index_base_of_text = 0})
            .report.index_base == 1);
  CHECK_THROWS_AS(polyad::io::read_tensor(folder / "x.tns", {.index_base_of_text = 2}), UsageError);
  std::ofstream(folder / "x.mtx") << "%%MatrixMarket matrix coordinate real general\n3 2 2\n1 2 5\n3 1 6\n";
  CHECK(polyad::io::read_tensor(folder / "x.mtx", {.index_base_of_text = 0}).report.index_base == 1);
  polyad::io::write_tensor(folder / "x.npz", file_of({}, {1}, {1}).tensor);
  CHECK(polyad::io::read_tensor(folder / "x.npz", {.index_base_of_text = 1}).report.index_base == 0);
}

TEST_CASE("rows are matched by their labels", "[io][names]") {
  auto file          = file_of({labels_of("", {"zoe",
                                               "b\xC3\xA9"
                                               "a",
                                               "yan", "alice"}),
                                labels_of("", {"-9", "1", "7", "8"})},
                               {0, 1, 2, 3, 0}, {0, 2, 2, 0, 3});
  auto const unknown = polyad::io::match_rows(file, sample_names, {3, 2}, "f");
  CHECK(rows_of(file, 0) == std::vector<std::uint64_t>{3, 2, 4, 0, 3});
  CHECK(rows_of(file, 1) == std::vector<std::uint64_t>{1, 0, 0, 1, 2});
  CHECK(file.tensor.extents == std::vector<std::uint64_t>{5, 3});
  CHECK(unknown == Labels{labels_of("user", {"zoe", "yan"}), labels_of("item", {"8"})});
  auto const names = polyad::io::with_new_rows(sample_names, unknown);
  REQUIRE((names.labels[0].rows() == 5 && names.labels[1].rows() == 3));
  CHECK(names.labels[0].label(3) == "zoe");
  CHECK(names.labels[0].label(4) == "yan");
  CHECK(names.labels[1].label(2) == "8");
  CHECK(names.index_base == sample_names.index_base);
}

TEST_CASE("modes are matched by their names", "[io][names]") {
  auto file = file_of({labels_of("item", {"7", "-9", "x", "y"}), labels_of("user", {"alice", "", "x", "y"})},
                      {0, 1}, {1, 0});
  static_cast<void>(polyad::io::match_rows(file, sample_names, {3, 2}, "f"));
  CHECK(rows_of(file, 0) == std::vector<std::uint64_t>{1, 0});
  CHECK(rows_of(file, 1) == std::vector<std::uint64_t>{0, 1});
  CHECK(usage_error(file_of({labels_of("film", {"7"}), labels_of("user", {"alice"})}, {0}, {0}),
                    sample_names) == "f: has no mode 'item', but film, user");
}

TEST_CASE("integers are labels or numbers, other labels are not", "[io][names]") {
  RowNames const integers{0, {labels_of("", {"20", "3", "5"}), labels_of("", {"1", "2", "9"})}};
  auto text              = file_of({}, {2, 0}, {1, 3});  // the numbers in the file: 3 and 1, 2 and 4
  text.report.index_base = 1;
  auto const unknown     = polyad::io::match_rows(text, integers, {3, 3}, "f");
  CHECK(rows_of(text, 0) == std::vector<std::uint64_t>{1, 3});
  CHECK(rows_of(text, 1) == std::vector<std::uint64_t>{1, 3});
  CHECK(unknown[0].label(0) == "1");
  CHECK(unknown[1].label(0) == "4");

  auto binary           = file_of({}, {0}, {0});
  binary.report.dialect = polyad::io::Dialect::pten;
  auto known            = binary;
  static_cast<void>(polyad::io::match_rows(known, integers, {3, 3}, "f"));  // its base is known
  CHECK(rows_of(known, 0) == std::vector<std::uint64_t>{3});
  binary.report.knows_index_base = false;
  CHECK(usage_error(binary, integers).find("two different numberings") != std::string::npos);
  CHECK(usage_error(file_of({}, {0}, {0}), {0, {labels_of("", {"a", "b", "c"}), {}}}).find("'a'") !=
        std::string::npos);

  auto labelled =
      file_of({labels_of("", {"3", "1", "2", "4"}), labels_of("", {"2", "7", "1", "3"})}, {0, 1}, {0, 1});
  static_cast<void>(polyad::io::match_rows(labelled, {1, {}}, {3, 3}, "f"));
  CHECK(rows_of(labelled, 0) == std::vector<std::uint64_t>{2, 0});
  CHECK(rows_of(labelled, 1) == std::vector<std::uint64_t>{1, 6});
  CHECK(labelled.tensor.extents == std::vector<std::uint64_t>{3, 7});
  auto below = file_of({labels_of("", {"0"}), labels_of("", {"1"})}, {0}, {0});
  CHECK_THROWS_AS(polyad::io::match_rows(below, {1, {}}, {3, 3}, "f"), InputError);
}

TEST_CASE("a label of two rows is refused", "[io][names]") {
  CHECK_THROWS_AS(polyad::io::LabelIndex(labels_of("user", {"a", "b", "a"})), UsageError);
  CHECK_THROWS_AS(polyad::io::find_mode({labels_of("user", {}), labels_of("user", {})}, "user"), UsageError);
  CHECK(polyad::io::find_mode(sample_names.labels, "item") == 1);
  CHECK(!polyad::io::find_mode(sample_names.labels, ""));
}
