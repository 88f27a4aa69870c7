// SPDX-License-Identifier: BSD-3-Clause
// The benchmarks' tensors: presets with the shapes of published tensors, generated on the device, and files.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "polyad/tensor/coo_tensor.hpp"
#include "polyad/tensor/generate.hpp"

namespace polyad::perf {

using namespace detail;  // benchmarks look inside

using Space = Kokkos::DefaultExecutionSpace;
template <class Scalar>
using Tensor = CooTensor<Scalar, std::uint32_t, Space>;

/// The statistics of a tensor of FROSTT or HaTen2, nonzeros scaled down to 30 million at most.
struct Preset {
  std::string name;
  std::vector<count_t> extents;
  count_t nnz = 0;
  std::vector<double> skew;
  count_t fiber_run = 1;
  int run_mode      = -1;
  double crowded =
      0;  // share of the nonzeros in row 0 of mode 0, a fifth of them in one fiber of the last mode
  bool ratings = false;  // users x items x days (ratings.hpp)
};

std::vector<Preset> const& presets();

/// The preset of that name, or the shape that a name random:SEED draws, if there is one.
/// \throws UsageError when no seed comes after random:
std::optional<Preset> find_preset(std::string const& name);

/// Generates a preset with `scale` times its nonzeros.
Tensor<double> generate(Space const& space, Preset const& preset, double scale);

/// A preset or a file. Keeps the last one, since benchmarks of one tensor follow each other.
Tensor<double> const& tensor(Space const& space, std::string const& name, double scale);

/// The same coordinates with values of another type.
template <class Scalar>
Tensor<Scalar> with_values_of(Space const& space, Tensor<double> const& source) {
  if constexpr (std::is_same_v<Scalar, double>) {
    return source;
  } else {
    typename Tensor<Scalar>::values_type values(
        Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "polyad::perf_values"), source.nnz());
    Kokkos::deep_copy(space, values, source.values());
    space.fence("polyad::perf");
    return Tensor<Scalar>(source.extents(), source.indices(), values);
  }
}

/// A preset or a file with values of another type.
template <class Scalar>
Tensor<Scalar> tensor_of(Space const& space, std::string const& name, double scale) {
  return with_values_of<Scalar>(space, tensor(space, name, scale));
}

}  // namespace polyad::perf
