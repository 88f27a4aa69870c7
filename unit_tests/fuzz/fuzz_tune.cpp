// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer: the choices that `polyad tune --store` leaves next to a tensor. In the input, @T stands for the
// facts of the right tensor and @R for those of the right run. A choice may be added to any file, and is then
// read as it was written.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/format_choice/stored_choice.hpp"
#include "fuzz_file.hpp"
#include "polyad/core/error.hpp"
#include "polyad/formats/option_text.hpp"

namespace {

using namespace polyad::cli;

ChoiceKey key_of(std::filesystem::path const& tensor) {
  return {tensor, 1000, 0x12345678, 10, "OpenMP", "a processor", 2, 16, "f64"};
}

StoredChoice const& choice() {
  static StoredChoice const stored{"f-coo:threadlen=16,team_threads=64", 30};
  return stored;
}

/// The facts that a file of the key has.
nlohmann::ordered_json facts_of(ChoiceKey const& key) {
  write_choice(key, choice());
  std::ifstream file(choice_path(key.tensor));
  return nlohmann::ordered_json::parse(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using polyad::fuzz::expect;
  static polyad::fuzz::File const file("tune");
  static auto const folder = polyad::fuzz::own_folder();
  static auto const key = key_of(folder / "read"), own = key_of(folder / "written");
  static auto const facts         = facts_of(own);
  static std::string const tensor = facts.at("tensor").dump(),
                           run    = facts.at("choices").at(0).at("run").dump();
  static bool const linked        = [] {
    std::filesystem::create_symlink(file.path(), choice_path(key.tensor));
    return true;
  }();
  (void)linked;
  std::string text(reinterpret_cast<char const*>(data), size);
  text = polyad::fuzz::with_token(polyad::fuzz::with_token(std::move(text), "@T", tensor), "@R", run);
  file.fill(text);
  if (auto const stored = read_choice(key)) {
    auto const format = polyad::split_format_text(stored->format);
    try {
      (void)polyad::OptionText(format.options).all();
    } catch (polyad::UsageError const&) {
    }
  }
  // A file on disk costs many parses.
  if (size % 64 == 1) {
    std::ofstream(choice_path(own.tensor), std::ios::binary) << text;
    write_choice(own, choice());
    auto const again = read_choice(own);
    expect(again && again->format == choice().format && again->iterations == choice().iterations,
           "the choice that was written is not read");
  }
  return 0;
}
