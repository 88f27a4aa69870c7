// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/tensor/survey.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include "core/on_threads.hpp"
#include "tensor/nonzero_inside.hpp"

namespace polyad {
namespace {

/// The finalizer of SplitMix64.
std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebU;
  return x ^ x >> 31;
}

/// A hash of an index of mode n. The sum may wrap.
std::uint64_t hash_of(std::uint64_t index, std::uint64_t n) {
  return mixed(index + (n << 58) + 0x9e3779b97f4a7c15U);
}

// Linear counting of distinct fibers: a fiber's hash marks one of m bits. If e bits stay unmarked, there are
// about m ln(m / e) distinct hashes (Whang, Vander-Zanden and Taylor, ACM TODS 15(2), 1990). The marks are
// 128 KiB, which stay in a cache. For long tensors, only fibers whose hash ends in enough zeros are counted.
constexpr int mark_bits = 20;

using Marks = std::vector<std::uint64_t>;

double distinct_marks(Marks const& marks) {
  double const m = std::ldexp(1.0, mark_bits);
  double marked  = 0;
  for (auto const word : marks) marked += std::popcount(word);
  return m * std::log(m / std::max(m - marked, 1.0));
}

/// Counts the fibers along the modes first, first + step, ... The sum of the hashes of all indices but one
/// identifies a fiber.
template <class Index>
void count_fibers(std::span<Index const> indices, std::size_t first, std::size_t step,
                  std::vector<ModeSurvey>& modes) {
  std::size_t const order = modes.size();
  std::size_t const nnz   = indices.size() / order;
  int skipped             = 0;
  while ((nnz >> skipped) > std::size_t(1) << mark_bits) ++skipped;
  std::uint64_t const looked_at = (std::uint64_t(1) << skipped) - 1;
  std::vector<Marks> marks(order);
  for (std::size_t n = first; n < order; n += step) marks[n].resize(std::size_t(1) << (mark_bits - 6));
  std::vector<std::uint64_t> hashes(order);
  for (std::size_t p = 0; p < nnz; ++p) {
    std::uint64_t sum = 0;
    for (std::size_t n = 0; n < order; ++n) sum += hashes[n] = hash_of(indices[p * order + n], n);
    for (std::size_t n = first; n < order; n += step) {
      std::uint64_t const hash = mixed(sum - hashes[n]);
      if ((hash & looked_at) != 0) continue;
      std::uint64_t const bit = hash >> (64 - mark_bits);
      marks[n][bit >> 6] |= std::uint64_t(1) << (bit & 63);
    }
  }
  for (std::size_t n = first; n < order; n += step)
    modes[n].fibers_along = std::min(std::ldexp(distinct_marks(marks[n]), skipped), static_cast<double>(nnz));
}

/// Returns the first nonzero whose index is outside; the number of nonzeros if there is none.
template <class Index>
std::size_t count_rows(std::span<Index const> indices, std::size_t order, std::size_t mode,
                       ModeSurvey& survey) {
  std::size_t const nnz     = indices.size() / order;
  std::uint64_t const slots = std::min(survey.extent, std::bit_ceil(std::max<std::uint64_t>(4 * nnz, 1024)));
  std::vector<std::uint32_t> counts(slots);
  bool const hashed = slots < survey.extent;
  for (std::size_t p = 0; p < nnz; ++p) {
    std::uint64_t const i = indices[p * order + mode];
    if (i >= survey.extent) return p;
    auto& count = counts[hashed ? mixed(i) & (slots - 1) : i];
    if (count != ~std::uint32_t(0)) ++count;
  }
  for (auto const count : counts) {
    if (count == 0) continue;
    std::size_t const bin = std::bit_width(count) - 1;
    ++survey.rows[bin];
    survey.nonzeros[bin] += count;
    survey.longest = std::max<std::uint64_t>(survey.longest, count);
  }
  return nnz;
}

}  // namespace

std::uint64_t ModeSurvey::used() const {
  return std::accumulate(rows.begin(), rows.end(), std::uint64_t(0));
}

int TensorSurvey::linear_bits() const {
  int bits = 0;
  for (auto const& mode : modes)
    bits += static_cast<int>(std::bit_width(mode.extent > 0 ? mode.extent - 1 : 0));
  return bits;
}

int leaf_of(TensorSurvey const& tensor, int root) {
  int leaf = -1;
  for (int n = 0; n < tensor.order(); ++n)
    if (n != root && (leaf < 0 || tensor.modes[n].extent >= tensor.modes[leaf].extent)) leaf = n;
  return leaf;
}

template <class Index>
TensorSurvey survey_tensor(std::span<std::uint64_t const> extents, std::span<Index const> indices,
                           int threads) {
  TensorSurvey survey;
  std::size_t const order = extents.size();
  survey.modes.resize(order);
  for (std::size_t n = 0; n < order; ++n) survey.modes[n].extent = extents[n];
  if (order == 0) return survey;
  survey.nnz = indices.size() / order;
  std::vector<std::size_t> outside(order);
  std::uint64_t const counts = order + 2;  // the fibers of the even modes, and of the odd ones
  int const wanted           = std::min(detail::thread_count(threads), static_cast<int>(counts));
  detail::for_each_on_threads(wanted, counts, [&](std::uint64_t k) {
    if (k < order)
      outside[k] = count_rows(indices, order, k, survey.modes[k]);
    else if (order > 2)
      count_fibers(indices, k - order, 2, survey.modes);
  });
  std::size_t const first = std::ranges::min(outside);
  if (first < survey.nnz) detail::expect_nonzero_inside(extents, first, &indices[first * order]);
  for (std::size_t n = 0; n < order; ++n) {
    auto& mode = survey.modes[n];
    if (order == 1) mode.fibers_along = survey.nnz > 0 ? 1 : 0;
    if (order == 2) mode.fibers_along = static_cast<double>(survey.modes[1 - n].used());
  }
  for (std::size_t n = 0; n < order; ++n) {
    int const leaf         = leaf_of(survey, static_cast<int>(n));
    survey.modes[n].fibers = leaf < 0 ? static_cast<double>(survey.modes[n].used())
                                      : survey.modes[static_cast<std::size_t>(leaf)].fibers_along;
  }
  return survey;
}

template TensorSurvey survey_tensor(std::span<std::uint64_t const>, std::span<std::uint32_t const>, int);
template TensorSurvey survey_tensor(std::span<std::uint64_t const>, std::span<std::uint64_t const>, int);

}  // namespace polyad
