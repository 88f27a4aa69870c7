// SPDX-License-Identifier: BSD-3-Clause
// The steps from the options to the candidates, shared by any_format, estimate_formats and tune_formats.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "core/host_side.hpp"
#include "formats/choose_format.hpp"
#include "polyad/core/device_memory.hpp"
#include "polyad/formats/any_format.hpp"

namespace polyad::detail {

template <class Scalar, class Index, class Space>
TensorSurvey survey_of(Space const& space, CooTensor<Scalar, Index, Space> const& coo) {
  auto const indices = on_host(space, "the coordinates in host memory", coo.indices());
  std::vector<std::uint64_t> extents;
  for (int n = 0; n < coo.order(); ++n) extents.push_back(coo.extents()[n]);
  return survey_tensor<Index>(extents, std::span<Index const>(indices.data(), indices.size()),
                              host_threads(space));
}

/// Measured on devices alone. On a host other processes disturb the measurement, and the weights were fitted
/// to the usual ceilings.
template <class Scalar, class Space>
Ceilings ceilings_for(Space const& space, AnyFormatOptions const& options, double seconds) {
  if (options.hooks.machine) return options.hooks.machine(seconds);
  auto const usual = usual_ceilings_of<Space>(static_cast<int>(space.concurrency()), sizeof(Scalar));
  if (usual.is_device && seconds >= worth_measuring_s) try {
      return measure_ceilings<Scalar>(space);
    } catch (MemoryError const&) {  // the usual ceilings are good enough
    }
  return usual;
}

/// \param chooses  whether to choose among formats; otherwise one was named
/// \param held_bytes  bytes of the tensor's coordinates, which are in use now but will be released
template <class Space>
ChoiceInput choice_input_of(Space const& space, AnyFormatOptions const& options, bool chooses,
                            count_t held_bytes) {
  ChoiceInput input{.iterations    = options.iterations,
                    .deterministic = chooses && options.deterministic,
                    .residual      = chooses && !options.needs.empty(),
                    .rows          = std::find(options.needs.begin(), options.needs.end(),
                                               Capability::row_least_squares) != options.needs.end(),
                    .may_stream    = !chooses || (options.may_stream && options.needs.empty()),
                    .bytes         = available_memory(space) + held_bytes,
                    .one_memory    = !options.memory_bytes && !left_of_device_memory_limit(),
                    .loading_bytes = options.loading_bytes,
                    .what          = options.needs.empty() ? "iterations" : "sweeps of all modes",
                    .time_limit_s  = options.time_limit_s};
  if (options.memory_bytes) input.bytes = std::min<std::uint64_t>(input.bytes, *options.memory_bytes);
  return input;
}

/// The formats of this build that the input allows, the best first. \throws UsageError without a survey
template <class Scalar, class Index, class Space>
std::vector<FormatCandidate> candidates_of(Space const& space, AnyFormatOptions const& options,
                                           ChoiceInput const& input) {
  POLYAD_EXPECTS(options.survey, "choosing a format requires a survey of the tensor");
  auto list = candidates(*options.survey, options.rank, sizeof(Scalar), sizeof(Index), input,
                         [&](double seconds) { return ceilings_for<Scalar>(space, options, seconds); });
  // A build of the library with only some formats lacks the others.
  std::string const built = ", " + format_names() + ", ";
  std::erase_if(list,
                [&](FormatCandidate const& c) { return built.find(", " + c.name + ", ") == built.npos; });
  return list;
}

}  // namespace polyad::detail
