// SPDX-License-Identifier: BSD-3-Clause
// zstd through libzstd: one or more frames, one after the other (RFC 8878).
#include "io/streams/decoder.hpp"

#ifdef POLYAD_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <new>
#include <string>
#include <string_view>

namespace polyad::io {

namespace {

/// Unpacks into its own buffer. If the output had space for a whole frame, zstd would take another path,
/// which reports other faults and misses some. The faults found in a file would then depend on the size of
/// the caller's chunks.
class ZstdDecoder : public Decoder {
public:
  ZstdDecoder(RawInput& input, ReadMemory& memory)
      : m_input(input),
        m_memory(memory),
        m_buffer(std::make_unique_for_overwrite<char[]>(ZSTD_DStreamOutSize())),
        m_window_log(std::clamp(static_cast<int>(std::bit_width(memory.left())), 10, longest_window_log)),
        m_stream(ZSTD_createDStream()) {
    if (m_stream == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(m_stream, ZSTD_d_windowLogMax, m_window_log);
  }
  ~ZstdDecoder() override { ZSTD_freeDStream(m_stream); }

  std::size_t read(char* out, std::size_t capacity) override {
    std::size_t size = 0;
    while (size < capacity) {
      if (m_unpacked.empty()) m_unpacked = unpack();
      if (m_unpacked.empty()) break;
      std::size_t const count = m_unpacked.copy(out + size, capacity - size);
      m_unpacked.remove_prefix(count);
      size += count;
    }
    return size;
  }

private:
  /// The next bytes; none at the end.
  std::string_view unpack() {
    ZSTD_outBuffer output{m_buffer.get(), ZSTD_DStreamOutSize(), 0};
    while (output.pos < output.size) {
      if (m_chunk.pos == m_chunk.size && !m_flushing) {
        std::string_view const piece = m_input.next();
        m_chunk                      = {piece.data(), piece.size(), 0};
        if (piece.empty()) {
          if (m_inside) stream_ends_early(m_input, Compression::zstd);
          break;
        }
      }
      std::size_t const hint = ZSTD_decompressStream(m_stream, &output, &m_chunk);
      if (ZSTD_isError(hint) != 0) fail(hint);
      m_held.resize(m_memory, m_window, ZSTD_sizeof_DStream(m_stream));
      m_inside = hint != 0;
      m_first  = m_first && m_inside;
      // A full output may leave text inside the decoder: call again before taking more input.
      m_flushing = m_inside && output.pos == output.size;
    }
    return {m_buffer.get(), output.pos};
  }

  [[noreturn]] void fail(std::size_t code) {
    if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    // The size of the window cannot be queried: it is at least the next size that the format has.
    if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge &&
        m_window_log < longest_window_log) {
      std::uint64_t const most = std::uint64_t{1} << m_window_log;
      throw MemoryError(m_window, most + most / 8,
                        "it is at least so large, and " + std::to_string(most) + " bytes may be taken");
    }
    if (ZSTD_getErrorCode(code) == ZSTD_error_prefix_unknown && !m_first)
      stream_has_garbage(m_input, Compression::zstd);
    stream_is_corrupt(m_input, Compression::zstd, "bad data");
  }

  static constexpr int longest_window_log = 31;

  RawInput& m_input;
  ReadMemory& m_memory;
  HeldMemory m_held;
  std::string m_window = window_name(m_input, Compression::zstd);
  std::unique_ptr<char[]> m_buffer;
  /// Windows up to 2 GiB, as `zstd --long=31` writes them, but within the power of two above what is left.
  /// The rest is counted before it is written to.
  int m_window_log;
  ZSTD_DStream* m_stream;  // last: what comes before it may throw
  std::string_view m_unpacked;
  ZSTD_inBuffer m_chunk{nullptr, 0, 0};
  bool m_inside   = false;
  bool m_first    = true;
  bool m_flushing = false;
};

}  // namespace

std::unique_ptr<Decoder> make_zstd_decoder(RawInput& input, ReadMemory& memory) {
  return std::make_unique<ZstdDecoder>(input, memory);
}

}  // namespace polyad::io

#else

namespace polyad::io {
std::unique_ptr<Decoder> make_zstd_decoder(RawInput&, ReadMemory&) {
  return nullptr;
}
}  // namespace polyad::io

#endif
