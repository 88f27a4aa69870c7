// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <limits>
#include <memory>
#include <new>

#include "io/archive/zip.hpp"
#include "io/quoted.hpp"
#include "io/streams/crc32.hpp"
#include "polyad/core/error.hpp"

#ifdef POLYAD_HAVE_ZLIB
#include <zlib.h>
#endif

namespace polyad::io {

namespace {

using namespace std::string_view_literals;

/// Reads little-endian fields of an archive, or of a part of one in memory, and refuses to leave it.
class Reader {
public:
  Reader(RawInput const& archive, std::uint64_t offset)
      : m_file(archive.name()), m_archive(&archive), m_size(archive.size()), m_offset(offset) {}
  Reader(std::string const& file, std::string_view part)
      : m_file(file), m_size(part.size()), m_window(part) {}

  std::uint64_t u16() { return take(2); }
  std::uint64_t u32() { return take(4); }
  std::uint64_t u64() { return take(8); }

  /// Valid until the next call.
  std::string_view text(std::uint64_t size) {
    std::uint64_t const begin = m_offset;
    skip(size);
    if (begin < m_begin || m_offset > m_begin + m_window.size()) {
      constexpr std::uint64_t window_bytes = std::uint64_t{1} << 16;
      m_begin                              = begin;
      m_window.resize(std::min(std::max(size, window_bytes), m_size - begin));
      m_archive->read_at(begin, m_window.data(), m_window.size());
    }
    return std::string_view(m_window).substr(begin - m_begin, size);
  }
  void skip(std::uint64_t size) {
    if (m_offset > m_size || size > m_size - m_offset)
      throw InputError(m_file, 0, 0, "the archive is damaged: a header points beyond its end");
    m_offset += size;
  }
  [[nodiscard]] std::uint64_t offset() const noexcept { return m_offset; }

private:
  std::uint64_t take(std::uint64_t size) {
    std::string_view const piece = text(size);
    std::uint64_t value          = 0;
    for (std::size_t k = piece.size(); k > 0; --k)
      value = value << 8 | static_cast<unsigned char>(piece[k - 1]);
    return value;
  }

  std::string const& m_file;
  RawInput const* m_archive = nullptr;
  std::uint64_t m_size      = 0;
  std::uint64_t m_offset    = 0;
  std::string m_window;  // a copy of the bytes from m_begin on
  std::uint64_t m_begin = 0;
};

/// The position of the central directory, and the number of its members.
struct Directory {
  std::uint64_t offset, count;
};

Directory find_directory(RawInput const& archive) {
  // The end record is last, except for a comment of less than 2^16 bytes.
  constexpr std::uint64_t record = 22, comment = 0xFFFF, locator = 20;
  std::string tail(std::min(archive.size(), record + comment), '\0');
  archive.read_at(archive.size() - tail.size(), tail.data(), tail.size());
  std::size_t const found = tail.rfind("PK\x05\x06"sv);
  if (found == std::string::npos)
    throw InputError(archive.name(), 0, 0, "the archive has no end; is the file cut short?");
  std::uint64_t const end = archive.size() - tail.size() + found;
  Reader reader(archive, end + 10);
  Directory directory{};
  directory.count = reader.u16();
  reader.skip(4);
  directory.offset = reader.u32();
  reader.skip(reader.u16());  // the comment, which must be there in full
  if (end < locator) return directory;
  Reader where(archive, end - locator);
  if (where.text(4) != "PK\x06\x07"sv) return directory;
  where.skip(4);
  Reader wide(archive, where.u64());
  if (wide.text(4) != "PK\x06\x06"sv)
    throw InputError(archive.name(), 0, 0, "the archive's 64-bit end is damaged");
  wide.skip(28);
  directory.count = wide.u64();
  wide.skip(8);
  directory.offset = wide.u64();
  return directory;
}

/// The 64-bit sizes of a central header, for the fields that refer to them (4.5.3).
void read_zip64(std::string const& file, std::string_view extra, ZipMember& member) {
  Reader reader(file, extra);
  while (reader.offset() + 4 <= extra.size()) {
    std::uint64_t const tag = reader.u16(), size = reader.u16();
    Reader field(file, reader.text(size));
    if (tag != 0x0001) continue;
    if (member.size == most_32) member.size = field.u64();
    if (member.packed == most_32) member.packed = field.u64();
    if (member.local_head == most_32) member.local_head = field.u64();
  }
}

/// Memory for a member's content.
UninitializedVector<char> make_content(std::string const& file, ZipMember const& member, ReadMemory& memory) {
  memory.take(in_quotes(member.name) + " of " + file, member.size);
  return UninitializedVector<char>(member.size);
}

#ifdef POLYAD_HAVE_ZLIB
/// \param begin  where the deflated bytes begin in the archive
UninitializedVector<char> inflate_all(RawInput const& archive, std::uint64_t begin, ZipMember const& member,
                                      ReadMemory& memory) {
  // A deflate stream expands at most 1032-fold, so a larger size is wrong.
  if (member.size / 1032 > member.packed + 1)
    throw InputError(archive.name(), 0, 0, in_quotes(member.name) + " cannot be as large as it says");
  auto content = make_content(archive.name(), member, memory);
  std::string packed(std::min(member.packed, std::uint64_t{1} << 20), '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -15) != Z_OK) throw std::bad_alloc();
  std::unique_ptr<z_stream, void (*)(z_stream*)> const end(&stream, [](z_stream* of) { inflateEnd(of); });
  std::uint64_t in = 0;
  std::size_t out  = 0;
  int status       = Z_OK;
  while (status == Z_OK) {
    if (stream.avail_in == 0) {
      auto const size = std::min<std::uint64_t>(packed.size(), member.packed - in);
      archive.read_at(begin + in, packed.data(), size);
      in += size;
      stream.next_in  = reinterpret_cast<Bytef*>(packed.data());
      stream.avail_in = static_cast<uInt>(size);
    }
    constexpr std::size_t most = std::numeric_limits<uInt>::max();
    stream.next_out            = reinterpret_cast<Bytef*>(content.data() + out);
    stream.avail_out           = static_cast<uInt>(std::min(most, content.size() - out));
    status                     = inflate(&stream, Z_NO_FLUSH);
    out                        = reinterpret_cast<char*>(stream.next_out) - content.data();
  }
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status != Z_STREAM_END || out != content.size())
    throw InputError(archive.name(), 0, 0,
                     in_quotes(member.name) + " is damaged: its deflated data do not unpack");
  return content;
}
#endif

}  // namespace

std::vector<ZipMember> list_zip(RawInput const& archive) {
  std::string const& file   = archive.name();
  Directory const directory = find_directory(archive);
  Reader reader(archive, directory.offset);
  std::vector<ZipMember> members;
  constexpr std::size_t least = 46;  // bytes of a member in the directory
  members.reserve(std::min<std::uint64_t>(directory.count, archive.size() / least));
  for (std::uint64_t k = 0; k < directory.count; ++k) {
    if (reader.text(4) != "PK\x01\x02"sv) throw InputError(file, 0, 0, "the archive's directory is damaged");
    ZipMember member;
    reader.skip(6);
    member.method = static_cast<int>(reader.u16());
    reader.skip(4);
    member.crc                = static_cast<std::uint32_t>(reader.u32());
    member.packed             = reader.u32();
    member.size               = reader.u32();
    std::uint64_t const name  = reader.u16();
    std::uint64_t const extra = reader.u16(), comment = reader.u16();
    reader.skip(8);
    member.local_head = reader.u32();
    member.name       = reader.text(name);
    read_zip64(file, reader.text(extra), member);
    reader.skip(comment);
    members.push_back(std::move(member));
  }
  return members;
}

UninitializedVector<char> open_member(RawInput const& archive, ZipMember const& member, ReadMemory& memory) {
  auto const refuse = [&](std::string const& what) {
    throw InputError(archive.name(), 0, 0, in_quotes(member.name) + what);
  };
  Reader reader(archive, member.local_head);
  if (reader.text(4) != "PK\x03\x04"sv)
    throw InputError(archive.name(), 0, 0, "the archive's directory is damaged");
  reader.skip(22);
  std::uint64_t const name = reader.u16(), extra = reader.u16();
  reader.skip(name + extra);
  std::uint64_t const begin = reader.offset();
  reader.skip(member.packed);
  UninitializedVector<char> content;
  if (member.method == 8) {
#ifdef POLYAD_HAVE_ZLIB
    content = inflate_all(archive, begin, member, memory);
#else
    refuse(" is deflated, and this build has no zlib");
#endif
  } else if (member.method != 0 || member.packed != member.size) {
    refuse(" is packed in a way that is not supported");
  } else {
    content = make_content(archive.name(), member, memory);
    archive.read_at(begin, content.data(), content.size());
  }
  if (crc32(0, {content.data(), content.size()}) != member.crc) refuse(" is damaged: its checksum is wrong");
  return content;
}

}  // namespace polyad::io
