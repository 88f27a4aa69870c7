// SPDX-License-Identifier: BSD-3-Clause
// Parses blocks of records: the labels of a column become numbers of the thread that meets them, times
// become steps, and values doubles.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/delimited/column_labels.hpp"
#include "io/delimited/record_blocks.hpp"
#include "io/delimited/table_layout.hpp"
#include "io/memory/slab.hpp"
#include "io/text/line_parser.hpp"

namespace polyad::io {

/// The labels that one thread has met, a column for each mode. A column of times has none.
using ThreadLabels = std::vector<std::unique_ptr<ColumnLabels>>;

/// A step is kept as a number of 32 bits: hours of the years 0 to 9999 are within 2^31 of 1970.
inline constexpr std::int64_t step_offset = std::int64_t{1} << 31;

struct ParsedRecords {
  Piece<std::uint32_t> rows;  // N for each record: numbers of labels within the thread, or steps
  Piece<double> values;
  std::uint64_t lines = 0;
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();  // the first step
  std::uint32_t most  = 0;
  std::size_t thread  = 0;     // whose labels the numbers are of
  std::optional<Fault> fault;  // its line is that within the block
};

class RecordParser {
public:
  /// \param layout, labels, slabs  must outlive it; the latter two are those of this thread
  RecordParser(TableLayout const& layout, bool allow_non_finite, ThreadLabels& labels, SlabAllocator& slabs)
      : m_layout(layout), m_allow_non_finite(allow_non_finite), m_labels(labels), m_slabs(slabs) {}

  /// Parses until the end of the block or its first fault. \param number  the number of the block, from 0
  [[nodiscard]] ParsedRecords parse(RecordBlock const& block, std::uint64_t number);

private:
  template <Separator::Kind kind>
  void parse_plain(RecordBlock const& block, ParsedRecords& result);
  template <Separator::Kind kind>
  char const* take_plain_field(std::size_t column, char const* p, ParsedRecords& result);
  template <Separator::Kind kind>
  char const* take_number(std::size_t column, char const* p, ParsedRecords& result);
  void parse_carefully(RecordBlock const& block, ParsedRecords& result, char const* p);
  char const* take_careful_record(RecordBlock const& block, char const* p, ParsedRecords& result);
  bool take(std::size_t column, std::string_view text, ParsedRecords& result, bool is_buffered);
  void finish_labels();
  bool take_value(std::string_view text, ParsedRecords& result);
  void fail(RecordBlock const& block, char const* at, std::string reason, ParsedRecords& result) const;

  TableLayout const& m_layout;
  bool m_allow_non_finite;
  ThreadLabels& m_labels;
  SlabAllocator& m_slabs;
  std::string m_buffer;        // holds a quoted field
  std::string m_reason;        // why take() has failed
  std::uint64_t m_place  = 0;  // the record's, in the file's order
  std::uint64_t m_record = 0;  // within the block
};

}  // namespace polyad::io
