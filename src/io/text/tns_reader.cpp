// SPDX-License-Identifier: BSD-3-Clause
// Reads in two steps. In the first, each thread takes the next block of text and parses it into the block's
// own arrays. Packed files are unpacked by one thread at a time. When all blocks are parsed, the base and the
// extents are known. In the second step, each thread copies blocks to their place in the result and frees
// them.
#include "io/text/tns_reader.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "core/host_memory.hpp"
#include "core/on_threads.hpp"
#include "io/lists/settle.hpp"
#include "io/memory/read_memory.hpp"
#include "io/text/line_parser.hpp"
#include "io/text/text_blocks.hpp"
#include "io/text/text_header.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

/// Hands out blocks of text and keeps their parsed results, in the file's order.
class BlockParser {
public:
  BlockParser(RawInput& input, Compression compression, ReadOptions const& options, FileRange const& stretch,
              ReadMemory& memory)
      : m_input(input),
        m_memory(memory),
        m_stretch(stretch),
        m_packed(compression != Compression::none),
        m_blocks(input, compression, options.chunk_bytes, memory),
        m_leading(m_blocks) {
    std::optional<Fault> fault;
    auto header = read_text_header(m_leading, options.index_base, options.index_base_of_text, fault);
    if (fault) refuse(*fault);
    m_holds_lines = header.has_value();
    if (!header) return;
    m_header                        = std::move(*header);
    m_header.rules.allow_non_finite = options.allow_non_finite;
    if (stretch.is_whole()) {
      m_held = m_leading.release(m_header.lines);
    } else {
      auto const [begin, end] = places_of_part();
      m_lines.emplace(input, begin, end, options.chunk_bytes, memory);
    }
  }

  /// Parses blocks until none is left or a fault was met. Several threads may call it concurrently.
  void run() {
    SlabAllocator slabs(m_memory);
    TextBuffer buffer;
    try {
      while (auto task = take()) {
        blocks().load(task->block, buffer);
        *task->result = parse_block(task->block, m_header.rules, slabs);
        if (task->result->fault) m_stopped = true;
      }
    } catch (...) {
      m_stopped = true;
      throw;
    }
    m_piece_bytes += slabs.counted();
  }

  /// Shares the findings of the parts.
  /// \throws InputError for the first fault in the file. Damage of packed data takes precedence, since the
  ///         unpacked text is then not the original.
  void check() {
    Words own(first_extent + most_modes, 0);
    for (ParsedBlock const& block : m_results) {
      own[lines_read] += block.lines;
      own[nonzeros] += block.values.size;
      own[has_zero] |= block.has_index_zero ? 1U : 0U;
      if (!block.values.empty())
        for (std::size_t n = 0; n < most_modes; ++n)
          own[first_extent + n] = std::max(own[first_extent + n], block.largest[n]);
    }
    own[text_read]   = blocks().text_bytes();
    auto const parts = m_stretch.of_all(own);
    m_lines_before   = m_header.lines;
    for (std::size_t k = 0; k < static_cast<std::size_t>(m_stretch.part); ++k)
      m_lines_before += parts[k][lines_read];
    m_found = Words(own.size(), 0);
    for (Words const& part : parts) {
      for (std::size_t k : {lines_read, nonzeros, text_read}) m_found[k] += part[k];
      m_found[has_zero] |= part[has_zero];
      for (std::size_t k = first_extent; k < part.size(); ++k) m_found[k] = std::max(m_found[k], part[k]);
    }

    if (auto const fault = first_of([](ParsedBlock const& block) { return block.fault; }))
      refuse(*fault);
    else
      m_stretch.throw_first(m_input.name(), {});
    if (lacks_banner())
      throw InputError(m_input.name(), m_header.possible_sizes->line, 1,
                       missing_banner(*m_header.possible_sizes));
    if (m_header.nnz && *m_header.nnz != m_found[nonzeros])
      throw InputError(m_input.name(), m_header.nnz_line, m_header.nnz_column,
                       "declares " + std::to_string(*m_header.nnz) + " nonzeros, but the file holds " +
                           std::to_string(m_found[nonzeros]));
    if (m_found[nonzeros] == 0) throw InputError(m_input.name(), 0, 0, "holds no nonzeros");
  }

  /// The requested base, or the base that the indices show.
  [[nodiscard]] int find_base() const {
    if (m_header.rules.index_base >= 0) return m_header.rules.index_base;
    if (m_found[has_zero] == 0) return 1;
    m_stretch.throw_first(m_input.name(),
                          first_of([](ParsedBlock const& block) { return block.last_index; }));
    return 0;
  }

  /// The declared extents, or the largest index of each mode.
  [[nodiscard]] std::vector<std::uint64_t> extents(int base) const {
    if (!m_header.extents.empty()) return m_header.extents;
    std::vector<std::uint64_t> extents(m_header.rules.order, 0);
    for (std::size_t n = 0; n < extents.size(); ++n)
      extents[n] = m_found[first_extent + n] + (base == 0 ? 1 : 0);
    return extents;
  }
  /// The number of lines of the file.
  [[nodiscard]] std::uint64_t lines() const noexcept { return m_header.lines + m_found[lines_read]; }
  [[nodiscard]] std::uint64_t text_bytes() const noexcept {
    return m_stretch.is_whole() ? m_found[text_read] : m_input.size();
  }

  [[nodiscard]] std::deque<ParsedBlock>& results() noexcept { return m_results; }
  /// The bytes of the numbers of all blocks, as they count in the memory's account.
  [[nodiscard]] std::uint64_t piece_bytes() const noexcept { return m_piece_bytes; }
  [[nodiscard]] TextHeader const& header() const noexcept { return m_header; }

private:
  /// The places of a part's findings. `has_zero` is whether an index is 0. The largest index of each mode
  /// begins at first_extent.
  enum Finding : std::size_t { lines_read, nonzeros, has_zero, text_read, first_extent };

  struct Task {
    TextBlock block;
    ParsedBlock* result;
  };

  std::optional<Task> take() {
    std::scoped_lock const lock(m_mutex);
    if (m_stopped || !m_holds_lines) return std::nullopt;
    std::optional<TextBlock> block;
    if (!m_held.empty()) {
      block = std::move(m_held.front());
      m_held.pop_front();
    } else {
      block = blocks().next();
    }
    if (!block) return std::nullopt;
    m_memory.count("the list of the text's blocks", sizeof(ParsedBlock));
    return Task{std::move(*block), &m_results.emplace_back()};
  }

  TextBlocks& blocks() noexcept { return m_lines ? *m_lines : m_blocks; }

  /// The places where this part of the lines after the header begins and ends.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> places_of_part() const {
    std::array<char, 3> mark{};
    m_input.read_at(0, mark.data(), std::min<std::uint64_t>(mark.size(), m_input.size()));
    std::uint64_t const bytes_of_mark = std::string_view(mark.data(), mark.size()) == "\xEF\xBB\xBF" ? 3 : 0;
    std::uint64_t const begin         = line_after(bytes_of_mark, m_header.lines);
    std::uint64_t const size          = m_input.size() - begin;
    auto const cut                    = [&](std::uint64_t at) {
      return at == 0 || at >= size ? begin + at : line_after(begin + at - 1, 1);
    };
    return {cut(m_stretch.begin(size)), cut(m_stretch.end(size))};
  }
  /// The beginning of the line that comes `lines` lines after the one of place `at`.
  [[nodiscard]] std::uint64_t line_after(std::uint64_t at, std::uint64_t lines) const {
    std::array<char, std::size_t{1} << 14> bytes;
    while (lines > 0 && at < m_input.size()) {
      auto const size = std::min<std::uint64_t>(bytes.size(), m_input.size() - at);
      m_input.read_at(at, bytes.data(), size);
      std::string_view const text(bytes.data(), size);
      std::size_t used = 0;
      for (; lines > 0 && used < size; --lines) {
        std::size_t const end = text.find('\n', used);
        used                  = end == std::string_view::npos ? size : end + 1;
        if (end == std::string_view::npos) break;
      }
      at += used;
    }
    return at;
  }

  /// Whether the first line is not an entry but the sizes of a Matrix Market file without a header. It is
  /// followed by exactly that number of entries within these sizes, which a few entries may be by chance.
  [[nodiscard]] bool lacks_banner() const {
    auto const& sizes = m_header.possible_sizes;
    if (!sizes) return false;
    if (is_named_matrix_market(m_input.name())) return true;
    constexpr std::uint64_t no_chance = 3;
    return m_found[has_zero] == 0 && m_found[nonzeros] - 1 == sizes->entries &&
           m_found[first_extent] == sizes->rows && m_found[first_extent + 1] == sizes->columns &&
           (sizes->entries >= no_chance || sizes->after_percent);
  }

  /// The first fault of the blocks, with its line counted from the beginning of the file.
  template <class FaultOf>
  [[nodiscard]] std::optional<Fault> first_of(FaultOf const& fault_of) const {
    std::uint64_t lines = m_lines_before;
    for (ParsedBlock const& block : m_results) {
      if (auto fault = fault_of(block)) {
        fault->line += lines;
        return fault;
      }
      lines += block.lines;
    }
    return std::nullopt;
  }

  /// Reads to the end of packed data before it throws, so that their damage is found. It stops once the
  /// unpacked text exceeds the memory limit.
  [[noreturn]] void refuse(Fault const& fault) {
    std::uint64_t const most = !m_packed ? 0 : m_memory.limit() ? *m_memory.limit() : m_memory.left();
    while (m_packed && m_blocks.text_bytes() <= most && m_blocks.next()) continue;
    m_stretch.throw_first(m_input.name(), fault);
    std::abort();  // one part at least has a fault
  }

  RawInput& m_input;
  ReadMemory& m_memory;
  FileRange const& m_stretch;
  bool m_packed;
  std::mutex m_mutex;
  TextBlocks m_blocks;  // under m_mutex while threads run, like m_held and the length of m_results
  LeadingBlocks m_leading;
  std::optional<TextBlocks> m_lines;  // those of this part, if the file is read in parts; like m_blocks
  TextHeader m_header;
  bool m_holds_lines = false;
  std::deque<TextBlock> m_held;       // read with the header, not parsed yet
  std::deque<ParsedBlock> m_results;  // a deque: results stay where they are while others are added
  std::atomic<bool> m_stopped{false};
  std::atomic<std::uint64_t> m_piece_bytes{0};
  Words m_found;                     // found by all parts
  std::uint64_t m_lines_before = 0;  // lines of the file before those of this part
};

/// Copies the blocks one after another, with indices that count from 0, and frees each. The list takes the
/// place of the blocks: memory is taken when it is first written.
template <class Index>
UninitializedVector<Index> assemble(BlockParser& parser, int order, int base, int threads,
                                    UninitializedVector<double>& values, ReadMemory& memory) {
  auto& blocks = parser.results();
  std::vector<std::uint64_t> offsets(blocks.size() + 1, 0);
  for (std::size_t b = 0; b < blocks.size(); ++b) offsets[b + 1] = offsets[b] + blocks[b].values.size;
  memory.give(parser.piece_bytes());
  std::uint64_t const bytes = offsets.back() * (order * sizeof(Index) + sizeof(double));
  std::string const array   = "a tensor of " + std::to_string(offsets.back()) + " nonzeros";
  memory.count(array, bytes);
  detail::expect_fits_host(array, bytes - std::min(bytes, parser.piece_bytes()));
  UninitializedVector<Index> indices(offsets.back() * order);
  values.resize(offsets.back());
  detail::for_each_on_threads(threads, blocks.size(), [&](std::uint64_t b) {
    Index* const out = indices.data() + offsets[b] * order;
    std::visit(
        [&](auto const& in) {
          std::transform(in.begin(), in.end(), out,
                         [base](auto index) { return static_cast<Index>(index - base); });
        },
        blocks[b].indices);
    std::copy(blocks[b].values.begin(), blocks[b].values.end(), values.data() + offsets[b]);
    blocks[b] = {};
  });
  return indices;
}

/// Whether the values are seconds or milliseconds since 1970, of the years 1990 to 2099: then they are the
/// times of a table, whose values are in another column.
bool look_like_times(UninitializedVector<double> const& values) {
  constexpr double first = 631152000, last = 4102444800, milli = 1000;
  return std::all_of(values.begin(), values.end(), [](double x) {
    return std::trunc(x) == x && ((x >= first && x < last) || (x >= milli * first && x < milli * last));
  });
}

}  // namespace

TensorFile read_tns(RawInput& input, ReadOptions const& options, FileRange const& stretch) {
  if (options.index_base < -1 || options.index_base > 1)
    throw UsageError("the index base is 0 or 1, not " + std::to_string(options.index_base));
  if (options.index_base_of_text < -1 || options.index_base_of_text > 1)
    throw UsageError("the index base is 0 or 1, not " + std::to_string(options.index_base_of_text));
  auto const start  = std::chrono::steady_clock::now();
  int const threads = detail::thread_count(options.threads);

  ReadMemory memory(options.memory_bytes);
  memory.count_file(input.name(), input.size() / stretch.parts);
  TensorFile file;
  file.report.compression  = recognise(input);
  ReadOptions some_at_once = options;
  some_at_once.chunk_bytes = memory.chunk_bytes(options.chunk_bytes, threads);
  BlockParser parser(input, file.report.compression, some_at_once, stretch, memory);
  detail::on_threads(threads, [&] { parser.run(); });
  parser.check();

  TextHeader const& header = parser.header();
  int const base           = parser.find_base();
  int const order          = header.rules.order;
  file.report.dialect      = header.dialect;
  file.report.lines        = parser.lines();
  file.report.index_base   = base;
  file.report.text_bytes   = parser.text_bytes();
  bool const is_plain      = file.report.compression == Compression::none && input.has_places();
  file.report.file_bytes   = is_plain ? input.size() : input.consumed();
  file.tensor.extents      = parser.extents(base);
  bool const narrow =
      std::all_of(file.tensor.extents.begin(), file.tensor.extents.end(),
                  [](std::uint64_t extent) { return extent <= std::numeric_limits<std::uint32_t>::max(); });
  if (narrow) {
    file.tensor.indices = assemble<std::uint32_t>(parser, order, base, threads, file.tensor.values, memory);
  } else {
    file.tensor.indices = assemble<std::uint64_t>(parser, order, base, threads, file.tensor.values, memory);
  }
  if (header.rules.symmetry != Symmetry::none)
    mirror(file.tensor, header.rules.symmetry == Symmetry::skew ? -1 : 1, memory);
  file.report.zeros = drop_or_count_zeros(file.tensor, options.drop_zeros, input.name(), stretch);
  file.report.values_look_like_times =
      header.dialect == Dialect::frostt && order > 1 && look_like_times(file.tensor.values);
  file.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return file;
}

}  // namespace polyad::io
