// SPDX-License-Identifier: BSD-3-Clause
// An output file that is written completely or not at all. The bytes go to a temporary file in the same
// folder, renamed once all of it is on disk. Until then a previous file stays, and nobody else can read the
// new one. The file gets the permissions of the one that it replaces, or those of a new file.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "polyad/core/error.hpp"

namespace polyad::io {

class TemporaryFile;

/// The reader of a pipe has left before it had everything.
class BrokenPipe : public WriteError {
public:
  using WriteError::WriteError;
};

class AtomicFile {
public:
  /// What cannot be replaced is written in place: devices, pipes, files that can only be appended to, and the
  /// descriptors of this process (/dev/stdout, /dev/fd/3), which keep their position. Symbolic links are
  /// followed, except those that another user put into a folder like /tmp. A file without any permission to
  /// write is refused. A FIFO waits for its reader.
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
  friend void expect_writable(std::filesystem::path const& path);
  enum class Use { trial, output };
  AtomicFile(std::filesystem::path path, Use use);

  void open_pipe();
  void flush();
  void send(std::string_view bytes);
  bool takes_bytes();
  [[noreturn]] void fail(int code);
  void discard() noexcept;

  std::filesystem::path m_path;                // as the user named it, for messages
  std::filesystem::path m_target;              // with symbolic links followed
  std::unique_ptr<TemporaryFile> m_temporary;  // null when written in place
  std::string m_buffer;
  unsigned m_mode  = 0;  // permissions of the complete file; the temporary one has 0600
  int m_descriptor = -1;
  bool m_may_wait  = false;  // may wait for the reader of a pipe, or for a terminal
};

/// The number of this process' descriptor that has this name: /dev/stdout, /dev/fd/3, /proc/self/fd/3,
/// or a link to one of these.
[[nodiscard]] std::optional<int> own_descriptor(std::filesystem::path const& path);

/// Checks in advance whether the file can be written, so that no long computation ends in an error. Leaves no
/// trace, and does not wait for the reader of a pipe.
/// \throws WriteError when a file of that name cannot be written
void expect_writable(std::filesystem::path const& path);

/// What an output is doing when it calls the check.
enum class WriteStage { waiting, writing };

/// Sets a function that all outputs of this process call: about ten times a second while a pipe accepts no
/// bytes, and for each megabyte written. If it throws, that ends the output. nullptr: none, as at the start.
void set_write_check(void (*check)(WriteStage stage)) noexcept;

/// Removes the temporary files of all outputs. For signal handlers that end the process, in which it is safe:
/// afterwards no output can be opened or completed.
void remove_temporary_files() noexcept;

}  // namespace polyad::io
