// SPDX-License-Identifier: BSD-3-Clause
// sample_rows: all entries of some rows of one mode, chosen by a hash of the rows' numbers. A search uses
// them instead of a large training set. The sampled rows have as many entries as in the whole set.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>

#include "core/host_side.hpp"
#include "fast_tucker/entries.hpp"
#include "fast_tucker/search/gather_entries.hpp"
#include "fast_tucker/search/held_out.hpp"
#include "polyad/tensor/coo_tensor.hpp"

namespace polyad::detail {

/// Whether an entry's row of `mode` is in the sample.
template <class Index>
struct IsSampled {
  count_t mode;
  double share;  // fraction of the rows

  KOKKOS_FUNCTION bool operator()(Index const* index) const {
    std::uint64_t const row = static_cast<std::uint64_t>(index[mode]);
    return static_cast<double>(mix_bits(row + 1) >> 11) * 0x1p-53 < share;
  }
};

/// Keeps X's order. The result is the same on every backend. Waits for `space`. \throws MemoryError
/// \param make  makes the tensor for that many entries
template <class Scalar, class Index, class Space, class Make>
CooTensor<Scalar, Index, Space> sample_rows(Space const& space, CooTensor<Scalar, Index, Space> const& X,
                                            int mode, double share, Make const& make) {
  return gather_entries(space, X, IsSampled<Index>{static_cast<count_t>(mode), share}, make);
}

/// The same for a TrainingSet. The sample is on the host if the set is, otherwise on the device.
template <class Scalar, class Index, class Space>
TrainingSet<Scalar, Index, Space> sample_rows(Space const& space, TrainingSet<Scalar, Index, Space> const& X,
                                              int mode, double share) {
  if (!X.on_host())
    return TrainingSet<Scalar, Index, Space>(sample_rows(space, X.tensor(), mode, share, [&](count_t nnz) {
      return make_coo_tensor<Scalar, Index>(space, X.extents(), nnz);
    }));
  DeviceMemoryAccount::HostArrays const in_host_memory;
  PinnedTensor<Scalar, Index, Space> taken;
  sample_rows(host_instance(space), X.pinned().tensor, mode, share, [&](count_t nnz) {
    taken = make_pinned_tensor<Scalar, Index, Space>(X.extents(), nnz);
    return taken.tensor;
  });
  return {taken, X.buffers()};
}

/// The sampled mode, which is the longest, and the share of its rows that has about `most` entries. The share
/// is 1 if there are no more entries, or if too few rows would be left to represent the others.
struct RowSample {
  int mode     = 0;
  double share = 1;
};
inline RowSample row_sample(Extents const& extents, count_t entries, count_t most) {
  constexpr double least_rows = 1000;
  RowSample sample;
  for (int n = 1; n < extents.order(); ++n)
    if (extents[n] > extents[sample.mode]) sample.mode = n;
  double const share = static_cast<double>(most) / static_cast<double>(std::max<count_t>(entries, 1));
  if (share < 1 && share * static_cast<double>(extents[sample.mode]) >= least_rows) sample.share = share;
  return sample;
}

}  // namespace polyad::detail
