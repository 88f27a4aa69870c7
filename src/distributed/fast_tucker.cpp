// SPDX-License-Identifier: BSD-3-Clause
// FastTucker's als on many ranks: each owns a range of rows of every mode.
#include <memory>
#include <utility>

#include "distributed/rows_by_cuts.hpp"
#include "fast_tucker/entries.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/distributed/cp_als.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"

namespace polyad {

using namespace detail;

template <class Scalar, class Index, class Space>
FastTuckerOfRanks<Scalar, Space> fast_tucker(Communicator<Space> const& ranks,
                                             FastTuckerData<Scalar, Index, Space> const& parts,
                                             FastTuckerOptions const& options,
                                             FastTuckerCallback const& callback,
                                             AnyFormatOptions const& format) {
  auto const& space = ranks.space();
  POLYAD_EXPECTS(!parts.format, "ranks choose formats for their rows");
  if (ranks.size() == 1) return {fast_tucker(space, parts, options, callback, format), {}};
  auto const& optimizer = facts_of(options.optimizer);
  POLYAD_EXPECTS(optimizer.runs_on_ranks, optimizer.name, " does not run on several ranks");
  auto const host = [&](CooTensor<Scalar, Index, Space> const& set) {
    return set.order() > 0 ? download<HostOf<Space>>(space, set) : CooTensor<Scalar, Index, HostOf<Space>>();
  };
  auto const train  = parts.train_on_host.order() > 0 ? parts.train_on_host : host(parts.train);
  auto const owners = std::make_shared<RowsByCuts<Scalar, Index, Space>>(
      ranks, train.extents(), std::span<Index const>(train.indices().data(), train.indices().size()));
  FastTuckerData<Scalar, Index, Space> own;
  own.train      = owners->dealt(train);
  own.validation = owners->dealt(host(parts.validation));
  own.test       = owners->dealt(host(parts.test));
  FastTuckerOfRanks<Scalar, Space> result{
      fit_owned_rows<Scalar, Index, Space>(space, own, options, callback, format, owners),
      owners->imbalance()};
  for (int n = 0; n < result.model.order(); ++n)
    result.model.A(n) = owners->whole_on_root(n, result.model.A(n));
  if (!owners->is_root()) result.model = {};
  return result;
}

#define POLYAD_FAST_TUCKER_OF_RANKS(Scalar, Index)                                                   \
  template FastTuckerOfRanks<Scalar, Kokkos::DefaultExecutionSpace> fast_tucker(                     \
      Communicator<Kokkos::DefaultExecutionSpace> const&,                                            \
      FastTuckerData<Scalar, Index, Kokkos::DefaultExecutionSpace> const&, FastTuckerOptions const&, \
      FastTuckerCallback const&, AnyFormatOptions const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_FAST_TUCKER_OF_RANKS);

}  // namespace polyad
