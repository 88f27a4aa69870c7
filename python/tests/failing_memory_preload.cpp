// SPDX-License-Identifier: BSD-3-Clause
// unit_tests/torture/failing_memory.hpp for LD_PRELOAD, and for ctypes of a Python process.
//
// nanobind converts arguments and results in functions that may not throw. An allocation that fails there
// ends the process, whatever the library does. The place is then noted in the file POLYAD_SPARED, and a
// process that starts later spares it. The exit status is 77.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "torture/failing_memory.hpp"

namespace {

std::vector<std::string>& spared_places() {
  static auto& places = *new std::vector<std::string>;
  return places;
}

/// The nearest callers within the module, as offsets. Fixed storage: it is called where memory fails.
struct Place {
  char text[64] = "";

  Place(void* const* frames, int depth) {
    int size = 0;
    for (int k = 0, found = 0; k < depth && found < 3; ++k) {
      Dl_info info{};
      if (::dladdr(frames[k], &info) == 0 || std::strstr(info.dli_fname, "_polyad_") == nullptr) continue;
      ++found;
      size += std::snprintf(text + size, sizeof text - static_cast<std::size_t>(size), "%lx ",
                            static_cast<unsigned long>(reinterpret_cast<std::uintptr_t>(frames[k]) -
                                                       reinterpret_cast<std::uintptr_t>(info.dli_fbase)));
    }
  }
};

bool is_spared(void* const* frames, int depth) {
  Place const place(frames, depth);
  for (auto const& known : spared_places())
    if (known == place.text) return true;
  return false;
}

[[noreturn]] void note_place() {
  int depth                 = 0;
  void* const* const frames = polyad::torture::last_frames(depth);
  Place const place(frames, depth);
  char const* const name = std::getenv("POLYAD_SPARED");
  if (std::FILE* const file = name == nullptr ? nullptr : std::fopen(name, "a")) {
    std::fprintf(file, "%s\n", place.text);
    std::fclose(file);
  }
  ::_exit(77);
}

}  // namespace

extern "C" {

void polyad_start() {
  polyad::torture::find_codecs();
  char const* const name = std::getenv("POLYAD_SPARED");
  if (std::FILE* const file = name == nullptr ? nullptr : std::fopen(name, "r")) {
    char line[80];
    while (std::fgets(line, sizeof line, file) != nullptr)
      spared_places().emplace_back(line, std::strcspn(line, "\n"));
    std::fclose(file);
  }
  polyad::torture::spare(is_spared);
  std::set_terminate(note_place);
}
void polyad_arm(unsigned long long number) {
  polyad::torture::arm(number);
}
void polyad_disarm() {
  polyad::torture::disarm();
}
int polyad_failed() {
  return polyad::torture::failed() ? 1 : 0;
}
int polyad_spared() {
  return polyad::torture::spared() ? 1 : 0;
}
long long polyad_live_blocks() {
  return polyad::torture::live_blocks();
}

}  // extern "C"
