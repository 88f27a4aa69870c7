// SPDX-License-Identifier: BSD-3-Clause
// gzip through zlib: one or more members, one after the other (RFC 1952).
#include "io/streams/decoder.hpp"

#ifdef POLYAD_HAVE_ZLIB
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace polyad::io {

namespace {

class GzipDecoder : public Decoder {
public:
  explicit GzipDecoder(RawInput& input) : m_input(input) {
    // 15: the largest window; 16: a gzip header, not a zlib one.
    if (inflateInit2(&m_stream, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ~GzipDecoder() override { inflateEnd(&m_stream); }

  std::size_t read(char* out, std::size_t capacity) override {
    std::size_t size = 0;
    while (size < capacity && !m_done) {
      bool const ended = m_stream.avail_in == 0 && !take_input();
      if (ended && !m_inside) {
        m_done = true;
        break;
      }
      if (!m_inside) begin_member();
      auto const room    = std::min<std::size_t>(capacity - size, std::numeric_limits<uInt>::max());
      m_stream.next_out  = reinterpret_cast<Bytef*>(out + size);
      m_stream.avail_out = static_cast<uInt>(room);
      int const status   = inflate(&m_stream, Z_NO_FLUSH);
      size += room - m_stream.avail_out;
      // zlib may hold back output for which it had no room. So the data end only if it cannot continue.
      if (status == Z_BUF_ERROR && ended) stream_ends_early(m_input, Compression::gzip);
      if (status == Z_STREAM_END) {
        m_inside = false;
        m_first  = false;
      } else if (status == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        stream_is_corrupt(m_input, Compression::gzip, m_stream.msg != nullptr ? m_stream.msg : "bad data");
      }
    }
    return size;
  }

private:
  bool take_input() {
    if (m_piece.empty()) m_piece = m_input.next();
    auto const count  = std::min<std::size_t>(m_piece.size(), std::numeric_limits<uInt>::max());
    m_stream.next_in  = reinterpret_cast<Bytef*>(const_cast<char*>(m_piece.data()));
    m_stream.avail_in = static_cast<uInt>(count);
    m_piece.remove_prefix(count);
    return count != 0;
  }

  void begin_member() {
    if (!m_first) {
      if (*m_stream.next_in != 0x1F) stream_has_garbage(m_input, Compression::gzip);
      inflateReset(&m_stream);
    }
    m_inside = true;
  }

  RawInput& m_input;
  z_stream m_stream{};
  std::string_view m_piece;
  bool m_inside = false;  // between the first and the last byte of a member
  bool m_first  = true;
  bool m_done   = false;
};

}  // namespace

std::unique_ptr<Decoder> make_gzip_decoder(RawInput& input) {
  return std::make_unique<GzipDecoder>(input);
}

}  // namespace polyad::io

#else

namespace polyad::io {
std::unique_ptr<Decoder> make_gzip_decoder(RawInput&) {
  return nullptr;
}
}  // namespace polyad::io

#endif
