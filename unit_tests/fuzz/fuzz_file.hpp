// SPDX-License-Identifier: BSD-3-Clause
// A file in memory that the fuzzer fills again and again: the readers take names and map what they find.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace polyad::fuzz {

inline void expect(bool condition, char const* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

class File {
public:
  explicit File(char const* name) : m_descriptor(::memfd_create(name, 0)) {
    expect(m_descriptor >= 0, "no file in memory");
    m_path = "/proc/self/fd/" + std::to_string(m_descriptor);
  }
  File(File const&)            = delete;
  File& operator=(File const&) = delete;

  void fill(std::uint8_t const* data, std::size_t size) const {
    expect(::ftruncate(m_descriptor, 0) == 0, "ftruncate");
    expect(::pwrite(m_descriptor, data, size, 0) == static_cast<ssize_t>(size), "pwrite");
  }
  [[nodiscard]] std::string const& path() const noexcept { return m_path; }

private:
  int m_descriptor;
  std::string m_path;
};

}  // namespace polyad::fuzz
