// SPDX-License-Identifier: BSD-3-Clause
// Output files are there in full or not at all.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

using polyad::WriteError;
using polyad::io::AtomicFile;
using polyad::test::content_of;
using polyad::test::TemporaryFolder;

TEST_CASE("atomic file: the old file stays until the new one is complete", "[io]") {
  TemporaryFolder const folder;
  auto const path = folder.write("f", "old");
  {
    AtomicFile file(path);
    file.write("new");
    REQUIRE(content_of(path) == "old");
  }
  REQUIRE(content_of(path) == "old");
  REQUIRE(folder.files() == 1);
  AtomicFile file(path);
  file.write("new");
  file.commit();
  REQUIRE(content_of(path) == "new");
  REQUIRE(folder.files() == 1);
}

TEST_CASE("atomic file: a relative name is that of the folder at the beginning", "[io]") {
  TemporaryFolder const folder, other;
  auto const before = std::filesystem::current_path();
  for (bool const commits : {true, false}) {
    std::filesystem::current_path(folder / ".");
    {
      AtomicFile file("f");
      std::filesystem::current_path(other / ".");
      file.write("new");
      if (commits) file.commit();
    }
    std::filesystem::current_path(before);
    REQUIRE(content_of(folder / "f") == "new");
    REQUIRE(folder.files() == 1);
    REQUIRE(other.files() == 0);
  }
}

TEST_CASE("atomic file: pieces of any size", "[io]") {
  TemporaryFolder const folder;
  std::string expected;
  AtomicFile file(folder / "f");
  for (std::size_t size : {0, 1, 1000, 1 << 20, 3, (1 << 20) + 1, 700000, 700000, 5}) {
    std::string const piece(size, static_cast<char>('a' + expected.size() % 26));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  REQUIRE(content_of(folder / "f") == expected);
}

TEST_CASE("atomic file: permissions are those of the old file, or of any new one", "[io]") {
  TemporaryFolder const folder;
  auto const path = folder.write("f", "old");
  ::chmod(path.c_str(), 0640);
  AtomicFile replaced(path);
  replaced.commit();
  REQUIRE(std::filesystem::status(path).permissions() == static_cast<std::filesystem::perms>(0640));
  mode_t const mask = ::umask(027);
  AtomicFile created(folder / "g");
  ::umask(mask);
  created.commit();
  REQUIRE(std::filesystem::status(folder / "g").permissions() == static_cast<std::filesystem::perms>(0640));
}

TEST_CASE("atomic file: nobody else reads it before it is whole", "[io]") {
  TemporaryFolder const folder;
  auto const path = folder.write("f", "old");
  ::chmod(path.c_str(), 0666);
  AtomicFile file(path);
  file.write(std::string(std::size_t{3} << 20, 'x'));
  int temporary = 0;
  for (auto const& entry : std::filesystem::directory_iterator(folder / "")) {
    if (entry.path().filename() == "f") continue;
    ++temporary;
    CHECK(entry.status().permissions() == static_cast<std::filesystem::perms>(0600));
    CHECK(entry.path().filename().string().size() == std::string(".f.XXXXXX").size());
  }
  CHECK(temporary == 1);
  file.commit();
  CHECK(std::filesystem::status(path).permissions() == static_cast<std::filesystem::perms>(0666));
  // Who replaces a program does not keep its right to become another user.
  ::chmod(path.c_str(), 04755);
  AtomicFile program(path);
  program.commit();
  CHECK(std::filesystem::status(path).permissions() == static_cast<std::filesystem::perms>(0755));
}

TEST_CASE("atomic file: a link that somebody else put into a shared folder is not followed", "[io]") {
  if (::geteuid() != 0) POLYAD_SKIP("only root makes links that belong to somebody else");
  TemporaryFolder const folder;
  folder.write("precious", "old");
  std::filesystem::create_directory(folder / "shared");
  ::chmod((folder / "shared").c_str(), 01777);
  auto const link = folder / "shared/out";
  std::filesystem::create_symlink(folder / "precious", link);
  REQUIRE_NOTHROW(polyad::io::expect_writable(link));  // our own
  REQUIRE(::lchown(link.c_str(), 12345, 12345) == 0);
  REQUIRE_THROWS_AS(AtomicFile(link), WriteError);
  ::chmod((folder / "shared").c_str(), 0755);  // nobody else may put anything here
  REQUIRE_NOTHROW(polyad::io::expect_writable(link));
  REQUIRE(content_of(folder / "precious") == "old");
}

TEST_CASE("atomic file: a file beyond the process' limit is an error", "[io]") {
  TemporaryFolder const folder;
  auto const path   = folder.write("f", "old");
  pid_t const child = ::fork();
  if (child == 0) {
    rlimit const limit{100000, 100000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int status = 1;
    try {
      AtomicFile file(path);
      for (int k = 0; k < 3000; ++k) file.write(std::string(1000, 'x'));
      file.commit();
    } catch (WriteError const&) {
      sigset_t pending;
      ::sigpending(&pending);
      status = sigismember(&pending, SIGXFSZ) == 0 ? 0 : 2;
    }
    ::_exit(status);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(content_of(path) == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("atomic file: a symbolic link stays a link", "[io]") {
  TemporaryFolder const folder;
  folder.write("f", "old");
  std::filesystem::create_symlink("f", folder / "link");
  AtomicFile file(folder / "link");
  file.write("new");
  file.commit();
  REQUIRE(std::filesystem::is_symlink(folder / "link"));
  REQUIRE(content_of(folder / "f") == "new");
}

TEST_CASE("atomic file: what cannot be written is said", "[io]") {
  TemporaryFolder const folder;
  auto const reason = [](std::filesystem::path const& path) -> std::string {
    try {
      polyad::io::expect_writable(path);
    } catch (WriteError const& error) {
      REQUIRE(error.exit_code() == polyad::ExitCode::cannot_write);
      return std::string(error.what()).substr(path.string().size());
    }
    return "";
  };
  REQUIRE(reason(folder / "f") == "");
  REQUIRE(folder.files() == 0);
  REQUIRE(reason(folder / "no_such_folder/f") == ": cannot be written: No such file or directory");
  REQUIRE(reason(folder / "") == ": cannot be written: Is a directory");
  std::filesystem::create_directory(folder / "d");
  REQUIRE(reason(folder / "d") == ": cannot be written: Is a directory");
  REQUIRE(reason("/dev/null") == "");
  if (std::filesystem::exists("/dev/full")) {
    AtomicFile file("/dev/full");
    file.write("x");
    REQUIRE_THROWS_AS(file.commit(), WriteError);
  }
}

TEST_CASE("atomic file: a link that leads nowhere makes its target", "[io]") {
  TemporaryFolder const folder;
  std::filesystem::create_directory(folder / "elsewhere");
  std::filesystem::create_symlink("elsewhere/f", folder / "link");
  polyad::io::expect_writable(folder / "link");
  REQUIRE(!std::filesystem::exists(folder / "elsewhere/f"));
  AtomicFile file(folder / "link");
  file.write("new");
  file.commit();
  REQUIRE(std::filesystem::is_symlink(folder / "link"));
  REQUIRE(content_of(folder / "elsewhere/f") == "new");
  std::filesystem::create_symlink("loop", folder / "loop");
  REQUIRE_THROWS_AS(AtomicFile(folder / "loop"), WriteError);
  std::filesystem::create_symlink("no_such_folder/f", folder / "nowhere");
  REQUIRE_THROWS_AS(AtomicFile(folder / "nowhere"), WriteError);
}

TEST_CASE("atomic file: a protected file stays, whoever writes", "[io]") {
  TemporaryFolder const folder;
  auto const path = folder.write("f", "old");
  ::chmod(path.c_str(), 0444);
  REQUIRE_THROWS_AS(polyad::io::expect_writable(path), WriteError);
  REQUIRE_THROWS_AS(AtomicFile(path), WriteError);
  REQUIRE(content_of(path) == "old");
}

TEST_CASE("atomic file: names up to the longest", "[io]") {
  TemporaryFolder const folder;
  for (std::size_t const length : {1, 247, 248, 249, 254, 255}) {
    auto const path = folder / std::string(length, 'n');
    AtomicFile file(path);
    file.write("new");
    file.commit();
    REQUIRE(content_of(path) == "new");
  }
  REQUIRE(folder.files() == 6);
  REQUIRE_THROWS_AS(AtomicFile(folder / std::string(256, 'n')), WriteError);
}

TEST_CASE("atomic file: an own descriptor keeps its position and stays open", "[io]") {
  TemporaryFolder const folder;
  auto const path = folder.write("f", "old ");
  for (int const flags : {O_APPEND, 0}) {
    int const descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags);
    if (flags == 0) REQUIRE(::lseek(descriptor, 0, SEEK_END) > 0);
    std::string const name = "/dev/fd/" + std::to_string(descriptor);
    REQUIRE(polyad::io::own_descriptor(name) == descriptor);
    polyad::io::expect_writable(name);
    AtomicFile file(name);
    file.write("new ");
    file.commit();
    REQUIRE(::write(descriptor, "more ", 5) == 5);
    ::close(descriptor);
    REQUIRE_THROWS_AS(AtomicFile(name), WriteError);
  }
  REQUIRE(content_of(path) == "old new more new more ");
  int const reading = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE_THROWS_AS(polyad::io::expect_writable("/dev/fd/" + std::to_string(reading)), WriteError);
  ::close(reading);
  REQUIRE(polyad::io::own_descriptor("/dev/stdout") == 1);
  REQUIRE(!polyad::io::own_descriptor(path));
}

namespace {

struct Stopped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void stop_waiting(polyad::io::WriteStage stage) {
  if (stage == polyad::io::WriteStage::waiting) throw Stopped("waits");
}

void stop_writing(polyad::io::WriteStage stage) {
  if (stage == polyad::io::WriteStage::writing) throw Stopped("writes");
}

/// Sets the check, and none at the end.
struct Checked {
  explicit Checked(void (*check)(polyad::io::WriteStage)) { polyad::io::set_write_check(check); }
  ~Checked() { polyad::io::set_write_check(nullptr); }
};

}  // namespace

TEST_CASE("atomic file: a pipe waits for its reader, and the check can end that", "[io]") {
  TemporaryFolder const folder;
  auto const path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  polyad::io::expect_writable(path);  // does not wait
  std::string const text(300000, 'x');
  {
    Checked const checked(stop_waiting);
    REQUIRE_THROWS_AS(AtomicFile(path), Stopped);  // no reader
    int const reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    AtomicFile file(path);
    file.write(text);
    REQUIRE_THROWS_AS(file.commit(), Stopped);  // one that does not read
    ::close(reader);
  }
  std::string read;
  std::thread reader([&] { read = content_of(path); });
  AtomicFile file(path);
  file.write(text);
  file.commit();
  reader.join();
  REQUIRE(read == text);
  int const leaves = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  AtomicFile broken(path);
  ::close(leaves);
  broken.write(text);
  REQUIRE_THROWS_AS(broken.commit(), polyad::io::BrokenPipe);  // and no signal
}

TEST_CASE("atomic file: the check ends writing, and nothing is left", "[io]") {
  TemporaryFolder const folder;
  auto const path = folder.write("f", "old");
  Checked const checked(stop_writing);
  {
    AtomicFile file(path);
    REQUIRE_THROWS_AS(file.write(std::string(std::size_t{3} << 20, 'x')), Stopped);
  }
  REQUIRE(content_of(path) == "old");
  REQUIRE(folder.files() == 1);
}

TEST_CASE("atomic file: a handler removes the temporary files of all threads", "[io]") {
  TemporaryFolder const folder;
  for (int round = 0; round < 20; ++round) {
    pid_t const child = ::fork();
    if (child == 0) {
      std::signal(SIGALRM, [](int) {
        polyad::io::remove_temporary_files();
        ::_exit(3);
      });
      for (int k = 0; k < 3; ++k)
        std::thread([&folder, k] {
          for (;;) {
            auto const number = std::to_string(k);
            AtomicFile one(folder / ("one" + number)), two(folder / ("two" + number));
            one.write("x");
          }
        }).detach();
      ::ualarm(static_cast<useconds_t>(2000 + 700 * round), 0);
      for (;;) ::pause();
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 3);
    REQUIRE(folder.files() == 0);
  }
}
