// SPDX-License-Identifier: BSD-3-Clause
// An output file that is written completely or not at all. The bytes go to a temporary file in the same
// folder, renamed once all of it is on disk. Until then a previous file stays, and nobody else can read the
// new one. The file gets the permissions of the one that it replaces, or those of a new file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace polyad::io {

class AtomicFile {
public:
  /// Devices and pipes cannot be replaced and are written directly. Symbolic links are followed, except those
  /// that another user put into a folder like /tmp.
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

/// Checks in advance whether the file can be written, so that no long computation ends in an error. Leaves no
/// trace.
/// \throws WriteError when a file of that name cannot be written
void expect_writable(std::filesystem::path const& path);

}  // namespace polyad::io
