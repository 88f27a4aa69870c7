// SPDX-License-Identifier: BSD-3-Clause
#include "factor.hpp"

#include <utility>

#include "device_tensor.hpp"
#include "polyad/formats/registry.hpp"

namespace polyad::cli {

// Instantiated in factor_f32_u32.cpp and its likes.
template <class Scalar, class Index>
io::HostKtensor factor_as(CpdOptions const& options, io::CoordinateList&& list,
                          std::optional<io::HostKtensor> start, Report& report,
                          OnIteration const& on_iteration, Checkpoints const& checkpoints);

std::string resolve_format(std::string const& name) {
  std::string const resolved = name == "auto" ? "sorted" : name;
  with_format<double, std::uint32_t, Space>(resolved, [](auto) {});
  return resolved;
}

std::string known_formats() {
  return format_names();
}

io::HostKtensor factor(CpdOptions const& options, io::CoordinateList&& tensor,
                       std::optional<io::HostKtensor> start, Report& report, OnIteration const& on_iteration,
                       Checkpoints const& checkpoints) {
  return with_index_type(tensor, [&](auto index) {
    using Index = typename decltype(index)::type;
    if (options.precision == "f32")
      return factor_as<float, Index>(options, std::move(tensor), std::move(start), report, on_iteration,
                                     checkpoints);
    return factor_as<double, Index>(options, std::move(tensor), std::move(start), report, on_iteration,
                                    checkpoints);
  });
}

}  // namespace polyad::cli
