// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/ranking.hpp"

#include <utility>

#include "cli/run/communicator.hpp"
#include "cli/run/ranks.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/fast_tucker/evaluate.hpp"
#include "polyad/fast_tucker/recommend.hpp"
#include "polyad/io/saved_models.hpp"

namespace polyad::cli {

namespace {

RankedRows to_ranked(Rankings&& found) {
  return {std::move(found.starts), std::move(found.rows), std::move(found.scores), found.unknown};
}

}  // namespace

RankedRows recommend_rows(io::HostFastTucker const& host, int mode, std::vector<std::uint64_t> const& queries,
                          std::uint64_t count, io::CoordinateList&& seen) {
  Space const space;
  auto const model = io::to_model<double>(space, host);
  std::span<count_t const> const asked(queries);
  RankingOptions options;
  options.count    = count;
  options.observed = host.observed;
  if (seen.nnz() == 0) return to_ranked(recommend(space, model, mode, asked, options));
  return with_index_type(needs_wide_index(seen), [&](auto index) {
    using Index = typename decltype(index)::type;
    return to_ranked(
        recommend(space, model, mode, asked, options, upload_list<double, Index>(space, std::move(seen))));
  });
}

RankedRows similar_rows(io::HostFastTucker const& host, int mode, std::vector<std::uint64_t> const& rows,
                        std::uint64_t count) {
  Space const space;
  RankingOptions options;
  options.count    = count;
  options.observed = host.observed;
  return to_ranked(
      similar(space, io::to_model<double>(space, host), mode, std::span<count_t const>(rows), options));
}

Evaluation evaluate_model(io::HostFastTucker const& host, EvaluationOptions options,
                          io::CoordinateList&& test, io::CoordinateList&& seen) {
  auto const world  = make_communicator(true);  // what ranks exchange is in host memory
  auto const& space = world.space();
  auto const model  = io::to_model<double>(space, host);
  options.observed  = host.observed;
  // Ranks may know different extents: rank 0 alone knows labels.
  bool const wide_test = needs_wide_index_on_ranks(test), wide_seen = needs_wide_index_on_ranks(seen);
  bool const is_wide = sums_of_ranks(wide_test || wide_seen ? 1 : 0).all > 0;
  return with_index_type(is_wide, [&](auto index) {
    using Index      = typename decltype(index)::type;
    using Tensor     = CooTensor<double, Index, Space>;
    bool const knows = seen.nnz() > 0;
    auto const tests = upload_list<double, Index>(space, std::move(test));
    return evaluate(world, model, tests, options,
                    knows ? upload_list<double, Index>(space, std::move(seen)) : Tensor());
  });
}

}  // namespace polyad::cli
