// SPDX-License-Identifier: BSD-3-Clause
// coo-tiny-vec: plain coordinates and values for MTTKRP-B, which forms each nonzero's product in
// a TinyVec of registers and adds it to the output with atomics (GenTen, section 5).
// Storage: (s_r + N s_o) bytes per nonzero.
#pragma once

#include <Kokkos_Core.hpp>

#include "formats/stored_tensor.hpp"
#include "polyad/formats/format.hpp"

namespace polyad::detail {

template <class Scalar, class Index, class Space>
class CooTinyVec : public PlainCoordinates<Scalar, Index, Space> {
public:
  using typename PlainCoordinates<Scalar, Index, Space>::options_type;

  static constexpr char const* name        = "coo-tiny-vec";
  static constexpr bool sweeps_coordinates = true;

  /// Keeps the tensor's Views; copies and sorts nothing.
  static CooTinyVec build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                          options_type const& = {}) {
    CooTinyVec format;
    format.keep(space, coo);
    return format;
  }
};

/// Which form of TinyVec is faster here on a device. On the H200 (uniform10m, R = 32, all modes) packed
/// float4 takes 1.3 ms against 2.3 ms, with one atomic for four columns. Packed double2 takes 6.3 ms against
/// 3.7 ms: doubles have no wide atomic, and the lanes' addresses are then 16 bytes apart.
template <class Scalar>
inline constexpr bool tiny_vec_packs = sizeof(Scalar) == sizeof(float);

/// The contract's mttkrp (formats/format.hpp) by MTTKRP-B. `packed` chooses between the packed and GenTen's
/// strided TinyVec on a device, for comparison.
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, CooTinyVec<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, NoWorkspace& workspace,
            FactorMatrix<Scalar, Space> const& V, bool packed = detail::tiny_vec_packs<Scalar>);

}  // namespace polyad::detail
