// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report/host_facts.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <fstream>

namespace polyad::cli {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string processor_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name"))
      if (auto const colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "";
}

std::uint64_t peak_memory_bytes() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return usage.ru_maxrss * 1024;
}

}  // namespace polyad::cli
