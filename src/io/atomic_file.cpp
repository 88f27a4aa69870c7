// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

/// The permissions that a new file would get from open(); mkstemp() gives fewer.
mode_t usual_mode() {
  mode_t const mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : m_path(std::move(path)), m_target(m_path) {
  struct stat status{};
  bool const exists = ::stat(m_path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    m_descriptor = ::open(m_path.c_str(), O_WRONLY | O_CLOEXEC);
    if (m_descriptor < 0) fail(errno);
  } else {
    std::error_code ignored;
    if (exists) m_target = std::filesystem::canonical(m_path, ignored);
    if (m_target.empty()) m_target = m_path;
    if (!m_target.has_filename()) fail(EISDIR);
    m_temporary = (m_target.parent_path() / ".").string();  // the folder, and the dot of a hidden file
    m_temporary += m_target.filename().string();
    m_temporary += ".XXXXXX";
    m_descriptor = ::mkostemp(m_temporary.data(), O_CLOEXEC);
    if (m_descriptor < 0) {
      m_temporary.clear();
      fail(errno);
    }
    if (::fchmod(m_descriptor, exists ? status.st_mode & 07777 : usual_mode()) != 0) fail(errno);
  }
  m_buffer.reserve(buffer_bytes);
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::write(std::string_view bytes) {
  if (m_buffer.size() + bytes.size() > buffer_bytes) flush();
  if (bytes.size() > buffer_bytes) {
    send(bytes);
  } else {
    m_buffer += bytes;
  }
}

void AtomicFile::commit() {
  flush();
  // A pipe or a terminal has nothing to wait for, and says so.
  if (::fsync(m_descriptor) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) fail(errno);
  if (::close(std::exchange(m_descriptor, -1)) != 0) fail(errno);
  if (m_temporary.empty()) return;
  if (::rename(m_temporary.c_str(), m_target.c_str()) != 0) fail(errno);
  m_temporary.clear();
  // The name is on disk only when its folder is; where a folder cannot be synchronised, so be it.
  auto const parent = m_target.parent_path();
  int const folder  = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

void AtomicFile::flush() {
  send(m_buffer);
  m_buffer.clear();
}

void AtomicFile::send(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t const count = ::write(m_descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void AtomicFile::fail(int code) {
  discard();
  throw WriteError(m_path.string() + ": cannot be written: " + std::generic_category().message(code));
}

void AtomicFile::discard() noexcept {
  if (m_descriptor >= 0) ::close(std::exchange(m_descriptor, -1));
  if (!m_temporary.empty()) ::unlink(m_temporary.c_str());
  m_temporary.clear();
}

void expect_writable(std::filesystem::path const& path) {
  AtomicFile const trial(path);
}

}  // namespace polyad::io
