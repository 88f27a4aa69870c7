// SPDX-License-Identifier: BSD-3-Clause
// Entries of fast_tucker on many ranks: each owns a range of rows of every mode.
#include <memory>
#include <span>

#include "distributed/rows_by_cuts.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/distributed/communicator.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"

namespace polyad {

using namespace detail;

template <class Scalar, class Index, class Space>
FastTuckerData<Scalar, Index, Space> distribute(Communicator<Space> const& ranks,
                                                FastTuckerData<Scalar, Index, Space> const& parts) {
  POLYAD_EXPECTS(!parts.format, "ranks choose formats for their rows");
  if (ranks.size() == 1) return parts;
  using Host      = CooTensor<Scalar, Index, HostOf<Space>>;
  auto const host = [&](CooTensor<Scalar, Index, Space> const& set) {
    return set.order() > 0 ? download<HostOf<Space>>(ranks.space(), set) : Host();
  };
  AllRanks<Space> const all(ranks);
  auto const train =
      all.together([&] { return parts.train_on_host.order() > 0 ? parts.train_on_host : host(parts.train); });
  std::span<Index const> const indices(train.indices().data(), train.indices().size());
  auto const rows = std::make_shared<RowsByCuts<Scalar, Index, Space>>(ranks, train.extents(), indices);
  FastTuckerData<Scalar, Index, Space> own;
  own.train      = rows->dealt(train);
  own.validation = rows->dealt(all.together([&] { return host(parts.validation); }));
  own.test       = rows->dealt(all.together([&] { return host(parts.test); }));
  own.rows       = rows;
  return own;
}

#define POLYAD_DISTRIBUTE_ENTRIES(Scalar, Index)                                     \
  template FastTuckerData<Scalar, Index, Kokkos::DefaultExecutionSpace> distribute( \
      Communicator<Kokkos::DefaultExecutionSpace> const&,                            \
      FastTuckerData<Scalar, Index, Kokkos::DefaultExecutionSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_DISTRIBUTE_ENTRIES);

}  // namespace polyad
