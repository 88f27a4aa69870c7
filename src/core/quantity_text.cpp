// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/core/quantity_text.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace polyad {
namespace {

std::string printed(char const* format, double first, double second = 0) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, first, second);
  return text.data();
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 10'000) return std::to_string(bytes) + " B";
  auto number      = static_cast<double>(bytes);
  char const* unit = "";
  for (char const* larger : {"kB", "MB", "GB", "TB"}) {
    if (number < 1000) break;
    number /= 1000;
    unit = larger;
  }
  return printed("%.3g ", number) + unit;
}

std::string duration_text(double seconds) {
  if (seconds < 1e-3) return printed("%.0f us", seconds * 1e6);
  if (seconds < 1) return printed("%.3g ms", seconds * 1e3);
  if (seconds < 60) return printed("%.3g s", seconds);
  double const minutes = std::floor(seconds / 60);
  if (minutes < 60) return printed("%.0f min %02.0f s", minutes, std::floor(seconds - 60 * minutes));
  return printed("%.0f h %02.0f min", std::floor(minutes / 60), std::fmod(minutes, 60));
}

}  // namespace polyad
