// SPDX-License-Identifier: BSD-3-Clause
// Output files are there in full or not at all.
#include <sys/stat.h>

#include <filesystem>
#include <string>

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
