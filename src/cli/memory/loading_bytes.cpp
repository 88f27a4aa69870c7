// SPDX-License-Identifier: BSD-3-Clause
#include "cli/memory/loading_bytes.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <type_traits>
#include <variant>

#include "cli/format_choice/machine.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/quantity_text.hpp"
#include "polyad/core/spaces.hpp"
#include "polyad/core/types.hpp"

namespace polyad::cli {
namespace {

/// Counts the nonzeros of a list that do not come after the one before.
template <class Index>
struct CountUnordered {
  Index const* indices;
  count_t order;
  void operator()(count_t p, count_t& count) const {
    Index const* const here = indices + p * order;
    if (!std::lexicographical_compare(here - order, here, here, here + order)) ++count;
  }
};

bool in_host_memory(bool simulates_device) {
  return !simulates_device && !runs_on_device();
}

/// Indices of the other type are converted first: 64 bits number more than 2^32 nonzeros.
std::uint64_t converted_bytes(io::CoordinateList const& list) {
  return needs_wide_index(list) && !list.wide() ? list.nnz() * list.extents.size() * sizeof(std::uint64_t)
                                                : 0;
}

}  // namespace

bool is_ordered(io::CoordinateList const& list) {
  using Host  = Kokkos::DefaultHostExecutionSpace;
  using Range = Kokkos::RangePolicy<Host, Kokkos::IndexType<count_t>>;
  if (list.nnz() < 2) return true;
  return std::visit(
      [&](auto const& indices) {
        using Index = typename std::remove_cvref_t<decltype(indices)>::value_type;
        CountUnordered<Index> const unordered{indices.data(), list.extents.size()};
        count_t count     = 0;
        constexpr int few = 1024;  // most lists that are not in order show it at once
        for (count_t p = 1; p < std::min<count_t>(few, list.nnz()) && count == 0; ++p) unordered(p, count);
        if (count == 0)
          Kokkos::parallel_reduce("polyad::count_unordered", Range(Host(), 1, list.nnz()), unordered, count);
        return count == 0;
      },
      list.indices);
}

std::uint64_t listed_bytes(io::CoordinateList const& list, bool simulates_device) {
  return in_host_memory(simulates_device) ? list.bytes() : 0;
}

std::uint64_t coordinate_bytes(io::CoordinateList const& list, int scalar_bytes) {
  std::uint64_t const index_bytes = needs_wide_index(list) ? 8 : 4;
  return list.nnz() * (list.extents.size() * index_bytes + scalar_bytes);
}

std::uint64_t loading_bytes(io::CoordinateList const& list, int scalar_bytes, bool simulates_device,
                            bool sums) {
  std::uint64_t const coordinates = coordinate_bytes(list, scalar_bytes);
  std::uint64_t const uploaded    = listed_bytes(list, simulates_device) + coordinates +
                                    (in_host_memory(simulates_device) ? converted_bytes(list) : 0);
  // On a device the host sums duplicates if this does not fit (without_duplicates_by_host).
  if (!sums || !in_host_memory(simulates_device)) return uploaded;
  constexpr std::uint64_t mark = 4;  // count_empty_slices
  std::uint64_t beside         = 0;
  for (std::uint64_t const extent : list.extents)
    beside = std::max(beside, std::min(extent, std::uint64_t(1) << 56) * mark);
  // Words and positions of 64 bits, twice (sum_duplicates).
  if (!is_ordered(list)) beside = std::max(beside, list.nnz() * 2 * (8 + 8));
  return std::max(uploaded, coordinates + beside);
}

std::uint64_t host_bytes_of_device(io::CoordinateList const& list, int scalar_bytes, std::uint64_t stored) {
  std::uint64_t const coordinates = coordinate_bytes(list, scalar_bytes);
  std::uint64_t const loaded      = list.bytes() + coordinates + converted_bytes(list);
  if (stored == 0) return loaded;
  std::uint64_t const index_bytes = needs_wide_index(list) ? 8 : 4;
  std::uint64_t const sort        = list.nnz() * 2 * (8 + index_bytes);
  std::uint64_t const sums        = is_ordered(list) ? 0 : list.nnz() * 2 * (8 + 8);
  return std::max({loaded, coordinates + sums, coordinates + stored + sort});
}

void expect_host_holds(io::CoordinateList const& list, int scalar_bytes) {
  if (!runs_on_device()) return;
  std::uint64_t const needs = host_bytes_of_device(list, scalar_bytes);
  std::uint64_t const free  = available_memory(Kokkos::DefaultHostExecutionSpace()) + list.bytes();
  if (needs > free)
    throw MemoryError("the tensor in host memory, on its way to the device,", needs,
                      "only " + bytes_text(free) + " are free there");
}

}  // namespace polyad::cli
