// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Core.hpp>

#include "formats/format_trial.hpp"
#include "formats/format_wish.hpp"
#include "polyad/core/instances.hpp"
#include "tensor/coordinates_inside.hpp"

namespace polyad {

using namespace detail;

namespace {

/// Names the best candidate and the reason, once the costs of all are known.
void decide(ChoiceInput const& wish, FormatComparison& comparison) {
  auto const choice  = choose(comparison.candidates, wish);
  comparison.best    = comparison.candidates[choice.candidate].name;
  comparison.because = choice.because;
}

template <class Scalar, class Index, class Space>
AnyFormatOptions with_survey(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                             AnyFormatOptions options) {
  if (!options.survey) options.survey = survey_of(space, coo);
  return options;
}

}  // namespace

template <class Scalar, class Index, class Space>
FormatComparison estimate_formats(Space const& space, AnyFormatOptions const& options, count_t held_bytes) {
  checked_rank(options.rank);
  ChoiceInput const wish = choice_input_of(space, options, true, held_bytes);
  FormatComparison comparison;
  comparison.free_bytes = wish.bytes;
  comparison.candidates = candidates_of<Scalar, Index>(space, options, wish);
  try {
    decide(wish, comparison);
  } catch (MemoryError const& error) {
    comparison.because = error.what();
  }
  return comparison;
}

template <class Scalar, class Index, class Space>
FormatComparison estimate_formats(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                                  AnyFormatOptions const& options) {
  expect_coordinates_inside(space, coo);
  return estimate_formats<Scalar, Index>(space, with_survey(space, coo, options), coo.storage_bytes());
}

template <class Scalar, class Index, class Space>
FormatComparison tune_formats(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                              AnyFormatOptions const& given) {
  bool const alone = given.format != "auto";
  expect_format(given.format);
  expect_coordinates_inside(space, coo);
  auto const options = with_survey(space, coo, given);
  auto comparison    = estimate_formats<Scalar, Index>(space, options, coo.storage_bytes());
  auto& candidates   = comparison.candidates;
  if (alone) std::erase_if(candidates, [&](auto const& c) { return c.name != given.format; });
  POLYAD_EXPECTS(!candidates.empty(), "the format ", given.format,
                 " cannot be tuned with these options: it does not do what they ask for");
  for (auto& candidate : candidates) {
    if (candidate.streams || (!candidate.fits && !alone)) continue;
    candidate.fits = try_candidate(space, coo, options.rank, {}, candidate, options.hooks.progress);
    if (candidate.fits && alone) comparison.shapes = try_shapes(space, coo, candidate.name, options.rank);
  }
  ChoiceInput wish = choice_input_of(space, options, true, 0);
  wish.bytes       = comparison.free_bytes;
  sort_candidates(candidates, wish);
  decide(wish, comparison);
  return comparison;
}

#define POLYAD_TUNE_FORMATS(Scalar, Index)                                                                 \
  template FormatComparison estimate_formats<Scalar, Index>(CompiledSpace const&, AnyFormatOptions const&, \
                                                            count_t);                                      \
  template FormatComparison estimate_formats(                                                              \
      CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&, AnyFormatOptions const&);      \
  template FormatComparison tune_formats(                                                                  \
      CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&, AnyFormatOptions const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_TUNE_FORMATS);

}  // namespace polyad
