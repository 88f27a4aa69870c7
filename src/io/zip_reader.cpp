// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <limits>
#include <new>

#include "io/crc32.hpp"
#include "io/quoted.hpp"
#include "io/zip.hpp"
#include "polyad/core/error.hpp"

#ifdef POLYAD_HAVE_ZLIB
#include <zlib.h>
#endif

namespace polyad::io {

namespace {

using namespace std::string_view_literals;

/// Reads little-endian fields and refuses to leave the archive.
class Reader {
public:
  Reader(std::string const& file, std::string_view bytes, std::uint64_t offset)
      : m_file(file), m_bytes(bytes), m_offset(offset) {}

  std::uint64_t u16() { return take(2); }
  std::uint64_t u32() { return take(4); }
  std::uint64_t u64() { return take(8); }

  std::string_view text(std::uint64_t size) {
    if (m_offset > m_bytes.size() || size > m_bytes.size() - m_offset)
      throw InputError(m_file, 0, 0, "the archive is damaged: a header points beyond its end");
    auto const piece = m_bytes.substr(m_offset, size);
    m_offset += size;
    return piece;
  }
  void skip(std::uint64_t size) { (void)text(size); }
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
  std::string_view m_bytes;
  std::uint64_t m_offset;
};

/// The position of the central directory, and the number of its members.
struct Directory {
  std::uint64_t offset, count;
};

Directory find_directory(std::string const& file, std::string_view bytes) {
  // The end record is last, except for a comment of less than 2^16 bytes.
  constexpr std::size_t record = 22, comment = 0xFFFF, locator = 20;
  std::string_view const tail =
      bytes.substr(bytes.size() - std::min<std::size_t>(bytes.size(), record + comment));
  std::size_t const found = tail.rfind("PK\x05\x06"sv);
  if (found == std::string_view::npos)
    throw InputError(file, 0, 0, "the archive has no end; is the file cut short?");
  std::size_t const end = bytes.size() - tail.size() + found;
  Reader reader(file, bytes, end + 10);
  Directory directory{};
  directory.count = reader.u16();
  reader.skip(4);
  directory.offset = reader.u32();
  reader.skip(reader.u16());  // the comment, which must be there in full
  if (end >= locator && bytes.substr(end - locator, 4) == "PK\x06\x07"sv) {
    Reader where(file, bytes, end - locator + 8);
    Reader wide(file, bytes, where.u64());
    if (wide.text(4) != "PK\x06\x06"sv) throw InputError(file, 0, 0, "the archive's 64-bit end is damaged");
    wide.skip(28);
    directory.count = wide.u64();
    wide.skip(8);
    directory.offset = wide.u64();
  }
  return directory;
}

/// The 64-bit sizes of a central header, for the fields that refer to them (4.5.3).
void read_zip64(std::string const& file, std::string_view extra, ZipMember& member) {
  Reader reader(file, extra, 0);
  while (reader.offset() + 4 <= extra.size()) {
    std::uint64_t const tag = reader.u16(), size = reader.u16();
    Reader field(file, reader.text(size), 0);
    if (tag != 0x0001) continue;
    if (member.size == most_32) member.size = field.u64();
    if (member.packed == most_32) member.packed = field.u64();
    if (member.local_head == most_32) member.local_head = field.u64();
  }
}

#ifdef POLYAD_HAVE_ZLIB
UninitializedVector<char> inflate_all(std::string const& file, std::string_view packed,
                                      ZipMember const& member, ReadMemory& memory) {
  // A deflate stream expands at most 1032-fold, so a larger size is wrong.
  if (member.size / 1032 > packed.size() + 1)
    throw InputError(file, 0, 0, in_quotes(member.name) + " cannot be as large as it says");
  memory.take(in_quotes(member.name) + " of " + file, member.size);
  UninitializedVector<char> content(member.size);
  z_stream stream{};
  if (inflateInit2(&stream, -15) != Z_OK) throw std::bad_alloc();
  std::size_t in = 0, out = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    constexpr std::size_t most = std::numeric_limits<uInt>::max();
    stream.next_in             = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + in));
    stream.avail_in            = static_cast<uInt>(std::min(most, packed.size() - in));
    stream.next_out            = reinterpret_cast<Bytef*>(content.data() + out);
    stream.avail_out           = static_cast<uInt>(std::min(most, content.size() - out));
    status                     = inflate(&stream, Z_NO_FLUSH);
    in  = static_cast<std::size_t>(reinterpret_cast<char const*>(stream.next_in) - packed.data());
    out = static_cast<std::size_t>(reinterpret_cast<char*>(stream.next_out) - content.data());
  }
  inflateEnd(&stream);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status != Z_STREAM_END || out != content.size())
    throw InputError(file, 0, 0, in_quotes(member.name) + " is damaged: its deflated data do not unpack");
  return content;
}
#endif

}  // namespace

std::vector<ZipMember> list_zip(std::string const& file, std::string_view bytes) {
  Directory const directory = find_directory(file, bytes);
  Reader reader(file, bytes, directory.offset);
  std::vector<ZipMember> members;
  constexpr std::size_t least = 46;  // bytes of a member in the directory
  members.reserve(std::min<std::uint64_t>(directory.count, bytes.size() / least));
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

std::string_view open_member(std::string const& file, std::string_view bytes, ZipMember const& member,
                             UninitializedVector<char>& storage, ReadMemory& memory) {
  Reader reader(file, bytes, member.local_head);
  if (reader.text(4) != "PK\x03\x04"sv) throw InputError(file, 0, 0, "the archive's directory is damaged");
  reader.skip(22);
  std::uint64_t const name = reader.u16(), extra = reader.u16();
  reader.skip(name + extra);
  std::string_view content = reader.text(member.packed);
  if (member.method == 8) {
#ifdef POLYAD_HAVE_ZLIB
    storage = inflate_all(file, content, member, memory);
    content = {storage.data(), storage.size()};
#else
    throw InputError(file, 0, 0, in_quotes(member.name) + " is deflated, and this build has no zlib");
#endif
  } else if (member.method != 0 || member.packed != member.size) {
    throw InputError(file, 0, 0, in_quotes(member.name) + " is packed in a way that is not supported");
  }
  if (crc32(0, content) != member.crc)
    throw InputError(file, 0, 0, in_quotes(member.name) + " is damaged: its checksum is wrong");
  (void)storage;
  (void)memory;
  return content;
}

}  // namespace polyad::io
