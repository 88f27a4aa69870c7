// SPDX-License-Identifier: BSD-3-Clause
// Fixed modes (CpAlsOptions::fixed_modes): their checks, and the update that they have in a run.
#pragma once

#include <algorithm>

#include "polyad/core/error.hpp"
#include "polyad/cp/cp_als.hpp"
#include "polyad/cp/factor_update.hpp"
#include "polyad/tensor/stored_rows.hpp"

namespace polyad::detail {

[[nodiscard]] inline bool is_fixed(CpAlsOptions const& options, int n) {
  return std::ranges::find(options.fixed_modes, n) != options.fixed_modes.end();
}

/// How many modes are free.
[[nodiscard]] inline count_t free_modes(CpAlsOptions const& options, int order) {
  return order - options.fixed_modes.size();
}

/// The free mode that a run updates first, or last.
[[nodiscard]] inline int first_free_mode(CpAlsOptions const& options, int order) {
  int n = 0;
  while (n + 1 < order && is_fixed(options, n)) ++n;
  return n;
}
[[nodiscard]] inline int last_free_mode(CpAlsOptions const& options, int order) {
  int n = order - 1;
  while (n > 0 && is_fixed(options, n)) --n;
  return n;
}

/// \throws UsageError for modes that the tensor does not have, a mode that is named twice, all modes, or one
///         that stores some rows only: the others would lose their numbers
inline void expect_fixed_modes(CpAlsOptions const& options, int order) {
  auto const& fixed = options.fixed_modes;
  for (auto n = fixed.begin(); n != fixed.end(); ++n) {
    POLYAD_EXPECTS(*n >= 0 && *n < order, "mode ", *n, " is to stay fixed, but the tensor has modes 0 to ",
                   order - 1);
    POLYAD_EXPECTS(std::find(fixed.begin(), n, *n) == n, "the fixed modes name mode ", *n, " twice");
    POLYAD_EXPECTS(options.rows.empty() || !options.rows.at(*n).is_list(), "mode ", *n,
                   " is to stay fixed, but the tensor does not store all of its rows");
  }
  POLYAD_EXPECTS(std::ssize(fixed) < order, "all ", order, " modes are fixed: one has to be free");
}

/// \throws UsageError: fixed modes have no factors
inline void expect_start_of_fixed(CpAlsOptions const& options) {
  POLYAD_EXPECTS(options.fixed_modes.empty() || !options.resume.empty(), "mode ",
                 options.fixed_modes.empty() ? 0 : options.fixed_modes.front(),
                 " is to stay fixed: that needs a start, which has its factor");
}

/// A mode whose factor stays as it is.
template <class Scalar, class Space>
class FixedUpdate final : public FactorUpdate<Scalar, Space> {
public:
  using Problem = ModeProblem<Space>;
  using Matrix  = FactorMatrix<Scalar, Space>;
  using Sums    = UpdateSums<Space>;

  [[nodiscard]] bool keeps_scale() const override { return true; }
  [[nodiscard]] bool keeps_start() const override { return true; }
  [[nodiscard]] bool limits_scale() const override { return true; }
  void apply(Space const& /*space*/, Problem const& /*problem*/, Matrix const& /*V*/, Matrix const& /*A*/,
             Sums const& /*sums*/) override {}
};

}  // namespace polyad::detail
