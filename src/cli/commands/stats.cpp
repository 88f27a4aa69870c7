// SPDX-License-Identifier: BSD-3-Clause
// polyad stats: sizes, sparsity and values of a tensor.

#include <cmath>
#include <utility>

#include "cli/commands/commands.hpp"
#include "polyad/core/error.hpp"

namespace polyad::cli {

namespace {

void print_runs(std::vector<RunReport> const& runs, std::uint64_t nnz, int mode) {
  RunReport const& run = runs[mode];
  show(" {:>12} {:>12} {:>12} {:>12.2f} {:>12.2f}", run.nonempty, run.single, run.longest,
       static_cast<double>(nnz) / static_cast<double>(run.nonempty), run.deviation);
}

void print(Report const& report) {
  auto const& input = *report.input;
  auto const& stats = std::get<StatsReport>(report.result);
  show("tensor      {}: {}\n", input.path, tensor_text(input));
  show("density     {:.3e}\n", stats.density);
  show("values      {:.9g} to {:.9g}, {} stored zeros\n", stats.smallest, stats.largest, stats.zeros);
  show("norm        {:.15g}\n", stats.norm);
  show("linear      an index of {} bits\n", stats.linear_bits);
  show("indices     from {}\n", input.base);
  show("{}", labels_text(input.labels));
  int const order = static_cast<int>(input.dims.size());
  show("\n{:>4} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}\n", "mode", "size", "empty", "slices",
       "of one", "longest", "mean", "deviation");
  for (int n = 0; n < order; ++n) {
    std::size_t const mode = n;
    show("{:>4} {:>12} {:>12}", n, input.dims[mode], input.empty_slices[mode]);
    print_runs(stats.slices, input.nnz, n);
    show("\n");
  }
  show("\n{:>4} {:>12} {:>12} {:>12} {:>12} {:>12}\n", "mode", "fibers", "of one", "longest", "mean",
       "deviation");
  for (int n = 0; n < order; ++n) {
    show("{:>4}", n);
    print_runs(stats.fibers, input.nnz, n);
    show("\n");
  }
}

}  // namespace

int run(StatsOptions const& options, Report& report) {
  auto tensor = read_input_file(input_to_sum(options), options.common, report).tensor;
  Session const session(options.common, report);
  auto facts = tensor_facts(std::move(tensor), report);
  if (std::isinf(facts.smallest) || std::isinf(facts.largest))
    throw NumericalError("the sum of nonzeros at one place exceeds the range of a double");
  report.result = std::move(facts);
  print(report);
  return 0;
}

}  // namespace polyad::cli
