// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tensors/read_input.hpp"
#include "cli/streams/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/run/interrupt.hpp"
#include "cli/run/session.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/printable.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/io/clean_list.hpp"
#include "polyad/io/tensor_file.hpp"

namespace polyad::cli {

namespace {

/// \throws InputError if two nonzeros have the same coordinates
void expect_no_duplicates(TensorInput const& input, io::TensorFile const& file) {
  auto const pair = io::first_duplicate(file.tensor);
  if (!pair) return;
  // If nonzeros were dropped, or added below a diagonal, the line cannot be named.
  bool const lines   = !input.drop_zeros || file.report.zeros == 0;
  auto const earlier = lines ? line_of_nonzero(input.path, pair->earlier) : std::nullopt;
  auto const later   = lines ? line_of_nonzero(input.path, pair->later) : std::nullopt;
  if (earlier && later)
    throw InputError(input.path.string(), *later, 1, fmt::format("repeats the indices of line {}", *earlier));
  refuse_file(input.path, "nonzero {} repeats the indices of nonzero {}", pair->later + 1, pair->earlier + 1);
}

io::ReadOptions read_options(TensorInput const& input, CommonOptions const& common) {
  return {.index_base         = input.index_base,
          .index_base_of_text = input.index_base_of_text,
          .allow_non_finite   = input.allow_non_finite,
          .drop_zeros         = input.drop_zeros,
          .threads            = common.threads > 0 ? common.threads : threads_of_rank(),
          .memory_bytes       = common.max_memory,
          .table              = common.table};
}

/// Prints what was found in a table of text, or that coordinate text may be such a table.
void show_columns(io::ReadReport const& found, std::string const& path, bool is_quiet) {
  if (found.table && !is_quiet) say("polyad: {}: {}\n", FileName(path), FileName(io::describe(*found.table)));
  if (found.values_look_like_times)
    say("polyad: {}: the last column looks like times, but was read as the values. For other columns, count "
        "them from 0: --columns 0,1,2 takes the third one as the values\n",
        FileName(path));
}

/// Reports what was read, and treats duplicates as the input says.
io::TensorFile settle(io::TensorFile&& file, TensorInput const& input, Report& report,
                      CommonOptions const& common, bool is_first_part) {
  stop_if_interrupted("reading the tensor");
  InputReport facts;
  facts.path       = input.path.string();
  facts.dialect    = io::to_string(file.report.dialect);
  facts.base       = file.report.index_base;
  facts.knows_base = file.report.knows_index_base;
  facts.is_text    = file.report.dialect.is_text();
  facts.dims       = file.tensor.extents;
  facts.read_s     = file.report.seconds;
  if (is_first_part) show_columns(file.report, facts.path.name, common.quiet);
  facts.table = file.report.table;
  double const megabytes =
      static_cast<double>(std::max(file.report.text_bytes, file.report.file_bytes)) / 1e6;
  if (common.verbose && is_first_part)
    say("read {} ({}, {}, base {}): {} lines, {:.1f} MB in {}, {:.0f} MB/s; {} zeros\n", facts.path,
        facts.dialect, io::to_string(file.report.compression), facts.base, file.report.lines, megabytes,
        duration_text(facts.read_s), megabytes / facts.read_s, file.report.zeros);
  if (input.duplicates == "error") expect_no_duplicates(input, file);
  if (input.duplicates == "sum") facts.duplicates = io::merge_duplicates(file.tensor, io::Duplicates::sum);
  facts.keeps_last = input.duplicates == "last";
  if (facts.keeps_last) facts.duplicates = io::merge_duplicates(file.tensor, io::Duplicates::last);
  facts.nnz    = file.tensor.nnz();
  facts.labels = file.labels;
  report.input = facts;
  return std::move(file);
}

}  // namespace

io::TensorFile read_input_file(TensorInput const& input, CommonOptions const& common, Report& report,
                               io::FilePart const& part) {
  return settle(io::read_tensor_part(input.path, read_options(input, common), part), input, report, common,
                part.part == 0);
}

io::TensorFile read_input_file(io::InputFile& file, TensorInput const& input, CommonOptions const& common,
                               Report& report) {
  return settle(file.read_tensor(read_options(input, common)), input, report, common, true);
}

TensorInput input_to_sum(SummedTensorOptions const& options) {
  return {.path       = options.tensor,
          .index_base = options.index_base,
          .duplicates = options.duplicates == "sum" ? "keep" : options.duplicates};
}

std::optional<std::uint64_t> line_of_nonzero(std::filesystem::path const& path, std::uint64_t nonzero) {
  try {
    return io::line_of_nonzero(path, nonzero);
  } catch (InputError const&) {  // the file has changed since it was read
    return std::nullopt;
  }
}

std::string labels_text(io::Labels const& labels) {
  constexpr std::size_t most_shown = 3;
  std::string text;
  for (std::size_t n = 0; n < labels.size(); ++n) {
    auto const& mode = labels[n];
    if (mode.name.empty() && !mode.has_rows()) continue;
    text += fmt::format("{:<11} {}", fmt::format("mode {}", n), printable(mode.name));
    if (mode.has_rows()) text += fmt::format("{}{} labels", mode.name.empty() ? "" : ": ", mode.rows());
    for (std::size_t row = 0; row < std::min(mode.rows(), most_shown); ++row)
      text += fmt::format(", '{}'", printable(mode.label(row).substr(0, 40)));
    text += mode.rows() > most_shown ? ", ...\n" : "\n";
  }
  return text;
}

std::string dims_text(std::vector<std::uint64_t> const& dims) {
  return fmt::format("{}", fmt::join(dims, " x "));
}

std::string tensor_text(InputReport const& input) {
  std::string text = fmt::format("{}, {} nonzeros", dims_text(input.dims), input.nnz);
  if (input.duplicates > 0)
    text += fmt::format(" ({} {}{})", input.duplicates, input.duplicates == 1 ? "duplicate" : "duplicates",
                        input.keeps_last ? ": the last one was kept" : " summed");
  return text;
}

}  // namespace polyad::cli
