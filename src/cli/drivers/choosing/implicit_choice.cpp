// SPDX-License-Identifier: BSD-3-Clause
// choose_by_ranking(), over both scalars and both coordinate types.
#include "cli/drivers/choosing/implicit_choice.hpp"

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/tensors/device_tensor.hpp"
#include "polyad/fast_tucker/choose_implicit.hpp"
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
  Space const space;
  auto const kept = upload_list<Scalar, Index>(space, std::move(parts.kept));
  auto const held = upload_list<Scalar, Index>(space, std::move(parts.held));
  return choose_implicit(space, kept, held, options, false, {}, callback);
}

}  // namespace

RankingChoice choose_by_ranking(TrainOptions& options, io::CoordinateList const& train,
                                OnRankingCandidate const& on_candidate) {
  auto parts =
      io::split(train, {.rule = io::SplitRule::last, .mode = 0, .one_of_ties = true, .seed = options.seed});
  ImplicitSearchCallback const callback = [&](std::vector<ImplicitCandidate> const& candidates) {
    return on_candidate(to_ranking_choice(candidates));
  };
  auto const run = [&](auto index) {
    using Index = typename decltype(index)::type;
    if (options.precision == "f32") return choose_as<float, Index>(options, std::move(parts), callback);
    return choose_as<double, Index>(options, std::move(parts), callback);
  };
  auto const choice = needs_wide_index(train) ? run(std::type_identity<std::uint64_t>{})
                                              : run(std::type_identity<std::uint32_t>{});
  auto result       = to_ranking_choice(choice.candidates);
  result.seconds    = choice.seconds;
  result.reason     = to_string(choice.reason);
  options.implicit  = choice.options.implicit;
  options.ridge     = choice.options.ridge;
  options.rank      = choice.options.rank;
  return result;
}

}  // namespace polyad::cli
