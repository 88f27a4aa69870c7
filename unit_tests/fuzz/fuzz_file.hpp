// SPDX-License-Identifier: BSD-3-Clause
// A file in memory that the fuzzer fills again and again: the readers take names and map what they find.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace polyad::fuzz {

/// What the readers may take (ReadOptions::memory_bytes).
inline constexpr std::uint64_t most_memory = std::uint64_t{256} << 20;

inline void expect(bool condition, char const* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

/// A folder of this process' own, for what the library writes.
inline std::filesystem::path const& own_folder() {
  static std::filesystem::path const path = [] {
    std::string folder = (std::filesystem::temp_directory_path() / "polyad-fuzz-XXXXXX").string();
    expect(::mkdtemp(folder.data()) != nullptr, "mkdtemp");
    return folder;
  }();
  return path;
}

/// The input with each `token` replaced: what a mutation hardly finds, such as a version or a checksum.
inline std::string with_token(std::string text, std::string const& token, std::string const& meaning) {
  for (std::size_t at = text.find(token); at != std::string::npos; at = text.find(token, at + meaning.size()))
    text.replace(at, token.size(), meaning);
  return text;
}

class File {
public:
  explicit File(char const* name) : m_descriptor(::memfd_create(name, 0)) {
    expect(m_descriptor >= 0, "no file in memory");
    m_path = "/proc/self/fd/" + std::to_string(m_descriptor);
    m_map  = ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m_descriptor, 0);
    expect(m_map != MAP_FAILED, "mmap");
  }
  File(File const&)            = delete;
  File& operator=(File const&) = delete;

  /// Keeps the file's pages: new ones would cost more than a small input's parse.
  void fill(std::uint8_t const* data, std::size_t size) const {
    expect(::ftruncate(m_descriptor, static_cast<off_t>(size)) == 0, "ftruncate");
    if (size > mapped_bytes)
      expect(::pwrite(m_descriptor, data, size, 0) == static_cast<ssize_t>(size), "pwrite");
    else if (size > 0)
      std::memcpy(m_map, data, size);
  }
  void fill(std::string const& text) const {
    fill(reinterpret_cast<std::uint8_t const*>(text.data()), text.size());
  }
  [[nodiscard]] std::string const& path() const noexcept { return m_path; }

private:
  static constexpr std::size_t mapped_bytes = 1 << 16;
  int m_descriptor;
  void* m_map = nullptr;
  std::string m_path;
};

}  // namespace polyad::fuzz
