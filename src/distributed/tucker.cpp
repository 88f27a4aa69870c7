// SPDX-License-Identifier: BSD-3-Clause
// Tucker on many ranks: each owns a range of rows of every mode.
#include <algorithm>
#include <memory>
#include <utility>

#include "distributed/rows_by_cuts.hpp"
#include "fast_tucker/entries.hpp"
#include "polyad/distributed/cp_als.hpp"
#include "polyad/tensor/sum_duplicates.hpp"
#include "tucker/divided_tucker.hpp"

namespace polyad {

using namespace detail;

namespace {

/// The columns of Y, padded. The ranks have been checked.
template <class Scalar>
count_t padded_columns(std::vector<count_t> const& ranks, int n) {
  count_t columns = 1;
  for (std::size_t m = 0; m < ranks.size(); ++m)
    if (m != static_cast<std::size_t>(n)) columns *= ranks[m];
  return padded_rank<Scalar>(columns);
}

template <class Scalar, class Index, class Space>
TuckerOfRanks<Scalar, Space> tucker_of_one(Space const& space, Extents const& extents,
                                           std::span<Index const> indices, std::span<double const> values,
                                           TuckerOptions const& options, TuckerCallback const& callback,
                                           AnyFormatOptions const& format) {
  auto summed = sum_duplicates(space, upload<Scalar, Index>(space, extents, indices, values));
  DividedTensor<Scalar, Index, Space> const X(any_format(space, std::move(summed.tensor), format));
  return {tucker(space, X.format(0), options, callback), facts_of(X), X.nnz(), summed.duplicates, {}};
}

}  // namespace

template <class Scalar, class Index, class Space>
TuckerOfRanks<Scalar, Space> tucker(Communicator<Space> const& ranks, Extents const& extents,
                                    std::span<Index const> indices, std::span<double const> values,
                                    TuckerOptions const& options, TuckerCallback const& callback,
                                    AnyFormatOptions format) {
  auto const& space = ranks.space();
  auto const asked  = format_options(options);
  format.needs      = asked.needs;
  format.iterations = asked.iterations;
  expect_tucker_ranks(extents, options.ranks);
  expect_inside(ranks.host(), extents, indices, values);
  if (ranks.size() == 1)
    return tucker_of_one<Scalar>(space, extents, indices, values, options, callback, format);
  auto const owners  = std::make_shared<RowsByCuts<Scalar, Index, Space>>(ranks, extents, indices);
  auto const formats = owners->by_rows(indices, values, format, true, [&](int n) {
    return (owners->rows(n) * padded_columns<Scalar>(options.ranks, n) +
            extents[n] * padded_rank<Scalar>(of_mode(options.ranks, n))) *
           sizeof(Scalar);
  });
  DividedTensor<Scalar, Index, Space> const X(extents, formats, owners);
  return {divided_tucker(space, X, options, callback), facts_of(X), owners->nnz(), owners->duplicates(),
          owners->imbalance()};
}

#define POLYAD_TUCKER_OF_RANKS(Scalar, Index)                                                     \
  template TuckerOfRanks<Scalar, Kokkos::DefaultExecutionSpace> tucker(                           \
      Communicator<Kokkos::DefaultExecutionSpace> const&, Extents const&, std::span<Index const>, \
      std::span<double const>, TuckerOptions const&, TuckerCallback const&, AnyFormatOptions)
POLYAD_EACH_SCALAR_AND_INDEX(, POLYAD_TUCKER_OF_RANKS);

}  // namespace polyad
