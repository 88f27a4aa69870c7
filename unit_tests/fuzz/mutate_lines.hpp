// SPDX-License-Identifier: BSD-3-Clause
// Mutations of inputs in which a line is a word. libFuzzer changes bytes, which seldom gives two words that
// belong together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t capacity);

namespace polyad::fuzz {

inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines = {""};
  for (char const c : text)
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  return lines;
}

/// What libFuzzer makes of a line: also a word of the dictionary.
inline void mutate_line(std::string& line) {
  std::size_t const size = line.size();
  line.resize(size + 64);
  auto* bytes = reinterpret_cast<std::uint8_t*>(line.data());
  line.resize(LLVMFuzzerMutate(bytes, size, line.size()));
}

/// Every second time changes bytes anywhere; else erases, swaps, repeats, adds or changes a line.
/// \return the new size, at most `capacity`
inline std::size_t mutate_lines(std::uint8_t* data, std::size_t size, std::size_t capacity, unsigned seed) {
  std::minstd_rand random(seed);
  random();  // the first number of neighbouring seeds is nearly the same
  if (random() % 2 == 0) return LLVMFuzzerMutate(data, size, capacity);
  auto lines          = lines_of({reinterpret_cast<char const*>(data), size});
  auto const any_line = [&] { return lines.begin() + static_cast<std::ptrdiff_t>(random() % lines.size()); };
  switch (auto const at = any_line(); random() % 6) {
    case 0:
      lines.erase(at);
      break;
    case 1:
      std::iter_swap(at, any_line());
      break;
    case 2:
      *at = std::string(*any_line());
      break;
    case 3:
      lines.insert(at, std::string(*any_line()));
      break;
    case 4:
      mutate_line(*lines.emplace(at));
      break;
    default:
      mutate_line(*at);
  }
  std::string text;
  for (auto const& line : lines) (text += line) += '\n';
  if (!text.empty()) text.pop_back();
  std::size_t const kept = std::min(text.size(), capacity);
  std::copy_n(text.begin(), kept, data);
  return kept;
}

}  // namespace polyad::fuzz
