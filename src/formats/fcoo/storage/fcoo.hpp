// SPDX-License-Identifier: BSD-3-Clause
// f-coo: the flagged coordinates of Liu et al. (F-COO, CLUSTER 2017) for SpMTTKRP and SpTTMc, with one copy
// of the nonzeros per mode (formats/fcoo/storage/flagged_nonzeros.hpp). One product kernel serves all
// operations and modes, and its time hardly depends on the mode. Storage, order 3, floats and 32-bit indices:
// 12 + 1/8 + 1/(8 threadlen) bytes per nonzero and mode (Table II), and the segments' coordinates and the
// partitions' segments.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "formats/fcoo/storage/flagged_nonzeros.hpp"
#include "formats/stored_tensor.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/formats/option_text.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad::detail {

struct FCooOptions {
  int threadlen   = 0;  // nonzeros of a partition: 8, 16, 32 or 64; 0: by the tensor and the device
  FCooShape shape = {};
  int only_mode   = -1;  // the only mode that gets a copy; -1: all get one

  void serve(FormatRequest const& request) { only_mode = request.only_mode; }
  void read(OptionText& text) {
    text.read("threadlen", threadlen);
    text.read("team_threads", shape.team_threads);
  }
  [[nodiscard]] std::string text() const {
    return "threadlen=" + std::to_string(threadlen) + ",team_threads=" + std::to_string(shape.team_threads);
  }
};

template <class Scalar, class Index, class Space>
class FCoo : public StoredTensor {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = FCooOptions;
  using workspace_type = NoWorkspace;
  using nonzeros_type  = FlaggedNonzeros<Scalar, Index, Space>;

  static constexpr char const* name = "f-coo";
  static constexpr bool default_for(Capability capability) { return capability == Capability::ttmc; }

  /// Sorts the nonzeros once per mode, on the device. Waits for `space`.
  /// \throws UsageError when Index cannot number the nonzeros, or an option is out of range; MemoryError
  static FCoo build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                    options_type const& options = {});

  /// How many nonzeros have the coordinates of an earlier one.
  [[nodiscard]] count_t duplicates() const { return m_duplicates; }
  [[nodiscard]] count_t storage_bytes() const {
    count_t bytes = 0;
    for (int n = 0; n < m_extents.order(); ++n)
      if (keeps(n)) bytes += nonzeros(n).nonzero_bytes() + nonzeros(n).segment_bytes();
    return bytes;
  }

  /// Whether mode n has a copy.
  [[nodiscard]] bool keeps(int n) const { return m_options.only_mode < 0 || m_options.only_mode == n; }
  /// The nonzeros with mode n as index mode. \throws UsageError when the mode has no copy
  [[nodiscard]] nonzeros_type const& nonzeros(int n) const {
    POLYAD_EXPECTS(keeps(n), "f-coo was built for mode ", m_options.only_mode, " alone, not for ", n);
    return m_nonzeros[n];
  }
  [[nodiscard]] options_type const& options() const { return m_options; }

  /// The same tensor with partitions and teams of other sizes. Both share the nonzeros. Waits for `space`.
  /// \throws UsageError; MemoryError
  [[nodiscard]] FCoo reshaped(Space const& space, options_type const& options) const;

private:
  options_type m_options;
  count_t m_duplicates = 0;
  std::array<nonzeros_type, max_order> m_nonzeros;
};

#define POLYAD_FCOO(Scalar, Index) template class FCoo<Scalar, Index, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_FCOO);

/// The contract's mttkrp (formats/format.hpp): V (I_mode x R) is overwritten. Launches on `space` and returns
/// without waiting; allocates nothing.
/// \throws UsageError when the shapes do not match
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, FCoo<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V);

/// The nonzeros for SpTTM on mode n: sorted by fiber, with one segment per fiber. Waits for `space`.
/// \param threadlen  8, 16, 32 or 64; 0: by the tensor and the device
/// \throws UsageError; MemoryError
template <class Scalar, class Index, class Space>
FlaggedNonzeros<Scalar, Index, Space> build_spttm(Space const& space,
                                                  CooTensor<Scalar, Index, Space> const& coo, int mode,
                                                  int threadlen = 0);

/// SpTTM on mode n, Y = X x_n U. Row s of `fibers` (S x R, overwritten) becomes the sum over the nonzeros of
/// segment s of x U(i_n, :). X keeps all modes but n (build_spttm). Launches on `space` and returns without
/// waiting; allocates nothing.
/// \throws UsageError when the shapes do not match
template <class Space, class Scalar, class Index>
void spttm(Space const& space, FlaggedNonzeros<Scalar, Index, Space> const& X,
           FactorMatrix<Scalar, Space> const& U, FactorMatrix<Scalar, Space> const& fibers,
           FCooShape const& shape = {});

/// SpTTMc (formats/format.hpp). \throws UsageError when the shapes do not match
template <class Space, class Scalar, class Index>
void spttmc(Space const& space, FCoo<Scalar, Index, Space> const& X,
            std::vector<FactorMatrix<Scalar, Space>> const& U, int mode,
            FactorMatrix<Scalar, Space> const& Y);

struct FCooTrial {
  FCooOptions options;
  double seconds = 0;  // for one pass over all modes: the least of the repetitions
};

/// The paper's grid, limited to the sizes of our teams. On a host a team is one thread, so only the
/// threadlens vary.
template <class Space>
std::vector<FCooOptions> fcoo_grid();

/// Times an MTTKRP of every mode with every shape of the grid that the device can launch, the fastest first.
/// The best shape depends on the lengths of the tensor's segments and on the rank.
/// X.reshaped(space, tune(space, X, R).front().options) is the tensor in that shape. Waits for `space`.
/// \throws UsageError for a rank of 0; MemoryError when factors and outputs of this rank do not fit
template <class Scalar, class Index, class Space>
std::vector<FCooTrial> tune(Space const& space, FCoo<Scalar, Index, Space> const& X, count_t rank,
                            int repetitions = 3);

/// The nonzeros (formats/format.hpp).
template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, FCoo<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block);

}  // namespace polyad::detail
