// SPDX-License-Identifier: BSD-3-Clause
#include "cli/format_choice/format_trial.hpp"

#include <algorithm>
#include <optional>

#include "cli/run/interrupt.hpp"
#include "polyad/formats/registry.hpp"

namespace polyad::cli {

template <class Scalar, class Index>
TrialTimes try_format(Space const& space, CooTensor<Scalar, Index, Space> const& coo, std::string const& name,
                      count_t rank, std::vector<int> const& modes) {
  TrialTimes times;
  with_format<Scalar, Index, Space>(name, [&](auto identity) {
    using F = typename decltype(identity)::type;
    if constexpr (requires { F::runs_alone; }) {
      throw UsageError(std::string(F::name) + " keeps the tensor in host memory: it is not tried here");
    } else {
      typename F::options_type options;
      // Otherwise one copy and permutations take the place of what does not fit.
      if constexpr (std::is_same_v<typename F::options_type, SortedOptions>)
        options.storage = SortedOptions::Storage::copies;
      auto const timed_build = [&] {
        space.fence("polyad::try_format");
        Kokkos::Timer const clock;
        F X = F::build(space, coo, options);
        space.fence("polyad::try_format");
        times.build_s = clock.seconds();
        return X;
      };
      std::optional<F> built(timed_build());
      constexpr double short_build_s = 0.2;
      if (is_device_space<Space> && times.build_s < short_build_s) {
        built.reset();
        built.emplace(timed_build());
      }
      F const& X  = *built;
      times.bytes = X.storage_bytes();
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
    }
  });
  return times;
}

template <class Scalar, class Index>
std::vector<FormatsReport::Shape> try_f_coo_shapes(Space const& space,
                                                   CooTensor<Scalar, Index, Space> const& coo, count_t rank) {
  auto const X = FCoo<Scalar, Index, Space>::build(space, coo, {});
  std::vector<FormatsReport::Shape> shapes;
  for (auto const& trial : tune(space, X, rank))
    shapes.push_back({trial.options.threadlen, trial.options.shape.team_threads, trial.seconds});
  return shapes;
}

#define POLYAD_FORMAT_TRIAL(Scalar, Index)                                                                 \
  template TrialTimes try_format(Space const&, CooTensor<Scalar, Index, Space> const&, std::string const&, \
                                 count_t, std::vector<int> const&);                                        \
  template std::vector<FormatsReport::Shape> try_f_coo_shapes(                                             \
      Space const&, CooTensor<Scalar, Index, Space> const&, count_t)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_FORMAT_TRIAL);

}  // namespace polyad::cli
