// SPDX-License-Identifier: BSD-3-Clause
// A disk that fails when told, for LD_PRELOAD. POLYAD_DISK holds one of
//
//   write:ERRNO:BYTES  the file that is written has room for BYTES bytes; then write(2) gives ERRNO
//   fsync:ERRNO:0  close:ERRNO:0  rename:ERRNO:0  open:ERRNO:0   that call fails for files that are written
//   short:0:0          every write takes half of what it is given
//   vanish:0:0         the folder that POLYAD_FOLDER names is moved away before rename(2)
//   log:ERRNO:K        from the K-th write(2) to stderr on, that call fails
//   kill:SIGNAL:K      the process gets SIGNAL at the K-th write(2), fsync(2), close(2) or rename(2)
//
// Files that are written are those of descriptors that were opened to be written, but not stdout and stderr.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

char what[16];
long number = 0, room = 0, used = 0, calls = 0;

__attribute__((constructor)) void begin() {
  if (char const* const text = std::getenv("POLYAD_DISK"))
    std::sscanf(text, "%15[^:]:%ld:%ld", what, &number, &room);
}

bool is(char const* name) {
  return std::strcmp(what, name) == 0;
}

/// A call of that name begins. Whether it is to fail.
bool fails(char const* name) {
  if (is("kill") && ++calls == room) ::kill(::getpid(), static_cast<int>(number));
  if (!is(name)) return false;
  errno = static_cast<int>(number);
  return true;
}

bool is_written(int descriptor) {
  int const flags = descriptor > 2 ? ::fcntl(descriptor, F_GETFL) : -1;
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

template <class Function>
Function* real(char const* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, void const* data, size_t size) {
  static auto* const next = real<ssize_t(int, void const*, size_t)>("write");
  if (descriptor == STDERR_FILENO && is("log") && ++calls >= room) {
    errno = static_cast<int>(number);
    return -1;
  }
  if (!is_written(descriptor)) return next(descriptor, data, size);
  static_cast<void>(fails(""));
  if (is("short") && size > 1) size /= 2;
  if (is("write")) {
    if (used >= room) {
      errno = static_cast<int>(number);
      return -1;
    }
    if (static_cast<long>(size) > room - used) size = static_cast<size_t>(room - used);
  }
  ssize_t const count = next(descriptor, data, size);
  if (count > 0) used += count;
  return count;
}

int fsync(int descriptor) {
  static auto* const next = real<int(int)>("fsync");
  if (is_written(descriptor) && fails("fsync")) return -1;
  return next(descriptor);
}

int close(int descriptor) {
  static auto* const next = real<int(int)>("close");
  bool const failure      = is_written(descriptor) && fails("close");
  int const code          = errno;
  int const result        = next(descriptor);
  if (!failure) return result;
  errno = code;
  return -1;
}

int rename(char const* from, char const* to) noexcept {
  static auto* const next  = real<int(char const*, char const*)>("rename");
  char const* const folder = std::getenv("POLYAD_FOLDER");
  if (is("vanish") && folder != nullptr) {
    char gone[4096];
    std::snprintf(gone, sizeof gone, "%s.gone", folder);
    next(folder, gone);
  }
  if (fails("rename")) return -1;
  return next(from, to);
}

int mkostemp(char* name, int flags) {
  static auto* const next = real<int(char*, int)>("mkostemp");
  if (fails("open")) return -1;
  return next(name, flags);
}

// Programs of 64-bit files may call it by this name.
int mkostemp64(char* name, int flags) {
  return mkostemp(name, flags);
}

}  // extern "C"
