// SPDX-License-Identifier: BSD-3-Clause
// owned_rows: the rows and nonzeros that this rank will have in tucker and fast_tucker.
#include <algorithm>
#include <string_view>
#include <type_traits>

#include "distributed/rows_by_cuts.hpp"
#include "polyad/distributed/distribute.hpp"

namespace polyad {

using namespace detail;

namespace {

/// Whether the nonzeros of this part are in lexicographic order, none twice.
template <class Index>
bool increases(std::span<Index const> indices, count_t order) {
  count_t const nnz = indices.size() / order;
  return nnz == count_kinds(nnz, 1, [&](count_t p) {
           auto const here           = indices.begin() + (p * order);
           std::ptrdiff_t const step = order;
           bool const comes_after =
               p == 0 || std::lexicographical_compare(here - step, here, here, here + step);
           return comes_after ? count_t(0) : count_t(1);
         })[0];
}

}  // namespace

template <class Index, class Space>
OwnedRows owned_rows(Communicator<Space> const& ranks, Extents const& extents,
                     std::span<Index const> indices) {
  constexpr bool on_host = std::is_same_v<typename HostOf<Space>::memory_space, typename Space::memory_space>;
  count_t const order    = extents.order();
  RowsByCuts<double, Index, Space> const cuts(ranks, extents, indices);
  OwnedRows owned;
  owned.part  = indices.size() / order;
  owned.nnz   = cuts.sum_on_host(std::uint64_t(owned.part));
  owned.ranks = ranks.size();
  owned.rank  = ranks.rank();
  for (int n = 0; n < extents.order(); ++n) owned.modes.push_back({cuts.rows(n), cuts.own_count(indices, n)});
  owned.longest    = cuts.longest();
  owned.is_ordered = !cuts.any(!increases(indices, order));
  owned.by_mpi     = on_host && std::string_view(ranks.data().name()).starts_with("MPI");
  return owned;
}

#define POLYAD_OWNED_ROWS(Index) \
  template OwnedRows owned_rows(Communicator<CompiledSpace> const&, Extents const&, std::span<Index const>)
POLYAD_OWNED_ROWS(std::uint32_t);
POLYAD_OWNED_ROWS(std::uint64_t);

}  // namespace polyad
