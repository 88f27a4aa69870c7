// SPDX-License-Identifier: BSD-3-Clause
#include <limits>

#include "io/archive/zip.hpp"
#include "io/streams/crc32.hpp"

namespace polyad::io {

namespace {

/// Little-endian fields, one after the other.
class Fields {
public:
  Fields& u16(std::uint64_t value) { return append(value, 2); }
  Fields& u32(std::uint64_t value) { return append(value, 4); }
  Fields& u64(std::uint64_t value) { return append(value, 8); }
  Fields& text(std::string_view value) {
    m_bytes += value;
    return *this;
  }
  [[nodiscard]] std::string const& bytes() const noexcept { return m_bytes; }

private:
  Fields& append(std::uint64_t value, int count) {
    for (; count > 0; --count, value >>= 8) m_bytes += static_cast<char>(value & 0xFF);
    return *this;
  }
  std::string m_bytes;
};

constexpr std::uint64_t most_16 = std::numeric_limits<std::uint16_t>::max();

/// 4.4.3: the version that a reader needs.
constexpr int version_needed(bool zip64) {
  return zip64 ? 45 : 20;
}

/// The common fields of local and central headers: version, flags, method, time, date, checksum, sizes,
/// lengths. The date is 1 January 1980, the format's first, so that equal models give equal files.
void common_fields(Fields& fields, ZipMember const& member, bool zip64, std::size_t extra) {
  fields.u16(version_needed(zip64)).u16(0).u16(0).u16(0).u16(0x0021).u32(member.crc);
  fields.u32(zip64 ? most_32 : member.packed).u32(zip64 ? most_32 : member.size);
  fields.u16(member.name.size()).u16(extra);
}

}  // namespace

void ZipWriter::add(std::string const& name, std::uint64_t size, Source const& source) {
  ZipMember member{name, 0, 0, size, size, m_offset};
  source([&](std::string_view bytes) { member.crc = crc32(member.crc, bytes); });
  bool const zip64 = m_force_zip64 || size >= most_32;
  Fields head;
  head.u32(0x04034B50);
  common_fields(head, member, zip64, zip64 ? 20 : 0);
  head.text(name);
  if (zip64) head.u16(0x0001).u16(16).u64(size).u64(size);
  put(head.bytes());
  source([&](std::string_view bytes) { put(bytes); });
  m_members.push_back(std::move(member));
}

void ZipWriter::finish() {
  std::uint64_t const directory = m_offset;
  for (ZipMember const& member : m_members) {
    bool const zip64 = m_force_zip64 || member.size >= most_32 || member.local_head >= most_32;
    Fields head;
    head.u32(0x02014B50).u16(version_needed(zip64));
    common_fields(head, member, zip64, zip64 ? 28 : 0);
    // Comment, disk, attributes: none.
    head.u16(0).u16(0).u16(0).u32(0).u32(zip64 ? most_32 : member.local_head).text(member.name);
    if (zip64) head.u16(0x0001).u16(24).u64(member.size).u64(member.packed).u64(member.local_head);
    put(head.bytes());
  }
  std::uint64_t const end = m_offset, size = end - directory, count = m_members.size();
  bool const zip64 = m_force_zip64 || end >= most_32 || count >= most_16;
  Fields tail;
  if (zip64) {
    tail.u32(0x06064B50).u64(44).u16(45).u16(45).u32(0).u32(0).u64(count).u64(count).u64(size).u64(directory);
    tail.u32(0x07064B50).u32(0).u64(end).u32(1);
  }
  tail.u32(0x06054B50).u16(0).u16(0).u16(zip64 ? most_16 : count).u16(zip64 ? most_16 : count);
  tail.u32(zip64 ? most_32 : size).u32(zip64 ? most_32 : directory).u16(0);
  put(tail.bytes());
}

void ZipWriter::put(std::string_view bytes) {
  m_file.write(bytes);
  m_offset += bytes.size();
}

}  // namespace polyad::io
