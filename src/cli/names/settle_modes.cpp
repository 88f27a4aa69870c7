// SPDX-License-Identifier: BSD-3-Clause
#include "cli/names/settle_modes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "cli/names/match_stored.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/streams/refuse.hpp"
#include "cli/typed_text/mode_constraints.hpp"

namespace polyad::cli {

namespace {

void share_weights(io::HostKtensor& start, TypedConstraints const& constraints) {
  // If the first update computes the first factor anew, these weights matter only without iterations.
  // Penalties depend on how they are divided among the modes.
  std::size_t const rank = start.rank();
  auto const shares      = shares_of_weights(constraints, start.factors.size());
  double const root      = 1 / static_cast<double>(shares.size());
  for (auto const& share : shares) {
    auto& factor = start.factors[share.mode];
    for (std::size_t e = 0; e < factor.size(); ++e) {
      double const weight = start.weights[e % rank];
      factor[e] *= shares.size() == 1
                       ? weight
                       : share.factor * std::copysign(std::pow(std::abs(weight), root),
                                                      share.mode == shares.front().mode ? weight : 1);
    }
  }
  std::fill(start.weights.begin(), start.weights.end(), 1.0);
}

}  // namespace

void settle_modes(CpdOptions& options, io::CoordinateList const& tensor, InputReport const& input,
                  std::optional<io::HostKtensor>& start) {
  if (tensor.order() < 2) refuse_file(options.tensor, "has one mode only; CP needs two or more");
  settle_modes(options.constraints, [&](std::string const& option, std::string const& name) {
    return mode_on_ranks(name, input.labels, tensor.order(), option);
  });
  if (!start) return;
  expect_extents(options.start, start->extents, tensor.extents);
  share_weights(*start, options.constraints);
}

}  // namespace polyad::cli
