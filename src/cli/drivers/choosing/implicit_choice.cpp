// SPDX-License-Identifier: BSD-3-Clause
// choose_by_ranking(), over both scalars and both coordinate types.
#include "cli/drivers/choosing/implicit_choice.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "cli/run/communicator.hpp"
#include "cli/run/ranks.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/fast_tucker/choose_implicit.hpp"
#include "polyad/io/clean_list.hpp"
#include "polyad/io/split.hpp"

namespace polyad::cli {

namespace {

RankingChoice to_ranking_choice(std::vector<ImplicitCandidate> const& candidates) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < candidates.size(); ++c)
    if (candidates[c].ndcg.value > candidates[best].ndcg.value) best = c;
  auto const& of = candidates.at(best);
  return {of.alpha,
          of.ridge,
          of.rank,
          of.ndcg.value,
          of.ndcg.error,
          of.ndcg.users,
          static_cast<int>(candidates.size())};
}

template <class Scalar, class Index>
ImplicitChoice choose_as(TrainOptions const& options, io::Split&& parts,
                         ImplicitSearchCallback const& callback) {
  auto const world = make_communicator(options.deterministic);
  auto const kept  = upload_list<Scalar, Index>(world.space(), std::move(parts.kept));
  auto const held  = upload_list<Scalar, Index>(world.space(), std::move(parts.held));
  return choose_implicit(world, kept, held, options, false, {}, callback);
}

}  // namespace

RankingChoice choose_by_ranking(TrainOptions& options, io::CoordinateList const& train, bool sums,
                                OnRankingCandidate const& on_candidate) {
  bool const is_wide = needs_wide_index_on_ranks(train);
  bool const is_part = ranks().size > 1;
  io::CoordinateList rows;
  if (is_part) rows = whole_rows(train, 0);
  if (sums) io::merge_duplicates(rows, io::Duplicates::sum);
  auto parts = io::split(
      is_part ? rows : train,
      {.rule = io::SplitRule::last_and_share, .mode = 0, .one_of_ties = true, .seed = options.seed});
  rows                                  = {};
  ImplicitSearchCallback const callback = [&](std::vector<ImplicitCandidate> const& candidates) {
    return on_candidate(to_ranking_choice(candidates));
  };
  auto const choice = with_types(options.precision, is_wide, [&](auto scalar, auto index) {
    return choose_as<decltype(scalar), decltype(index)>(options, std::move(parts), callback);
  });
  auto result       = to_ranking_choice(choice.candidates);
  result.seconds    = choice.seconds;
  result.reason     = to_string(choice.reason);
  options.implicit  = choice.options.implicit;
  options.ridge     = choice.options.ridge;
  options.rank      = choice.options.rank;
  return result;
}

}  // namespace polyad::cli
