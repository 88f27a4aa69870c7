// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/ranking.hpp"

#include <utility>

#include "cli/tensors/device_tensor.hpp"
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
  return with_index_type(seen, [&](auto index) {
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

}  // namespace polyad::cli
