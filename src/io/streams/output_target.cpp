// SPDX-License-Identifier: BSD-3-Clause
#include "io/streams/output_target.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

namespace {

namespace fs = std::filesystem;

constexpr mode_t permission_bits = 0777;
constexpr mode_t write_bits      = 0222;

OutputTarget refused(int error) {
  OutputTarget target;
  target.error = error;
  return target;
}

fs::path folder_of(fs::path const& path) {
  auto folder = path.parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

std::optional<int> number_of(std::string_view text) {
  int number           = 0;
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

/// The process whose descriptors a folder of /proc lists; 0 in all other cases.
pid_t process_of_descriptors(fs::path const& folder) {
  std::error_code failed;
  std::string const real          = fs::canonical(folder, failed).string();
  constexpr std::string_view root = "/proc/", end = "/fd";
  if (failed || !real.starts_with(root) || !real.ends_with(end)) return 0;
  std::string_view rest = std::string_view(real).substr(root.size());
  return number_of(rest.substr(0, rest.find('/'))).value_or(0);
}

/// The end of a chain of links, or the descriptor that the chain meets.
struct End {
  fs::path path;
  std::optional<int> descriptor;
  bool of_other_process = false;  // a descriptor of another process
  int error             = 0;
};

/// Whether the link belongs to another user, in a folder where everybody may write, such as /tmp. That user
/// would choose the target. Linux has the same rule if fs.protected_symlinks is set.
bool is_planted(struct stat const& link, fs::path const& folder) {
  struct stat of{};
  if (::stat(folder.c_str(), &of) != 0) return false;
  constexpr mode_t shared = S_ISVTX | S_IWOTH;
  return (of.st_mode & shared) == shared && link.st_uid != ::geteuid() && link.st_uid != of.st_uid;
}

End follow(fs::path path) {
  // These names are known where /proc is not mounted, too.
  constexpr std::pair<std::string_view, int> standard[] = {
      {"/dev/stdin", STDIN_FILENO}, {"/dev/stdout", STDOUT_FILENO}, {"/dev/stderr", STDERR_FILENO}};
  constexpr int most_links = 40;
  for (int links = 0; links < most_links; ++links) {
    for (auto const& [name, number] : standard)
      if (path == name) return {path, number};
    auto const folder = folder_of(path);
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return {std::move(path), {}};
    if (auto const process = process_of_descriptors(folder); process != 0) {
      auto const number = number_of(path.filename().string());
      if (number && process == ::getpid()) return {std::move(path), number};
      return {std::move(path), {}, true};
    }
    if (is_planted(status, folder)) return {std::move(path), {}, false, EACCES};
    std::error_code failed;
    auto const next = fs::read_symlink(path, failed);
    if (failed) return {std::move(path), {}, false, failed.value()};
    path = next.is_absolute() ? next : folder / next;
  }
  return {std::move(path), {}, false, ELOOP};
}

/// The path from the root, unless it is too long. The file stays the same one if the process changes its
/// folder, or if that folder moves, before the file gets its name.
fs::path independent_of_folder(fs::path const& path) {
  std::error_code failed;
  auto absolute = fs::absolute(path, failed);
  return failed || absolute.native().size() >= PATH_MAX ? path : absolute;
}

/// Whether the file can be opened with these flags; else errno says why.
bool opens(fs::path const& path, int flags) {
  int const descriptor = ::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return false;
  ::close(descriptor);
  return true;
}

/// Whether a folder such as /tmp lets us replace this file by another one.
bool may_be_replaced(fs::path const& path, struct stat const& file) {
  struct stat folder{};
  if (::stat(folder_of(path).c_str(), &folder) != 0 || (folder.st_mode & S_ISVTX) == 0) return true;
  auto const user = ::geteuid();
  return user == 0 || user == file.st_uid || user == folder.st_uid;
}

}  // namespace

std::optional<int> own_descriptor(fs::path const& path) {
  return follow(path).descriptor;
}

OutputTarget resolve_output(fs::path const& path) {
  using Kind = OutputTarget::Kind;
  auto end   = follow(path);
  if (end.error != 0) return refused(end.error);
  OutputTarget target;
  target.path = independent_of_folder(end.path);
  if (end.descriptor) {
    int const flags = ::fcntl(*end.descriptor, F_GETFL);
    if (flags < 0) return refused(errno);
    if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH) != 0) return refused(EBADF);
    target.kind       = Kind::descriptor;
    target.descriptor = *end.descriptor;
    return target;
  }
  struct stat status{};
  if (::stat(target.path.c_str(), &status) != 0) {
    if (errno != ENOENT) return refused(errno);
    if (!target.path.has_filename()) return refused(EISDIR);
    target.kind = Kind::file;
    return target;
  }
  if (S_ISDIR(status.st_mode)) return refused(EISDIR);
  if (!S_ISREG(status.st_mode)) {
    if (::faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0) return refused(errno);
    target.kind = S_ISFIFO(status.st_mode) ? Kind::pipe : Kind::device;
    return target;
  }
  target.before = status.st_mode & permission_bits;
  // Its owner has protected it, even from root. A running program cannot be opened, but it can be replaced.
  if ((status.st_mode & write_bits) == 0) return refused(EACCES);
  bool const adds_only = !opens(target.path, 0) && errno != ETXTBSY;
  if (adds_only && (errno != EPERM || !opens(target.path, O_APPEND))) return refused(errno);
  target.kind = adds_only || end.of_other_process ? Kind::appended : Kind::file;
  if (target.kind == Kind::file && !may_be_replaced(target.path, status)) return refused(EPERM);
  return target;
}

}  // namespace polyad::io
