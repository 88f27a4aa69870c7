// SPDX-License-Identifier: BSD-3-Clause
// See also: Linux' Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst, proc(5), getrlimit(2).
#include "core/host_memory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "polyad/core/error.hpp"

namespace polyad::detail {
namespace {

using Path    = std::filesystem::path;
using count_t = std::uint64_t;

constexpr count_t unlimited = std::numeric_limits<count_t>::max();

/// Empty if the file cannot be read.
std::string content_of(Path const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<count_t> number_of(std::string_view text) {
  count_t number           = 0;
  auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

std::vector<std::string> words_of(std::string const& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

/// The number after `key` at the beginning of a line, as in "VmSize:     1234 kB".
std::optional<count_t> entry(std::string const& content, std::string_view key) {
  std::istringstream lines(content);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    std::size_t const digit = line.find_first_not_of(" \t", key.size());
    if (digit == std::string::npos) return std::nullopt;
    return number_of(std::string_view(line).substr(digit));
  }
  return std::nullopt;
}

std::optional<count_t> kibibytes(std::string const& content, std::string_view key) {
  auto const number = entry(content, key);
  if (!number || *number > unlimited / 1024) return std::nullopt;
  return *number * 1024;
}

count_t left(std::optional<count_t> limit, std::optional<count_t> used) {
  if (!limit) return unlimited;
  return *limit - std::min(*limit, used.value_or(0));
}

/// One version of control groups: the names of its files.
struct GroupFiles {
  char const* limit;
  char const* usage;
  char const* inactive;  // in memory.stat
};
constexpr GroupFiles version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "};
constexpr GroupFiles version_2{"memory.max", "memory.current", "inactive_file "};

/// The free memory of one group. Inactive file pages count as free, since the kernel reclaims them.
count_t left_of_group(Path const& folder, GroupFiles const& files) {
  std::string const statistics = content_of(folder / "memory.stat");
  // "max" is not a number.
  auto limit = number_of(content_of(folder / files.limit));
  // Version 1 also has the least limit of all ancestors, even of those that are not visible.
  if (auto const above = entry(statistics, "hierarchical_memory_limit "))
    limit = std::min(limit.value_or(unlimited), *above);
  auto const usage = number_of(content_of(folder / files.usage)).value_or(0);
  return left(limit, usage - std::min(usage, entry(statistics, files.inactive).value_or(0)));
}

/// mountinfo writes spaces and the like in octal.
Path unescaped(std::string const& text) {
  std::string plain;
  for (std::size_t k = 0; k < text.size(); ++k) {
    auto const is_octal = [&](std::size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '7';
    };
    if (text[k] == '\\' && is_octal(k + 1) && is_octal(k + 2) && is_octal(k + 3)) {
      plain += static_cast<char>((text[k + 1] - '0') * 64 + (text[k + 2] - '0') * 8 + text[k + 3] - '0');
      k += 3;
    } else {
      plain += text[k];
    }
  }
  return plain;
}

bool has_word(std::string const& list, std::string_view word) {
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, ',');)
    if (one == word) return true;
  return false;
}

/// The folder where a hierarchy is mounted, and the group that is mounted there.
struct Mount {
  Path folder, group;
  GroupFiles const* files;
};

/// The mounts of hierarchies that may limit memory. Lines are those of proc(5): "36 35 98:0 /group /folder
/// options - type device options".
std::vector<Mount> mounts_of(std::string const& mountinfo) {
  std::vector<Mount> mounts;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("cgroup") == std::string::npos) continue;
    auto const words = words_of(line);
    auto const dash  = std::find(words.begin(), words.end(), "-");
    if (words.size() < 6 || std::distance(dash, words.end()) < 4) continue;
    Mount mount{unescaped(words[4]), unescaped(words[3]), nullptr};
    if (dash[1] == "cgroup2") mount.files = &version_2;
    if (dash[1] == "cgroup" && has_word(dash[3], "memory")) mount.files = &version_1;
    if (mount.files != nullptr) mounts.push_back(std::move(mount));
  }
  return mounts;
}

/// The process' group in a hierarchy, by /proc/self/cgroup: "4:memory:/group", version 2 "0::/group".
std::optional<Path> group_of(std::string const& groups, bool first_version) {
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    std::size_t const first  = line.find(':');
    std::size_t const second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string const controllers = line.substr(first + 1, second - first - 1);
    if (first_version ? has_word(controllers, "memory") : line.substr(0, first) == "0" && controllers.empty())
      return Path(line.substr(second + 1));
  }
  return std::nullopt;
}

count_t left_of_groups(Path const& root, Path const& self) {
  count_t least            = unlimited;
  std::string const groups = content_of(self / "cgroup");
  if (groups.empty()) return least;
  for (auto const& mount : mounts_of(content_of(self / "mountinfo"))) {
    auto const group = group_of(groups, mount.files == &version_1);
    if (!group) continue;
    Path const top = root / mount.folder.relative_path();
    // In a container, the mounted group may be the process' own, or not an ancestor of it.
    Path below = group->lexically_relative(mount.group);
    if (below.empty() || below == "." || *below.begin() == "..") below.clear();
    for (;;) {
      least = std::min(least, left_of_group(below.empty() ? top : top / below, *mount.files));
      if (below.empty()) break;
      below = below.parent_path();
    }
  }
  return least;
}

}  // namespace

std::uint64_t available_host_memory(Path const& root) {
  Path const self          = root / "proc/self";
  std::string const status = content_of(self / "status");
  // The soft limit comes first: "Max data size      unlimited      unlimited      bytes".
  std::string const limits = content_of(self / "limits");
  count_t const free = kibibytes(content_of(root / "proc/meminfo"), "MemAvailable:").value_or(unlimited);
  return std::min({free, left_of_groups(root, self),
                   left(entry(limits, "Max data size"), kibibytes(status, "VmData:")),
                   left(entry(limits, "Max address space"), kibibytes(status, "VmSize:"))});
}

void expect_fits_host(std::string const& array, std::uint64_t bytes) {
  if (bytes < std::uint64_t{1} << 20) return;
  std::uint64_t const available = available_host_memory();
  if (bytes > available)
    throw MemoryError(array, bytes, "only " + std::to_string(available) + " bytes are free");
}

}  // namespace polyad::detail
