// SPDX-License-Identifier: BSD-3-Clause
// run_cp_als: CP-ALS on one rank or on several, from one start or the best of several.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "cp/shared_rows.hpp"
#include "polyad/cp/cp_als.hpp"

namespace polyad::detail {

/// A start for an instance; random ones are of the seed. The run overwrites it.
template <class Scalar, class Space>
using MakeStart = std::function<FactorMatrices<Scalar, Space>(Space const&, std::uint64_t seed)>;

/// \param ranks  null: X is the whole tensor. Else X and the starts are this rank's block of it
template <class Scalar, class Space>
[[nodiscard]] CpAlsResult<Scalar, Space> run_cp_als(
    Space const& space, std::shared_ptr<ErasedFormat<Scalar, Space> const> const& X,
    CpAlsOptions const& options, MakeStart<Scalar, Space> const& start,
    std::shared_ptr<SharedRows<Scalar, Space>> const& ranks, CpAlsCallback const& callback);

}  // namespace polyad::detail
