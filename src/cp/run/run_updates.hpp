// SPDX-License-Identifier: BSD-3-Clause
// RunUpdates: the updates of a run of CP-ALS, one for each mode.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cp/constraints/constrained_update.hpp"
#include "cp/fixed_modes.hpp"
#include "cp/least_squares.hpp"
#include "dense/update/hadamard_of_grams.hpp"
#include "polyad/core/error.hpp"
#include "polyad/cp/factor_update.hpp"

namespace polyad::detail {

/// The element of `updates` for mode n. There may be one for all modes, or none: then it is least squares.
inline ModeUpdate update_of_mode(std::vector<ModeUpdate> const& updates, int n) {
  if (updates.empty()) return {};
  return updates.size() == 1 ? updates.front() : updates[n];
}

/// One for each of `order` modes.
[[nodiscard]] inline std::vector<ModeUpdate> updates_of_modes(std::vector<ModeUpdate> const& updates,
                                                              int order) {
  std::vector<ModeUpdate> result;
  for (int n = 0; n < order; ++n) result.push_back(update_of_mode(updates, n));
  return result;
}

[[nodiscard]] inline bool is_least_squares(ModeUpdate const& update) {
  return update.own() == nullptr && !update.constraints() && update.penalty() == 0;
}

/// Makes Ktensor::constraints, also of the fixed modes.
[[nodiscard]] inline std::vector<Constraints> constraints_of(std::vector<ModeUpdate> const& updates) {
  std::vector<Constraints> result;
  for (auto const& update : updates) {
    result.push_back(update.constraints().value_or(Constraints()));
    if (!update.constraints()) result.back().ridge = update.penalty();
  }
  auto const is_free = [](Constraints const& c) { return c == Constraints(); };
  return std::ranges::all_of(result, is_free) ? std::vector<Constraints>() : result;
}

/// \throws UsageError unless there are as many as CpAlsOptions::updates says
inline void expect_updates(std::vector<ModeUpdate> const& updates, int order) {
  POLYAD_EXPECTS(updates.size() <= 1 || std::ssize(updates) == order, updates.size(),
                 " updates for a tensor of ", order, " modes: give one for all, or one for each");
}

template <class Scalar, class Space>
class RunUpdates {
public:
  using Update = FactorUpdate<Scalar, Space>;

  /// \param rows   for each mode, the number of rows that this rank owns
  /// \param fixed  the modes whose factors stay as they are, whatever their updates
  /// \throws UsageError for an update of another precision or space, or if the scale of the components could
  ///         escape a penalty; what the updates' constructors throw
  RunUpdates(Space const& space, std::vector<ModeUpdate> const& updates, std::vector<count_t> const& rows,
             count_t rank, std::vector<int> const& fixed = {}) {
    typename LeastSquares<Scalar, Space>::Memory inverse;
    DeviceNumbers<Space> exact_rows;
    for (int n = 0; n < std::ssize(rows); ++n) {
      auto const choice = update_of_mode(updates, n);
      m_ridges.push_back(choice.penalty());
      m_solved.push_back(false);
      if (choice.constraints()) m_are_constrained = true;
      if (std::ranges::find(fixed, n) != fixed.end()) {
        m_updates.push_back(std::make_unique<FixedUpdate<Scalar, Space>>());
        continue;
      }
      if (choice.own() != nullptr) {
        m_updates.push_back(made_by(choice, space, {n, rows[n], rank}));
        continue;
      }
      if (choice.constraints()) {
        if (choice.inner_sweeps() == exact_inner && exact_rows.extent(0) == 0)
          exact_rows = memory_of_rows<Scalar>(space, *std::ranges::max_element(rows), rank);
        m_updates.push_back(std::make_unique<ConstrainedUpdate<Scalar, Space>>(
            space, UpdateSite{n, rows[n], rank}, *choice.constraints(), choice.inner_sweeps(), exact_rows));
        continue;
      }
      m_solved.back() = true;
      if (!inverse) inverse = std::make_shared<InverseMemory<Scalar, Space> const>(space, rank);
      m_updates.push_back(std::make_unique<LeastSquares<Scalar, Space>>(inverse, choice.penalty()));
    }
    m_are_plain = fixed.empty() && std::ranges::all_of(updates, is_least_squares);
    expect_no_escape();
  }

  [[nodiscard]] Update& operator[](int n) const { return *m_updates[n]; }
  /// Forms the problem's H and weights, and prepares the update of mode n. Our own updates do both in one
  /// launch. Launches on `space` and returns without waiting.
  void prepare(Space const& space, int n, HadamardOfGrams<Space> const& hadamard,
               ModeProblem<Space> const& problem) const {
    if (auto* const least_squares = dynamic_cast<LeastSquares<Scalar, Space>*>(&(*this)[n]))
      return least_squares->prepare(space, problem, hadamard);
    if (auto* const constrained = dynamic_cast<ConstrainedUpdate<Scalar, Space>*>(&(*this)[n]))
      return constrained->prepare(space, problem, hadamard);
    hadamard_of_grams(space, hadamard);
    (*this)[n].prepare(space, problem);
  }
  /// Whether all are least squares without a penalty, and none is fixed. Then the scales of single modes do
  /// not matter.
  [[nodiscard]] bool are_plain() const { return m_are_plain; }
  /// Whether some have bounds or penalties of constrained().
  [[nodiscard]] bool are_constrained() const { return m_are_constrained; }
  [[nodiscard]] bool are_penalised() const {
    return std::ranges::any_of(m_updates, [](auto const& update) { return update->is_penalised(); });
  }
  /// Whether the scale of the start matters, if mode n is the first that is updated.
  [[nodiscard]] bool depends_on_scale(int n) const {
    return (*this)[n].keeps_start() || (m_are_constrained && are_penalised());
  }
  /// Whether a separate pass computes the KKT violation of mode n, because its update does not compute it.
  [[nodiscard]] bool is_looked_at(int n) const {
    return m_are_constrained && m_solved[static_cast<std::size_t>(n)];
  }
  /// Whether mode n is least squares, which starts from its factor if H is singular or nearly so.
  [[nodiscard]] bool is_solved(int n) const { return m_solved[static_cast<std::size_t>(n)]; }
  [[nodiscard]] double ridge(int n) const { return m_ridges[n]; }
  /// Whether the new factor of mode n does not depend on the old one, so that its scale may be chosen first.
  [[nodiscard]] bool chooses_scale(int n) const {
    return !(*this)[n].needs_start() && !(*this)[n].keeps_scale();
  }

  /// The factor by which the columns' norms may differ from their target after the update of mode n; 0: any.
  /// They may be very large or small if the start was far from a solution, or if a penalty makes a component
  /// vanish. Next to bounds, least squares may leave only rounding errors of a component.
  [[nodiscard]] double slack_after(int n) const {
    auto const& update = (*this)[n];
    if (update.keeps_scale()) return 0;
    if (update.needs_start() || update.is_penalised()) return 4;
    return m_are_constrained ? 0x1p20 : 0;
  }
  /// \param tensor_norm  ||X||, divided by the target of the columns of mode n
  [[nodiscard]] NextWeights next_weights(int n, double tensor_norm) const {
    std::uint32_t kept = 0;
    for (std::size_t m = 0; m < m_updates.size(); ++m)
      kept |= std::uint32_t{m_updates[m]->keeps_scale()} << m;
    double const least_norm = m_are_constrained ? least_component * tensor_norm : 0;
    return {chooses_scale(n), m_ridges[n], kept, least_norm};
  }

private:
  static std::unique_ptr<Update> made_by(ModeUpdate const& choice, Space const& space,
                                         UpdateSite const& site) {
    auto const* const maker = dynamic_cast<UpdateMaker<Scalar, Space> const*>(choice.own());
    POLYAD_EXPECTS(maker != nullptr, "the update of mode ", site.mode,
                   " is for another precision or execution space than the tensor");
    return maker->make(space, site);
  }
  void expect_no_escape() const {
    if (!are_penalised()) return;
    for (std::size_t n = 0; n < m_updates.size(); ++n)
      POLYAD_EXPECTS(
          m_updates[n]->limits_scale(), "mode ", n,
          " has no penalty but other modes have: the scale of the components would escape into it. Penalise "
          "it, bound it on both sides, or fix it");
  }

  std::vector<std::unique_ptr<Update>> m_updates;
  std::vector<double> m_ridges;
  std::vector<bool> m_solved;  // by least squares
  bool m_are_plain       = true;
  bool m_are_constrained = false;
};

}  // namespace polyad::detail
