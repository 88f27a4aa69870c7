// SPDX-License-Identifier: BSD-3-Clause
// polyad check: finds probable errors in a tensor whose file is readable, and writes a corrected copy.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/tensors/entries.hpp"
#include "cli/tensors/write_output.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/clean_list.hpp"

namespace polyad::cli {

namespace {

/// The indices that a mode uses, counted from 0.
struct ModeUse {
  std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t largest  = 0;
  std::uint64_t used     = 0;
};

ModeUse use_of(io::CoordinateList const& tensor, int mode) {
  ModeUse use;
  std::uint64_t const nnz = tensor.nnz(), extent = tensor.extents[mode];
  for (std::uint64_t p = 0; p < nnz; ++p) {
    std::uint64_t const index = index_of(tensor, p, mode);
    use.smallest              = std::min(use.smallest, index);
    use.largest               = std::max(use.largest, index);
  }
  if (extent / 64 <= nnz) {  // a mark a slice takes less than the indices
    std::vector<bool> marks(extent);
    for (std::uint64_t p = 0; p < nnz; ++p) marks[index_of(tensor, p, mode)] = true;
    use.used = std::count(marks.begin(), marks.end(), true);
  } else {
    use.used = occurring_rows(tensor, mode).size();
  }
  return use;
}

/// "3 duplicates, the first on line 7 (of line 2)"
std::string first_place(CheckOptions const& options, io::CoordinateList const& tensor) {
  auto const pair = io::first_duplicate(tensor);
  if (!pair) return "";
  auto const earlier = line_of_nonzero(options.input.path, pair->earlier);
  auto const later   = line_of_nonzero(options.input.path, pair->later);
  if (earlier && later) return fmt::format(", the first on line {} repeats line {}", *later, *earlier);
  return fmt::format(", the first is nonzero {}, which repeats nonzero {}", pair->later + 1,
                     pair->earlier + 1);
}

}  // namespace

int run(CheckOptions const& options, Report& report) {
  TensorInput input      = options.input;
  input.allow_non_finite = true;
  auto tensor            = read_input_file(input, options.common, report).tensor;
  auto const count       = [&](auto const& is) {
    return std::count_if(tensor.values.begin(), tensor.values.end(), is);
  };
  std::uint64_t const duplicates = io::count_duplicates(tensor);
  std::uint64_t const zeros      = count([](double value) { return value == 0; });
  std::uint64_t const nans       = count([](double value) { return std::isnan(value); });
  std::uint64_t const infinite   = count([](double value) { return std::isinf(value); });
  std::uint64_t const findings   = duplicates + zeros + nans + infinite;

  std::string text;
  text += fmt::format("tensor      {}: {} ({}, indices from {})\n", report.input->path,
                      tensor_text(*report.input), report.input->dialect, report.input->base);
  text += labels_text(report.input->labels);
  text += fmt::format("duplicates  {}{}\n", duplicates, duplicates == 0 ? "" : first_place(options, tensor));
  text += fmt::format("zeros       {}\n", zeros);
  text += fmt::format("not finite  {} NaN, {} infinite\n", nans, infinite);
  text += fmt::format("\n{:>4} {:>20} {:>20} {:>20} {:>20}\n", "mode", "size", "smallest index",
                      "largest index", "empty slices");
  std::uint64_t const base = report.input->base;
  for (int n = 0; n < tensor.order(); ++n) {
    ModeUse const use = use_of(tensor, n);
    text += fmt::format("{:>4} {:>20} {:>20} {:>20} {:>20}\n", n, tensor.extents[n], use.smallest + base,
                        use.largest + base, tensor.extents[n] - use.used);
    report.input->empty_slices.push_back(tensor.extents[n] - use.used);
  }
  report.input->duplicates = duplicates;
  FactsReport facts;
  facts.facts = {{"findings", findings},
                 {"duplicates", duplicates},
                 {"zeros", zeros},
                 {"nan", nans},
                 {"infinite", infinite}};
  if (!options.fixed.empty()) {
    io::drop_values(tensor, [](double value) { return !std::isfinite(value); });
    io::merge_duplicates(tensor, io::Duplicates::sum);
    io::drop_values(tensor, [](double value) { return value == 0; });  // sums, too
    if (tensor.nnz() == 0) refuse_file(options.input.path, "has no nonzeros left after the fixes");
    report.result = facts;
    text += "\n" + write_output(options.fixed, tensor, "",
                                {.threads    = options.common.threads,
                                 .index_base = report.input->base_to_keep(),
                                 .labels     = report.input->labels},
                                report);
  }
  if (options.fixed.empty()) report.result = facts;
  show("{}", text);
  return findings == 0 ? 0 : static_cast<int>(ExitCode::differences_found);
}

}  // namespace polyad::cli
