// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/io/atomic_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "io/streams/output_target.hpp"
#include "io/streams/temporary_file.hpp"

namespace polyad::io {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;
constexpr int wait_ms              = 100;  // between two calls of the check

std::atomic<void (*)(WriteStage)> write_check{nullptr};

void check(WriteStage stage) {
  if (auto* const function = write_check.load()) function(stage);
}

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

/// write(2). For a file beyond RLIMIT_FSIZE and for a pipe without a reader it returns an error; no signal
/// ends the process.
ssize_t write_some(int descriptor, std::string_view bytes) {
  sigset_t ours;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&ours);
  sigaddset(&ours, SIGXFSZ);
  sigaddset(&ours, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &ours, &before);
  ::sigpending(&pending);
  ssize_t const count = ::write(descriptor, bytes.data(), bytes.size());
  int const code      = errno;
  int const raised    = count >= 0 ? 0 : code == EFBIG ? SIGXFSZ : code == EPIPE ? SIGPIPE : 0;
  if (raised != 0 && sigismember(&before, raised) == 0 && sigismember(&pending, raised) == 0) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, raised);
    constexpr timespec at_once{0, 0};
    ::sigtimedwait(&one, nullptr, &at_once);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = code;
  return count;
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : AtomicFile(std::move(path), Use::output) {}

AtomicFile::AtomicFile(std::filesystem::path path, Use use) : m_path(std::move(path)) {
  using Kind = OutputTarget::Kind;
  m_buffer.reserve(buffer_bytes);  // first: where it throws there is no temporary file yet
  auto target = resolve_output(m_path);
  m_target    = std::move(target.path);
  if (target.kind == Kind::refused) fail(target.error);
  if (target.kind == Kind::file) {
    m_mode       = target.before ? *target.before : usual_mode();
    m_temporary  = std::make_unique<TemporaryFile>();
    m_descriptor = m_temporary->create(m_target);
    if (m_descriptor < 0) fail(errno);
    return;
  }
  if (use == Use::trial) return;
  struct stat status{};
  if (target.kind == Kind::descriptor) {
    m_descriptor = ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  } else if (target.kind == Kind::pipe) {
    open_pipe();
  } else {
    int const appends = target.kind == Kind::appended ? O_APPEND : O_NONBLOCK;
    m_descriptor      = ::open(m_target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | appends);
  }
  if (m_descriptor < 0 || ::fstat(m_descriptor, &status) != 0) fail(errno);
  // In the meantime it has become a regular file, which only a complete file may replace.
  if (target.kind == Kind::device && S_ISREG(status.st_mode)) fail(EEXIST);
  m_may_wait = !S_ISREG(status.st_mode);
}

AtomicFile::~AtomicFile() {
  discard();
}

/// open(2) would wait for the reader, and continue to wait after a signal.
void AtomicFile::open_pipe() {
  for (;;) {
    m_descriptor = ::open(m_target.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (m_descriptor >= 0 || (errno != ENXIO && errno != EINTR)) return;
    check(WriteStage::waiting);
    ::poll(nullptr, 0, wait_ms);
  }
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
  // Only now may other users read it.
  if (m_temporary && ::fchmod(m_descriptor, m_mode) != 0) fail(errno);
  // Pipes and terminals have nothing to synchronise, and report these errors.
  if (::fsync(m_descriptor) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) fail(errno);
  if (::close(std::exchange(m_descriptor, -1)) != 0) fail(errno);
  if (!m_temporary) return;
  if (!m_temporary->take_name(m_target)) fail(errno);
  m_temporary.reset();
  // The name is on disk only after its folder is synchronised. If that is impossible, it is accepted.
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
    check(WriteStage::writing);
    if (m_may_wait && !takes_bytes()) continue;
    // A pipe accepts this many bytes at once when it is ready. The descriptor may also belong to another
    // process, which relies on its waiting.
    std::size_t const most = m_may_wait ? std::size_t{PIPE_BUF} : buffer_bytes;
    ssize_t const count    = write_some(m_descriptor, bytes.substr(0, most));
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) fail(count < 0 ? errno : ENOSPC);
    bytes.remove_prefix(count);
  }
}

/// Waits for a while.
bool AtomicFile::takes_bytes() {
  pollfd output{m_descriptor, POLLOUT, 0};
  if (::poll(&output, 1, wait_ms) > 0) return true;
  check(WriteStage::waiting);
  return false;
}

void AtomicFile::fail(int code) {
  discard();
  std::string const text = m_path.string() + ": cannot be written: " + std::generic_category().message(code);
  if (code == EPIPE) throw BrokenPipe(text);
  throw WriteError(text);
}

void AtomicFile::discard() noexcept {
  if (m_descriptor >= 0) ::close(std::exchange(m_descriptor, -1));
  m_temporary.reset();
}

void expect_writable(std::filesystem::path const& path) {
  AtomicFile const trial(path, AtomicFile::Use::trial);
}

void set_write_check(void (*function)(WriteStage)) noexcept {
  write_check = function;
}

}  // namespace polyad::io
