// SPDX-License-Identifier: BSD-3-Clause
#include "cli/command_line/command_parts.hpp"

#include "polyad/core/error.hpp"

namespace polyad::cli {

namespace {
constexpr int most_threads = 4096;
}  // namespace

void refuse(std::string const& text) {
  throw UsageError(text);
}

void add_common(CLI::App& command, CommonOptions& common) {
  command.add_option("--report", common.report, "Write a report in JSON to this file")->type_name("FILE");
  command
      .add_option("-t,--threads", common.threads,
                  "Threads of the host, for reading and computing; all cores unless given")
      ->check(CLI::Range(1, most_threads))
      ->type_name("N");
  command.add_flag("-v,--verbose", common.verbose, "Say on stderr what is being done");
}

void add_tensor(CLI::App& command, std::filesystem::path& tensor, int& index_base) {
  command
      .add_option("TENSOR", tensor,
                  "Coordinate text of any dialect, plain or packed with xz, gzip or zstd; .pten; npz; "
                  "GenTen's or SPLATT's binary; - reads text from stdin")
      ->required()
      ->type_name("");
  command
      .add_option("--index-base", index_base,
                  "What the first index is called, 0 or 1; unless given, 0 if any index is 0, else 1")
      ->check(CLI::IsMember({"0", "1"}))
      ->type_name("0|1");
}

void add_duplicates(CLI::App& command, std::string& duplicates, std::vector<std::string> const& allowed) {
  command
      .add_option("--duplicates", duplicates,
                  "Nonzeros at one place: sum them, keep them all, take the last one, or make them an error")
      ->check(CLI::IsMember(allowed))
      ->type_name(fmt::format("{}", fmt::join(allowed, "|")))
      ->capture_default_str();
}

bool same_file(std::filesystem::path const& a, std::filesystem::path const& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code ignored;
  if (std::filesystem::equivalent(a, b, ignored)) return !std::filesystem::is_character_file(a, ignored);
  return a.lexically_normal() == b.lexically_normal();
}

void add_precision(CLI::App& command, std::string& precision, std::string const& of) {
  command.add_option("--precision", precision, of)
      ->check(CLI::IsMember({"f32", "f64"}))
      ->type_name("f32|f64")
      ->capture_default_str();
}

void add_device_memory(CLI::App& command, std::optional<std::uint64_t>& bytes, std::string const& meaning) {
  command.add_option("--device-memory", bytes, meaning)
      ->transform(CLI::AsSizeValue(false))
      ->transform(CLI::Validator(  // runs first; AsSizeValue would wrap a negative number around
          [](std::string const& text) {
            bool const is_number = !text.empty() && text[0] >= '0' && text[0] <= '9';
            return is_number ? std::string() : "takes bytes, such as 8000000000 or 8G, not " + text;
          },
          ""))
      ->type_name("BYTES");
}

void refuse_overwriting(std::filesystem::path const& input, std::filesystem::path const& output,
                        std::string const& option) {
  if (same_file(input, output)) refuse(option + " would overwrite the input " + input.string());
}

std::string one_line(std::string text) {
  text = text.substr(0, text.find('\n'));
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace polyad::cli
