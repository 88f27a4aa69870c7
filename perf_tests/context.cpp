// SPDX-License-Identifier: BSD-3-Clause
#include "context.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <Kokkos_Core.hpp>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "polyad/core/device.hpp"
#include "polyad/version.hpp"

namespace polyad::perf {
namespace {

void add(std::string const& key, std::string const& value) {
  if (!value.empty()) benchmark::AddCustomContext(key, value);
}

/// The text after the colon in a file's first line that begins with `prefix`.
std::string line_of(char const* path, std::string const& prefix) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(prefix, 0) != 0) continue;
    auto const colon = line.find(':');
    auto const start = colon == std::string::npos ? 0 : line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return {};
}

/// The first line that a command prints; empty when there is no such command.
std::string output_of(char const* command) {
  std::array<char, 256> line{};
  std::FILE* const pipe = ::popen(command, "r");
  if (pipe == nullptr) return {};
  bool const any = std::fgets(line.data(), line.size(), pipe) != nullptr;
  ::pclose(pipe);
  std::string text = any ? line.data() : "";
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

void add_context() {
  add("polyad_version", POLYAD_VERSION);
  add("git", POLYAD_GIT_HASH);
  using Space = Kokkos::DefaultExecutionSpace;
  add("backend", Space::name());
  add("concurrency", std::to_string(Space().concurrency()));
  add("kokkos_version", std::to_string(KOKKOS_VERSION / 10000) + "." +
                            std::to_string(KOKKOS_VERSION / 100 % 100) + "." +
                            std::to_string(KOKKOS_VERSION % 100));
  std::ostringstream configuration;
  Kokkos::print_configuration(configuration, false);
  std::istringstream lines(configuration.str());
  for (std::string line; std::getline(lines, line);)
    for (char const* key : {"Architecture", "KOKKOS_COMPILER", "Default Device", "CUDA version"})
      if (auto const at = line.find(key); at != std::string::npos)
        add("kokkos " + std::string(key), line.substr(line.find_first_of(":=", at) + 1));
  DeviceFacts const device = probe_device();
  if (device.accelerator) {
    add("device", device.name);
    add("device_found", device.found);
    add("device_compiled_for", device.compiled_for);
    add("device_memory_bytes", std::to_string(device.memory_bytes));
    add("driver", output_of("nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null"));
    add("clocks",
        output_of("nvidia-smi --query-gpu=clocks.max.sm,clocks.max.mem --format=csv,noheader 2>/dev/null"));
  }
  add("cpu", line_of("/proc/cpuinfo", "model name"));
  add("page_bytes", std::to_string(::sysconf(_SC_PAGESIZE)));
  add("huge_pages", line_of("/sys/kernel/mm/transparent_hugepage/enabled", ""));
  for (char const* name : {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES"})
    if (char const* const value = std::getenv(name)) add(name, value);
}

}  // namespace polyad::perf
