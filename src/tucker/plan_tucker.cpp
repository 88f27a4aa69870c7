// SPDX-License-Identifier: BSD-3-Clause
// The memory of HOOI: the arrays of tucker.cpp, leading_scratch.hpp and nvecs.hpp, in their order.
#include <algorithm>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dense/dense_tuning.hpp"
#include "dense/gram.hpp"
#include "dense/nvecs.hpp"
#include "formats/format_bytes.hpp"
#include "formats/plan_owned_formats.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/core/memory_plan.hpp"
#include "polyad/core/rank.hpp"
#include "polyad/tucker/tucker.hpp"
#include "tucker/wide_product.hpp"

namespace polyad {

using namespace detail;
namespace {

template <class Scalar>
count_t matrix_bytes(count_t rows, count_t columns) {
  return MemoryPlan::product({rows, padded_rank<Scalar>(columns), sizeof(Scalar)});
}

/// The bytes of partial sums that a product over so many rows writes. A host's memory is taken when it is
/// first written, a device's at once.
template <class Space>
count_t sums_bytes(Space const& space, count_t bytes_of_chunk, count_t rows) {
  constexpr bool on_host = std::is_same_v<typename HostOf<Space>::memory_space, typename Space::memory_space>;
  count_t const chunks   = partial_sums(space, std::max<count_t>(bytes_of_chunk, 1));
  return MemoryPlan::product({on_host ? std::clamp<count_t>(rows / 32, 1, chunks) : chunks, bytes_of_chunk});
}

template <class Space>
count_t product_bytes(Space const& space, count_t J, count_t R, count_t rows) {
  count_t const height = ceil_div(std::min(J, most_product_columns), 4) * 4;
  count_t const width  = ceil_div(std::min(R, most_product_columns), full_block) * full_block;
  return sums_bytes(space, MemoryPlan::product({height, width, sizeof(double)}), rows);
}

/// EigenScratch for L columns, whose Gram matrix has that many rows.
template <class Scalar, class Space>
count_t eigen_bytes(Space const& space, count_t L, count_t rows) {
  count_t const sums = MemoryPlan::product(
      {GramWorkspace<Space>::padded_rows(L), GramWorkspace<Space>::padded_columns(L), sizeof(double)});
  count_t const squares = MemoryPlan::product({2, L, L, sizeof(double)});
  return MemoryPlan::sum(squares, MemoryPlan::sum(matrix_bytes<Scalar>(L, L), sums_bytes(space, sums, rows)));
}

/// The columns of Y for mode n: the product of the other ranks.
count_t width_of(std::vector<count_t> const& ranks, int n) {
  count_t width = 1;
  for (int m = 0; m < std::ssize(ranks); ++m)
    if (m != n) width = MemoryPlan::product({width, ranks[m]});
  return width;
}

using Held = MemoryPlan::Held;

/// \param rows  the rows of each mode on this rank
template <class Scalar, class Space>
std::vector<Held> plan_random_start(MemoryPlan& plan, Space const& space, Extents const& extents,
                                    std::vector<count_t> const& rows, std::vector<count_t> const& ranks) {
  std::vector<Held> U;
  for (int n = 0; n < extents.order(); ++n) {
    count_t const rank = ranks[n];
    auto const random  = plan.hold("the random start of a mode", matrix_bytes<Scalar>(rows[n], rank));
    U.push_back(
        plan.hold("the factor of mode " + std::to_string(n + 1), matrix_bytes<Scalar>(extents[n], rank)));
    plan.pass("the Gram matrix of a start", eigen_bytes<Scalar>(space, rank, rows[n]));
  }
  return U;
}

template <class Scalar, class Space>
std::vector<Held> plan_hosvd_start(MemoryPlan& plan, Space const& space, Extents const& extents, count_t nnz,
                                   TuckerOptions const& options) {
  count_t const rank =
      *std::max_element(options.ranks.begin(), options.ranks.end()) + options.vectors.oversampling;
  std::vector<Held> leading, U;
  for (int n = 0; n < extents.order(); ++n)
    leading.push_back(plan.hold("the leading vectors of the start", matrix_bytes<Scalar>(extents[n], rank)));
  for (int n = 0; n < extents.order(); ++n) {
    auto const product = plan.hold("the product with an unfolding", matrix_bytes<Scalar>(extents[n], rank));
    auto const order   = plan.hold("the order of the fibers", MemoryPlan::product({nnz, 8}));
    plan.pass("the sort of the fibers", MemoryPlan::product({nnz, 8 + 8 + 8}));
    if (sums_unfolding_gram(extents[n], nnz))
      plan.pass("the Gram matrix of an unfolding", matrix_bytes<Scalar>(extents[n], extents[n]));
  }
  for (int n = 0; n < extents.order(); ++n) {
    count_t const bytes = matrix_bytes<Scalar>(extents[n], options.ranks[n]);
    auto const first    = plan.hold("the start of a mode", bytes);
    U.push_back(plan.hold("the factor of mode " + std::to_string(n + 1), bytes));
    plan.pass("the Gram matrix of a start", eigen_bytes<Scalar>(space, options.ranks[n], extents[n]));
  }
  return U;
}

/// Adds the iterations and the model's file to the plan, which has the formats and the factors.
/// \param rows  the rows of each mode on this rank
/// \param by_mpi  whether MPI adds up numbers of all ranks in host memory: Open MPI 4 then holds up to two
///                copies of them
template <class Scalar, class Space>
void plan_hooi(MemoryPlan& plan, Space const& space, Extents const& extents, std::vector<count_t> const& rows,
               TuckerOptions const& options, bool by_mpi) {
  auto const& ranks = options.ranks;
  int const order   = extents.order();
  count_t output = 0, tall = 0, wide = 0;
  std::map<std::pair<count_t, count_t>, count_t> sums;  // their bytes, by their shapes
  std::map<count_t, count_t> eigen;
  for (int n = 0; n < order; ++n) {
    count_t const width = width_of(ranks, n), rank = ranks[n];
    count_t const own = std::max<count_t>(rows[n], 1);
    count_t const L =
        std::min(MemoryPlan::sum(rank, options.vectors.oversampling), std::min(extents[n], width));
    output          = std::max(output, matrix_bytes<Scalar>(own, width));
    tall            = std::max(tall, matrix_bytes<Scalar>(own, L));
    wide            = std::max(wide, matrix_bytes<Scalar>(width, L));
    count_t& sum    = sums[{width, L}];
    sum             = std::max(sum, product_bytes(space, width, L, own));
    count_t& square = eigen[L];
    square          = std::max(square, eigen_bytes<Scalar>(space, L, std::max(own, width)));
  }
  std::vector<Held> scratch;
  for (int twice = 0; twice < 2; ++twice) {
    scratch.push_back(plan.hold("the bases of an output's columns", tall));
    scratch.push_back(plan.hold("the bases of an output's rows", wide));
  }
  for (auto const& [shape, bytes] : sums) scratch.push_back(plan.hold("partial sums", bytes));
  for (auto const& [columns, bytes] : eigen) scratch.push_back(plan.hold("Gram matrices", bytes));
  count_t const last = ranks.back(), others = width_of(ranks, order - 1);
  count_t const core_bytes = matrix_bytes<Scalar>(last, others);
  auto const core          = plan.hold("the core", core_bytes);
  {
    auto const Y = plan.hold("the output of SpTTMc", output);
    if (by_mpi)
      plan.pass("MPI's copies of what it adds up", MemoryPlan::product({2, std::max(wide, core_bytes)}));
    count_t factors = 0;
    for (int n = 0; n < order; ++n)
      factors = MemoryPlan::sum(factors, MemoryPlan::product({extents[n], ranks[n], sizeof(double)}));
    if (!options.resume.empty()) plan.pass("the checkpoint that is resumed", factors);
    plan.pass("partial sums of the core", product_bytes(space, last, others, rows[order - 1]));
  }
  scratch.clear();
  plan.pass("the core in the order of the file", MemoryPlan::product({2 * sizeof(double), last, others}));
}

}  // namespace

template <class Scalar, class Index, class Space>
void plan_tucker(MemoryPlan& plan, Space const& space, Extents const& extents, count_t nnz,
                 TuckerOptions const& options, bool hosvd, MemoryPlan::Held coordinates) {
  if (std::ssize(options.ranks) != extents.order()) return;  // tucker refuses them
  std::vector<count_t> rows;
  for (int n = 0; n < extents.order(); ++n) rows.push_back(extents[n]);
  auto const U      = hosvd ? plan_hosvd_start<Scalar>(plan, space, extents, nnz, options)
                            : plan_random_start<Scalar>(plan, space, extents, rows, options.ranks);
  auto const format = format_bytes<Scalar, Index>(space, extents, nnz, format_options(options));
  plan.pass("the build of " + format.name, format.built);
  auto const X = plan.hold("the tensor in " + format.name, format.stored);
  if (!format.shares) coordinates.release();
  plan_hooi<Scalar>(plan, space, extents, rows, options, false);
}

template <class Scalar, class Index, class Space>
void plan_tucker(MemoryPlan& plan, Space const& space, Extents const& extents, OwnedRows const& owned,
                 TuckerOptions const& options) {
  if (std::ssize(options.ranks) != extents.order()) return;  // tucker refuses them
  std::vector<count_t> rows;
  for (auto const& mode : owned.modes) rows.push_back(mode.rows);
  auto const X = plan_owned_formats<Scalar, Index>(plan, space, extents, owned, owned.part,
                                                   format_options(options), !owned.is_ordered);
  auto const U = plan_random_start<Scalar>(plan, space, extents, rows, options.ranks);
  plan_hooi<Scalar>(plan, space, extents, rows, options, owned.by_mpi);
}

#define POLYAD_PLAN_TUCKER(Scalar, Index)                                                              \
  template void plan_tucker<Scalar, Index>(MemoryPlan&, CompiledSpace const&, Extents const&, count_t, \
                                           TuckerOptions const&, bool, MemoryPlan::Held);              \
  template void plan_tucker<Scalar, Index>(MemoryPlan&, CompiledSpace const&, Extents const&,          \
                                           OwnedRows const&, TuckerOptions const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_PLAN_TUCKER);

}  // namespace polyad
