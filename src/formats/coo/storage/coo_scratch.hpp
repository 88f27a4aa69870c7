// SPDX-License-Identifier: BSD-3-Clause
// coo-scratch: plain coordinates and values for MTTKRP-A, which forms each nonzero's product in
// a team scratch pad and adds it to the output with atomics (GenTen, section 4.1).
// Storage: (s_r + N s_o) bytes per nonzero.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/stored_tensor.hpp"
#include "polyad/formats/format.hpp"

namespace polyad::detail {

template <class Scalar, class Index, class Space>
class CooScratch : public PlainCoordinates<Scalar, Index, Space> {
public:
  using typename PlainCoordinates<Scalar, Index, Space>::options_type;

  static constexpr char const* name = "coo-scratch";

  /// Keeps the tensor's Views; copies and sorts nothing.
  static CooScratch build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                          options_type const& = {}) {
    CooScratch format;
    format.keep(space, coo);
    return format;
  }
};

/// The contract's mttkrp (formats/format.hpp) by MTTKRP-A.
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, CooScratch<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V);

}  // namespace polyad::detail
