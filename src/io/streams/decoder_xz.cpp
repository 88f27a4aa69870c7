// SPDX-License-Identifier: BSD-3-Clause
// xz through liblzma: one or more streams, one after the other, with stream padding between them.
#include "io/streams/decoder.hpp"

#ifdef POLYAD_HAVE_LZMA
#include <lzma.h>

#include <cstdint>
#include <new>
#include <string>

namespace polyad::io {

namespace {

class XzDecoder : public Decoder {
public:
  XzDecoder(RawInput& input, ReadMemory& memory) : m_input(input), m_memory(memory), m_most(memory.left()) {
    begin_stream();
  }
  ~XzDecoder() override { lzma_end(&m_stream); }

  std::size_t read(char* out, std::size_t capacity) override {
    m_stream.next_out  = reinterpret_cast<std::uint8_t*>(out);
    m_stream.avail_out = capacity;
    while (m_stream.avail_out != 0 && !m_done) {
      if (m_stream.avail_in == 0 && !m_finishing) take_input();
      if (m_inside) {
        check(lzma_code(&m_stream, m_finishing ? LZMA_FINISH : LZMA_RUN));
        m_held.resize(m_memory, m_window, lzma_memusage(&m_stream));
      } else {
        skip_padding();
      }
    }
    return capacity - m_stream.avail_out;
  }

private:
  void begin_stream() {
    if (lzma_stream_decoder(&m_stream, m_most, 0) != LZMA_OK) throw std::bad_alloc();
    m_inside = true;
  }

  void take_input() {
    std::string_view const piece = m_input.next();
    m_stream.next_in             = reinterpret_cast<std::uint8_t const*>(piece.data());
    m_stream.avail_in            = piece.size();
    m_finishing                  = piece.empty();
  }

  /// Skips zeros between or after streams, a multiple of four (section 2.2 of the format). If liblzma skipped
  /// them, it would not distinguish garbage from damage.
  void skip_padding() {
    for (; m_stream.avail_in != 0 && *m_stream.next_in == 0; ++m_stream.next_in, --m_stream.avail_in)
      ++m_padding;
    if (m_stream.avail_in == 0 && !m_finishing) return;
    bool const next_stream = m_stream.avail_in != 0 && *m_stream.next_in == 0xFD;
    if (m_padding % 4 != 0 || (m_stream.avail_in != 0 && !next_stream))
      stream_has_garbage(m_input, Compression::xz);
    m_padding = 0;
    if (next_stream) {
      begin_stream();
    } else {
      m_done = true;
    }
  }

  void check(lzma_ret status) {
    switch (status) {
      case LZMA_OK:
        return;
      case LZMA_STREAM_END:
        m_inside = false;
        return;
      case LZMA_MEM_ERROR:
        throw std::bad_alloc();
      case LZMA_MEMLIMIT_ERROR:
        throw MemoryError(m_window, lzma_memusage(&m_stream),
                          "only " + std::to_string(m_most) + " bytes may be taken");
      // The first stream was recognised by its signature, so the wrong one comes later.
      case LZMA_FORMAT_ERROR:
        stream_has_garbage(m_input, Compression::xz);
      case LZMA_BUF_ERROR:
        stream_ends_early(m_input, Compression::xz);
      case LZMA_OPTIONS_ERROR:
        stream_is_corrupt(m_input, Compression::xz, "unknown options");
      default:
        stream_is_corrupt(m_input, Compression::xz, "bad checksum or structure");
    }
  }

  RawInput& m_input;
  ReadMemory& m_memory;
  std::uint64_t m_most;  // bytes for the decoder
  HeldMemory m_held;
  std::string m_window    = window_name(m_input, Compression::xz);
  lzma_stream m_stream    = LZMA_STREAM_INIT;
  std::uint64_t m_padding = 0;      // zeros since the last stream
  bool m_inside           = false;  // between the first and the last byte of a stream
  bool m_finishing        = false;  // no more input
  bool m_done             = false;
};

}  // namespace

std::unique_ptr<Decoder> make_xz_decoder(RawInput& input, ReadMemory& memory) {
  return std::make_unique<XzDecoder>(input, memory);
}

}  // namespace polyad::io

#else

namespace polyad::io {
std::unique_ptr<Decoder> make_xz_decoder(RawInput&, ReadMemory&) {
  return nullptr;
}
}  // namespace polyad::io

#endif
