// SPDX-License-Identifier: BSD-3-Clause
// distribute_rows: each rank owns a range of rows of every mode.
#include <memory>
#include <utility>

#include "distributed/rows_by_cuts.hpp"
#include "polyad/core/instances.hpp"
#include "polyad/distributed/distribute.hpp"
#include "polyad/tensor/sum_duplicates.hpp"

namespace polyad {

using namespace detail;

template <class Scalar, class Index, class Space>
TensorByRank<Scalar, Space> distribute_rows(Communicator<Space> const& ranks, Extents const& extents,
                                            std::span<Index const> indices, std::span<double const> values,
                                            AnyFormatOptions const& format,
                                            std::vector<count_t> const& columns) {
  auto const& space = ranks.space();
  POLYAD_EXPECTS(std::ssize(columns) == extents.order(), columns.size(), " ranks for a tensor of order ",
                 extents.order());
  expect_inside(ranks.host(), extents, indices, values);
  if (ranks.size() == 1) {
    auto summed  = sum_duplicates(space, upload<Scalar, Index>(space, extents, indices, values));
    auto const X = any_format(space, std::move(summed.tensor), format);
    return {{extents, X.nnz(), summed.duplicates, X.norm_squared()},
            {X},
            std::make_shared<RowDistribution<Scalar, Space>>(space, extents)};
  }
  auto const rows = std::make_shared<RowsByCuts<Scalar, Index, Space>>(ranks, extents, indices);
  count_t all     = 1;
  for (count_t const R : columns) all = checked_product("the core", all, R);
  auto formats        = rows->by_rows(indices, values, format, true, [&](int n) {
    count_t const R = columns[n];
    return (rows->rows(n) * padded_rank<Scalar>(R == 0 ? 0 : all / R) + extents[n] * padded_rank<Scalar>(R)) *
           sizeof(Scalar);
  });
  double norm_squared = formats[0].norm_squared();  // each nonzero is in one rank's rows of mode 0
  rows->sum_on_host(std::span(&norm_squared, 1));
  return {
      {extents, rows->nnz(), rows->duplicates(), norm_squared, rows->imbalance()}, std::move(formats), rows};
}

#define POLYAD_DISTRIBUTE_ROWS(Scalar, Index)                                                              \
  template TensorByRank<Scalar, CompiledSpace> distribute_rows(                                            \
      Communicator<CompiledSpace> const&, Extents const&, std::span<Index const>, std::span<double const>, \
      AnyFormatOptions const&, std::vector<count_t> const&)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_DISTRIBUTE_ROWS);

}  // namespace polyad
