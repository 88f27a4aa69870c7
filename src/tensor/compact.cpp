// SPDX-License-Identifier: BSD-3-Clause
// The rows of a mode that occur are found in one of two ways. Neither allocates more than a few words for
// each nonzero.
//   * A mode of at most 64 rows for each nonzero has a bit for each row, and for each word of bits the number
//     of bits before it. A row's position is then found by counting bits.
//   * Of a longer mode the indices are sorted, and a row's position is found by a binary search.
#include "polyad/tensor/compact.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "polyad/core/error.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/sort.hpp"
#include "polyad/core/spaces.hpp"

namespace polyad {
namespace {

constexpr count_t bits_in_word = 32;

template <class Space>
using Words = Kokkos::View<std::uint32_t*, typename Space::device_type>;
template <class Space>
using Numbers = Kokkos::View<std::uint64_t*, typename Space::device_type>;
template <class Space>
using RangeOf = Kokkos::RangePolicy<Space, Kokkos::IndexType<count_t>>;
template <class Index, class Space>
using IndicesOf = Kokkos::View<Index**, Kokkos::LayoutRight, typename Space::device_type>;

/// Sets a bit for each row that occurs, and counts the nonzeros whose index is outside.
template <class Index, class Space>
struct MarkOccurring {
  IndicesOf<Index, Space> indices;
  int mode;
  count_t extent;
  Words<Space> words;

  KOKKOS_FUNCTION void operator()(count_t p, count_t& outside) const {
    count_t const row = indices(p, mode);
    if (row >= extent) {
      ++outside;
      return;
    }
    std::uint32_t* const word = &words(row / bits_in_word);
    std::uint32_t const bit   = std::uint32_t(1) << (row % bits_in_word);
    // Other nonzeros set bits of the same word. Most rows occur often, and reading costs less.
    if ((Kokkos::atomic_load(word) & bit) == 0) Kokkos::atomic_or(word, bit);
  }
};

KOKKOS_INLINE_FUNCTION count_t bits_of(std::uint32_t word) {
  count_t count = 0;
  for (; word != 0; word &= word - 1) ++count;
  return count;
}

/// A scan: before(w) is the number of bits in the words before w.
template <class Space>
struct CountBits {
  Words<Space> words;
  Numbers<Space> before;
  KOKKOS_FUNCTION void operator()(count_t w, count_t& bits, bool final) const {
    if (final) before(w) = bits;
    bits += bits_of(words(w));
  }
};

template <class Space>
struct NumbersOfBits {
  Words<Space> words;
  Numbers<Space> before, numbers;
  KOKKOS_FUNCTION void operator()(count_t w) const {
    count_t at = before(w);
    for (count_t bit = 0; bit < bits_in_word; ++bit)
      if ((words(w) >> bit & 1U) != 0) numbers(at++) = w * bits_in_word + bit;
  }
};

template <class Index, class Space>
struct CopyColumn {
  IndicesOf<Index, Space> indices;
  int mode;
  Numbers<Space> column;
  KOKKOS_FUNCTION void operator()(count_t p) const { column(p) = indices(p, mode); }
};

/// A scan over sorted numbers: counts the distinct ones, and writes them once there is room.
template <class Space>
struct DistinctNumbers {
  Numbers<Space> sorted, distinct;
  KOKKOS_FUNCTION void operator()(count_t p, count_t& count, bool final) const {
    if (p > 0 && sorted(p) == sorted(p - 1)) return;
    if (final && distinct.extent(0) > 0) distinct(count) = sorted(p);
    ++count;
  }
};

/// The rows that occur in a mode.
template <class Space>
struct Occurring {
  Words<Space> words;  // with `before`, or both empty
  Numbers<Space> before;
  Numbers<Space> numbers;  // in increasing order

  [[nodiscard]] KOKKOS_FUNCTION count_t position(count_t row) const {
    if (words.extent(0) > 0) {
      count_t const w             = row / bits_in_word;
      std::uint32_t const earlier = (std::uint32_t(1) << (row % bits_in_word)) - 1;
      return before(w) + bits_of(words(w) & earlier);
    }
    count_t first = 0, last = numbers.extent(0) - 1;  // the row is in between
    while (first < last) {
      count_t const middle = first + (last - first) / 2;
      if (numbers(middle) < row)
        first = middle + 1;
      else
        last = middle;
    }
    return first;
  }
};

template <class Index, class Space>
struct Renumber {
  IndicesOf<Index, Space> indices;
  int mode;
  Occurring<Space> rows;
  KOKKOS_FUNCTION void operator()(count_t p) const {
    indices(p, mode) = static_cast<Index>(rows.position(indices(p, mode)));
  }
};

template <class View, class Space>
View allocate(Space const& space, char const* label, count_t count) {
  expect_fits(space, "the numbers of the rows that occur", count, sizeof(typename View::value_type));
  return View(Kokkos::view_alloc(space, std::string(label)), count);
}

[[noreturn]] void throw_outside(int mode, count_t extent) {
  throw UsageError("a nonzero has an index outside of mode " + std::to_string(mode) + " of " +
                   std::to_string(extent) + " rows");
}

/// The rows of mode n that occur; without numbers if the mode stays as it is.
template <class Index, class Space>
Occurring<Space> find_occurring(Space const& space, IndicesOf<Index, Space> const& indices, int n,
                                count_t extent, CompactRule const& rule) {
  Occurring<Space> rows;
  count_t const nnz = indices.extent(0);
  count_t count     = 0;
  if (extent / 64 <= nnz) {
    count_t const words = ceil_div(extent, bits_in_word);
    rows.words          = allocate<Words<Space>>(space, "polyad::rows_that_occur", words);
    count_t outside     = 0;
    Kokkos::parallel_reduce("polyad::mark_occurring", RangeOf<Space>(space, 0, nnz),
                            MarkOccurring<Index, Space>{indices, n, extent, rows.words}, outside);
    if (outside > 0) throw_outside(n, extent);
    rows.before = allocate<Numbers<Space>>(space, "polyad::rows_before", words);
    Kokkos::parallel_scan("polyad::count_occurring", RangeOf<Space>(space, 0, words),
                          CountBits<Space>{rows.words, rows.before}, count);
    if (!rule.is_empty_enough(extent, count)) return {};
    rows.numbers = allocate<Numbers<Space>>(space, "polyad::row_numbers", count);
    Kokkos::parallel_for("polyad::numbers_of_rows", RangeOf<Space>(space, 0, words),
                         NumbersOfBits<Space>{rows.words, rows.before, rows.numbers});
    return rows;
  }
  auto const column = allocate<Numbers<Space>>(space, "polyad::indices_of_mode", nnz);
  auto const unused = allocate<Numbers<Space>>(space, "polyad::indices_of_mode", nnz);
  Kokkos::parallel_for("polyad::copy_column", RangeOf<Space>(space, 0, nnz),
                       CopyColumn<Index, Space>{indices, n, column});
  // All bits of the type: an index may be outside.
  sort_pairs<Space, std::uint64_t, std::uint64_t>(space, column, unused, 8 * sizeof(Index));
  count_t largest = 0;
  if (nnz > 0) {
    Kokkos::deep_copy(space, Kokkos::View<count_t, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(&largest),
                      Kokkos::subview(column, nnz - 1));
    space.fence("polyad::compact");
    if (largest >= extent) throw_outside(n, extent);
  }
  DistinctNumbers<Space> find{column, {}};
  Kokkos::parallel_scan("polyad::count_distinct_rows", RangeOf<Space>(space, 0, nnz), find, count);
  if (count == 0 || !rule.is_empty_enough(extent, count)) return {};
  rows.numbers = find.distinct = allocate<Numbers<Space>>(space, "polyad::row_numbers", count);
  Kokkos::parallel_scan("polyad::distinct_rows", RangeOf<Space>(space, 0, nnz), find, count);
  return rows;
}

template <class Space>
std::vector<std::uint64_t> numbers_on_host(Space const& space, Numbers<Space> const& numbers) {
  std::vector<std::uint64_t> copy(numbers.extent(0));
  Kokkos::deep_copy(
      space,
      Kokkos::View<std::uint64_t*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(copy.data(), copy.size()),
      numbers);
  space.fence("polyad::compact");
  return copy;
}

/// Renumbers what own() returns, which is called before the first change.
template <class Index, class Space, class Own>
std::vector<StoredRows> compact_modes(Space const& space, IndicesOf<Index, Space> indices,
                                      Extents const& extents, CompactRule const& rule, Own const& own) {
  std::vector<StoredRows> rows;
  if (indices.extent(0) == 0) return rows;  // a mode without rows is none
  for (int n = 0; n < extents.order(); ++n) {
    if (extents[n] < rule.least_rows || extents[n] == 0) continue;
    auto const found = find_occurring<Index, Space>(space, indices, n, extents[n], rule);
    if (found.numbers.extent(0) == 0) continue;
    if (rows.empty()) {
      for (int m = 0; m < extents.order(); ++m) rows.emplace_back(extents[m]);
      indices = own();
    }
    rows[n] = StoredRows(extents[n], numbers_on_host<Space>(space, found.numbers));
    Kokkos::parallel_for("polyad::renumber_rows", RangeOf<Space>(space, 0, indices.extent(0)),
                         Renumber<Index, Space>{indices, n, found});
    space.fence("polyad::compact");
  }
  return rows;
}

template <class Scalar, class Space>
struct FillRandomStored {
  FactorMatrix<Scalar, Space> matrix;
  RowNumbers<Space> rows;
  std::uint64_t seed, mode;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    for (count_t r = 0; r < matrix.extent(1); ++r)
      matrix(i, r) = static_cast<Scalar>(counter_uniform(seed, mode, rows(i), r));
  }
};

template <class Scalar, class Space>
struct GatherStored {
  FactorMatrix<Scalar, Space> from, to;
  Numbers<Space> positions;
  KOKKOS_FUNCTION void operator()(count_t i) const {
    bool const is_there = positions(i) != StoredRows::none;
    for (count_t r = 0; r < to.extent(1); ++r) to(i, r) = is_there ? from(positions(i), r) : Scalar(0);
  }
};

template <class Space>
Numbers<Space> numbers_on_device(Space const& space, std::vector<std::uint64_t> const& numbers) {
  auto const copy = allocate<Numbers<Space>>(space, "polyad::row_numbers", numbers.size());
  Kokkos::deep_copy(space, copy,
                    Kokkos::View<std::uint64_t const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                        numbers.data(), numbers.size()));
  space.fence("polyad::row_numbers");
  return copy;
}

}  // namespace

Extents compact_extents(Extents const& extents, std::vector<StoredRows> const& rows) {
  if (rows.empty()) return extents;
  POLYAD_EXPECTS(std::ssize(rows) == extents.order(), rows.size(), " lists of rows for a tensor of order ",
                 extents.order());
  std::vector<count_t> sizes;
  for (int n = 0; n < extents.order(); ++n) {
    POLYAD_EXPECTS(rows[n].extent() == extents[n], "the rows of mode ", n, " are of ", rows[n].extent(),
                   " rows, not ", extents[n]);
    sizes.push_back(rows[n].size());
  }
  return Extents(std::span<count_t const>(sizes));
}

void expect_stored_rows(std::vector<StoredRows> const& rows, Extents const& stored) {
  POLYAD_EXPECTS(rows.empty() || std::ssize(rows) == stored.order(), rows.size(),
                 " lists of rows for a tensor of order ", stored.order());
  for (int n = 0; n < stored.order() && !rows.empty(); ++n)
    POLYAD_EXPECTS(rows[n].size() == stored[n], "the list of mode ", n, " has ", rows[n].size(),
                   " rows, not ", stored[n]);
}

template <class Index>
std::vector<StoredRows> compact_coordinates(std::span<Index> indices, Extents const& extents,
                                            CompactRule const& rule) {
  using Space         = Kokkos::DefaultHostExecutionSpace;
  count_t const order = extents.order();
  POLYAD_EXPECTS(order > 0 && indices.size() % order == 0, indices.size(), " indices of a tensor of order ",
                 order);
  IndicesOf<Index, Space> const view(indices.data(), indices.size() / order, order);
  return compact_modes<Index, Space>(Space(), view, extents, rule, [&] { return view; });
}

template <class Scalar, class Index, class Space>
CompactTensor<CooTensor<Scalar, Index, Space>> compact(Space const& space,
                                                       CooTensor<Scalar, Index, Space> const& X,
                                                       CompactRule const& rule) {
  using Indices = typename CooTensor<Scalar, Index, Space>::indices_type;
  Indices copy;
  auto rows = compact_modes<Index, Space>(space, X.indices(), X.extents(), rule, [&] {
    expect_fits(space, "the renumbered coordinates", X.indices().size(), sizeof(Index));
    copy = Indices(uninitialized(space, "polyad::compact_indices"), X.nnz(), X.indices().extent(1));
    Kokkos::deep_copy(space, copy, X.indices());
    return copy;
  });
  if (rows.empty()) return {X, {}};
  CooTensor<Scalar, Index, Space> tensor(compact_extents(X.extents(), rows), copy, X.values());
  return {std::move(tensor), std::move(rows)};
}

template <class Space>
RowNumbers<Space> row_numbers(Space const& space, std::vector<StoredRows> const& rows, int n) {
  if (rows.empty() || !rows[n].is_list()) return {};
  return {numbers_on_device(space, rows[n].numbers())};
}

template <class Scalar, class Space>
void detail::fill_stored_rows(Space const& space, FactorMatrix<Scalar, Space> const& matrix,
                              std::vector<StoredRows> const& rows, std::uint64_t seed, int n) {
  POLYAD_EXPECTS(rows.empty() || rows[n].size() == matrix.extent(0), "the factor of mode ", n, " has ",
                 matrix.extent(0), " rows, not ", rows[n].size());
  Kokkos::parallel_for("polyad::fill_random_stored", RangeOf<Space>(space, 0, matrix.extent(0)),
                       FillRandomStored<Scalar, Space>{matrix, row_numbers(space, rows, n), seed,
                                                       static_cast<std::uint64_t>(n)});
  space.fence("polyad::fill_random");
}

template <class Scalar, class Space>
void detail::fill_numbered_rows(Space const& space, FactorMatrix<Scalar, Space> const& matrix,
                                std::vector<std::uint64_t> const& numbers, std::uint64_t seed, int n) {
  POLYAD_EXPECTS(numbers.size() == matrix.extent(0), numbers.size(), " numbers of ", matrix.extent(0),
                 " rows");
  if (numbers.empty()) return;  // no numbers would mean all rows
  Kokkos::parallel_for("polyad::fill_random_stored", RangeOf<Space>(space, 0, matrix.extent(0)),
                       FillRandomStored<Scalar, Space>{
                           matrix, {numbers_on_device(space, numbers)}, seed, static_cast<std::uint64_t>(n)});
  space.fence("polyad::fill_random");
}

template <class Scalar, class Space>
void fill_random(Space const& space, FactorMatrices<Scalar, Space> const& factors,
                 std::vector<StoredRows> const& rows, std::uint64_t seed) {
  POLYAD_EXPECTS(rows.empty() || std::ssize(rows) == factors.order(), rows.size(), " lists of rows for ",
                 factors.order(), " factors");
  for (int n = 0; n < factors.order(); ++n)
    detail::fill_stored_rows<Scalar, Space>(space, factors[n], rows, seed, n);
}

template <class Scalar, class Space>
FactorMatrix<Scalar, Space> look_up_rows(Space const& space, FactorMatrix<Scalar, Space> const& factor,
                                         StoredRows const& from, StoredRows const& to) {
  POLYAD_EXPECTS(factor.extent(0) == from.size(), "a factor of ", factor.extent(0), " rows, not ",
                 from.size());
  POLYAD_EXPECTS(from.extent() == to.extent(), "rows of modes of ", from.extent(), " and ", to.extent());
  auto const result = make_factor_matrix<Scalar>(space, "polyad::factor", to.size(), factor.extent(1));
  if (from == to) {
    detail::copy_matrix(space, result, factor);
    space.fence("polyad::look_up_rows");
    return result;
  }
  std::vector<std::uint64_t> positions(to.size());
  for (std::uint64_t i = 0; i < to.size(); ++i) positions[i] = from.position(to.number(i));
  Kokkos::parallel_for("polyad::look_up_rows", RangeOf<Space>(space, 0, to.size()),
                       GatherStored<Scalar, Space>{factor, result, numbers_on_device(space, positions)});
  space.fence("polyad::look_up_rows");
  return result;
}

#define POLYAD_COMPACT(Scalar, Index)                                      \
  template CompactTensor<CooTensor<Scalar, Index, CompiledSpace>> compact( \
      CompiledSpace const&, CooTensor<Scalar, Index, CompiledSpace> const&, CompactRule const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_COMPACT);
template std::vector<StoredRows> compact_coordinates(std::span<std::uint32_t>, Extents const&,
                                                     CompactRule const&);
template std::vector<StoredRows> compact_coordinates(std::span<std::uint64_t>, Extents const&,
                                                     CompactRule const&);
template RowNumbers<Kokkos::DefaultExecutionSpace> row_numbers(Kokkos::DefaultExecutionSpace const&,
                                                               std::vector<StoredRows> const&, int);
#define POLYAD_STORED_ROWS(Scalar)                                                                         \
  template void fill_random(CompiledSpace const&, FactorMatrices<Scalar, CompiledSpace> const&,            \
                            std::vector<StoredRows> const&, std::uint64_t);                                \
  template void detail::fill_stored_rows<Scalar>(CompiledSpace const&,                                     \
                                                 FactorMatrix<Scalar, CompiledSpace> const&,               \
                                                 std::vector<StoredRows> const&, std::uint64_t, int);      \
  template void detail::fill_numbered_rows<Scalar>(CompiledSpace const&,                                   \
                                                   FactorMatrix<Scalar, CompiledSpace> const&,             \
                                                   std::vector<std::uint64_t> const&, std::uint64_t, int); \
  template FactorMatrix<Scalar, CompiledSpace> look_up_rows<Scalar>(                                       \
      CompiledSpace const&, FactorMatrix<Scalar, CompiledSpace> const&, StoredRows const&,                 \
      StoredRows const&)
POLYAD_EACH_SCALAR(, POLYAD_STORED_ROWS);

}  // namespace polyad
