// SPDX-License-Identifier: BSD-3-Clause
// An output file that is there in full or not at all: the bytes go to a temporary file in the same folder,
// which takes the name only when all of it is on disk. Until then a previous file stays as it is, and nobody
// else can read the new one. It gets the permissions of the one that it replaces, or those of a new file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace polyad::io {

class AtomicFile {
public:
  /// Devices and pipes, which have nothing to be replaced, are written directly. A link is followed, but not
  /// one that somebody else put into a folder like /tmp.
  /// \throws WriteError, as every member does
  explicit AtomicFile(std::filesystem::path path);

  /// Removes the temporary file unless commit() was reached.
  ~AtomicFile();
  AtomicFile(AtomicFile const&)            = delete;
  AtomicFile& operator=(AtomicFile const&) = delete;

  void write(std::string_view bytes);

  /// Waits until the bytes are on disk and gives the file its name.
  void commit();

private:
  void flush();
  void send(std::string_view bytes);
  [[noreturn]] void fail(int code);
  void discard() noexcept;

  std::filesystem::path m_path;    // as the user named it, for messages
  std::filesystem::path m_target;  // behind symbolic links
  std::string m_temporary;         // empty when written directly
  std::string m_buffer;
  unsigned m_mode  = 0;  // that the file gets when it is whole; the temporary one is 0600
  int m_descriptor = -1;
};

/// Tries now what would fail later, so that no long computation ends in an error; leaves no trace.
/// \throws WriteError when a file of that name cannot be written
void expect_writable(std::filesystem::path const& path);

}  // namespace polyad::io
