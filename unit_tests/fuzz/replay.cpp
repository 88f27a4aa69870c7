// SPDX-License-Identifier: BSD-3-Clause
// Gives stored inputs to the fuzz targets, without a fuzzer: fuzz_replay FOLDER [NAME]...
// FOLDER has a folder of inputs for each target. A target that finds a fault ends the process.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

// Every target is compiled with a name of its own for its entry.
#define POLYAD_FUZZ_TARGETS(X) \
  X(binary) X(ceilings) X(checkpoint) X(command_line) X(delimited) X(ktensor) X(npz) X(pten) X(text) X(tune)
#define POLYAD_DECLARE(name) extern "C" int fuzz_##name(std::uint8_t const* data, std::size_t size);
POLYAD_FUZZ_TARGETS(POLYAD_DECLARE)

namespace {

struct Target {
  char const* name;
  int (*run)(std::uint8_t const*, std::size_t);
};
#define POLYAD_TARGET(name) {#name, fuzz_##name},
constexpr Target targets[] = {POLYAD_FUZZ_TARGETS(POLYAD_TARGET)};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "fuzz_replay FOLDER [NAME]...\n");
    return 2;
  }
  std::filesystem::path const folder = argv[1];
  std::vector<std::string> const wanted(argv + 2, argv + argc);
  bool is_complete = true;
  for (auto const& target : targets) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), target.name) == wanted.end()) continue;
    std::vector<std::filesystem::path> inputs;
    if (std::filesystem::is_directory(folder / target.name))
      for (auto const& entry : std::filesystem::directory_iterator(folder / target.name))
        inputs.push_back(entry.path());
    std::sort(inputs.begin(), inputs.end());
    for (auto const& input : inputs) {
      std::ifstream file(input, std::ios::binary);
      std::vector<char> const bytes{std::istreambuf_iterator<char>(file), {}};
      std::printf("\r%s %s", target.name, input.filename().c_str());  // what a fault leaves as the last line
      std::fflush(stdout);
      target.run(reinterpret_cast<std::uint8_t const*>(bytes.data()), bytes.size());
    }
    std::printf("\r%s: %zu inputs%40s\n", target.name, inputs.size(), "");
    is_complete = is_complete && !inputs.empty();
  }
  return is_complete ? 0 : 1;
}
