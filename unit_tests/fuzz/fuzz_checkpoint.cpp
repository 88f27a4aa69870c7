// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer: checkpoints of cpd, of tucker and of fast-tucker. The checksum is repaired first, so that the
// fuzzer gets past it.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "fuzz_file.hpp"
#include "io/streams/crc32c.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/checkpoint.hpp"

namespace {

std::string content_of(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What was read, written and read again must be the same, numbers that are none included.
template <class State, class Write, class Read>
void expect_same_again(State const& state, Write const& write, Read const& read) {
  static std::filesystem::path const first  = polyad::fuzz::own_folder() / "first",
                                     second = polyad::fuzz::own_folder() / "second";
  write(first, state);
  write(second, read(first));
  polyad::fuzz::expect(content_of(first) == content_of(second), "written and read again, it differs");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static polyad::fuzz::File const file("checkpoint");
  std::string bytes(reinterpret_cast<char const*>(data), size);
  // An odd length: as it is.
  if (size >= 4 && size % 2 == 0) {
    std::uint32_t const crc = polyad::io::crc32c(0, std::string_view(bytes).substr(0, size - 4));
    for (std::size_t k = 0; k < 4; ++k) bytes[size - 4 + k] = static_cast<char>(crc >> 8 * k & 0xFF);
  }
  file.fill(bytes);
  // The last byte is that of a checksum, and free to choose this.
  bool const again = size > 0 && data[size - 1] % 16 == 2;
  try {
    auto const checkpoint = polyad::io::read_checkpoint(file.path());
    auto const write      = [](std::filesystem::path const& path, polyad::io::Checkpoint const& of) {
      polyad::io::write_checkpoint(path, of);
    };
    if (again) expect_same_again(checkpoint, write, polyad::io::read_checkpoint);
    std::uint64_t numbers = checkpoint.grams.size();
    for (auto const& factor : checkpoint.factors) numbers += factor.size();
    polyad::fuzz::expect(numbers <= size / 8, "more numbers than bytes");
  } catch (polyad::InputError const&) {
  }
  try {
    auto const checkpoint = polyad::io::read_tucker_checkpoint(file.path());
    auto const write      = [](std::filesystem::path const& path, polyad::io::TuckerCheckpoint const& of) {
      polyad::io::write_tucker_checkpoint(
          path, of, [&](std::size_t n, std::uint64_t first, std::uint64_t count) {
            auto const begin = of.factors[n].begin() + static_cast<std::ptrdiff_t>(first * of.ranks[n]);
            return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(count * of.ranks[n]));
          });
    };
    if (again) expect_same_again(checkpoint, write, polyad::io::read_tucker_checkpoint);
    std::uint64_t numbers = 0;
    for (auto const& factor : checkpoint.factors) numbers += factor.size();
    polyad::fuzz::expect(numbers <= size / 8, "more numbers than bytes");
  } catch (polyad::InputError const&) {
  }
  try {
    auto const state = polyad::io::read_fast_tucker_checkpoint(file.path());
    auto const write = [](std::filesystem::path const& path, polyad::FastTuckerState const& of) {
      polyad::io::write_fast_tucker_checkpoint(path, of);
    };
    if (again) expect_same_again(state, write, polyad::io::read_fast_tucker_checkpoint);
    std::uint64_t numbers = state.squares.size();
    for (auto const* arrays : {&state.factors, &state.cores, &state.intermediates, &state.biases,
                               &state.drifts, &state.moments, &state.kept})
      for (auto const& array : *arrays) numbers += array.size();
    polyad::fuzz::expect(numbers <= size / 8, "more numbers than bytes");
  } catch (polyad::InputError const&) {
  }
  try {
    auto const facts = polyad::io::read_fast_tucker_facts(file.path());
    polyad::fuzz::expect(facts.squares.size() <= size / 8, "more numbers than bytes");
    for (auto const* arrays : {&facts.factors, &facts.cores, &facts.intermediates, &facts.biases,
                               &facts.drifts, &facts.moments, &facts.kept})
      for (auto const& array : *arrays) polyad::fuzz::expect(array.empty(), "facts without matrices");
  } catch (polyad::InputError const&) {
  }
  return 0;
}
