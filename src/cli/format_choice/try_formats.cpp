// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "cli/format_choice/formats_of.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "formats/choose_format.hpp"
#include "polyad/core/error.hpp"
#include "polyad/formats/any_format.hpp"

namespace polyad::cli {

namespace {

template <class Scalar, class Index>
void try_on_device(TuneOptions const& options, io::CoordinateList&& tensor, Report& report,
                   FormatsReport& formats) {
  Space const space;
  auto const coo = to_device<Scalar, Index>(space, std::move(tensor), *report.input);
  stop_if_interrupted("reading the tensor");
  bool const alone = !options.format.empty();
  if (alone) std::erase_if(formats.candidates, [&](auto const& c) { return c.name != options.format; });
  for (auto& candidate : formats.candidates) {
    if (candidate.streams || (!candidate.fits && !alone)) continue;
    candidate.fits = try_candidate(space, coo, options.of.rank, {}, candidate, stop_if_interrupted);
    if (candidate.fits && alone)
      for (auto const& shape : try_shapes(space, coo, candidate.name, options.of.rank))
        formats.shapes.push_back({shape.format, shape.seconds});
  }
}

}  // namespace

void try_formats(TuneOptions const& options, io::CoordinateList&& tensor, Report& report,
                 FormatsReport& formats) {
  with_index_type(tensor, [&](auto index) {
    using Index = typename decltype(index)::type;
    if (options.of.precision == "f32")
      try_on_device<float, Index>(options, std::move(tensor), report, formats);
    else
      try_on_device<double, Index>(options, std::move(tensor), report, formats);
  });
  detail::FormatWish const wish{.iterations = formats.iterations, .bytes = formats.free_bytes};
  detail::sort_candidates(formats.candidates, wish);
  auto const choice = detail::choose(formats.candidates, wish);
  formats.best      = formats.candidates[choice.candidate].name;
  formats.because   = choice.because;
}

}  // namespace polyad::cli
