// SPDX-License-Identifier: BSD-3-Clause
// Tensor files of every kind. What is written reads back to the last bit, the binary kinds are recognised by
// their content, and what is damaged, cut short or out of range is refused with its reason.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/archive/npz.hpp"
#include "io/archive/tensor_npz.hpp"
#include "io/dialects/registry.hpp"
#include "io/pten/pten.hpp"
#include "io/read_in_parts.hpp"
#include "io/streams/crc32c.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/tensor_file.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

namespace {

using polyad::InputError;
using polyad::UsageError;
using polyad::io::Compression;
using polyad::io::CoordinateList;
using polyad::io::Dialect;
using polyad::io::PtenOptions;
using polyad::io::ReadOptions;
using polyad::io::WriteOptions;
using polyad::test::content_of;
using polyad::test::TemporaryFolder;

/// Values with every kind of bits but those that are not finite.
constexpr double special_values[] = {1. / 3,
                                     -0.0,
                                     std::numeric_limits<double>::max(),
                                     std::numeric_limits<double>::denorm_min(),
                                     1e22,
                                     1e23,
                                     123456789.123456789,
                                     -std::numeric_limits<double>::min(),
                                     0.30000000000000004};

/// nnz nonzeros, every extent reached by an index.
CoordinateList sample(std::vector<std::uint64_t> const& extents, std::uint64_t nnz) {
  CoordinateList list;
  list.extents = extents;
  bool const wide =
      *std::max_element(extents.begin(), extents.end()) > std::numeric_limits<std::uint32_t>::max();
  if (wide) list.indices.emplace<1>();
  std::visit(
      [&](auto& indices) {
        using Index = typename std::remove_cvref_t<decltype(indices)>::value_type;
        for (std::uint64_t p = 0; p < nnz; ++p)
          for (std::uint64_t n = 0; n < extents.size(); ++n)
            indices.push_back(static_cast<Index>(p == 0 ? extents[n] - 1 : (p * 7919 + n * 31) % extents[n]));
      },
      list.indices);
  for (std::uint64_t p = 0; p < nnz; ++p)
    list.values.push_back(p % 3 == 0 ? special_values[p / 3 % std::size(special_values)]
                                     : static_cast<double>(p) * 0.1);
  return list;
}

bool same_bits(CoordinateList const& a, CoordinateList const& b) {
  return a.extents == b.extents && a.indices == b.indices && a.values.size() == b.values.size() &&
         std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(double)) == 0;
}

/// The words of the error after the file's name; empty if all went well. Serial and parallel agree.
std::string error_of_file(std::filesystem::path const& path, ReadOptions options = {}) {
  std::string first;
  for (int const threads : {1, 3}) {
    options.threads = threads;
    std::string error;
    try {
      (void)polyad::io::read_tensor(path, options);
    } catch (InputError const& failure) {
      error = std::string(failure.what()).substr(path.string().size());
    }
    if (threads == 1) first = error;
    REQUIRE(error == first);
  }
  return first;
}

std::string error_of(std::string_view content, ReadOptions const& options = {}) {
  TemporaryFolder const folder;
  return error_of_file(folder.write("t", content), options);
}

void put(std::string& bytes, std::uint64_t value, int count) {
  for (; count > 0; --count, value >>= 8) bytes += static_cast<char>(value & 0xFF);
}
void put(std::string& bytes, double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  put(bytes, bits, 8);
}
void put(std::string& bytes, float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  put(bytes, bits, 4);
}

std::vector<std::uint64_t> indices_of(CoordinateList const& list) {
  std::vector<std::uint64_t> result;
  std::visit([&](auto const& indices) { result.assign(indices.begin(), indices.end()); }, list.indices);
  return result;
}

using Numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("crc32c: the known value, and the instruction against the table", "[io]") {
  REQUIRE(polyad::io::crc32c(0, "123456789") == 0xE3069283U);
  REQUIRE(polyad::io::crc32c_by_table(0, "123456789") == 0xE3069283U);
  std::string bytes;
  for (std::uint32_t k = 0; k < 40000; ++k) bytes += static_cast<char>(std::uint64_t{k} * 2654435761U >> 24);
  for (std::size_t const size : {0, 1, 7, 8, 9, 4096, 12287, 12288, 12289, 24576, 40000}) {
    std::string_view const piece = std::string_view(bytes).substr(0, size);
    REQUIRE(polyad::io::crc32c(0, piece) == polyad::io::crc32c_by_table(0, piece));
    REQUIRE(polyad::io::crc32c(polyad::io::crc32c(0, piece.substr(0, size / 3)), piece.substr(size / 3)) ==
            polyad::io::crc32c(0, piece));
  }
}

TEST_CASE("tensor files round-trip to the last bit, through every dialect", "[io]") {
  TemporaryFolder const folder;
  for (auto const& tensor : {sample({9, 4, 6}, 1), sample({7, 5}, 33), sample({300, 20, 1, 50, 2}, 70000),
                             sample({5}, 5), sample({5000000000, 3}, 40), sample(Numbers(16, 3), 9)})
    for (std::string_view const name :
         {"frostt", "extended-frostt", "tensor-toolbox", "dims-header", "matrix-market", "pten", "npz"}) {
      auto const dialect = polyad::io::writable_dialect(name);
      REQUIRE(dialect.has_value());
      if (*dialect == Dialect::matrix_market && tensor.order() != 2) continue;
      INFO(name << ", order " << tensor.order());
      for (int const threads : {1, 3}) {
        polyad::io::write_tensor(folder / "t", tensor, {.dialect = dialect, .threads = threads});
        auto const back = polyad::io::read_tensor(folder / "t", {.threads = threads});
        REQUIRE(back.report.dialect == *dialect);
        REQUIRE(same_bits(back.tensor, tensor));
        REQUIRE(folder.files() == 1);
      }
    }
}

TEST_CASE("tensor files keep extents that no index reaches, if they have a header", "[io]") {
  TemporaryFolder const folder;
  auto tensor    = sample({9, 4, 6}, 20);
  tensor.extents = {100, 4, 7};
  for (std::string_view const name : {"extended-frostt", "tensor-toolbox", "dims-header", "pten", "npz"}) {
    polyad::io::write_tensor(folder / "t", tensor, {.dialect = polyad::io::writable_dialect(name)});
    REQUIRE(same_bits(polyad::io::read_tensor(folder / "t").tensor, tensor));
  }
}

TEST_CASE("tensor files are written by the ending of the name", "[io]") {
  TemporaryFolder const folder;
  auto const tensor = sample({4, 3}, 5);
  for (auto const& [name, dialect] : {std::pair{"a.tns", Dialect::frostt},
                                      {"a.txt", Dialect::frostt},
                                      {"a.mtx", Dialect::matrix_market},
                                      {"a.pten", Dialect::pten},
                                      {"a.npz", Dialect::npz}}) {
    polyad::io::write_tensor(folder / name, tensor);
    REQUIRE(polyad::io::read_tensor(folder / name).report.dialect == dialect);
  }
  polyad::io::write_tensor(folder / "b.tns", sample({2, 1}, 1));
  REQUIRE(content_of(folder / "b.tns") == "2 1 0.3333333333333333\n");
}

TEST_CASE("tensor files: what a dialect cannot hold is refused", "[io]") {
  TemporaryFolder const folder;
  auto const tensor = sample({4, 3, 2}, 5);
  folder.write("t.pten", "precious");
  REQUIRE_THROWS_AS(polyad::io::write_tensor(folder / "t.mtx", tensor), UsageError);
  REQUIRE_THROWS_AS(polyad::io::write_tensor(folder / "t.bin", tensor), UsageError);
  REQUIRE_THROWS_AS(polyad::io::write_tensor(folder / "t.tns", tensor, {.single_precision = true}),
                    UsageError);
  REQUIRE_THROWS_AS(polyad::io::write_tensor(folder / "t.pten", CoordinateList{{2}, {}, {}}), UsageError);
  REQUIRE_THROWS_AS(polyad::io::write_tensor(folder / "t", tensor, {.dialect = Dialect::genten_binary}),
                    UsageError);
  REQUIRE_THROWS_AS(polyad::io::write_pten(folder / "t.pten", tensor, {.block_nonzeros = 0}), UsageError);
  REQUIRE_THROWS_AS(polyad::io::write_tensor_npz(folder / "t", sample({1ULL << 63, 2}, 2)), UsageError);
  REQUIRE_FALSE(polyad::io::writable_dialect("genten-binary").has_value());
  REQUIRE(content_of(folder / "t.pten") == "precious");
  REQUIRE(folder.files() == 1);
  if (std::filesystem::exists("/dev/full"))
    for (auto const dialect : {Dialect::frostt, Dialect::pten, Dialect::npz})
      REQUIRE_THROWS_AS(polyad::io::write_tensor("/dev/full", tensor, {.dialect = dialect}),
                        polyad::WriteError);
}

TEST_CASE("pten: blocks of any size, packed or not, wide or not, float or double", "[io]") {
  TemporaryFolder const folder;
  auto const tensor = sample({30, 20, 10}, 1000);
  for (std::uint64_t const block : {1U, 7U, 999U, 1000U, 1001U})
    for (bool const packed : {false, true})
      for (bool const wide : {false, true}) {
        if (packed && !polyad::io::can_unpack(Compression::zstd)) continue;
        INFO(block << (packed ? " packed" : "") << (wide ? " wide" : ""));
        polyad::io::write_pten(folder / "t", tensor,
                               {.packed = packed, .wide = wide, .block_nonzeros = block, .threads = 2});
        REQUIRE(same_bits(polyad::io::read_tensor(folder / "t").tensor, tensor));
      }
  polyad::io::write_pten(folder / "t", tensor, {.single_precision = true});
  auto const back = polyad::io::read_tensor(folder / "t", {.allow_non_finite = true}).tensor;
  for (std::uint64_t p = 0; p < tensor.nnz(); ++p)
    REQUIRE(back.values[p] == static_cast<double>(static_cast<float>(tensor.values[p])));
  REQUIRE(error_of_file(folder / "t") ==
          ": the value of nonzero 7 is not finite: inf");  // the largest double
}

TEST_CASE("pten: every single flipped bit and every truncation of a file of 1 KiB is detected", "[io]") {
  TemporaryFolder const folder;
  for (bool const packed : {false, true}) {
    if (packed && !polyad::io::can_unpack(Compression::zstd)) continue;
    // 72 bytes of header and blocks of 16 + 11 x 20 bytes: 4 of them and one of 8 bytes.
    auto tensor = sample({6, 5, 4}, 44);
    polyad::io::write_pten(folder / "t", tensor, {.packed = packed, .block_nonzeros = 11});
    std::string const whole = content_of(folder / "t");
    INFO((packed ? "packed, " : "") << whole.size() << " bytes");
    if (!packed) REQUIRE(whole.size() == 1016);
    std::size_t detected = 0;
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string damaged = whole;
      damaged[bit / 8]    = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      folder.write("d", damaged);
      try {
        (void)polyad::io::read_pten(folder / "d", {.threads = 1});
        FAIL("bit " << bit << " went unseen");
      } catch (InputError const&) {
        ++detected;
      }
    }
    REQUIRE(detected == 8 * whole.size());
    for (std::size_t size = 0; size < whole.size(); ++size) {
      folder.write("d", std::string_view(whole).substr(0, size));
      try {
        (void)polyad::io::read_pten(folder / "d", {.threads = 1});
        FAIL("a file cut to " << size << " bytes went unseen");
      } catch (InputError const&) {
        ++detected;
      }
    }
    folder.write("d", whole + '\0');
    REQUIRE(error_of_file(folder / "d") == ": the blocks are followed by 1 other bytes");
  }
}

TEST_CASE("A file read in parts is the file", "[io]") {
  TemporaryFolder const folder;
  auto const tensor = sample({6, 5, 4}, 44);
  polyad::io::write_tensor(folder / "t.tns", tensor);
  polyad::io::write_tensor(folder / "t.npz", tensor);
  polyad::io::write_pten(folder / "t.pten", tensor, {.block_nonzeros = 5});
  for (char const* const name : {"t.tns", "t.npz", "t.pten"})
    for (int const parts : {1, 2, 3, 4, 8, 13}) {
      INFO(name << " in " << parts << " parts");
      auto const expected = polyad::io::read_tensor(folder / name);
      auto const found    = polyad::test::read_in_parts(folder / name, {}, parts);
      REQUIRE(found.tensor.extents == expected.tensor.extents);
      REQUIRE(found.tensor.indices == expected.tensor.indices);
      REQUIRE(found.tensor.values == expected.tensor.values);
      REQUIRE(found.report.dialect == expected.report.dialect);
      REQUIRE(found.report.file_bytes == expected.report.file_bytes);
    }
  // Who reads what: lines and blocks are dealt out, an archive is the first part's.
  for (auto const& file : polyad::test::read_parts(folder / "t.pten", {}, 3)) {
    REQUIRE(file.tensor.nnz() >= 14);
    REQUIRE(file.tensor.nnz() <= 15);
  }
  for (auto const& file : polyad::test::read_parts(folder / "t.tns", {}, 4)) {
    REQUIRE(file.tensor.nnz() >= 9);
    REQUIRE(file.tensor.nnz() <= 13);
  }
  REQUIRE(polyad::test::read_parts(folder / "t.npz", {}, 2)[1].tensor.nnz() == 0);

  // Faults: the file's first, on all parts, and nonzeros are numbered in the file.
  auto const error = [&](char const* name) -> std::string {
    try {
      (void)polyad::test::read_in_parts(folder / name, {}, 3);
      return "";
    } catch (InputError const& refused) {
      return std::string(refused.what()).substr((folder / name).string().size());
    }
  };
  std::string damaged = content_of(folder / "t.pten");
  damaged[damaged.size() - 30] ^= 1;
  folder.write("d.pten", damaged);
  REQUIRE(error("d.pten") == ": block 9 of 9 is damaged: its checksum is wrong");
  auto wrong       = tensor;
  wrong.values[40] = std::numeric_limits<double>::quiet_NaN();
  polyad::io::write_pten(folder / "n.pten", wrong, {.block_nonzeros = 5});
  REQUIRE(error("n.pten") == ": the value of nonzero 41 is not finite: nan");
  REQUIRE(error("none.pten") == ": no such file");
  folder.write("z.tns", "1 1 0\n2 2 0\n1 2 0\n");
  REQUIRE_THROWS_AS(polyad::test::read_in_parts(folder / "z.tns", {.drop_zeros = true}, 3), InputError);
  folder.write("y.tns", "1 1 0\n2 2 0\n1 2 3\n");
  auto const left = polyad::test::read_in_parts(folder / "y.tns", {.drop_zeros = true}, 3);
  REQUIRE(left.tensor.nnz() == 1);
  REQUIRE(left.report.zeros == 2);
}

TEST_CASE("pten: the words for what is wrong", "[io]") {
  TemporaryFolder const folder;
  polyad::io::write_pten(folder / "t", sample({6, 5, 4}, 44), {.block_nonzeros = 11});
  std::string const whole = content_of(folder / "t");
  auto const with         = [&](std::size_t offset, std::uint64_t value, int bytes, bool mend_header) {
    std::string changed = whole, piece;
    put(piece, value, bytes);
    changed.replace(offset, piece.size(), piece);
    if (mend_header) {
      std::string crc;
      put(crc, polyad::io::crc32c(0, std::string_view(changed).substr(0, 68)), 4);
      changed.replace(68, 4, crc);
    }
    return error_of(changed);
  };
  REQUIRE(with(8, 3, 4, true) == ": is of version 3; this Polyad reads versions 1 and 2");
  REQUIRE(with(8, 2, 4, true) == ": the header says what version 2 does not know");
  REQUIRE(with(8, 2, 4, false) == ": the header is damaged or cut short: its checksum is wrong");
  for (auto const& [offset, value, bytes] :
       {std::tuple{16, 5, 1}, {17, 2, 1}, {18, 2, 1}, {19, 4, 1}, {20, 1, 4}, {32, 0, 8}, {32, 1 << 21, 8}})
    REQUIRE(with(static_cast<std::size_t>(offset), static_cast<std::uint64_t>(value), bytes, true) ==
            ": the header says what version 1 does not know");
  REQUIRE(with(24, 0, 8, true) == ": holds no nonzeros");
  REQUIRE(with(24, 45, 8, true) == ": block 5 of 5 is missing; is the file cut short?");
  REQUIRE(with(24, 43, 8, true) == ": block 4 of 4 is of another size than its nonzeros");
  REQUIRE(with(48, 0, 8, true) == ": extent 2 is 0");
  REQUIRE(with(48, 3, 8, true) == ": index 2 of nonzero 1 is 4, beyond the extent 3 counted from 0");
  REQUIRE(with(72, 1, 1, false) == ": the head of block 1 of 4 is damaged: its checksum is wrong");
  REQUIRE(with(72 + 236 + 16, 99, 1, false) == ": block 2 of 4 is damaged: its checksum is wrong");
  REQUIRE(error_of(whole.substr(0, 1000)) == ": block 4 of 4 is cut short");
  REQUIRE(error_of(whole.substr(0, 40)) == ": the file ends inside the header; is it cut short?");
}

TEST_CASE("every dialect of the registry keeps what it says that it keeps", "[io]") {
  TemporaryFolder const folder;
  std::vector<std::string_view> names, endings;
  for (Dialect const dialect : polyad::io::dialects()) {
    INFO(dialect.name());
    auto const& definition  = dialect.definition();
    int const recognised_by = (definition.begins != nullptr ? 1 : 0) +
                              (definition.recognise != nullptr ? 1 : 0) +
                              (definition.read_header != nullptr ? 1 : 0);
    REQUIRE(recognised_by == 1);
    REQUIRE((definition.read != nullptr) == (definition.read_header == nullptr));
    REQUIRE(dialect.is_text() == (definition.begins == nullptr));
    REQUIRE(std::ranges::find(names, dialect.name()) == names.end());
    names.push_back(dialect.name());
    REQUIRE((polyad::io::writable_dialect(dialect.name()) == dialect) == dialect.can_write());
    REQUIRE((dialect.can_write() || dialect.endings().empty()));
    for (std::string_view const ending : dialect.endings()) {
      REQUIRE(std::ranges::find(endings, ending) == endings.end());
      endings.push_back(ending);
      REQUIRE(polyad::io::dialect_of_ending("x" + std::string(ending)) == dialect);
      REQUIRE(polyad::io::endings_text().find(ending) != std::string::npos);
    }
    if (!dialect.can_write()) continue;
    auto list    = sample({6, 5}, 7);
    list.extents = {7, 6};
    polyad::io::Labels labels(2);
    labels[1].name = "item";
    for (char const* const label : {"a", "", "b", "c", "d", "e"}) labels[1].add(label);
    for (int const base : {-1, 0, 1}) {
      polyad::io::write_tensor(folder / "t", list,
                               {.dialect = dialect, .index_base = base, .labels = labels});
      auto const back = polyad::io::read_tensor(folder / "t", {.index_base_of_text = std::max(base, 0)});
      REQUIRE(back.report.dialect == dialect);
      REQUIRE(back.labels == (dialect.holds_names() ? labels : polyad::io::Labels()));
      if (dialect.holds_names()) {
        REQUIRE(back.report.knows_index_base == (base >= 0));
        REQUIRE(back.report.index_base == std::max(base, 0));
      }
      if (dialect.is_text()) REQUIRE(back.report.knows_index_base);
      if (base != -1) REQUIRE((back.tensor.extents == list.extents) == dialect.holds_extents());
    }
    WriteOptions const floats{.dialect = dialect, .single_precision = true};
    if (dialect.holds_floats()) {
      list.values.assign(list.values.size(), 1. / 3);
      polyad::io::write_tensor(folder / "t", list, floats);
      REQUIRE(polyad::io::read_tensor(folder / "t").tensor.values[0] == static_cast<double>(1.F / 3));
    } else {
      REQUIRE_THROWS_AS(polyad::io::write_tensor(folder / "t", list, floats), UsageError);
    }
  }
  REQUIRE(polyad::io::endings_text() == ".tns, .txt, .mtx, .pten or .npz");
}

TEST_CASE("binary kinds count from 0", "[io]") {
  TemporaryFolder const folder;
  polyad::io::write_tensor(folder / "t.pten", sample({4, 3}, 2));
  REQUIRE(polyad::io::read_tensor(folder / "t.pten", {.index_base = 0}).tensor.nnz() == 2);
  REQUIRE_THROWS_AS(polyad::io::read_tensor(folder / "t.pten", {.index_base = 1}), UsageError);
  for (char const* const name : {"t.pten", "t.npz"}) {
    polyad::io::write_tensor(folder / name, sample({4, 3}, 2), {.index_base = 1});
    REQUIRE(polyad::io::read_tensor(folder / name, {.index_base = 1}).report.index_base == 1);
    REQUIRE_THROWS_AS(polyad::io::read_tensor(folder / name, {.index_base = 0}), UsageError);
    REQUIRE_THROWS_AS(polyad::test::read_in_parts(folder / name, {.index_base = 0}, 3), UsageError);
    REQUIRE(polyad::test::read_in_parts(folder / name, {.index_base = 1}, 3).tensor.nnz() == 2);
  }
}

TEST_CASE("GenTen's binary files", "[io]") {
  auto const file = [](std::uint64_t value_bits, Numbers const& bits, Numbers const& indices,
                       std::uint64_t nnz) {
    std::string bytes = "sptn";
    put(bytes, 3, 4);
    put(bytes, value_bits, 4);
    for (std::uint64_t const extent : {300, 3, 7}) put(bytes, extent, 8);
    for (std::uint64_t const width : bits) put(bytes, width, 8);
    put(bytes, nnz, 8);
    for (std::size_t p = 0; p < 2; ++p) {
      for (std::size_t n = 0; n < 3; ++n) put(bytes, indices[3 * p + n], static_cast<int>(bits[n] / 8));
      if (value_bits == 32)
        put(bytes, p == 0 ? 1.5F : -2.F);
      else
        put(bytes, p == 0 ? 1.5 : -2.);
    }
    return bytes;
  };
  TemporaryFolder const folder;
  for (std::uint64_t const value_bits : {32, 64})
    for (Numbers const& bits : {Numbers{16, 8, 8}, Numbers{32, 32, 32}, Numbers{64, 16, 64}}) {
      folder.write("t", file(value_bits, bits, {299, 2, 6, 0, 1, 5}, 2));
      auto const read = polyad::io::read_tensor(folder / "t");
      REQUIRE(read.report.dialect == Dialect::genten_binary);
      REQUIRE(read.tensor.extents == Numbers{300, 3, 7});
      REQUIRE(indices_of(read.tensor) == Numbers{299, 2, 6, 0, 1, 5});
      REQUIRE(read.tensor.values[0] == 1.5);
      REQUIRE(read.tensor.values[1] == -2);
    }
  Numbers const good{299, 2, 6, 0, 1, 5}, bits{16, 8, 8};
  std::string const whole = file(32, bits, good, 2);
  for (std::size_t size = 4; size < whole.size(); ++size) REQUIRE(error_of(whole.substr(0, size)) != "");
  REQUIRE(error_of(whole.substr(0, 30)) == ": the file ends too early; is it cut short?");
  REQUIRE(error_of(whole + "x") == ": declares 2 nonzeros of 8 bytes, but 17 bytes follow");
  REQUIRE(error_of(file(32, bits, good, 3)) == ": declares 3 nonzeros of 8 bytes, but 16 bytes follow");
  REQUIRE(error_of(file(32, bits, good, 0)) == ": holds no nonzeros");
  REQUIRE(error_of(file(32, bits, good, 1ULL << 61)) ==
          ": declares 2305843009213693952 nonzeros of 8 bytes, but 16 bytes follow");
  REQUIRE(error_of(file(16, bits, good, 2)) == ": holds values of 16 bits; 32 and 64 are supported");
  REQUIRE(error_of(file(32, {12, 8, 8}, good, 2)) ==
          ": holds indices of 12 bits; 8, 16, 32 and 64 are supported");
  REQUIRE(error_of(file(32, bits, {299, 2, 6, 0, 3, 5}, 2)) ==
          ": index 2 of nonzero 2 is 3, beyond the extent 3 counted from 0");
  std::string many = whole;
  many[4]          = 17;
  REQUIRE(error_of(many) == ": declares 17 modes; 1 to 16 are possible");
  std::string flat = whole;
  flat[12] = flat[13] = 0;
  REQUIRE(error_of(flat) == ": extent 1 is 0");
}

TEST_CASE("SPLATT's binary files", "[io]") {
  auto const file = [](int index_bytes, int value_bytes, Numbers const& columns, std::uint64_t nnz,
                       double second) {
    std::string bytes;
    put(bytes, 0, 4);
    put(bytes, static_cast<std::uint64_t>(index_bytes), 8);
    put(bytes, static_cast<std::uint64_t>(value_bytes), 8);
    for (std::uint64_t const number :
         {std::uint64_t{3}, std::uint64_t{300}, std::uint64_t{3}, std::uint64_t{7}, nnz})
      put(bytes, number, index_bytes);
    for (std::uint64_t const index : columns) put(bytes, index, index_bytes);
    for (double const value : {1.5, second})
      if (value_bytes == 4)
        put(bytes, static_cast<float>(value));
      else
        put(bytes, value);
    return bytes;
  };
  TemporaryFolder const folder;
  Numbers const good{299, 0, 2, 1, 6, 5};
  for (int const index_bytes : {4, 8})
    for (int const value_bytes : {4, 8}) {
      folder.write("t", file(index_bytes, value_bytes, good, 2, -2));
      auto const read = polyad::io::read_tensor(folder / "t");
      REQUIRE(read.report.dialect == Dialect::splatt_binary);
      REQUIRE(read.tensor.extents == Numbers{300, 3, 7});
      REQUIRE(indices_of(read.tensor) == Numbers{299, 2, 6, 0, 1, 5});
      REQUIRE(read.tensor.values[0] == 1.5);
      REQUIRE(read.tensor.values[1] == -2);
    }
  std::string const whole = file(4, 8, good, 2, -2);
  for (std::size_t size = 1; size < whole.size(); ++size) REQUIRE(error_of(whole.substr(0, size)) != "");
  REQUIRE(error_of(file(4, 8, good, 3, -2)) == ": declares 3 nonzeros of 20 bytes, but 40 bytes follow");
  REQUIRE(error_of(file(4, 8, {299, 300, 2, 1, 6, 5}, 2, -2)) ==
          ": index 1 of nonzero 2 is 300, beyond the extent 300 counted from 0");
  double const nan      = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  REQUIRE(error_of(file(4, 8, good, 2, nan)) == ": the value of nonzero 2 is not finite: nan");
  REQUIRE(error_of(file(4, 8, good, 2, -infinity)) == ": the value of nonzero 2 is not finite: -inf");
  ReadOptions any;
  any.allow_non_finite = true;
  REQUIRE(error_of(file(4, 8, good, 2, nan), any) == "");
  REQUIRE(error_of(file(4, 8, good, 2, 0), any) == "");
  any.drop_zeros = true;
  folder.write("t", file(4, 8, good, 2, 0));
  auto const dropped = polyad::io::read_tensor(folder / "t", any);
  REQUIRE(dropped.tensor.nnz() == 1);
  REQUIRE(dropped.report.zeros == 1);
  std::string csf = whole;
  csf[0]          = 1;
  REQUIRE(error_of(csf) == ": holds a CSF tensor of SPLATT; its coordinate files (.bin) are read");
}

TEST_CASE("npz: a model is not a tensor, and damage is named", "[io]") {
  TemporaryFolder const folder;
  polyad::io::write_npz(folder / "m.npz", {{1}, {1}, {{1}}});
  REQUIRE(error_of_file(folder / "m.npz") == ": is a CP model, not a sparse tensor");
  polyad::io::write_tensor(folder / "t.npz", sample({6, 5}, 7));
  std::string const whole = content_of(folder / "t.npz");
  for (std::size_t size = 2; size < whole.size(); size += 5) REQUIRE(error_of(whole.substr(0, size)) != "");
  std::string damaged = whole;
  damaged[200] ^= 1;
  REQUIRE(error_of(damaged) == ": 'coords.npy' is damaged: its checksum is wrong");
}
