// SPDX-License-Identifier: BSD-3-Clause
// coo-permuted: coordinates, values, and one permutation per mode that visits the nonzeros in the order of
// that mode's index, so that MTTKRP-C sums a whole row before it writes (GenTen, section 6).
// Storage: (s_r + 2 N s_o) bytes a nonzero, a little under twice COO.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <limits>

#include "polyad/core/instances.hpp"
#include "polyad/formats/coo/row_starts.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/tensor/sort_by_mode.hpp"

namespace polyad {

namespace detail {
template <class Scalar, class Index>
struct PermutedSource;  // formats/coo/nonzero_sources.hpp
}

template <class Scalar, class Index, class Space>
class CooPermuted {
public:
  using scalar_type      = Scalar;
  using index_type       = Index;
  using space_type       = Space;
  using workspace_type   = NoWorkspace;
  using permutation_type = Permutation<Index, Space>;
  struct options_type {};

  static constexpr char const* name = "coo-permuted";

  /// Keeps the tensor's Views and sorts one permutation per mode (N radix sorts, on the device).
  /// \throws UsageError when Index cannot number the nonzeros; MemoryError
  static CooPermuted build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                           options_type const& = {});

  [[nodiscard]] Extents const& extents() const { return m_coo.extents(); }
  [[nodiscard]] count_t nnz() const { return m_coo.nnz(); }
  [[nodiscard]] count_t storage_bytes() const {
    return nnz() * (sizeof(Scalar) + 2 * static_cast<count_t>(m_coo.order()) * sizeof(Index));
  }
  [[nodiscard]] double norm_squared() const { return m_norm_squared; }
  [[nodiscard]] workspace_type make_workspace(Space const&, count_t) const { return {}; }

  [[nodiscard]] CooTensor<Scalar, Index, Space> const& coo() const { return m_coo; }
  /// Positions of the nonzeros in the order of mode n's index.
  [[nodiscard]] permutation_type const& permutation(int n) const {
    return m_permutations[static_cast<std::size_t>(n)];
  }

  /// Where each row's nonzeros begin in the order of each mode, for least_squares_rows. \throws MemoryError
  [[nodiscard]] RowStarts<Space> make_row_workspace(Space const& space) const {
    RowStarts<Space> starts;
    for (int n = 0; n < extents().order(); ++n)
      starts[static_cast<std::size_t>(n)] = detail::make_row_starts(
          space, detail::PermutedSource<Scalar, Index>(*this, n), extents()[n], nnz());
    return starts;
  }

  /// The same with other values, in the order of the coordinates; its norm is not meant to be asked for.
  [[nodiscard]] CooPermuted with_values(typename CooTensor<Scalar, Index, Space>::values_type values) const {
    CooPermuted other = *this;
    other.m_coo       = CooTensor<Scalar, Index, Space>(m_coo.extents(), m_coo.indices(), std::move(values));
    return other;
  }

private:
  CooTensor<Scalar, Index, Space> m_coo;
  double m_norm_squared = 0;
  std::array<permutation_type, max_order> m_permutations;
};

template <class Scalar, class Index, class Space>
CooPermuted<Scalar, Index, Space> CooPermuted<Scalar, Index, Space>::build(
    Space const& space, CooTensor<Scalar, Index, Space> const& coo, options_type const&) {
  POLYAD_EXPECTS(coo.nnz() <= std::numeric_limits<Index>::max(), coo.nnz(),
                 " nonzeros need 64-bit indices in this format");
  CooPermuted format;
  format.m_coo          = coo;
  format.m_norm_squared = polyad::norm_squared(space, coo);
  for (int n = 0; n < coo.order(); ++n) {
    auto const permutation = identity_permutation<Index>(space, coo.nnz());
    sort_by_mode(space, coo, n, permutation);
    format.m_permutations[static_cast<std::size_t>(n)] = permutation;
  }
  return format;
}

#define POLYAD_COO_PERMUTED(Scalar, Index) \
  template class CooPermuted<Scalar, Index, Kokkos::DefaultExecutionSpace>
POLYAD_EACH_SCALAR_AND_INDEX(extern, POLYAD_COO_PERMUTED);

}  // namespace polyad

#include "polyad/formats/coo/mttkrp_permuted.hpp"
#include "polyad/formats/coo/nonzero_sources.hpp"
