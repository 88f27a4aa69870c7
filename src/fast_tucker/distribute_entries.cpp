// SPDX-License-Identifier: BSD-3-Clause
// Entries of fast_tucker on many ranks: each owns a range of rows of every mode.
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
  auto own = parts;
  own.rows = rows_by_cuts(ranks, parts.train, parts.train_on_host);
  own.rows->deal(own.train, own.train_on_host);
  CooTensor<Scalar, Index, HostOf<Space>> none;
  own.rows->deal(own.validation, none);
  own.rows->deal(own.test, none);
  return own;
}

#define POLYAD_DISTRIBUTE_ENTRIES(Scalar, Index)                    \
  template FastTuckerData<Scalar, Index, CompiledSpace> distribute( \
      Communicator<CompiledSpace> const&, FastTuckerData<Scalar, Index, CompiledSpace> const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_DISTRIBUTE_ENTRIES);

}  // namespace polyad
