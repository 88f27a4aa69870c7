// SPDX-License-Identifier: BSD-3-Clause
#include "format_trial.hpp"

#include <algorithm>
#include <optional>

#include "interrupt.hpp"
#include "polyad/formats/any_format.hpp"

namespace polyad::cli {

template <class Scalar, class Index>
TrialTimes try_format(Space const& space, CooTensor<Scalar, Index, Space> const& coo, std::string const& name,
                      count_t rank, std::vector<int> const& modes) {
  using Tensor = AnyFormat<Scalar, Index, Space>;
  POLYAD_EXPECTS(!format_offers(name, Capability::streaming), name,
                 " keeps the tensor in host memory: it is not tried here");
  TrialTimes times;
  auto const timed_build = [&] {
    space.fence("polyad::try_format");
    Kokkos::Timer const clock;
    // What would take its place where it does not fit is a candidate of its own.
    Tensor X = Tensor::build(space, coo, {.rank = rank, .format = name, .as_named = true});
    space.fence("polyad::try_format");
    times.build_s = clock.seconds();
    return X;
  };
  std::optional<Tensor> built(timed_build());
  constexpr double short_build_s = 0.2;
  if (is_device_space<Space> && times.build_s < short_build_s) {
    built.reset();
    built.emplace(timed_build());
  }
  Tensor const& X = *built;
  times.bytes     = X.storage_bytes();
  FactorMatrices<Scalar, Space> const factors(space, coo.extents(), rank);
  fill_random(space, factors, 0);
  auto workspace  = X.make_workspace(space, rank);
  count_t longest = 0;
  for (int const n : modes) longest = std::max(longest, coo.extents()[n]);
  auto const V = make_factor_matrix<Scalar>(space, "polyad::trial_output", longest, rank);
  for (int const n : modes) {
    auto const output = Kokkos::subview(V, Kokkos::make_pair(count_t(0), coo.extents()[n]), Kokkos::ALL);
    double least      = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) {
      Kokkos::Timer const one;
      mttkrp(space, X, factors, n, workspace, FactorMatrix<Scalar, Space>(output));
      space.fence("polyad::try_format");
      if (i > 0) least = std::min(least, one.seconds());
      stop_if_interrupted("trying a format");
    }
    times.mode_s.push_back(least);
  }
  return times;
}

#define POLYAD_FORMAT_TRIAL(Scalar, Index)                                                                 \
  template TrialTimes try_format(Space const&, CooTensor<Scalar, Index, Space> const&, std::string const&, \
                                 count_t, std::vector<int> const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_FORMAT_TRIAL);

}  // namespace polyad::cli
