// SPDX-License-Identifier: BSD-3-Clause
// f-coo: the flagged coordinates of Liu et al. (F-COO, CLUSTER 2017) for SpMTTKRP and SpTTMc, one copy of the
// nonzeros a mode (formats/fcoo/flagged_nonzeros.hpp). One product kernel serves all operations and modes,
// and its time hardly depends on the mode. Storage, order 3, floats and 32-bit indices: 12 + 1/8 + 1/(8
// threadlen) bytes a nonzero and mode (Table II); the segments' coordinates and the partitions' segments
// beside it.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>

#include "polyad/formats/fcoo/build_flagged.hpp"
#include "polyad/formats/fcoo/sum_flagged.hpp"
#include "polyad/formats/fcoo/validate_flagged.hpp"
#include "polyad/formats/format.hpp"

namespace polyad {

struct FCooOptions {
  int threadlen   = 0;  // nonzeros of a partition: 8, 16, 32 or 64; 0: automatic_threadlen
  FCooShape shape = {};
};

template <class Scalar, class Index, class Space>
class FCoo {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = FCooOptions;
  using workspace_type = NoWorkspace;
  using nonzeros_type  = FlaggedNonzeros<Scalar, Index, Space>;

  static constexpr char const* name = "f-coo";

  /// One sort a mode, on the device. Waits for `space`.
  /// \throws UsageError when Index cannot number the nonzeros, or an option is out of range; MemoryError
  static FCoo build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                    options_type const& options = {}) {
    expect_shape(options.shape);
    FCoo format;
    format.m_extents      = coo.extents();
    format.m_nnz          = coo.nnz();
    format.m_options      = options;
    format.m_norm_squared = polyad::norm_squared(space, coo);
    int const threadlen = options.threadlen == 0 ? automatic_threadlen(space, coo.nnz()) : options.threadlen;
    for (int n = 0; n < coo.order(); ++n)
      format.m_nonzeros[static_cast<std::size_t>(n)] =
          make_flagged(space, coo, mode_first(coo.order(), n), 1, FCooRows::of_mode, threadlen);
    return format;
  }

  [[nodiscard]] Extents const& extents() const { return m_extents; }
  [[nodiscard]] count_t nnz() const { return m_nnz; }
  [[nodiscard]] double norm_squared() const { return m_norm_squared; }
  [[nodiscard]] count_t storage_bytes() const {
    count_t bytes = 0;
    for (int n = 0; n < m_extents.order(); ++n)
      bytes += nonzeros(n).nonzero_bytes() + nonzeros(n).segment_bytes();
    return bytes;
  }
  [[nodiscard]] workspace_type make_workspace(Space const&, count_t) const { return {}; }

  /// With mode n as index mode.
  [[nodiscard]] nonzeros_type const& nonzeros(int n) const { return m_nonzeros[static_cast<std::size_t>(n)]; }
  [[nodiscard]] options_type const& options() const { return m_options; }

  /// The same tensor with partitions and teams of other sizes; the nonzeros are shared. Waits for `space`.
  /// \throws UsageError; MemoryError
  [[nodiscard]] FCoo reshaped(Space const& space, options_type const& options) const {
    expect_shape(options.shape);
    FCoo result      = *this;
    result.m_options = options;
    for (int n = 0; n < m_extents.order(); ++n)
      result.m_nonzeros[static_cast<std::size_t>(n)] = repartitioned(space, nonzeros(n), options.threadlen);
    return result;
  }

private:
  Extents m_extents;
  count_t m_nnz = 0;
  options_type m_options;
  double m_norm_squared = 0;
  std::array<nonzeros_type, max_order> m_nonzeros;
};

/// The nonzeros as SpTTM on mode n takes them: sorted by fiber, a segment each. Waits for `space`.
/// \param threadlen  8, 16, 32 or 64; 0: automatic_threadlen
/// \throws UsageError; MemoryError
template <class Scalar, class Index, class Space>
FlaggedNonzeros<Scalar, Index, Space> build_spttm(Space const& space,
                                                  CooTensor<Scalar, Index, Space> const& coo, int mode,
                                                  int threadlen = 0) {
  expect_mode(mode, coo.extents());
  POLYAD_EXPECTS(coo.order() >= 2, "a tensor of order 1 has no fibers besides itself");
  return make_flagged(space, coo, mode_last(coo.order(), mode), coo.order() - 1, FCooRows::of_segments,
                      threadlen == 0 ? automatic_threadlen(space, coo.nnz()) : threadlen);
}

}  // namespace polyad

#include "polyad/formats/fcoo/mttkrp_fcoo.hpp"
