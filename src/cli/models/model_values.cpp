// SPDX-License-Identifier: BSD-3-Clause
#include "cli/models/model_values.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

#include "cli/tensors/device_tensor.hpp"
#include "polyad/core/error.hpp"
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

}  // namespace

std::vector<double> model_values(io::HostKtensor const& model, io::CoordinateList const& places) {
  Space const space;
  return values_by_blocks(space, io::to_model<double>(space, model), model.extents, places);
}

std::vector<double> model_values(io::HostTucker const& model, io::CoordinateList const& places) {
  Space const space;
  return values_by_blocks(space, on_device(space, model), model.extents, places);
}

}  // namespace polyad::cli
