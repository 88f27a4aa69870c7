// SPDX-License-Identifier: BSD-3-Clause
#include "io/streams/raw_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

namespace {

constexpr std::size_t read_buffer_bytes = std::size_t{1} << 20;

[[noreturn]] void cannot_read(std::string const& name, int code) {
  throw InputError(name, 0, 0, "cannot be read: " + std::generic_category().message(code));
}

/// A socket cannot be opened by the name of its descriptor.
int open_input(std::filesystem::path const& path) {
  int const descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0 || errno != ENXIO) return descriptor;
  auto const own = own_descriptor(path);
  if (own) return ::fcntl(*own, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  errno = ENXIO;
  return -1;
}

}  // namespace

RawInput::RawInput(std::filesystem::path const& path) : m_name(path.string()) {
  m_descriptor = open_input(path);
  if (m_descriptor < 0) {
    if (errno == ENOENT) throw InputError(m_name, 0, 0, "no such file");
    cannot_read(m_name, errno);
  }
  try {
    struct stat status{};
    if (::fstat(m_descriptor, &status) != 0) cannot_read(m_name, errno);
    if (S_ISDIR(status.st_mode)) throw InputError(m_name, 0, 0, "is a directory, not a file");
    bool const is_file = S_ISREG(status.st_mode) && status.st_size > 0;
    m_size             = is_file ? status.st_size : 0;
    m_buffer           = std::make_unique_for_overwrite<char[]>(
        is_file ? std::min<std::size_t>(m_size, read_buffer_bytes) : read_buffer_bytes);
    m_pending    = refill();
    m_has_places = is_file;
    // The first read got everything: nothing can change any more.
    if (is_file && m_pending.size() == m_size) m_whole = m_pending;
  } catch (...) {
    ::close(m_descriptor);
    throw;
  }
}

RawInput::~RawInput() {
  ::close(m_descriptor);
}

/// A pipe may give a few bytes at a time. It is read until the buffer is full, so that peek() sees a
/// whole signature.
std::size_t RawInput::read_up_to(char* to, std::size_t most) {
  std::size_t size = 0;
  while (size < most) {
    ssize_t const count = ::read(m_descriptor, to + size, most - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_read(m_name, errno);
    if (count == 0) break;
    size += count;
  }
  return size;
}

std::string_view RawInput::refill() {
  if (!m_whole.empty()) return {};
  std::size_t const most = m_size > 0 ? std::min<std::size_t>(m_size, read_buffer_bytes) : read_buffer_bytes;
  return {m_buffer.get(), read_up_to(m_buffer.get(), most)};
}

std::string_view RawInput::next() {
  if (m_pending.empty()) m_pending = refill();
  std::string_view const piece = std::exchange(m_pending, {});
  if (m_is_looked_at) m_seen += piece;
  m_consumed += piece.size();
  return piece;
}

void RawInput::look_again() {
  m_is_looked_at = false;
  if (m_seen.empty()) return;
  m_seen += m_pending;
  m_replayed = std::exchange(m_seen, {});
  m_pending  = m_replayed;
  m_consumed = 0;
}

void RawInput::read_at(std::uint64_t offset, char* to, std::uint64_t bytes) const {
  if (bytes == 0) return;  // `to` may be a null pointer
  if (!m_whole.empty()) {
    std::memcpy(to, m_whole.data() + offset, bytes);
    return;
  }
  while (bytes > 0) {
    ssize_t const count = ::pread(m_descriptor, to, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_read(m_name, errno);
    if (count == 0) throw InputError(m_name, 0, 0, "became shorter while it was read");
    std::uint64_t const read = count;
    offset += read;
    to += read;
    bytes -= read;
  }
}

void RawInput::hold(ReadMemory& memory) {
  if (m_has_places) return;
  for (auto piece = next(); !piece.empty(); piece = next()) {
    // A string that grows is in memory twice for a while.
    memory.take("the bytes of " + m_name, 2 * piece.size());
    m_held += piece;
  }
  m_whole      = m_held;
  m_pending    = m_whole;
  m_size       = m_whole.size();
  m_has_places = true;
  m_consumed   = 0;
}

}  // namespace polyad::io
