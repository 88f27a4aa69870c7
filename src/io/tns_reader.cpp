// SPDX-License-Identifier: BSD-3-Clause
// Reading in two steps. Parse: each thread takes the next block of text (for packed files it unpacks it, one
// thread at a time) and parses it into arrays of the block's own. Assemble: once all are there, the base and
// the extents are known, and each thread copies blocks to their place in the result and frees them.
#include "io/tns_reader.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "io/line_parser.hpp"
#include "io/on_threads.hpp"
#include "io/settle.hpp"
#include "io/text_blocks.hpp"
#include "io/text_header.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

/// Hands out blocks of text and keeps what became of them, in the file's order.
class BlockParser {
public:
  BlockParser(RawInput& input, Compression compression, ReadOptions const& options)
      : m_input(input),
        m_packed(compression != Compression::none),
        m_blocks(input, compression, options.chunk_bytes),
        m_leading(m_blocks) {
    std::optional<Fault> fault;
    auto header = read_text_header(m_leading, options.index_base, fault);
    if (fault) throw_first(*fault, 0);
    m_holds_lines = header.has_value();
    if (!header) return;
    m_header                        = std::move(*header);
    m_header.rules.allow_non_finite = options.allow_non_finite;
    m_held                          = m_leading.release(m_header.lines);
  }

  /// Parses blocks until none is left or a fault was met. For several threads at once.
  void run() {
    SlabAllocator slabs;
    while (auto task = take()) {
      *task->result = parse_block(task->block, m_header.rules, slabs);
      if (task->result->fault) m_stopped = true;
    }
  }

  /// \throws InputError for the first fault in the file. Damage of packed data goes before it: what was
  /// unpacked is then not what was written.
  void check() {
    std::uint64_t lines = m_header.lines, count = 0;
    for (ParsedBlock const& block : m_results) {
      if (block.fault) throw_first(*block.fault, lines);
      lines += block.lines;
      count += block.values.size;
    }
    if (m_header.nnz && *m_header.nnz != count)
      throw InputError(m_input.name(), m_header.nnz_line, m_header.nnz_column,
                       "declares " + std::to_string(*m_header.nnz) + " nonzeros, but the file holds " +
                           std::to_string(count));
    if (count == 0) throw InputError(m_input.name(), 0, 0, "holds no nonzeros");
  }

  /// The base that was asked for, or what the indices say.
  [[nodiscard]] int find_base() const {
    if (m_header.rules.index_base >= 0) return m_header.rules.index_base;
    bool const zero = std::any_of(m_results.begin(), m_results.end(),
                                  [](ParsedBlock const& block) { return block.has_index_zero; });
    if (zero) {
      std::uint64_t lines = m_header.lines;
      for (ParsedBlock const& block : m_results) {
        if (block.last_index) throw_fault(*block.last_index, lines);
        lines += block.lines;
      }
    }
    return zero ? 0 : 1;
  }

  [[nodiscard]] std::deque<ParsedBlock>& results() noexcept { return m_results; }
  [[nodiscard]] TextHeader const& header() const noexcept { return m_header; }
  [[nodiscard]] std::uint64_t text_bytes() const noexcept { return m_blocks.text_bytes(); }

private:
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
      try {
        block = m_blocks.next();
      } catch (...) {
        m_stopped = true;
        throw;
      }
    }
    if (!block) return std::nullopt;
    return Task{std::move(*block), &m_results.emplace_back()};
  }

  /// Reads on to the end of packed data before it throws, so that their damage is found.
  [[noreturn]] void throw_first(Fault const& fault, std::uint64_t lines_before) {
    while (m_packed && m_blocks.next()) continue;
    throw_fault(fault, lines_before);
  }

  [[noreturn]] void throw_fault(Fault const& fault, std::uint64_t lines_before) const {
    throw InputError(m_input.name(), lines_before + fault.line, fault.column, fault.reason);
  }

  RawInput& m_input;
  bool m_packed;
  std::mutex m_mutex;
  TextBlocks m_blocks;  // under m_mutex while threads run, like m_held and the length of m_results
  LeadingBlocks m_leading;
  TextHeader m_header;
  bool m_holds_lines = false;
  std::deque<TextBlock> m_held;       // read with the header, not parsed yet
  std::deque<ParsedBlock> m_results;  // a deque: results stay where they are while others are added
  std::atomic<bool> m_stopped{false};
};

/// Copies the blocks behind one another, indices counted from 0, and frees each.
template <class Index>
UninitializedVector<Index> assemble(std::deque<ParsedBlock>& blocks, int order, int base, int threads,
                                    UninitializedVector<double>& values) {
  std::vector<std::uint64_t> offsets(blocks.size() + 1, 0);
  for (std::size_t b = 0; b < blocks.size(); ++b) offsets[b + 1] = offsets[b] + blocks[b].values.size;
  UninitializedVector<Index> indices(offsets.back() * static_cast<std::uint64_t>(order));
  values.resize(offsets.back());
  for_each_on_threads(threads, blocks.size(), [&](std::uint64_t b) {
    Index* const out = indices.data() + offsets[b] * static_cast<std::uint64_t>(order);
    std::visit(
        [&](auto const& in) {
          std::transform(in.begin(), in.end(), out, [base](auto index) {
            return static_cast<Index>(index - static_cast<std::uint64_t>(base));
          });
        },
        blocks[b].indices);
    std::copy(blocks[b].values.begin(), blocks[b].values.end(), values.data() + offsets[b]);
    blocks[b] = {};
  });
  return indices;
}

std::vector<std::uint64_t> find_extents(std::deque<ParsedBlock> const& blocks, int order, int base) {
  std::vector<std::uint64_t> extents(static_cast<std::size_t>(order), 0);
  for (ParsedBlock const& block : blocks)
    if (!block.values.empty())
      for (std::size_t n = 0; n < extents.size(); ++n)
        extents[n] = std::max(extents[n], block.largest[n] + (base == 0 ? 1 : 0));
  return extents;
}

}  // namespace

std::string_view to_string(Dialect dialect) noexcept {
  switch (dialect) {
    case Dialect::frostt:
      return "frostt";
    case Dialect::extended_frostt:
      return "extended-frostt";
    case Dialect::tensor_toolbox:
      return "tensor-toolbox";
    case Dialect::dims_header:
      return "dims-header";
    case Dialect::matrix_market:
      return "matrix-market";
    case Dialect::pten:
      return "pten";
    case Dialect::npz:
      return "npz";
    case Dialect::genten_binary:
      return "genten-binary";
    case Dialect::splatt_binary:
      return "splatt-binary";
  }
  return "?";
}

TensorFile read_tns(std::filesystem::path const& path, ReadOptions const& options) {
  if (options.index_base < -1 || options.index_base > 1)
    throw UsageError("the index base is 0 or 1, not " + std::to_string(options.index_base));
  auto const start  = std::chrono::steady_clock::now();
  int const threads = thread_count(options.threads);

  RawInput input(path);
  TensorFile file;
  file.report.compression = recognise(input);
  BlockParser parser(input, file.report.compression, options);
  on_threads(threads, [&] { parser.run(); });
  parser.check();

  auto& blocks             = parser.results();
  TextHeader const& header = parser.header();
  int const base           = parser.find_base();
  int const order          = header.rules.order;
  file.report.dialect      = header.dialect;
  file.report.lines        = header.lines;
  for (ParsedBlock const& block : blocks) file.report.lines += block.lines;
  file.report.index_base = base;
  file.report.text_bytes = parser.text_bytes();
  file.report.file_bytes = input.consumed();
  file.tensor.extents    = header.extents.empty() ? find_extents(blocks, order, base) : header.extents;
  bool const narrow =
      std::all_of(file.tensor.extents.begin(), file.tensor.extents.end(),
                  [](std::uint64_t extent) { return extent <= std::numeric_limits<std::uint32_t>::max(); });
  if (narrow) {
    file.tensor.indices = assemble<std::uint32_t>(blocks, order, base, threads, file.tensor.values);
  } else {
    file.tensor.indices = assemble<std::uint64_t>(blocks, order, base, threads, file.tensor.values);
  }
  if (header.rules.symmetry != Symmetry::none)
    mirror(file.tensor, header.rules.symmetry == Symmetry::skew ? -1 : 1);
  file.report.zeros   = settle_zeros(file.tensor, options.drop_zeros, input.name());
  file.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return file;
}

}  // namespace polyad::io
