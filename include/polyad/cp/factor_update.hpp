// SPDX-License-Identifier: BSD-3-Clause
// FactorUpdate: what CP-ALS does with one mode of an iteration. CpAlsOptions::updates chooses least squares,
// a ridge, bounds and penalties, or a user-defined class (examples/own_update.cpp).
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
// change no mantissa. An update that ignores w solves a different problem.
#pragma once

#include <Kokkos_Core.hpp>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "polyad/core/instances.hpp"
#include "polyad/core/types.hpp"
#include "polyad/cp/mode_update.hpp"
#include "polyad/tensor/factor_matrices.hpp"

namespace polyad {

/// The mode that an update is made for.
struct UpdateSite {
  int mode     = 0;
  count_t rows = 0;  // I_n, or the rows that this one of several ranks owns
  count_t rank = 0;  // R
};

/// The subproblem of a mode. The Views stay the same from iteration to iteration; their numbers do not.
template <class Space>
struct ModeProblem {
  using Matrix  = Kokkos::View<double const**, Kokkos::LayoutRight, typename Space::device_type>;
  using Numbers = Kokkos::View<double const*, typename Space::device_type>;
  using Counter = Kokkos::View<double*, typename Space::device_type>;

  Matrix H;              // R x R
  Numbers weights;       // w, R
  Numbers scale;         // s, R
  double of_tensor = 1;  // c: V, w and the squared error are those of c X. A term f(B) counts as c^2 f(B)
  /// An update that finds H singular adds 1 to (0): CpAlsResult::gram_fallbacks. Least squares raises (1) if
  /// H is regular, but nearly singular.
  Counter fallbacks = {};
  /// An update that starts from its factor may raise (0) to the largest norm by which an entry's own update
  /// changed w A K', the model of c X: |change of w_r A(i, r)| H_rr^(1/2) (CpAlsResult::kkt_violation).
  Counter largest_change = {};
  /// w of A as it is, which least squares starts from if H is singular or nearly so; 0 if A's scale means
  /// nothing yet. Without memory, H is taken for regular.
  Numbers weights_before = {};
  double tensor_norm     = 0;  // ||X||
};

namespace detail {
template <class Space>
struct UpdateMemory;
}  // namespace detail

/// What an update writes in addition to A. If there are several ranks, each writes the sums of its rows, and
/// the run adds them.
template <class Space>
struct UpdateSums {
  Kokkos::View<double**, Kokkos::LayoutRight, typename Space::device_type> gram;  // A'A, R x R
  /// (0) = sum over i, r of w_r V(i, r) A(i, r). Without memory it is not needed.
  Kokkos::View<double*, typename Space::device_type> inner_product;
  bool is_trial = false;  // A's scale is not known yet: its squares may leave the range of its precision
  detail::UpdateMemory<Space> const* memory = nullptr;  // scratch of sum_update

  [[nodiscard]] bool needs_inner_product() const { return inner_product.data() != nullptr; }
};

/// Writes `sums` of V and A (I x R each), for updates that do not compute them on the way. Launches on
/// `space` and returns without waiting.
/// \throws UsageError when shapes do not match
template <class Scalar, class Space>
void sum_update(Space const& space, ModeProblem<Space> const& problem, FactorMatrix<Scalar, Space> const& V,
                FactorMatrix<Scalar, Space> const& A, UpdateSums<Space> const& sums);

/// An update of one mode in one run. Its constructor allocates all that it needs. The two steps launch their
/// kernels on `space` and return: an iteration allocates nothing and does not wait for a device.
///
/// A user-defined class has a constructor (Space const&, UpdateSite const&, arguments of own_update ...).
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

  /// Whether A's old numbers matter: those of the last iteration or of the start. If so, w stays as it was
  /// for them. If not, w is chosen before each update; the first iteration finds it by a trial of mode 0.
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
  /// Whether the scale of the start matters. Otherwise a start of a very different norm is rescaled.
  [[nodiscard]] virtual bool keeps_start() const { return false; }

  /// Computes what depends only on the other modes. It may run at the same time as the MTTKRP, on another
  /// instance than apply(), which waits for it.
  virtual void prepare(Space const& /*space*/, Problem const& /*problem*/) {}
  /// Overwrites A and `sums`. V may be overwritten, too. It is not called on a rank that has no rows.
  /// \param V, A  I x R with packed rows (tensor/factor_matrices.hpp)
  virtual void apply(Space const& space, Problem const& problem, Matrix const& V, Matrix const& A,
                     Sums const& sums) = 0;
};

namespace detail {

template <class Scalar, class Space>
struct UpdateMaker : AnyUpdateMaker {
  using Made = std::unique_ptr<FactorUpdate<Scalar, Space>>;
  std::function<Made(Space const&, UpdateSite const&)> make;
};

}  // namespace detail

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

#define POLYAD_SUM_UPDATE(Scalar)                                                   \
  template void sum_update(CompiledSpace const&, ModeProblem<CompiledSpace> const&, \
                           FactorMatrix<Scalar, CompiledSpace> const&,              \
                           FactorMatrix<Scalar, CompiledSpace> const&, UpdateSums<CompiledSpace> const&)
POLYAD_EACH_SCALAR(extern, POLYAD_SUM_UPDATE);

}  // namespace polyad
