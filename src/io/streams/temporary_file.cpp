// SPDX-License-Identifier: BSD-3-Clause
#include "io/streams/temporary_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

namespace {

static_assert(std::atomic<char*>::is_always_lock_free, "signal handlers take no locks");

// Names are added and never removed, but they are reused.
std::atomic<TemporaryName*> names{nullptr};
std::atomic<int> creating{0};
std::atomic<bool> ending{false};

/// While one exists, no handler interrupts this thread, and a handler on another thread waits: no file is
/// made whose name is not in the list. If the process is about to end, no further file is made.
class Creation {
public:
  Creation() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &m_before);
    ++creating;
    if (!ending) return;
    --creating;
    for (;;) ::pause();
  }
  ~Creation() {
    int const code = errno;
    --creating;
    ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
    errno = code;
  }
  Creation(Creation const&)            = delete;
  Creation& operator=(Creation const&) = delete;

private:
  sigset_t m_before{};
};

/// A free place, or a new one. Everything that allocates comes before the file is made.
TemporaryName* put(TemporaryName*& spare, char* path) noexcept {
  for (auto* name = names.load(); name != nullptr; name = name->next) {
    char* none = nullptr;
    if (name->path.compare_exchange_strong(none, path)) return name;
  }
  auto* const added = std::exchange(spare, nullptr);
  added->path       = path;
  added->next       = names.load();
  while (!names.compare_exchange_weak(added->next, added)) continue;
  return added;
}

}  // namespace

TemporaryFile::~TemporaryFile() {
  if (m_name == nullptr) return;
  ::unlink(m_path.c_str());
  forget();
}

int TemporaryFile::create(std::filesystem::path const& target) {
  // The folder, and the dot of a hidden file.
  std::string const begin = (target.parent_path() / ".").string();
  auto spare              = std::make_unique<TemporaryName>();
  for (std::string const& middle : {target.filename().string(), std::string("polyad")}) {
    m_path     = begin + middle + ".XXXXXX";
    auto* text = new char[m_path.size() + 1];
    int descriptor;
    {
      Creation const creation;
      descriptor = ::mkostemp(m_path.data(), O_CLOEXEC);
      if (descriptor >= 0) {
        std::memcpy(text, m_path.c_str(), m_path.size() + 1);
        auto* left = spare.get();
        m_name     = put(left, text);
        if (left == nullptr) static_cast<void>(spare.release());
      }
    }
    if (descriptor >= 0) return descriptor;
    delete[] text;
    if (errno != ENAMETOOLONG) break;  // a name of nearly the most bytes has no room for the ending
  }
  return -1;
}

bool TemporaryFile::take_name(std::filesystem::path const& target) noexcept {
  if (::rename(m_path.c_str(), target.c_str()) != 0) return false;
  forget();
  return true;
}

/// A handler that has taken the name keeps it.
void TemporaryFile::forget() noexcept {
  delete[] std::exchange(m_name, nullptr)->path.exchange(nullptr);
}

void remove_temporary_files() noexcept {
  int const before         = errno;
  ending                   = true;
  constexpr int most_waits = 2000;
  for (int wait = 0; creating > 0 && wait < most_waits; ++wait) {
    timespec const millisecond{0, 1'000'000};
    ::nanosleep(&millisecond, nullptr);
  }
  for (auto* name = names.load(); name != nullptr; name = name->next)
    if (char* const path = name->path.exchange(nullptr); path != nullptr) ::unlink(path);
  errno = before;
}

}  // namespace polyad::io
