// SPDX-License-Identifier: BSD-3-Clause
// FactorUpdate: what CP-ALS does with one mode of an iteration. CpAlsOptions::updates chooses least squares,
// a ridge, bounds and penalties, or a class of yours (examples/own_update.cpp).
//
// The model is sum_r w_r a^(0)_r o ... o a^(N-1)_r. With the other factors given, the factor A (I x R) of
// mode n solves
//
//   minimise  1/2 || X_(n) - A diag(w) K' ||^2,    K: the Khatri-Rao product of the other factors
//   gradient  (A diag(w) H - V) diag(w),           H = K'K (R x R),  V = X_(n) K (I x R), the MTTKRP
//
// (Kolda & Bader, SIAM Review 51(3), 2009, section 3.4). H is the Hadamard product of the other modes' Gram
// matrices. An update whose objective has further terms states them for B = A diag(s): the product of all
// modes' s is w, so the matrices B are the factors of a model without weights.
//
// w and s are powers of two, so that nothing over- or underflows in floats at any order. Products with them
// change no mantissa. A program that leaves the numbers of w out solves another problem.
#pragma once

#include <Kokkos_Core.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "polyad/core/instances.hpp"
#include "polyad/core/types.hpp"
#include "polyad/tensor/constraints.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad {

/// The mode that an update is made for.
struct UpdateSite {
  int mode     = 0;
  count_t rows = 0;  // I_n; of several ranks, those that this rank owns
  count_t rank = 0;  // R
};

/// The subproblem of a mode. The Views stay the same from iteration to iteration; their numbers do not.
template <class Space>
struct ModeProblem {
  using Matrix  = Kokkos::View<double const**, Kokkos::LayoutRight, typename Space::device_type>;
  using Numbers = Kokkos::View<double const*, typename Space::device_type>;
  using Counter = Kokkos::View<double*, typename Space::device_type>;

  Matrix H;                // R x R
  Numbers weights;         // w, R
  Numbers scale;           // s, R
  double of_tensor  = 1;   // c: V, w and the squared error are those of c X. A term f(B) counts as c^2 f(B)
  Counter fallbacks = {};  // an update that finds H singular adds 1 to (0): CpAlsResult::gram_fallbacks
  /// An update that starts from its factor may raise (0) to the largest norm by which an entry's own update
  /// changed w A K', the model of c X: |change of w_r A(i, r)| H_rr^(1/2) (CpAlsResult::kkt_violation).
  Counter largest_change = {};
};

namespace detail {
template <class Space>
struct UpdateMemory;
}  // namespace detail

/// What an update writes besides A. Of several ranks each writes the sums of its rows, and the run adds them.
template <class Space>
struct UpdateSums {
  Kokkos::View<double**, Kokkos::LayoutRight, typename Space::device_type> gram;  // A'A, R x R
  /// (0) = sum over i, r of w_r V(i, r) A(i, r). Without memory it is not needed.
  Kokkos::View<double*, typename Space::device_type> inner_product;
  bool is_trial = false;  // A's scale is not known yet: its squares may leave the range of its precision
  detail::UpdateMemory<Space> const* memory = nullptr;  // scratch of sum_update

  [[nodiscard]] bool needs_inner_product() const { return inner_product.data() != nullptr; }
};

/// Writes `sums` of V and A (I x R each), for updates that do not do so themselves. Launches on `space` and
/// returns without waiting.
/// \throws UsageError when shapes do not match
template <class Scalar, class Space>
void sum_update(Space const& space, ModeProblem<Space> const& problem, FactorMatrix<Scalar, Space> const& V,
                FactorMatrix<Scalar, Space> const& A, UpdateSums<Space> const& sums);

/// An update of one mode in one run. Its constructor allocates all that it needs. The two steps launch their
/// kernels on `space` and return: an iteration allocates nothing and does not wait for a device.
///
/// A class of yours has a constructor (Space const&, UpdateSite const&, arguments of own_update ...).
template <class Scalar, class Space>
class FactorUpdate {
public:
  using scalar_type = Scalar;
  using space_type  = Space;
  using Problem     = ModeProblem<Space>;
  using Matrix      = FactorMatrix<Scalar, Space>;
  using Sums        = UpdateSums<Space>;

  FactorUpdate()                               = default;
  FactorUpdate(FactorUpdate const&)            = delete;
  FactorUpdate& operator=(FactorUpdate const&) = delete;
  virtual ~FactorUpdate()                      = default;

  /// Whether A's old numbers matter: those of the last iteration or of the start. Then w stays as it was for
  /// them. If not, w is chosen anew before each update; the first iteration finds it by a trial of mode 0.
  [[nodiscard]] virtual bool needs_start() const { return true; }
  /// Whether A's numbers matter as they are, as with bounds. Then s stays 1: the run does not scale the
  /// columns, and the model has them as they are, neither normalised nor with other signs.
  [[nodiscard]] virtual bool keeps_scale() const { return false; }
  /// Whether the objective grows with B, as with a ridge. Then all modes must limit the scale of
  /// the components: it would otherwise escape into a mode where it costs nothing.
  [[nodiscard]] virtual bool is_penalised() const { return false; }
  /// Whether the scale of the components cannot escape into this mode: it costs something there, or bounds
  /// stop it.
  [[nodiscard]] virtual bool limits_scale() const { return is_penalised(); }
  /// Whether the columns' signs matter: the model has them as they are.
  [[nodiscard]] virtual bool keeps_signs() const { return keeps_scale(); }
  /// Whether the scale of the start counts as it is. Otherwise a start whose norm is far from the tensor's is
  /// brought near it.
  [[nodiscard]] virtual bool keeps_start() const { return false; }

  /// What depends on the other modes alone. It may run next to the MTTKRP, on another instance than apply(),
  /// which waits for it.
  virtual void prepare(Space const& /*space*/, Problem const& /*problem*/) {}
  /// Overwrites A and `sums`. V may be overwritten, too. Of several ranks one without rows is not called.
  /// \param V, A  I x R with packed rows (tensor/factor_matrices.hpp)
  virtual void apply(Space const& space, Problem const& problem, Matrix const& V, Matrix const& A,
                     Sums const& sums) = 0;
};

namespace detail {

/// Makes updates of one precision and one space.
struct AnyUpdateMaker {
  AnyUpdateMaker()                                 = default;
  AnyUpdateMaker(AnyUpdateMaker const&)            = delete;
  AnyUpdateMaker& operator=(AnyUpdateMaker const&) = delete;
  virtual ~AnyUpdateMaker()                        = default;
};

template <class Scalar, class Space>
struct UpdateMaker : AnyUpdateMaker {
  using Made = std::unique_ptr<FactorUpdate<Scalar, Space>>;
  std::function<Made(Space const&, UpdateSite const&)> make;
};

}  // namespace detail

/// The update of a mode, for CpAlsOptions::updates. Made by one of the functions below; by default least
/// squares.
class ModeUpdate {
public:
  ModeUpdate() = default;
  /// The penalty of ridge(); 0 of any other update.
  [[nodiscard]] double penalty() const { return m_penalty; }
  /// Those of constrained() and nonnegative(), and the sweeps of an update; none of any other update.
  [[nodiscard]] std::optional<Constraints> const& constraints() const { return m_constraints; }
  [[nodiscard]] int inner_sweeps() const { return m_inner_sweeps; }
  /// Null unless own_update() made it.
  [[nodiscard]] detail::AnyUpdateMaker const* own() const { return m_own.get(); }

private:
  friend ModeUpdate ridge(double penalty);
  friend ModeUpdate constrained(Constraints const& constraints, int inner_sweeps);
  template <class Update, class... Args>
  friend ModeUpdate own_update(Args... args);

  double m_penalty = 0;
  std::optional<Constraints> m_constraints;
  int m_inner_sweeps = default_inner_sweeps;
  std::shared_ptr<detail::AnyUpdateMaker const> m_own;
};

/// The exact minimum of the squared error: A = V H^+ / w.
[[nodiscard]] inline ModeUpdate least_squares() {
  return {};
}

/// The same with penalty/2 ||B||^2 added: A (diag(w) H diag(w) + c^2 penalty diag(s)^2) = V diag(w). It keeps
/// collinear components from growing against each other. A penalty of 0 is least squares. With penalties
/// rho_n for all modes, CP-ALS descends on 1/2 ||X - M||^2 + sum_n rho_n/2 ||B^(n)||^2 (Acar, Dunlavy &
/// Kolda, J. Chemometrics 25, 2011, section 3.3).
/// \throws UsageError unless the penalty is a finite number of at least 0
[[nodiscard]] ModeUpdate ridge(double penalty);

/// Bounds and penalties by cyclic coordinate descent over the columns of each row: HALS (Cichocki & Phan,
/// IEICE Trans. E92-A, 2009). Each entry in turn takes the value that is best for it. The objective of
/// Constraints never rises, and it stays where no entry can improve it. A component whose other columns are
/// zero keeps its column. A mode with penalties, or with bounds other than 0, has its own scale in the model.
/// Unlike least squares, the result depends on the scale of the start (CpAlsOptions::scale_start).
/// \param inner_sweeps  sweeps over each row in every update. exact_inner: each row becomes the minimum of
///                      its convex subproblem by an active set method (Lawson & Hanson, 1974, chapter 23)
/// \throws UsageError for an empty interval, a bound that is not a number, a penalty that is negative or not
///         finite, or fewer than one sweep
[[nodiscard]] ModeUpdate constrained(Constraints const& constraints, int inner_sweeps = default_inner_sweeps);
/// The same with the lower bound 0 alone.
[[nodiscard]] inline ModeUpdate nonnegative(int inner_sweeps = default_inner_sweeps) {
  Constraints constraints;
  constraints.lower = 0;
  return constrained(constraints, inner_sweeps);
}

/// An update of the class Update, which is derived from FactorUpdate. Each run makes one for each mode that
/// has it, with copies of `args`.
template <class Update, class... Args>
[[nodiscard]] ModeUpdate own_update(Args... args) {
  using Space = typename Update::space_type;
  using Maker = detail::UpdateMaker<typename Update::scalar_type, Space>;
  auto maker  = std::make_shared<Maker>();
  maker->make = [args...](Space const& space, UpdateSite const& site) ->
      typename Maker::Made { return std::make_unique<Update>(space, site, args...); };
  ModeUpdate update;
  update.m_own = std::move(maker);
  return update;
}

#define POLYAD_SUM_UPDATE(Scalar)                                                      \
  template void sum_update(Kokkos::DefaultExecutionSpace const&,                       \
                           ModeProblem<Kokkos::DefaultExecutionSpace> const&,          \
                           FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&, \
                           FactorMatrix<Scalar, Kokkos::DefaultExecutionSpace> const&, \
                           UpdateSums<Kokkos::DefaultExecutionSpace> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_SUM_UPDATE);

}  // namespace polyad
