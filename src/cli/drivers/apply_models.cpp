// SPDX-License-Identifier: BSD-3-Clause
// Values, rankings and new rows of models that were fitted before.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "cli/drivers/drivers.hpp"
#include "cli/run/communicator.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/ranks.hpp"
#include "cli/tensors/device_tensor.hpp"
#include "cli/tensors/read_on_ranks.hpp"
#include "polyad/core/error.hpp"
#include "polyad/fast_tucker/evaluate.hpp"
#include "polyad/fast_tucker/fast_tucker.hpp"
#include "polyad/fast_tucker/recommend.hpp"
#include "polyad/fit/predict.hpp"
#include "polyad/io/saved_models.hpp"

namespace polyad::cli {

namespace {

/// Places on the device at a time: 80 MB for three modes.
constexpr std::size_t places_of_block = std::size_t{1} << 22;

template <class T>
using HostArrayView =
    Kokkos::View<T, Kokkos::LayoutRight, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class Model>
std::vector<double> values_by_blocks(Space const& space, Model const& model,
                                     std::vector<std::uint64_t> const& extents,
                                     io::CoordinateList const& places) {
  Extents const sizes{std::span<count_t const>(extents)};
  auto const order = extents.size();
  POLYAD_EXPECTS(places.extents.size() == order, "places of ", places.extents.size(),
                 " modes for a model of ", order);
  std::vector<double> values(places.nnz());
  std::visit(
      [&](auto const& indices) {
        using Index = typename std::remove_cvref_t<decltype(indices)>::value_type;
        for (std::size_t first = 0; first < values.size(); first += places_of_block) {
          std::size_t const count = std::min(places_of_block, values.size() - first);
          auto const block        = make_coo_tensor<double, Index>(space, sizes, count);
          Kokkos::deep_copy(space, block.indices(),
                            HostArrayView<Index const**>(indices.data() + first * order, count, order));
          predict(space, model, block, block.values());
          Kokkos::deep_copy(space, HostArrayView<double*>(values.data() + first, count), block.values());
          space.fence("polyad::model_values");
        }
      },
      places.indices);
  return values;
}

TuckerModel<double, Space> on_device(Space const& space, io::HostTucker const& host) {
  TuckerModel<double, Space> model;
  for (int n = 0; n < host.order(); ++n) {
    std::size_t const m = n;
    model.factors.push_back(make_factor_matrix<double>(
        space, "polyad::tucker_factor", stored_rows(host.rows, m, host.extents[m]), host.ranks[m]));
    from_host<double>(space, host.factors[m], model.factors.back());
  }
  std::size_t const last = host.ranks.back(), others = last == 0 ? 0 : host.core.size() / last;
  std::vector<double> unfolded(host.core.size());
  for (std::size_t d = 0; d < others; ++d)
    for (std::size_t r = 0; r < last; ++r) unfolded[r * others + d] = host.core[d * last + r];
  model.core = make_factor_matrix<double>(space, "polyad::tucker_core", last, others);
  from_host<double>(space, unfolded, model.core);
  model.rows = host.rows;
  return model;
}

RankedRows to_ranked(Rankings&& found) {
  return {std::move(found.starts), std::move(found.rows), std::move(found.scores), found.unknown};
}

template <class Scalar, class Index>
io::HostFastTucker fold_in_as(io::HostFastTucker const& host, FoldInTask&& task,
                              FoldInOptions const& options) {
  auto const world   = make_communicator(false);
  auto const& space  = world.space();
  auto model         = io::to_model<Scalar>(space, host);
  auto const entries = upload_list<Scalar, Index>(space, std::move(task.entries));
  if (task.added)
    model = update_rows(world, model, entries, upload_list<Scalar, Index>(space, std::move(*task.added)),
                        options);
  else
    model = fold_in(world, model, entries, options);
  for (int sweep = 0; sweep < task.sweeps; ++sweep) {
    stop_if_interrupted("the sweeps over all rows");
    model = update_rows(world, model, entries, entries, options);
  }
  return io::to_host_model(space, model);
}

}  // namespace

std::vector<double> model_values(io::HostKtensor const& model, io::CoordinateList const& places) {
  Space const space;
  return values_by_blocks(space, io::to_model<double>(space, model), model.extents, places);
}

std::vector<double> model_values(io::HostTucker const& model, io::CoordinateList const& places) {
  Space const space;
  return values_by_blocks(space, on_device(space, model), model.extents, places);
}

RankedRows recommend_rows(io::HostFastTucker const& host, int mode, std::vector<std::uint64_t> const& queries,
                          std::uint64_t count, io::CoordinateList&& seen) {
  Space const space;
  auto const model = io::to_model<double>(space, host);
  std::span<count_t const> const asked(queries);
  RankingOptions options;
  options.count    = count;
  options.observed = host.observed;
  if (seen.nnz() == 0) return to_ranked(recommend(space, model, mode, asked, options));
  return with_index_type(needs_wide_index(seen), [&](auto index) {
    using Index = typename decltype(index)::type;
    return to_ranked(
        recommend(space, model, mode, asked, options, upload_list<double, Index>(space, std::move(seen))));
  });
}

RankedRows similar_rows(io::HostFastTucker const& host, int mode, std::vector<std::uint64_t> const& rows,
                        std::uint64_t count) {
  Space const space;
  RankingOptions options;
  options.count    = count;
  options.observed = host.observed;
  return to_ranked(
      similar(space, io::to_model<double>(space, host), mode, std::span<count_t const>(rows), options));
}

Evaluation evaluate_model(io::HostFastTucker const& host, EvaluationOptions options,
                          io::CoordinateList&& test, io::CoordinateList&& seen) {
  auto const world         = make_communicator(true);  // what ranks exchange is in host memory
  auto const& space        = world.space();
  auto const model         = io::to_model<double>(space, host);
  options.observed         = host.observed;
  options.implicit_targets = host.fit && host.fit->implicit;
  // Ranks may know different extents: rank 0 alone knows labels.
  bool const wide_test = needs_wide_index_on_ranks(test), wide_seen = needs_wide_index_on_ranks(seen);
  bool const is_wide = sums_of_ranks(wide_test || wide_seen ? 1 : 0).all > 0;
  return with_index_type(is_wide, [&](auto index) {
    using Index      = typename decltype(index)::type;
    using Tensor     = CooTensor<double, Index, Space>;
    bool const knows = seen.nnz() > 0;
    auto const tests = upload_list<double, Index>(space, std::move(test));
    return evaluate(world, model, tests, options,
                    knows ? upload_list<double, Index>(space, std::move(seen)) : Tensor());
  });
}

io::HostFastTucker fold_in_rows(io::HostFastTucker const& model, FoldInTask&& task, FoldInOptions options) {
  options.observed     = model.observed;
  bool const wide_here = needs_wide_index(task.entries) || (task.added && needs_wide_index(*task.added));
  bool const is_wide   = sums_of_ranks(wide_here ? 1 : 0).all > 0;
  return with_types(std::string(task.precision), is_wide, [&](auto scalar, auto index) {
    return fold_in_as<decltype(scalar), decltype(index)>(model, std::move(task), options);
  });
}

std::vector<double> predict_entries(io::HostFastTucker const& host, io::CoordinateList&& places) {
  Space const space;
  return with_index_type(needs_wide_index(places), [&](auto index) {
    using Index            = typename decltype(index)::type;
    auto const predictions = predict(space, io::to_model<double>(space, host),
                                     upload_list<double, Index>(space, std::move(places)));
    auto const result      = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), predictions);
    return std::vector<double>(result.data(), result.data() + result.size());
  });
}

}  // namespace polyad::cli
