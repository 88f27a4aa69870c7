// SPDX-License-Identifier: BSD-3-Clause
#include "io/raw_input.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

constexpr std::size_t file_buffer_bytes = std::size_t{1} << 20;

/// Up to this size, copying a file costs less than mapping it and taking its pages in.
constexpr std::size_t small_file_bytes = std::size_t{64} << 10;

[[noreturn]] void cannot_read(std::string const& name, int code) {
  throw InputError(name, 0, 0, "cannot be read: " + std::generic_category().message(code));
}

}  // namespace

RawInput::RawInput(std::filesystem::path const& path) : m_name(path.string()) {
  m_descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (m_descriptor < 0) {
    if (errno == ENOENT) throw InputError(m_name, 0, 0, "no such file");
    cannot_read(m_name, errno);
  }
  try {
    struct stat status{};
    if (::fstat(m_descriptor, &status) != 0) cannot_read(m_name, errno);
    if (S_ISDIR(status.st_mode)) throw InputError(m_name, 0, 0, "is a directory, not a file");
    if (S_ISREG(status.st_mode) && status.st_size > 0) {
      auto const size = static_cast<std::size_t>(status.st_size);
      if (size <= small_file_bytes)
        copy(size);
      else
        map(size);
      m_pending = m_whole;
    }
    if (m_whole.empty()) {
      m_buffer  = std::make_unique_for_overwrite<char[]>(file_buffer_bytes);
      m_pending = refill();
    }
  } catch (...) {
    ::close(m_descriptor);
    throw;
  }
}

RawInput::~RawInput() {
  if (m_is_mapped) ::munmap(const_cast<char*>(m_whole.data()), m_whole.size());
  ::close(m_descriptor);
}

void RawInput::copy(std::size_t size) {
  m_buffer = std::make_unique_for_overwrite<char[]>(size);
  m_whole  = read_up_to(size);
}

void RawInput::map(std::size_t size) {
  void* const pages = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, m_descriptor, 0);
  if (pages == MAP_FAILED) return;
  ::madvise(pages, size, MADV_SEQUENTIAL);
  m_whole     = std::string_view(static_cast<char const*>(pages), size);
  m_is_mapped = true;
}

/// A pipe may give a few bytes at a time. Reads go on until the buffer is full, so that peek() sees a whole
/// signature.
std::string_view RawInput::read_up_to(std::size_t most) {
  std::size_t size = 0;
  while (size < most) {
    ssize_t const count = ::read(m_descriptor, m_buffer.get() + size, most - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_read(m_name, errno);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  return {m_buffer.get(), size};
}

std::string_view RawInput::refill() {
  return read_up_to(file_buffer_bytes);
}

std::string_view RawInput::next() {
  if (m_pending.empty() && m_whole.empty()) m_pending = refill();
  std::string_view const piece = std::exchange(m_pending, {});
  m_consumed += piece.size();
  return piece;
}

}  // namespace polyad::io
