// SPDX-License-Identifier: BSD-3-Clause
#include "io/streams/decoder.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;

/// Text that is not packed, from a pipe.
class PlainDecoder : public Decoder {
public:
  explicit PlainDecoder(RawInput& input) : m_input(input) {}

  std::size_t read(char* out, std::size_t capacity) override {
    std::size_t size = 0;
    while (size < capacity) {
      if (m_piece.empty()) m_piece = m_input.next();
      if (m_piece.empty()) break;
      std::size_t const count = std::min(capacity - size, m_piece.size());
      std::memcpy(out + size, m_piece.data(), count);
      m_piece.remove_prefix(count);
      size += count;
    }
    return size;
  }

private:
  RawInput& m_input;
  std::string_view m_piece;
};

}  // namespace

std::string_view to_string(Compression compression) noexcept {
  switch (compression) {
    case Compression::none:
      return "none";
    case Compression::gzip:
      return "gzip";
    case Compression::xz:
      return "xz";
    case Compression::zstd:
      return "zstd";
  }
  return "?";
}

bool can_unpack(Compression compression) noexcept {
  switch (compression) {
    case Compression::none:
      return true;
    case Compression::gzip:
#ifdef POLYAD_HAVE_ZLIB
      return true;
#else
      return false;
#endif
    case Compression::xz:
#ifdef POLYAD_HAVE_LZMA
      return true;
#else
      return false;
#endif
    case Compression::zstd:
#ifdef POLYAD_HAVE_ZSTD
      return true;
#else
      return false;
#endif
  }
  return false;
}

Compression recognise(RawInput const& input) {
  std::string_view const start = input.peek();
  if (start.starts_with("\xFD"
                        "7zXZ\0"sv))
    return Compression::xz;
  if (start.starts_with("\x1F\x8B"sv)) return Compression::gzip;
  if (start.starts_with("\x28\xB5\x2F\xFD"sv)) return Compression::zstd;
  // zstd's skippable frames: 0x184D2A50 to 0x184D2A5F, little-endian (RFC 8878, section 3.1.2).
  if (start.size() >= 4 && (start[0] & 0xF0) == 0x50 && start.substr(1, 3) == "\x2A\x4D\x18"sv)
    return Compression::zstd;
  if (start.starts_with("BZh"sv)) throw InputError(input.name(), 0, 0, "bzip2 is not supported; use xz");
  if (start.starts_with("PK\x03\x04"sv))
    throw InputError(input.name(), 0, 0, "is a zip archive, not coordinate text");
  return Compression::none;
}

std::unique_ptr<Decoder> make_decoder(RawInput& input, Compression compression, ReadMemory& memory) {
  std::unique_ptr<Decoder> decoder;
  switch (compression) {
    case Compression::none:
      return std::make_unique<PlainDecoder>(input);
    case Compression::gzip:
      decoder = make_gzip_decoder(input);
      break;
    case Compression::xz:
      decoder = make_xz_decoder(input, memory);
      break;
    case Compression::zstd:
      decoder = make_zstd_decoder(input, memory);
      break;
  }
  if (!decoder)
    throw InputError(input.name(), 0, 0,
                     "is packed with " + std::string(to_string(compression)) +
                         ", which this build of Polyad cannot unpack (its library was missing)");
  return decoder;
}

void stream_ends_early(RawInput const& input, Compression compression) {
  throw InputError(
      input.name(), 0, 0,
      "the " + std::string(to_string(compression)) + " data end too early; is the file cut short?");
}

void stream_is_corrupt(RawInput const& input, Compression compression, std::string_view detail) {
  throw InputError(
      input.name(), 0, 0,
      "the " + std::string(to_string(compression)) + " data are corrupt (" + std::string(detail) + ")");
}

void stream_has_garbage(RawInput const& input, Compression compression) {
  throw InputError(input.name(), 0, 0,
                   "the " + std::string(to_string(compression)) + " data are followed by other bytes");
}

std::string window_name(RawInput const& input, Compression compression) {
  return "the window to unpack the " + std::string(to_string(compression)) + " data of " + input.name();
}

}  // namespace polyad::io
