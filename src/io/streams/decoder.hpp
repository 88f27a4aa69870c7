// SPDX-License-Identifier: BSD-3-Clause
// Turns the bytes of a file into text: recognises the compression by the first bytes and unpacks it. A build
// may lack each of the libraries (POLYAD_HAVE_ZLIB, POLYAD_HAVE_LZMA, POLYAD_HAVE_ZSTD). Files that need a
// missing one are refused, with its name.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "io/memory/read_memory.hpp"
#include "io/streams/raw_input.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

class Decoder {
public:
  Decoder()                          = default;
  Decoder(Decoder const&)            = delete;
  Decoder& operator=(Decoder const&) = delete;
  virtual ~Decoder()                 = default;

  /// Fills `out` with the next bytes of text and returns how many; less than `capacity` only at the end.
  /// \throws InputError for data that end early, are corrupt, or are followed by something else
  virtual std::size_t read(char* out, std::size_t capacity) = 0;
};

/// \throws InputError for a compression that is known but not supported (bzip2, zip)
[[nodiscard]] Compression recognise(RawInput const& input);

/// The decoder of `compression` over `input`. Its own memory counts in `memory`. Both must outlive it.
/// \throws InputError when this build lacks the library
[[nodiscard]] std::unique_ptr<Decoder> make_decoder(RawInput& input, Compression compression,
                                                    ReadMemory& memory);

// One factory per library, each in its own file; it returns null if the build lacks the library.
[[nodiscard]] std::unique_ptr<Decoder> make_gzip_decoder(RawInput& input);
[[nodiscard]] std::unique_ptr<Decoder> make_xz_decoder(RawInput& input, ReadMemory& memory);
[[nodiscard]] std::unique_ptr<Decoder> make_zstd_decoder(RawInput& input, ReadMemory& memory);

/// The three faults that every packed stream can have, in the same wording.
[[noreturn]] void stream_ends_early(RawInput const& input, Compression compression);
[[noreturn]] void stream_is_corrupt(RawInput const& input, Compression compression, std::string_view detail);
[[noreturn]] void stream_has_garbage(RawInput const& input, Compression compression);

/// The name of a decoder's memory in messages.
[[nodiscard]] std::string window_name(RawInput const& input, Compression compression);

}  // namespace polyad::io
