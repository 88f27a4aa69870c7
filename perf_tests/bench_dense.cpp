// SPDX-License-Identifier: BSD-3-Clause
// dense: the routines of dense/ and the row systems, compared with the routines of Kokkos Kernels for the
// same work. docs/performance.md lists the ones that the library calls.
#include <KokkosBatched_LU_Decl.hpp>
#include <KokkosBatched_LU_Team_Impl.hpp>
#include <KokkosBatched_SVD_Decl.hpp>
#include <KokkosBatched_SVD_Serial_Impl.hpp>
#include <KokkosBatched_SolveLU_Decl.hpp>
#include <KokkosBatched_Trsm_Team_Impl.hpp>
#include <KokkosBlas3_gemm.hpp>

#include "dense/gram.hpp"
#include "dense/gram_by_parts.hpp"
#include "dense/intermediates.hpp"
#include "dense/symmetric_eigen.hpp"
#include "dense/transposed_product.hpp"
#include "formats/coo/kernels/least_squares/row_system.hpp"
#include "kernel/launch_shape.hpp"
#include "registration.hpp"

namespace polyad::perf {
namespace {

using Doubles = Kokkos::View<double***, Kokkos::LayoutRight, Space::device_type>;
using Numbers = Kokkos::View<double**, Kokkos::LayoutRight, Space::device_type>;

/// An entry of a test matrix: a hash of its position, with a dominant diagonal on request.
struct FillMatrices {
  Doubles matrices;  // batch x R x R, symmetric
  KOKKOS_FUNCTION void operator()(count_t b) const {
    int const size = static_cast<int>(matrices.extent(1));
    for (int i = 0; i < size; ++i)
      for (int j = 0; j <= i; ++j) {
        double const entry =
            counter_uniform(7, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j), b) - 0.5;
        matrices(b, i, j) = matrices(b, j, i) = i == j ? entry + size : entry;
      }
  }
};

/// Copies a team's system into its scratch pad and solves it, as the kernels of the row solver do.
struct SolveOurs {
  Doubles matrices;
  Numbers rhs;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const n      = static_cast<int>(matrices.extent(1));
    auto const b     = static_cast<count_t>(member.league_rank());
    auto* const pad  = static_cast<double*>(member.team_scratch(0).get_shmem_aligned(
        detail::row_system_doubles(n) * sizeof(double), row_alignment));
    int const stride = n | 1;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, n + 1), [&](int const i) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, n),
                           [&](int const j) { pad[i * stride + j] = i < n ? matrices(b, i, j) : rhs(b, j); });
    });
    member.team_barrier();
    detail::solve_row_system(member, n, 1e-16, pad);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, n),
                         [&](int const j) { rhs(b, j) = pad[n * stride + j]; });
  }
};

/// The same by KokkosBatched's LU without pivots.
struct SolveTheirs {
  Doubles matrices;
  Numbers rhs;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    using Pad    = Kokkos::View<double**, Kokkos::LayoutRight, Space::scratch_memory_space,
                                Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    int const n  = static_cast<int>(matrices.extent(1));
    auto const b = static_cast<count_t>(member.league_rank());
    Pad const A(member.team_scratch(0), n, n), x(member.team_scratch(0), n, 1);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, n), [&](int const i) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, n),
                           [&](int const j) { A(i, j) = matrices(b, i, j); });
      Kokkos::single(Kokkos::PerThread(member), [&] { x(i, 0) = rhs(b, i); });
    });
    member.team_barrier();
    KokkosBatched::TeamLU<Member, KokkosBatched::Algo::LU::Unblocked>::invoke(member, A);
    member.team_barrier();
    KokkosBatched::TeamSolveLU<Member, KokkosBatched::Trans::NoTranspose,
                               KokkosBatched::Algo::SolveLU::Unblocked>::invoke(member, A, x);
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, n), [&](int const j) { rhs(b, j) = x(j, 0); });
  }
};

struct EigenOurs {
  Numbers H, Q;
  Kokkos::View<double*, Space::device_type> work;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const size = static_cast<int>(H.extent(0));
    detail::symmetric_eigen(member, detail::SquareMatrix{H.data(), size, size},
                            detail::SquareMatrix{Q.data(), size, size}, work.data());
  }
};

/// A symmetric positive matrix's singular vectors are its eigenvectors. KokkosBatched's SVD uses one thread.
struct EigenTheirs {
  Numbers A, U, V;
  Kokkos::View<double*, Space::device_type> values, work;
  KOKKOS_FUNCTION void operator()(int) const {
    KokkosBatched::SerialSVD::invoke(KokkosBatched::SVD_USV_Tag(), A, U, values, V, work);
  }
};

/// Registers one routine in both versions. `ours` and `theirs` each prepare the data of the timed call and
/// return the call.
template <class Ours, class Theirs>
void add_pair(Session& session, std::string const& name, Ours ours, Theirs theirs) {
  auto const timed = [&session](auto make) {
    return [&session, make](benchmark::State& state) {
      auto const work = make();
      report(state, measure(session.space, session.options.dry_run ? 1 : 5, work));
    };
  };
  add(session, "dense<ours>/" + name, timed(ours));
  add(session, "dense<kokkos-kernels>/" + name, timed(theirs));
}

template <class Scalar>
FactorMatrix<Scalar, Space> random_matrix(Space const& space, count_t rows, count_t columns) {
  auto const matrix = make_factor_matrix<Scalar>(space, "polyad::perf", rows, columns);
  detail::fill_random_rows(space, matrix, 5, 0);
  return matrix;
}

template <class Scalar>
void register_tall(Session& session, int rank) {
  Space const space     = session.space;
  bool const small      = session.options.dry_run;
  auto const R          = static_cast<count_t>(rank);
  count_t const numbers = small ? 1 << 12 : is_device_space<Space> ? count_t(1) << 28 : count_t(1) << 24;
  count_t const rows    = std::max(numbers / R, R);
  std::string const what =
      std::string(scalar_name<Scalar>) + "/rows:" + std::to_string(rows) + "/R:" + std::to_string(rank);
  add_pair(
      session, "product/" + what,
      [=] {
        auto const A = random_matrix<Scalar>(space, rows, R), B = random_matrix<Scalar>(space, R, R);
        auto const C = random_matrix<Scalar>(space, rows, R);
        return [=] { detail::intermediates(space, A, B, C); };
      },
      [=] {
        auto const A = random_matrix<Scalar>(space, rows, R), B = random_matrix<Scalar>(space, R, R);
        auto const C = random_matrix<Scalar>(space, rows, R);
        return [=] { KokkosBlas::gemm(space, "N", "N", Scalar(1), A, B, Scalar(0), C); };
      });
  // SpTTMc's output times a basis in HOOI, and a core's gradient.
  add_pair(
      session, "transposed_product/" + what,
      [=] {
        auto const A = random_matrix<Scalar>(space, rows, R), G = random_matrix<Scalar>(space, rows, R);
        auto const D         = random_matrix<Scalar>(space, R, R);
        auto const workspace = detail::make_transposed_product_workspace(space, R, R);
        return [=] { detail::transposed_product(space, 1.0, A, G, workspace, D); };
      },
      [=] {
        auto const A = random_matrix<Scalar>(space, rows, R), G = random_matrix<Scalar>(space, rows, R);
        auto const D = random_matrix<Scalar>(space, R, R);
        return [=] { KokkosBlas::gemm(space, "T", "N", Scalar(1), A, G, Scalar(0), D); };
      });
}

void register_square(Session& session, int rank) {
  Space const space      = session.space;
  auto const R           = static_cast<count_t>(rank);
  count_t const numbers  = session.options.dry_run  ? 1 << 12
                           : is_device_space<Space> ? count_t(1) << 26
                                                    : count_t(1) << 22;
  count_t const batch    = std::max<count_t>(numbers / (R * R), 1);
  auto const matrices_of = [=](count_t count) {
    Doubles const matrices("polyad::perf", count, R, R);
    Kokkos::parallel_for("polyad::perf",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>(space, 0, count),
                         FillMatrices{matrices});
    return matrices;
  };
  // A device's pad holds systems up to 128 unknowns.
  count_t const pad = std::max(detail::row_system_doubles(rank), R * (R + 1)) * sizeof(double) + 64;
  if (pad <= team_scratch<Space>()) {
    auto const by = [=](auto kernel_of) {
      return [=] {
        auto const kernel = kernel_of(matrices_of(batch), Numbers("polyad::perf", batch, R));
        auto policy       = team_policy(space, detail::launch_shape<Space>(batch, 8, 32));
        policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(pad)));
        return [=] { Kokkos::parallel_for("polyad::perf", policy, kernel); };
      };
    };
    add_pair(session, "row_systems/f64/systems:" + std::to_string(batch) + "/R:" + std::to_string(rank),
             by([](Doubles const& A, Numbers const& b) { return SolveOurs{A, b}; }),
             by([](Doubles const& A, Numbers const& b) { return SolveTheirs{A, b}; }));
  }
  if (is_device_space<Space> && rank > 128) return;  // Kokkos Kernels' would take half a minute
  auto const source = [=] { return Kokkos::subview(matrices_of(1), 0, Kokkos::ALL, Kokkos::ALL); };
  using Vector      = Kokkos::View<double*, Space::device_type>;
  add_pair(
      session, "eigenvectors/f64/R:" + std::to_string(rank),
      [=] {
        auto const from = source();
        EigenOurs const kernel{Numbers("H", R, R), Numbers("Q", R, R), Vector("work", 2 * R)};
        auto const policy = team_policy(space, detail::launch_shape<Space>(1, 8, 32));
        return [=] {
          Kokkos::deep_copy(space, kernel.H, from);
          Kokkos::parallel_for("polyad::perf", policy, kernel);
        };
      },
      [=] {
        auto const from = source();
        EigenTheirs const kernel{Numbers("A", R, R), Numbers("U", R, R), Numbers("V", R, R),
                                 Vector("values", R), Vector("work", 2 * R)};
        return [=] {
          Kokkos::deep_copy(space, kernel.A, from);
          Kokkos::parallel_for("polyad::perf", Kokkos::RangePolicy<Space>(space, 0, 1), kernel);
        };
      });
}

}  // namespace

void register_dense(Session& session) {
  for (int const rank : {8, 16, 32, 64, 128, 512}) {
    if (session.options.dry_run && rank > 32) continue;
    register_tall<float>(session, rank);
    register_tall<double>(session, rank);
    register_square(session, rank);
  }
}

}  // namespace polyad::perf
