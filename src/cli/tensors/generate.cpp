// SPDX-License-Identifier: BSD-3-Clause
#include "cli/drivers/drivers.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "polyad/core/counter_rng.hpp"
#include "polyad/tensor/factor_matrices.hpp"
#include "polyad/tensor/generate.hpp"

namespace polyad::cli {

namespace {

using Space = Kokkos::DefaultExecutionSpace;
// One instantiation is enough for all shapes. The list converts the indices to 32 bits if they fit.
using Tensor = CooTensor<double, std::uint64_t, Space>;

io::CoordinateList to_list(Tensor const& tensor, std::vector<std::uint64_t> const& extents) {
  auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), tensor.indices());
  auto const values  = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), tensor.values());
  io::CoordinateList list;
  list.extents = extents;
  bool const wide =
      *std::max_element(extents.begin(), extents.end()) > std::numeric_limits<std::uint32_t>::max();
  if (wide) list.indices.emplace<1>();
  std::visit(
      [&](auto& out) {
        using Index = typename std::remove_cvref_t<decltype(out)>::value_type;
        out.resize(indices.extent(0) * indices.extent(1));
        std::transform(indices.data(), indices.data() + out.size(), out.begin(),
                       [](std::uint64_t i) { return static_cast<Index>(i); });
      },
      list.indices);
  list.values.assign(values.data(), values.data() + values.extent(0));
  return list;
}

/// Values in steps of a half from 0.5 to 5: a planted mean of `rank` products of factors, plus noise,
/// rounded.
void rate(GenOptions const& options, io::CoordinateList& list) {
  std::uint64_t const order = list.extents.size();
  // Streams of random numbers that differ from those of the coordinates.
  std::uint64_t const factors = options.seed + 0x52415445, noise = options.seed + 0x4E4F4953;
  std::visit(
      [&](auto const& indices) {
        for (std::uint64_t p = 0; p < list.nnz(); ++p) {
          double mean = 0;
          for (std::uint64_t r = 0; r < options.rank; ++r) {
            double product = 1;
            for (std::uint64_t n = 0; n < order; ++n)
              product *= 0.5 + 0.5 * counter_uniform(factors, n, indices[p * order + n], r);
            mean += product;
          }
          // The sum of four uniform numbers minus its mean, divided by its standard deviation 1 / sqrt(3).
          double normal = -2;
          for (std::uint64_t k = 0; k < 4; ++k) normal += counter_uniform(noise, 0, p, k);
          double const rating =
              0.5 + 4.5 * mean / static_cast<double>(options.rank) + options.noise * normal * std::sqrt(3.0);
          list.values[p] = std::clamp(std::round(2 * rating) / 2, 0.5, 5.0);
        }
      },
      list.indices);
}

}  // namespace

GeneratedTensor generate(GenOptions const& options) {
  Space const space;
  Extents const extents{std::span<count_t const>(options.dims)};
  POLYAD_EXPECTS(options.rank >= 1, "the rank must be at least 1");
  GeneratedTensor result;
  if (options.kind == "low-rank") {
    // The largest blocks that fit every mode, or fewer so that nnz is not exceeded.
    count_t block = std::numeric_limits<count_t>::max();
    for (count_t const extent : options.dims) block = std::min(block, extent / options.rank);
    if (options.nnz > 0)
      block = std::min(block, static_cast<count_t>(std::pow(static_cast<double>(options.nnz) /
                                                                static_cast<double>(options.rank),
                                                            1.0 / static_cast<double>(options.dims.size())) +
                                                   1e-9));
    auto const planted = planted_tensor<double, std::uint64_t>(space, extents, options.rank,
                                                               std::max<count_t>(block, 1), options.seed);
    space.fence("polyad::generate");
    result.tensor        = to_list(planted.tensor, options.dims);
    result.model.weights = planted.model.weights;
    result.model.extents = options.dims;
    for (int n = 0; n < extents.order(); ++n)
      result.model.factors.push_back(to_host<double>(space, planted.model.factors[n]));
    return result;
  }
  PowerLawOptions law;
  law.seed = options.seed;
  if (options.kind != "uniform")
    for (int n = 0; n < extents.order(); ++n) law.skew[n] = options.skew;
  result.tensor =
      to_list(power_law_tensor<double, std::uint64_t>(space, extents, options.nnz, law), options.dims);
  if (options.kind == "ratings") rate(options, result.tensor);
  return result;
}

}  // namespace polyad::cli
