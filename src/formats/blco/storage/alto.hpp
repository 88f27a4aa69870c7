// SPDX-License-Identifier: BSD-3-Clause
// alto: one copy of the nonzeros for all modes, with plain indices, in a linear order that keeps the rows of
// every factor in cache (tensor/linearize.hpp; BLCO, sections 3 and 4). Devices use ALTO's order. Hosts use
// the order with the least estimated cost (formats/blco/build/fastest_order.hpp). That order may group some
// modes: consecutive nonzeros then share the indices of these modes, which are stored once per group.
//
// There are two strategies (formats/blco/costs/blco_tuning.hpp). Hosts use AltoPrivateRows. It cuts the order
// into one chunk per thread. Each chunk has its own copies of the output's rows that other chunks write too
// (formats/blco/storage/private_rows.hpp). Devices use AltoAtomics, which adds to the output with atomics.
//
// Storage: s_r + (N - g) s_o bytes per nonzero and (1 + g) s_o bytes per group of g modes. On hosts and for
// floats also at most N 24 bytes for every 255 nonzeros (formats/blco/storage/long_row_stops.hpp).
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/blco/build/alto_order.hpp"
#include "formats/blco/build/merge_lists.hpp"
#include "formats/blco/costs/blco_tuning.hpp"
#include "formats/blco/storage/long_row_stops.hpp"
#include "formats/blco/storage/private_row_table.hpp"
#include "formats/stored_tensor.hpp"
#include "kernel/row_locks.hpp"
#include "polyad/core/types.hpp"
#include "polyad/formats/format.hpp"
#include "polyad/formats/option_text.hpp"
#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/sort_by_mode.hpp"

namespace polyad::detail {

struct AltoOptions {
  enum class Order {
    fastest,  // private rows: the order whose cost, estimated on a sample, is least; atomics: ALTO's
    alto,     // ALTO's
    given     // `order` below
  };
  Order choice = Order::fastest;
  AltoOrder order;             // for Order::given
  std::string walk   = {};     // "private" or "atomics"; empty: the faster one on the machine
  bool deterministic = false;  // private rows: the same bits with any number of threads
  count_t chunks     = 0;      // for private rows: 0 for one per thread
  /// A mode with more private rows than this has its rows locked instead. 0: by the number of nonzeros.
  count_t most_private_rows = 0;

  void read(OptionText& text) {
    bool alto_order = false;
    text.read("alto_order", alto_order);
    if (alto_order) choice = Order::alto;
    text.read("walk", walk, {AltoPrivateRows::walk, AltoAtomics::walk});
    text.read("deterministic", deterministic);
    text.read("chunks", chunks);
    text.read("most_private_rows", most_private_rows);
  }
};

/// Entries after the last nonzero, for prefetches beyond it.
inline constexpr count_t alto_padding = 16;

template <class Scalar, class Space>
struct AltoWorkspace {
  WorkspaceOwner made_for;
  FactorMatrix<Scalar, Space> copies;  // private rows of the mode that has the most
  Kokkos::View<unsigned char*, typename Space::device_type> locks;
  FactorMatrix<double, Space>
      long_rows;  // the slots of the mode that has most (formats/blco/storage/long_row_stops.hpp)
};

template <class Scalar, class Index, class Space>
class Alto : public StoredTensor {
public:
  using scalar_type    = Scalar;
  using index_type     = Index;
  using space_type     = Space;
  using options_type   = AltoOptions;
  using workspace_type = AltoWorkspace<Scalar, Space>;
  using indices_type   = Kokkos::View<Index**, Kokkos::LayoutRight, typename Space::device_type>;
  using values_type    = Kokkos::View<Scalar*, typename Space::device_type>;
  using starts_type    = Kokkos::View<Index*, typename Space::device_type>;

  static constexpr char const* name = "alto";

  /// \throws UsageError when Index cannot number the nonzeros, or atomics are to be deterministic;
  /// MemoryError
  static Alto build(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                    options_type const& options = {});
  /// The same for a given strategy of formats/blco/costs/blco_tuning.hpp; build() chooses one by the machine.
  template <class Strategy>
  static Alto build_for(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                        options_type const& options = {});

  /// How many nonzeros have the coordinates of an earlier one.
  [[nodiscard]] count_t duplicates() const { return m_duplicates; }
  [[nodiscard]] count_t storage_bytes() const {
    count_t const g = m_grouped;
    return m_nnz * (sizeof(Scalar) + (m_extents.order() - g) * sizeof(Index)) +
           groups() * (1 + g) * sizeof(Index) + m_long_rows.storage_bytes();
  }

  /// Scratch for the private rows of any mode, for the locks if a mode has too many private rows, and for the
  /// doubles of long rows.
  [[nodiscard]] workspace_type make_workspace(Space const& space, count_t rank) const {
    count_t rows  = 0;
    count_t slots = 0;
    bool locks    = false;
    for (int n = 0; n < m_extents.order() && chunks() > 0; ++n) {
      rows  = std::max(rows, copied_rows(n));
      slots = std::max(slots, m_long_rows.slots(n));
      locks = locks || locked(n);
    }
    return {WorkspaceOwner(m_identity, rank),
            make_output_matrix<Scalar>(space, "polyad::alto_copies", rows, rank),
            Kokkos::View<unsigned char*, typename Space::device_type>(
                Kokkos::view_alloc(space, "polyad::alto_locks"), locks ? RowLocks::length : 0),
            make_factor_matrix<double>(space, "polyad::long_rows", slots, rank)};
  }

  [[nodiscard]] AltoOrder const& order() const { return m_order; }
  /// How many modes are grouped; modes()[0], ..., modes()[grouped() - 1] are these.
  [[nodiscard]] int grouped() const { return m_grouped; }
  [[nodiscard]] Kokkos::Array<int, max_order> const& modes() const { return m_modes; }
  /// (N - g) x P: row m holds the indices of modes()[g + m]. Some zeros follow column P, for prefetches.
  [[nodiscard]] indices_type const& indices() const { return m_indices; }
  [[nodiscard]] values_type const& values() const { return m_values; }

  /// With private rows: the number of groups. If no modes are grouped, each chunk is one group. No group
  /// crosses a chunk's border.
  [[nodiscard]] count_t groups() const { return m_starts.extent(0) == 0 ? 0 : m_starts.extent(0) - 1; }
  /// The first nonzero of each group, and P.
  [[nodiscard]] starts_type const& starts() const { return m_starts; }
  /// g x groups
  [[nodiscard]] indices_type const& group_indices() const { return m_group_indices; }
  [[nodiscard]] count_t chunks() const {
    return m_first_groups.extent(0) == 0 ? 0 : m_first_groups.extent(0) - 1;
  }
  /// The first group of each chunk, and the number of groups.
  [[nodiscard]] starts_type const& first_groups() const { return m_first_groups; }
  [[nodiscard]] PrivateRowTable<Space> const& private_rows() const { return m_private; }
  /// The chunks that have copies of each group of rows of mode n.
  [[nodiscard]] MergeList merge_list(int n) const { return m_merge_lists[n].list(); }
  [[nodiscard]] LongRowStops<Space> const& long_rows() const { return m_long_rows; }
  /// Whether mode n has too many private rows for copies. Its rows are then locked.
  [[nodiscard]] bool locked(int n) const { return m_locked >> n & 1U; }
  /// Private rows that mode n needs copies of.
  [[nodiscard]] count_t copied_rows(int n) const { return locked(n) ? 0 : m_private.copied_rows(n); }

private:
  void arrange_modes();
  void copy_nonzeros(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                     Permutation<Index, Space> const& order);
  void list_groups(Space const& space, CooTensor<Scalar, Index, Space> const& coo,
                   Permutation<Index, Space> const& order, options_type const& options);
  void find_private_rows(Space const& space, options_type const& options);

  count_t m_duplicates = 0;
  AltoOrder m_order;
  int m_grouped = 0;
  Kokkos::Array<int, max_order> m_modes{};
  indices_type m_indices;
  values_type m_values;
  starts_type m_starts;
  indices_type m_group_indices;
  starts_type m_first_groups;
  PrivateRowTable<Space> m_private;
  LongRowStops<Space> m_long_rows;
  std::uint32_t m_locked = 0;                    // mask of modes
  std::vector<MergeLists<Space>> m_merge_lists;  // for each mode; empty where rows are locked
};

/// The contract's mttkrp (formats/format.hpp): V (I_mode x R) is overwritten. Does not wait.
/// \throws UsageError when shapes do not match, or the workspace was not made for this format and rank
template <class Space, class Scalar, class Index>
void mttkrp(Space const& space, Alto<Scalar, Index, Space> const& X,
            FactorMatrices<Scalar, Space> const& factors, int mode, AltoWorkspace<Scalar, Space>& workspace,
            FactorMatrix<Scalar, Space> const& V);

/// The residual sweep (the concept ResidualFormat of formats/format.hpp): G (I_mode x R) is overwritten. A
/// deterministic format (AltoOptions) gives the same bits at any number of threads. Does not wait.
/// \throws UsageError when shapes do not match, or the workspace was not made for this format and rank
template <class Space, class Scalar, class Index>
void residual_mttkrp(Space const& space, Alto<Scalar, Index, Space> const& X,
                     FactorMatrices<Scalar, Space> const& C, int mode,
                     ResidualWorkspace<Scalar, AltoWorkspace<Scalar, Space>, Space>& workspace,
                     FactorMatrix<Scalar, Space> const& G);

/// The nonzeros (formats/format.hpp).
template <class Space, class Scalar, class Index>
void read_nonzeros(Space const& space, Alto<Scalar, Index, Space> const& X, count_t first,
                   NonzeroBlock<Scalar, Space> const& block);

}  // namespace polyad::detail
