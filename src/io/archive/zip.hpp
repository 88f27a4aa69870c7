// SPDX-License-Identifier: BSD-3-Clause
// The subset of the zip format (APPNOTE.TXT 6.3.10) that npz needs. Writes stored members; reads stored and
// deflated ones. Both also in the 64-bit form.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "io/memory/read_memory.hpp"
#include "io/streams/raw_input.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/coordinate_list.hpp"

namespace polyad::io {

/// A field of 32 bits with this value refers to the 64-bit form.
inline constexpr std::uint64_t most_32 = std::numeric_limits<std::uint32_t>::max();

/// A member of an archive, as its central directory lists it.
struct ZipMember {
  std::string name;
  int method               = 0;  // 0 stored, 8 deflated
  std::uint32_t crc        = 0;
  std::uint64_t packed     = 0;  // bytes in the archive
  std::uint64_t size       = 0;  // bytes of the content
  std::uint64_t local_head = 0;  // where its local header begins
};

class ZipWriter {
public:
  using Sink   = std::function<void(std::string_view)>;
  using Source = std::function<void(Sink const&)>;

  ZipWriter(AtomicFile& file, bool force_zip64) : m_file(file), m_force_zip64(force_zip64) {}

  /// Adds a member. `source` writes the content, `size` bytes, to the sink that it gets. It is called twice,
  /// because the checksum precedes the content.
  void add(std::string const& name, std::uint64_t size, Source const& source);

  /// Writes the central directory.
  void finish();

private:
  void put(std::string_view bytes);

  AtomicFile& m_file;
  bool m_force_zip64;
  std::uint64_t m_offset = 0;
  std::vector<ZipMember> m_members;
};

/// The members of an archive that can be read at any position. \throws InputError
[[nodiscard]] std::vector<ZipMember> list_zip(RawInput const& archive);

/// The content of a member, after its checksum is verified. It counts in `memory`.
/// \throws InputError; MemoryError
[[nodiscard]] UninitializedVector<char> open_member(RawInput const& archive, ZipMember const& member,
                                                    ReadMemory& memory);

}  // namespace polyad::io
