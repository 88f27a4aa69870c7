// SPDX-License-Identifier: BSD-3-Clause
// polyad tucker: a Tucker decomposition by HOOI.

#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/report/host_facts.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "cli/streams/progress.hpp"
#include "cli/streams/run_files.hpp"
#include "cli/tensors/compact_list.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/core/quantity_text.hpp"

namespace polyad::cli {

int run(TuckerOptions const& given, Report& report) {
  TuckerOptions options = given;
  report.iterates       = true;
  if (options.init != "random") expect_one_rank("--init " + options.init + " works on");
  RunSession session(options.common, report);
  report.process_bytes = peak_memory_bytes();
  auto tensor          = read_file_on_ranks(input_to_sum(options), options.common, report).tensor;
  if (tensor.order() < 2) refuse_file(options.tensor, "has one mode only; Tucker needs two or more");
  note_unkept(options.common);
  session.begin();
  finish_files_in_spite_of_signals();
  {
    Progress progress(options.max_iterations, options.time_limit_s, options.common.quiet);
    decompose(options, std::move(tensor), report, [&](IterationReport const& it) {
      if (progress.iteration(it, report)) return true;
      finish_files_in_spite_of_signals();
      return false;
    });
  }
  int const signal = signal_of_ranks();
  auto& result     = std::get<FitReport>(report.result);
  for (auto const& file : {options.output, options.checkpoint})
    if (!file.empty()) result.files.push_back(file.string());
  show("tensor   {}: {}\n", report.input->path, tensor_text(*report.input));
  show_stored_rows(*report.input);
  show("model    Tucker with a core of {}, {}, {} with concurrency {}\n", dims_text(options.ranks),
       options.precision, report.backend->name, report.backend->concurrency);
  if (report.ranks) show("{}\n", ranks_text(*report.ranks, "nonzeros"));
  show("fit      {} after {} iterations ({})\n", fit_text(result.fit, result.fit_error), result.iterations,
       to_string(result.reason));
  show("time     {} to read, {} to build, {} for the iterations\n", duration_text(report.input->read_s),
       duration_text(report.format->build_s), duration_text(report.iteration_seconds()));
  for (auto const& file : result.files) show("wrote    {}\n", file);
  if (signal == 0) return 0;
  say("polyad: interrupted after iteration {}\n", result.iterations);
  return 128 + signal;
}

}  // namespace polyad::cli
