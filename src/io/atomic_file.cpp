// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/atomic_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

/// The permissions that open() would give a new file; mkstemp() gives fewer. Reading the mask with umask()
/// would change it for a moment, which would affect files of other threads.
mode_t usual_mode() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    unsigned mask = 0;
    if (word == "Umask:" && status >> std::oct >> mask) return 0666 & ~static_cast<mode_t>(mask);
  }
  mode_t const mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

/// Whether the path is a symbolic link of another user in a folder where everybody may write, such as /tmp.
/// That user would choose the target. Linux has the same rule if fs.protected_symlinks is set.
bool is_planted_link(std::filesystem::path const& path) {
  struct stat link{};
  struct stat folder{};
  if (::lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return false;
  auto const parent = path.parent_path();
  if (::stat(parent.empty() ? "." : parent.c_str(), &folder) != 0) return false;
  constexpr mode_t shared = S_ISVTX | S_IWOTH;
  return (folder.st_mode & shared) == shared && link.st_uid != ::geteuid() && link.st_uid != folder.st_uid;
}

/// write(2). For a file beyond RLIMIT_FSIZE it returns an error; no signal ends the process.
ssize_t write_some(int descriptor, std::string_view bytes) {
  sigset_t too_large;
  sigset_t before;
  sigemptyset(&too_large);
  sigaddset(&too_large, SIGXFSZ);
  ::pthread_sigmask(SIG_BLOCK, &too_large, &before);
  ssize_t const count = ::write(descriptor, bytes.data(), bytes.size());
  int const code      = errno;
  if (count < 0 && code == EFBIG && sigismember(&before, SIGXFSZ) == 0) {
    constexpr timespec at_once{0, 0};
    ::sigtimedwait(&too_large, nullptr, &at_once);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = code;
  return count;
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : m_path(std::move(path)), m_target(m_path) {
  m_buffer.reserve(buffer_bytes);  // first: where it throws there is no temporary file yet
  struct stat status{};
  if (is_planted_link(m_path)) fail(EACCES);
  bool const exists = ::stat(m_path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    m_descriptor = ::open(m_path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (m_descriptor < 0) fail(errno);
    // It has become a regular file, which only a complete file may replace.
    if (::fstat(m_descriptor, &status) != 0 || S_ISREG(status.st_mode)) fail(EEXIST);
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
    m_mode = exists ? status.st_mode & 0777 : usual_mode();
  }
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
  // Only now may others read it.
  if (!m_temporary.empty() && ::fchmod(m_descriptor, m_mode) != 0) fail(errno);
  // Pipes and terminals have nothing to synchronise, and report these errors.
  if (::fsync(m_descriptor) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) fail(errno);
  if (::close(std::exchange(m_descriptor, -1)) != 0) fail(errno);
  if (m_temporary.empty()) return;
  if (::rename(m_temporary.c_str(), m_target.c_str()) != 0) fail(errno);
  m_temporary.clear();
  // The name is on disk only after its folder is synchronised. If the folder cannot be, that is accepted.
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
    ssize_t const count = write_some(m_descriptor, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(count < 0 ? errno : ENOSPC);
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
