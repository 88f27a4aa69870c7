// SPDX-License-Identifier: BSD-3-Clause
#include "cli/format_choice/stored_choice.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "io/streams/crc32c.hpp"
#include "polyad/formats/option_text.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/version.hpp"

namespace polyad::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr int choice_schema = 1;

/// The common facts of all choices of one tensor and version.
Json tensor_of(ChoiceKey const& key) {
  return {{"version", POLYAD_VERSION},
          {"file_bytes", key.file_bytes},
          {"checksum", key.checksum},
          {"nnz", key.nnz}};
}

Json run_of(ChoiceKey const& key) {
  return {{"backend", key.backend},
          {"device", key.device},
          {"concurrency", key.concurrency},
          {"rank", key.rank},
          {"precision", key.precision}};
}

/// The file's choices. Empty if it is broken, or of another tensor or version.
Json choices_of(ChoiceKey const& key) {
  std::error_code failed;
  auto const path = choice_path(key.tensor);
  if (!std::filesystem::is_regular_file(path, failed) || std::filesystem::file_size(path, failed) > (1 << 20))
    return Json::array();
  try {
    std::ifstream file(path, std::ios::binary);
    Json const json = Json::parse(file);
    if (json.at("schema") != choice_schema || json.at("tensor") != tensor_of(key) ||
        !json.at("choices").is_array())
      return Json::array();
    return json.at("choices");
  } catch (Json::exception const&) {
    return Json::array();
  }
}

/// Entries that are not JSON objects match no run.
bool is_of(Json const& choice, Json const& run) {
  return choice.is_object() && choice.value("run", Json()) == run;
}

std::uint32_t checksum_of_ends(std::filesystem::path const& path, std::uint64_t bytes) {
  constexpr std::uint64_t end = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> part(std::min(bytes, end));
  std::uint32_t checksum = 0;
  for (std::uint64_t const at : {std::uint64_t(0), bytes - part.size()}) {
    file.seekg(static_cast<std::streamoff>(at));
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    checksum = io::crc32c(checksum, {part.data(), static_cast<std::size_t>(file.gcount())});
  }
  return checksum;
}

}  // namespace

std::optional<ChoiceKey> choice_key(std::filesystem::path const& tensor, io::CoordinateList const& list,
                                    BackendReport const& backend, std::uint64_t rank,
                                    std::string const& precision) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(tensor, failed)) return std::nullopt;
  auto const bytes = std::filesystem::file_size(tensor, failed);
  if (failed) return std::nullopt;
  return ChoiceKey{tensor,
                   bytes,
                   checksum_of_ends(tensor, bytes),
                   list.nnz(),
                   backend.name,
                   backend.device,
                   backend.concurrency,
                   rank,
                   precision};
}

std::filesystem::path choice_path(std::filesystem::path const& tensor) {
  auto path = tensor;
  return path += ".tune.json";
}

std::optional<StoredChoice> read_choice(ChoiceKey const& key) {
  Json const wanted = run_of(key);
  try {
    for (auto const& choice : choices_of(key)) {
      if (!is_of(choice, wanted)) continue;  // broken ones, too: they say nothing about this run
      StoredChoice stored{choice.at("format").get<std::string>(), choice.at("iterations").get<double>()};
      if (auto const options = choice.find(stored.format); options != choice.end()) {
        char before = ':';
        for (auto const& [name, value] : options->items()) {
          if (!value.is_number_integer()) return std::nullopt;  // a float may be too large for any integer
          stored.format += before + name + "=" + std::to_string(value.get<std::int64_t>());
          before = ',';
        }
      }
      return stored;
    }
  } catch (Json::exception const&) {  // broken: as if there were none
  }
  return std::nullopt;
}

void write_choice(ChoiceKey const& key, StoredChoice const& choice) {
  Json choices = Json::array();
  for (auto const& other : choices_of(key))
    if (other.is_object() && !is_of(other, run_of(key))) choices.push_back(other);
  auto const format = split_format_text(choice.format);
  Json entry        = {{"run", run_of(key)}, {"format", format.name}, {"iterations", choice.iterations}};
  for (auto const& [name, value] : OptionText(format.options).all())
    entry[format.name][name] = std::stoll(value);
  choices.push_back(entry);
  Json const json = {{"schema", choice_schema}, {"tensor", tensor_of(key)}, {"choices", choices}};
  io::AtomicFile file(choice_path(key.tensor));
  file.write(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  file.commit();
}

}  // namespace polyad::cli
