// SPDX-License-Identifier: BSD-3-Clause
#include "cli/format_choice/formats_table.hpp"
#include "cli/streams/messages.hpp"

#include <fmt/format.h>

#include "polyad/core/quantity_text.hpp"

namespace polyad::cli {

namespace {

/// "~1.23": milliseconds
std::string milliseconds(double seconds, bool predicted) {
  return fmt::format("{}{:.3g}", predicted ? "~" : "", seconds * 1e3);
}

}  // namespace

void print_formats(FormatsReport const& formats) {
  show("{:<14} {:>9} {:>9} {:>4} {:>7} {:>9} {:>9} {:>10}  {}\n", "format", "bytes", "needs", "fits",
       "load ms", "build ms", "iter ms", "with build", "ms per mode");
  for (auto const& c : formats.candidates) {
    auto const& times = c.measured ? c.measured : c.predicted;
    std::string load = "-", build = "-", iteration = "-", with_build = "-", modes = "-";
    if (times) {
      bool const predicted = !c.measured;
      load                 = milliseconds(times->load_s, true);
      build                = milliseconds(times->build_s, predicted);
      iteration            = milliseconds(times->iteration_s, predicted);
      with_build =
          milliseconds(times->iteration_s + (times->load_s + times->build_s) / formats.iterations, predicted);
      modes.clear();
      for (double const seconds : times->mode_s)
        modes += (modes.empty() ? "" : " ") + milliseconds(seconds, predicted);
    }
    show("{:<14} {:>9} {:>9} {:>4} {:>7} {:>9} {:>9} {:>10}  {}\n", c.name, bytes_text(c.bytes),
         bytes_text(c.need_bytes), c.fits ? "yes" : "no", load, build, iteration, with_build, modes);
  }
}

}  // namespace polyad::cli
