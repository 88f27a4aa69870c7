// SPDX-License-Identifier: BSD-3-Clause
#include "io/delimited/delimited_reader.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/host_memory.hpp"
#include "core/on_threads.hpp"
#include "io/delimited/record_blocks.hpp"
#include "io/delimited/record_parser.hpp"
#include "io/lists/settle.hpp"
#include "io/memory/read_memory.hpp"
#include "io/streams/decoder.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

class TableReader {
public:
  TableReader(RawInput& input, ReadOptions const& options, TableLayout const& layout, Compression compression,
              ReadMemory& memory)
      : m_input(input),
        m_options(options),
        m_layout(layout),
        m_memory(memory),
        m_threads(detail::thread_count(options.threads)),
        m_blocks(input, compression, layout.bytes, memory.chunk_bytes(options.chunk_bytes, m_threads),
                 memory) {}

  /// \throws InputError for the first fault in the file
  void parse() {
    detail::on_threads(m_threads, [&] { parse_blocks(); });
    m_lines = m_layout.lines;
    for (ParsedRecords const& block : m_results) {
      if (auto const& fault = block.fault)
        throw InputError(m_input.name(), m_lines + fault->line, fault->column, fault->reason);
      m_lines += block.lines;
      m_records += block.values.size;
    }
    if (m_records == 0) throw InputError(m_input.name(), 0, 0, "holds no nonzeros");
  }

  /// The rows of all modes, and their labels.
  void number(TensorFile& file) {
    m_numberings.resize(m_layout.order);
    file.tensor.extents.resize(m_layout.order);
    file.labels.resize(m_layout.order);
    for (std::size_t c = 0; c < m_layout.columns.size(); ++c) {
      auto const [kind, n] = m_layout.columns[c];
      if (kind == ColumnUse::Kind::labels) {
        std::vector<ColumnLabels*> of_threads;
        for (auto& labels : m_labels) of_threads.push_back(labels[n].get());
        m_numberings[n]        = number_rows(of_threads, m_memory);
        file.tensor.extents[n] = m_numberings[n].rows;
        file.labels[n]         = std::move(m_numberings[n].labels);
        for (auto& labels : m_labels) labels[n].reset();
      } else if (kind == ColumnUse::Kind::time) {
        file.tensor.extents[n] = number_steps(file.labels[n]);
      }
      bool const is_mode = kind == ColumnUse::Kind::labels || kind == ColumnUse::Kind::time;
      if (is_mode && m_layout.has_header) file.labels[n].name = m_layout.names[c];
    }
  }

  /// Copies the blocks one after the other, with rows for labels, and frees each.
  template <class Index>
  UninitializedVector<Index> assemble(UninitializedVector<double>& values) {
    std::size_t const order = m_layout.order;
    std::vector<std::uint64_t> offsets(m_results.size() + 1, 0);
    for (std::size_t b = 0; b < m_results.size(); ++b) offsets[b + 1] = offsets[b] + m_results[b].values.size;
    m_memory.give(m_piece_bytes);
    std::uint64_t const bytes = m_records * (order * sizeof(Index) + sizeof(double));
    std::string const array   = "a tensor of " + std::to_string(m_records) + " nonzeros";
    m_memory.count(array, bytes);
    detail::expect_fits_host(array, bytes - std::min<std::uint64_t>(bytes, m_piece_bytes));
    UninitializedVector<Index> indices(m_records * order);
    values.resize(m_records);
    detail::for_each_on_threads(m_threads, m_results.size(), [&](std::uint64_t b) {
      ParsedRecords& block = m_results[b];
      Index* const out     = indices.data() + offsets[b] * order;
      for (std::size_t n = 0; n < order; ++n) {
        std::uint32_t const* const in = block.rows.begin() + n;
        if (m_numberings[n].of_each.empty()) {
          for (std::size_t k = 0; k < block.values.size; ++k)
            out[k * order + n] = static_cast<Index>(in[k * order] - m_first_step);
        } else {
          auto const& rows = m_numberings[n].of_each[block.thread];
          for (std::size_t k = 0; k < block.values.size; ++k)
            out[k * order + n] = static_cast<Index>(rows[in[k * order]]);
        }
      }
      std::copy(block.values.begin(), block.values.end(), values.data() + offsets[b]);
      block = {};
    });
    return indices;
  }

  [[nodiscard]] std::uint64_t lines() const noexcept { return m_lines; }
  [[nodiscard]] std::uint64_t text_bytes() const noexcept { return m_blocks.text_bytes(); }

private:
  void parse_blocks() {
    SlabAllocator slabs(m_memory);
    ThreadLabels* labels = nullptr;
    std::size_t thread   = 0;
    {
      std::scoped_lock const lock(m_mutex);
      thread = m_labels.size();
      labels = &m_labels.emplace_back();
      for (std::size_t n = 0; n < m_layout.order; ++n)
        labels->push_back(std::make_unique<ColumnLabels>(m_memory));
    }
    RecordParser parser(m_layout, m_options.allow_non_finite, *labels, slabs);
    try {
      for (;;) {
        std::optional<RecordBlock> block;
        std::uint64_t number  = 0;
        ParsedRecords* result = nullptr;
        {
          std::scoped_lock const lock(m_mutex);
          if (!m_stopped) block = m_blocks.next();
          if (!block) break;
          m_memory.count("the list of the text's blocks", sizeof(ParsedRecords));
          number = m_results.size();
          result = &m_results.emplace_back();
        }
        *result        = parser.parse(*block, number);
        result->thread = thread;
        if (result->fault) m_stopped = true;
      }
    } catch (...) {
      m_stopped = true;
      throw;
    }
    m_piece_bytes += slabs.counted();
  }

  /// Steps count from the first one on; steps without a record in between are rows, too.
  std::uint64_t number_steps(ModeLabels& labels) {
    std::uint32_t least = std::numeric_limits<std::uint32_t>::max(), most = 0;
    for (ParsedRecords const& block : m_results) {
      least = std::min(least, block.least);
      most  = std::max(most, block.most);
    }
    m_first_step              = least;
    std::uint64_t const steps = std::uint64_t{most} - least + 1;
    constexpr auto usual_text = 16;
    m_memory.take("the labels of " + std::to_string(steps) + " steps of time",
                  steps * (usual_text + sizeof(std::uint64_t)));
    for (std::uint64_t k = 0; k < steps; ++k)
      labels.add(step_label(static_cast<std::int64_t>(least + k) - step_offset, *m_layout.report.time_unit));
    return steps;
  }

  RawInput& m_input;
  ReadOptions const& m_options;
  TableLayout const& m_layout;
  ReadMemory& m_memory;
  int m_threads;
  RecordBlocks m_blocks;

  std::mutex m_mutex;
  std::deque<ParsedRecords> m_results;  // deques: what threads work on stays where it is
  std::deque<ThreadLabels> m_labels;
  std::atomic<bool> m_stopped{false};
  std::atomic<std::uint64_t> m_piece_bytes{0};

  std::uint64_t m_lines = 0, m_records = 0;
  std::vector<Numbering> m_numberings;
  std::uint32_t m_first_step = 0;
};

}  // namespace

std::optional<TableLayout> find_table(RawInput& input, ReadOptions const& options) {
  auto const compression = recognise(input);
  std::string sample(sample_bytes, '\0');
  if (compression == Compression::none && input.has_places()) {
    sample.resize(std::min<std::uint64_t>(sample_bytes, input.size()));
    input.read_at(0, sample.data(), sample.size());
  } else {
    ReadMemory memory(options.memory_bytes);
    input.begin_look();
    sample.resize(make_decoder(input, compression, memory)->read(sample.data(), sample.size()));
    input.look_again();
  }
  return recognise_table(sample, sample.size() < sample_bytes, options.table, input.name());
}

TensorFile read_delimited(RawInput& input, ReadOptions const& options, TableLayout const& layout) {
  if (options.index_base != -1)
    throw UsageError(input.name() + ": the ids of a table are labels; leave the index base out");
  if (layout.order > most_modes)
    throw InputError(input.name(), layout.lines + (layout.has_header ? 0 : 1), 1,
                     "has " + std::to_string(layout.order) + " columns that name rows, more than " +
                         std::to_string(most_modes) + "; list the ones to read");
  auto const start = std::chrono::steady_clock::now();
  ReadMemory memory(options.memory_bytes);
  memory.count_file(input.name(), input.size());
  TensorFile file;
  file.report.compression = recognise(input);
  TableReader reader(input, options, layout, file.report.compression, memory);
  reader.parse();
  reader.number(file);
  bool const narrow =
      std::all_of(file.tensor.extents.begin(), file.tensor.extents.end(),
                  [](std::uint64_t extent) { return extent <= std::numeric_limits<std::uint32_t>::max(); });
  if (narrow) {
    file.tensor.indices = reader.assemble<std::uint32_t>(file.tensor.values);
  } else {
    file.tensor.indices = reader.assemble<std::uint64_t>(file.tensor.values);
  }
  file.report.dialect    = Dialect::delimited;
  file.report.index_base = 0;
  file.report.lines      = reader.lines();
  file.report.text_bytes = reader.text_bytes();
  file.report.file_bytes = input.consumed();
  file.report.table      = layout.report;
  file.report.zeros      = drop_or_count_zeros(file.tensor, options.drop_zeros, input.name());
  file.report.seconds    = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return file;
}

}  // namespace polyad::io
