// SPDX-License-Identifier: BSD-3-Clause
// Files that are read in parts, a part on each rank. Damaged files, and ranks without memory, end alike on
// all ranks: the same error as of one rank that reads the file, and nobody waits for ever.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "distributed/shared_folder.hpp"
#include "distributed/world.hpp"
#include "fuzz/pten_checksums.hpp"
#include "io/pten/pten.hpp"
#include "io/temporary_folder.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/tensor_file.hpp"
#include "support/catch.hpp"
#ifdef POLYAD_FAILING_MEMORY
#include "torture/failing_memory.hpp"
#endif

namespace {

using polyad::io::CoordinateList;
using polyad::io::ReadOptions;
using polyad::test::SharedFolder;
using polyad::test::world;

std::vector<std::vector<std::uint64_t>> of_all(std::vector<std::uint64_t> const& own) {
  auto const ranks = static_cast<std::size_t>(world().size());
  std::vector<std::uint64_t> words(own.size() * ranks, 0);
  auto const of = [&](std::size_t k) { return words.begin() + static_cast<std::ptrdiff_t>(own.size() * k); };
  std::copy(own.begin(), own.end(), of(static_cast<std::size_t>(world().rank())));
  world().host().all_gather(words.data(), std::vector<polyad::count_t>(ranks, own.size()));
  std::vector<std::vector<std::uint64_t>> all;
  for (std::size_t k = 0; k < ranks; ++k) all.emplace_back(of(k), of(k + 1));
  return all;
}

/// What reading came to.
struct Outcome {
  int exit = 0;
  std::string text;
  CoordinateList tensor;
};

template <class Read>
Outcome outcome_of(Read const& read) {
  Outcome outcome;
  try {
    outcome.tensor = read();
  } catch (polyad::Error const& error) {
    outcome.exit = static_cast<int>(error.exit_code());
    outcome.text = error.what();
  } catch (std::bad_alloc const&) {
    outcome.exit = static_cast<int>(polyad::ExitCode::out_of_memory);
  }
  return outcome;
}

Outcome read_whole(std::filesystem::path const& path, ReadOptions const& options) {
  return outcome_of([&] { return polyad::io::read_tensor(path, options).tensor; });
}

Outcome read_part(std::filesystem::path const& path, ReadOptions const& options) {
  return outcome_of([&] {
    return polyad::io::read_tensor_part(path, options, {world().rank(), world().size(), of_all}).tensor;
  });
}

/// Whether the parts of all ranks, in their order, make up the whole.
bool make_up(CoordinateList const& part, CoordinateList const& whole) {
  std::uint64_t before = 0, all = 0;
  auto const counts = of_all({part.nnz()});
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (k < static_cast<std::size_t>(world().rank())) before += counts[k][0];
    all += counts[k][0];
  }
  if (all != whole.nnz() || part.extents != whole.extents || part.wide() != whole.wide()) return false;
  return std::visit(
             [&](auto const& indices) {
               auto const& others = std::get<std::remove_cvref_t<decltype(indices)>>(whole.indices);
               return std::equal(indices.begin(), indices.end(),
                                 others.begin() + static_cast<std::ptrdiff_t>(before * whole.extents.size()));
             },
             part.indices) &&
         (part.values.empty() ||
          std::memcmp(part.values.data(), whole.values.data() + before, part.nnz() * sizeof(double)) == 0);
}

/// A file of so many nonzeros, as text or as .pten of blocks of ten.
CoordinateList sample(std::uint64_t nnz) {
  CoordinateList list;
  list.extents  = {20, 30, 7};
  auto& indices = list.indices.emplace<0>();
  for (std::uint64_t p = 0; p < nnz; ++p) {
    for (std::uint64_t n = 0; n < 3; ++n)
      indices.push_back(static_cast<std::uint32_t>((p * 7919 + n * 31) % list.extents[n]));
    list.values.push_back(static_cast<double>(p % 9) - 4);
  }
  return list;
}

std::string pten(bool packed) {
  polyad::test::TemporaryFolder const folder;
  auto const path = folder / "x";
  polyad::io::write_pten(path, sample(95), {.packed = packed, .block_nonzeros = 10});
  return polyad::test::content_of(path);
}

/// The same on all ranks.
class Mutations {
public:
  std::string operator()(std::string bytes) {
    for (auto left = 1 + below(3); left > 0 && !bytes.empty(); --left) {
      std::size_t const at = below(bytes.size()), size = 1 + below(8);
      switch (below(6)) {
        case 0:
          bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8));
          break;
        case 1:
          bytes[at] = "\n\r 0x.-#\xFF"[below(9)];
          break;
        case 2:
          bytes.replace(at, size, std::string(size, "9\n\xFF "[below(4)]));
          break;
        case 3:
          bytes.erase(at, size);
          break;
        case 4:
          bytes.insert(at, bytes.substr(at, 10 * size));
          break;
        default:
          bytes.resize(at);
      }
    }
    return bytes;
  }
  std::size_t below(std::size_t limit) { return m_engine() % limit; }

private:
  std::mt19937_64 m_engine{7};
};

}  // namespace

TEST_CASE("mutated files end on all ranks as on one", "[ranks]") {
  // Each file has four exchanges or more, which are slow where ranks share cores.
  int const number = world().size() <= 3 ? 1500 : 60;
  SharedFolder const folder;
  std::string text = "# all dialects have their own test\n";
  auto const list  = sample(95);
  for (std::size_t p = 0; p < list.nnz(); ++p) {
    for (std::size_t n = 0; n < 3; ++n)
      text += std::to_string(std::get<0>(list.indices)[3 * p + n] + 1) + " ";
    text += std::to_string(list.values[p]) + "\n";
  }
  std::vector<std::string> files = {text, pten(false)};
  if (polyad::io::can_unpack(polyad::io::Compression::zstd)) files.push_back(pten(true));
  char const* const seeds = std::getenv("POLYAD_FUZZ_SEEDS");  // unit_tests/CMakeLists.txt sets it
  REQUIRE(seeds != nullptr);
  for (auto const& entry : std::filesystem::recursive_directory_iterator(seeds)) {
    if (!entry.is_regular_file()) continue;
    auto const content = polyad::test::content_of(entry.path());
    auto const kind    = entry.path().parent_path().filename();
    if (kind == "text") files.push_back(content.substr(1));  // a byte for libFuzzer comes first
    if (kind == "pten" || kind == "binary") files.push_back(content);
    if (kind == "npz" && content.starts_with("PK")) files.push_back(content);  // the others are recipes
  }
  std::sort(files.begin(), files.end());  // folders are listed in any order
  Mutations mutate;
  int refused = 0, read = 0;
  for (int k = 0; k < number; ++k) {
    std::string content = files[mutate.below(files.size())];
    if (k >= 40) content = mutate(content);
    if (content.starts_with("\x89PTEN") || mutate.below(2) == 0) polyad::fuzz::mend_pten(content);
    ReadOptions options;
    options.threads      = 1 + static_cast<int>(mutate.below(2));
    options.chunk_bytes  = mutate.below(2) == 0 ? 16 : 4096;
    options.index_base   = static_cast<int>(mutate.below(3)) - 1;
    options.drop_zeros   = mutate.below(2) == 0;
    options.memory_bytes = std::uint64_t{1} << 28;
    auto const path      = folder.write(content);
    CAPTURE(k, content);
    Outcome const whole = read_whole(path, options), part = read_part(path, options);
    REQUIRE(part.text == whole.text);
    REQUIRE(part.exit == whole.exit);
    if (whole.exit == 0) REQUIRE(make_up(part.tensor, whole.tensor));
    (whole.exit == 0 ? read : refused) += 1;
  }
  CHECK(refused > number / 4);
  CHECK(read > number / 20);
}

TEST_CASE("a rank that finds no memory for its part ends the reading of all", "[ranks]") {
  if (world().size() == 1) return;
  SharedFolder const folder;
  auto const whole = folder.path() / "whole";
  for (bool const text : {true, false}) {
    of_all({0});
    if (world().rank() == 0)
      polyad::io::write_tensor(whole, sample(20000),
                               {.dialect = text ? polyad::io::Dialect::frostt : polyad::io::Dialect::pten});
    of_all({0});
    for (int poor = 0; poor < world().size(); ++poor) {
      ReadOptions options;
      if (world().rank() == poor) options.memory_bytes = 1000;
      auto const part = read_part(whole, options);
      CAPTURE(text, poor, part.text);
      CHECK(part.exit == static_cast<int>(polyad::ExitCode::out_of_memory));
      CHECK(part.text.starts_with("the file " + whole.string() + " needs "));
      CHECK(part.text.find("of the 1000 bytes that reading may take") != std::string::npos);
    }
    CHECK(read_part(whole, {}).exit == 0);
  }
}

TEST_CASE("a fault that only one rank meets is reported by all", "[ranks]") {
  if (world().size() == 1) return;
  SharedFolder const folder;
  // A line without an end, which the last part alone has.
  std::string text;
  for (int k = 0; k < 1000; ++k) text += "1 1 1 1\n";
  text.append(std::size_t{17} << 20, '1');
  auto const path  = folder.write(text);
  auto const whole = read_whole(path, {}), part = read_part(path, {});
  CHECK(whole.exit == static_cast<int>(polyad::ExitCode::bad_input));
  CHECK(part.exit == whole.exit);
  CHECK(part.text == whole.text);
  // An option that one rank alone has.
  ReadOptions options;
  if (world().rank() == world().size() - 1) options.index_base = 5;
  auto const refused = read_part(folder.write("1 1 1 1\n2 2 2 2\n"), options);
  CHECK(refused.exit == static_cast<int>(polyad::ExitCode::usage));
  CHECK(refused.text == "the index base is 0 or 1, not 5");
}

#ifdef POLYAD_FAILING_MEMORY
TEST_CASE("an allocation that fails on one rank ends the reading of all", "[ranks]") {
  if (world().size() == 1) return;
  SharedFolder const folder;
  auto const list   = sample(95);
  auto const failed = static_cast<int>(polyad::ExitCode::out_of_memory);
  polyad::test::TemporaryFolder const own;
  for (auto const dialect :
       {polyad::io::Dialect::frostt, polyad::io::Dialect::pten, polyad::io::Dialect::npz}) {
    polyad::io::write_tensor(own / "x", list, {.dialect = dialect});
    auto const path = folder.write(polyad::test::content_of(own / "x"));
    for (int const threads : {1, 2}) {
      std::uint64_t k = 1;
      for (;; ++k) {
        bool const fails = world().rank() == 1;
        // What the test itself allocates for the exchange is spared.
        auto const share = [&](std::vector<std::uint64_t> const& words) {
          if (fails) polyad::torture::pause();
          auto all = of_all(words);
          if (fails) polyad::torture::resume();
          return all;
        };
        polyad::io::FilePart const part{world().rank(), world().size(), share};
        if (fails) polyad::torture::arm(k);
        auto const outcome =
            outcome_of([&] { return polyad::io::read_tensor_part(path, {.threads = threads}, part).tensor; });
        polyad::torture::disarm();
        auto const has_failed =
            of_all({fails && polyad::torture::failed() ? std::uint64_t{1} : std::uint64_t{0}})[1][0] == 1;
        CAPTURE(polyad::io::to_string(dialect), threads, k, outcome.text);
        // The program runs without some of them, such as a buffer or an additional thread.
        auto const exits = of_all({static_cast<std::uint64_t>(outcome.exit)});
        for (auto const& exit : exits) REQUIRE(exit == exits[0]);
        if (outcome.exit == 0)
          REQUIRE(outcome.tensor.extents == list.extents);
        else
          REQUIRE(outcome.exit == failed);
        if (!has_failed) {
          REQUIRE(outcome.exit == 0);
          break;
        }
      }
      CHECK(k > 10);
    }
  }
}
#endif
