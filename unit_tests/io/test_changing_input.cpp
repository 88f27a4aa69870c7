// SPDX-License-Identifier: BSD-3-Clause
// Files that become shorter while they are read, and pipes: each file is opened once.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "io/streams/raw_input.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/input_file.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

using polyad::InputError;
using polyad::io::CoordinateList;
using polyad::io::InputFile;
using polyad::test::content_of;
using polyad::test::TemporaryFolder;

namespace {

CoordinateList sample(std::uint32_t nnz) {
  CoordinateList list;
  list.extents  = {1000, 2000, 3000};
  auto& indices = std::get<0>(list.indices);
  for (std::uint32_t p = 0; p < nnz; ++p) {  // numbers that zstd does not make small
    std::uint32_t const mixed = p * 2654435761U ^ (p * 40503U >> 7);
    for (std::uint32_t n = 0; n < 3; ++n) indices.push_back((mixed >> 5 * n) % (1000 * (n + 1)));
    list.values.push_back(1 / (1.0 + mixed));
  }
  for (std::uint32_t n = 0; n < 3; ++n) indices[n] = 1000 * (n + 1) - 1;
  return list;
}

template <class Number>
void put(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<char const*>(&number), sizeof number);
}

std::string splatt(CoordinateList const& list) {
  std::string bytes;
  put(bytes, std::int32_t{0});
  for (std::uint64_t const word : {8, 8, 3}) put(bytes, word);
  for (std::uint64_t const extent : list.extents) put(bytes, extent);
  put(bytes, std::uint64_t{list.nnz()});
  for (std::size_t n = 0; n < 3; ++n)
    for (std::size_t p = 0; p < list.nnz(); ++p)
      put(bytes, std::uint64_t{std::get<0>(list.indices)[p * 3 + n]});
  for (double const value : list.values) put(bytes, value);
  return bytes;
}

std::string genten(CoordinateList const& list) {
  std::string bytes = "sptn";
  put(bytes, std::uint32_t{3});
  put(bytes, std::uint32_t{64});
  for (std::uint64_t const extent : list.extents) put(bytes, extent);
  for (int n = 0; n < 3; ++n) put(bytes, std::uint64_t{32});
  put(bytes, std::uint64_t{list.nnz()});
  for (std::size_t p = 0; p < list.nnz(); ++p) {
    for (std::size_t n = 0; n < 3; ++n) put(bytes, std::get<0>(list.indices)[p * 3 + n]);
    put(bytes, list.values[p]);
  }
  return bytes;
}

/// A file of each kind, of some MB.
std::vector<std::filesystem::path> files_in(TemporaryFolder const& folder, CoordinateList const& list) {
  std::vector<std::filesystem::path> files;
  for (char const* name : {"t.tns", "t.pten", "t.npz", "t.txt"}) {
    polyad::io::write_tensor(folder / name, list);
    files.push_back(folder / name);
  }
  if (polyad::io::can_unpack(polyad::io::Compression::zstd)) {
    polyad::io::write_tensor(folder / "packed.pten", list, {.packed = true});
    files.push_back(folder / "packed.pten");
  }
  files.push_back(folder.write("splatt", splatt(list)));
  files.push_back(folder.write("genten", genten(list)));
  return files;
}

bool same(CoordinateList const& a, CoordinateList const& b) {
  return a.extents == b.extents && a.indices == b.indices && a.values == b.values;
}

}  // namespace

TEST_CASE("changing input: a file that becomes shorter is an error, whatever its kind", "[io]") {
  TemporaryFolder const folder;
  auto const list = sample(150000);
  for (auto const& path : files_in(folder, list)) {
    auto const whole = content_of(path);
    for (double const share : {0.0, 0.3, 0.6, 0.99})
      for (int const threads : {1, 3}) {
        CAPTURE(path, share, threads);
        folder.write(path.filename().string(), whole);
        InputFile file(path);
        static_cast<void>(file.kind());
        std::filesystem::resize_file(path, static_cast<std::uintmax_t>(share * double(whole.size())));
        REQUIRE_THROWS_AS(file.read_tensor({.threads = threads}), InputError);
      }
    folder.write(path.filename().string(), whole);
    InputFile file(path);
    // What is added is not read.
    std::filesystem::resize_file(path, whole.size() + 1000);
    REQUIRE(same(file.read_tensor().tensor, list));
  }
}

TEST_CASE("changing input: models and arrays", "[io]") {
  TemporaryFolder const folder;
  polyad::io::HostKtensor model;
  model.weights = std::vector<double>(20, 1.5);
  model.extents = {9000, 8000};
  for (auto const extent : model.extents) model.factors.emplace_back(extent * 20, 0.1);
  for (char const* name : {"m.npz", "m.ktns"}) {
    polyad::io::write_model(folder / name, model);
    auto const bytes = std::filesystem::file_size(folder / name);
    InputFile file(folder / name);
    REQUIRE(file.kind() == InputFile::Kind::cp_model);
    std::filesystem::resize_file(folder / name, bytes / 2);
    REQUIRE_THROWS_AS(file.read_model(), InputError);
  }
}

TEST_CASE("changing input: places and pieces of a file", "[io]") {
  TemporaryFolder const folder;
  std::string text;
  for (int k = 0; k < 400000; ++k) text += std::to_string(k) + "\n";
  polyad::io::RawInput input(folder.write("t", text));
  REQUIRE(input.has_places());
  REQUIRE(input.size() == text.size());
  std::string all(text.size(), '\0');
  input.read_at(0, all.data(), all.size());
  REQUIRE(all == text);
  // A look, longer than a buffer, then all of it.
  input.begin_look();
  std::string look(input.next());
  look += input.next();
  REQUIRE(text.starts_with(look));
  input.look_again();
  std::string again;
  for (auto piece = input.next(); !piece.empty(); piece = input.next()) again += piece;
  REQUIRE(again == text);
  REQUIRE(input.consumed() == text.size());
}

TEST_CASE("changing input: a pipe is recognised and read by one opening", "[io]") {
  TemporaryFolder const folder;
  auto const list = sample(60000);
  auto files      = files_in(folder, list);
  polyad::io::HostKtensor model;
  model.weights = {1.5};
  model.extents = {90000, 8};
  for (auto const extent : model.extents) model.factors.emplace_back(extent, 0.1);
  for (char const* name : {"m.npz", "m.ktns"}) {
    polyad::io::write_model(folder / name, model);
    files.push_back(folder / name);
  }
  folder.write("blank.ktns", std::string(40, '\n') + content_of(folder / "m.ktns"));
  files.push_back(folder / "blank.ktns");
  for (auto const& path : files) {
    CAPTURE(path);
    auto const content = content_of(path);
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    std::thread writer([&] {
      polyad::io::AtomicFile pipe("/dev/fd/" + std::to_string(ends[1]));
      pipe.write(content);
      pipe.commit();
      ::close(ends[1]);
    });
    InputFile file("/dev/fd/" + std::to_string(ends[0]));
    ::close(ends[0]);
    auto const kind = file.kind();
    if (path.filename().string().find('m') != 0 && path.filename() != "blank.ktns") {
      REQUIRE(kind == InputFile::Kind::tensor);
      REQUIRE(same(file.read_tensor({.threads = 2}).tensor, list));
    } else {
      REQUIRE(kind == InputFile::Kind::cp_model);
      REQUIRE(file.read_model() == model);
    }
    writer.join();
  }
}
