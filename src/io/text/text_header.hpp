// SPDX-License-Identifier: BSD-3-Clause
// The dialect of a text, recognised by its first lines, and the declarations in its header. Each dialect of
// coordinate text (io/dialects) reads its own header.
//
// Nothing is guessed. Two numbers on the first line may be a header or an index and a value. The next lines
// decide: a header "2 5" is followed by lines of 2 and 3 numbers, otherwise all lines have 2 numbers.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/text/line_parser.hpp"
#include "io/text/matrix_market.hpp"
#include "io/text/text_blocks.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::io {

struct TextHeader {
  Dialect dialect = Dialect::frostt;
  LineRules rules{0, -1, false};
  /// Declared extents; empty if nothing declares them.
  std::vector<std::uint64_t> extents;
  /// Declared nonzeros, and the place of the declaration.
  std::optional<std::uint64_t> nnz;
  std::uint64_t nnz_line = 0, nnz_column = 0;
  /// The number of lines to pass over, up to the last line of the header.
  std::uint64_t lines = 0;
  /// What the first line of a text without a header might be.
  std::optional<PossibleSizes> possible_sizes;
};

/// The first blocks of a text, held back until its header has been read.
class LeadingBlocks {
public:
  explicit LeadingBlocks(TextBlocks& blocks) : m_blocks(blocks) {}

  struct Line {
    std::uint64_t number;  // counts from 1
    std::string_view text;
  };

  /// The very first line, without a byte order mark; nothing when the text is empty.
  [[nodiscard]] std::optional<Line> first();

  /// The beginning of the text, unchanged.
  [[nodiscard]] std::string_view text();

  /// The next line that is neither empty nor a comment.
  [[nodiscard]] std::optional<Line> next();
  /// Makes next() begin with the first line again.
  void rewind() noexcept { m_next = 0; }

  /// Among the comments that next() has skipped, the first one that looks like Matrix Market's header, and
  /// whether one begins with %.
  [[nodiscard]] std::optional<Line> const& banner() const noexcept { return m_banner; }
  [[nodiscard]] bool has_percent() const noexcept { return m_has_percent; }

  /// The blocks read so far, without the first `lines` lines and a byte order mark.
  [[nodiscard]] std::deque<TextBlock> release(std::uint64_t lines);

private:
  bool fetch();

  TextBlocks& m_blocks;
  std::deque<TextBlock> m_held;
  std::size_t m_block  = 0;  // the next line's block and place in it
  std::size_t m_offset = 0;
  std::uint64_t m_line = 0;
  std::vector<Line> m_seen;  // what next() has returned
  std::size_t m_next = 0;    // the next one of them, if it was returned before
  std::optional<Line> m_banner;
  bool m_has_percent  = false;
  std::size_t m_taken = 0;  // bytes held since free memory was last asked for
};

/// Reads the header. `index_base` is the requested base, -1 for none; it overrides that of the header.
/// `usual_base` is that of a header without one. If the header is wrong, `fault` is set and the result has no
/// meaning. Returns nothing when the text has no lines but comments.
[[nodiscard]] std::optional<TextHeader> read_text_header(LeadingBlocks& lines, int index_base, int usual_base,
                                                         std::optional<Fault>& fault);

}  // namespace polyad::io
