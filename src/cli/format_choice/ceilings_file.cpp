// SPDX-License-Identifier: BSD-3-Clause
#include "cli/format_choice/ceilings_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "polyad/io/atomic_file.hpp"
#include "polyad/version.hpp"

namespace polyad::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr int ceilings_schema = 1;

/// The identity that a file must have.
Json identity(BackendReport const& backend, int scalar_bytes) {
  return {{"schema", ceilings_schema}, {"version", POLYAD_VERSION},          {"backend", backend.name},
          {"device", backend.device},  {"concurrency", backend.concurrency}, {"scalar_bytes", scalar_bytes}};
}

bool is_rate(double rate) {
  return std::isfinite(rate) && rate > 0;
}

/// \throws nlohmann's errors unless it is a list of pairs
std::optional<Ceilings::Curve> read_curve(Json const& json) {
  Ceilings::Curve curve;
  for (auto const& point : json) {
    std::array<double, 2> const pair{point.at(0).get<double>(), point.at(1).get<double>()};
    if (point.size() != 2 || !is_rate(pair[0]) || !is_rate(pair[1])) return std::nullopt;
    if (!curve.empty() && curve.back()[0] >= pair[0]) return std::nullopt;
    curve.push_back(pair);
  }
  if (curve.empty()) return std::nullopt;
  return curve;
}

/// Letters and digits, the rest as one dash.
std::string slug(std::string const& text) {
  std::string result;
  for (char const c : text) {
    bool const plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain)
      result += c;
    else if (!result.empty() && result.back() != '-')
      result += '-';
  }
  while (!result.empty() && result.back() == '-') result.pop_back();
  return result.substr(0, 80);
}

}  // namespace

std::filesystem::path ceilings_path(BackendReport const& backend, int scalar_bytes) {
  std::filesystem::path folder;
  if (char const* const cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/')
    folder = cache;
  else if (char const* const home = std::getenv("HOME"); home && *home == '/')
    folder = std::filesystem::path(home) / ".cache";
  else
    return {};
  return folder / "polyad" /
         fmt::format("ceilings-{}-{}-{}-f{}.json", slug(backend.name), slug(backend.device),
                     backend.concurrency, 8 * scalar_bytes);
}

std::optional<Ceilings> read_ceilings(std::filesystem::path const& path, BackendReport const& backend,
                                      int scalar_bytes) {
  constexpr std::uintmax_t most_bytes = 1 << 16;
  std::error_code failed;
  if (path.empty() || !std::filesystem::is_regular_file(path, failed) ||
      std::filesystem::file_size(path, failed) > most_bytes || failed)
    return std::nullopt;
  try {
    std::ifstream file(path, std::ios::binary);
    Json const json   = Json::parse(file);
    Json const wanted = identity(backend, scalar_bytes);
    for (auto const& [key, value] : wanted.items())
      if (json.at(key) != value) return std::nullopt;
    Ceilings ceilings;
    ceilings.is_device   = json.at("is_device").get<bool>();
    ceilings.concurrency = backend.concurrency;
    ceilings.simd_bytes  = json.at("simd_bytes").get<int>();
    ceilings.launch_s    = nominal_launch_s;
    ceilings.copy        = json.at("copy").get<double>();
    ceilings.from_host   = json.at("from_host").get<double>();
    auto const gather = read_curve(json.at("gather")), add = read_curve(json.at("atomic_add")),
               add_rows      = read_curve(json.at("atomic_add_rows"));
    bool const has_registers = ceilings.simd_bytes >= 1 && ceilings.simd_bytes <= 256;
    if (!gather || !add || !add_rows || !has_registers || !is_rate(ceilings.copy) ||
        !is_rate(ceilings.from_host))
      return std::nullopt;
    ceilings.gather          = *gather;
    ceilings.atomic_add      = *add;
    ceilings.atomic_add_rows = *add_rows;
    return ceilings;
  } catch (Json::exception const&) {
    return std::nullopt;
  }
}

void write_ceilings(std::filesystem::path const& path, BackendReport const& backend, int scalar_bytes,
                    Ceilings const& ceilings) {
  if (path.empty()) return;
  Json json               = identity(backend, scalar_bytes);
  json["is_device"]       = ceilings.is_device;
  json["simd_bytes"]      = ceilings.simd_bytes;
  json["copy"]            = ceilings.copy;
  json["from_host"]       = ceilings.from_host;
  json["gather"]          = ceilings.gather;
  json["atomic_add"]      = ceilings.atomic_add;
  json["atomic_add_rows"] = ceilings.atomic_add_rows;
  try {
    std::filesystem::create_directories(path.parent_path());
    io::AtomicFile file(path);
    file.write(json.dump(2) + "\n");
    file.commit();
  } catch (std::exception const&) {
    return;  // without a cache, the next run measures again
  }
}

}  // namespace polyad::cli
