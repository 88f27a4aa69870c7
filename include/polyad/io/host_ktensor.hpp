// SPDX-License-Identifier: BSD-3-Clause
// A Kruskal tensor, weights and factor matrices, in host memory and double precision: what the model files
// hold.
#pragma once

#include <cstdint>
#include <vector>

namespace polyad::io {

struct HostKtensor {
  /// lambda, R of them
  std::vector<double> weights;
  /// I_0, ..., I_{N-1}
  std::vector<std::uint64_t> extents;
  /// A^(n), I_n x R, row-major
  std::vector<std::vector<double>> factors;

  [[nodiscard]] std::uint64_t rank() const noexcept { return weights.size(); }
  [[nodiscard]] int order() const noexcept { return static_cast<int>(extents.size()); }

  bool operator==(HostKtensor const&) const = default;
};

/// \throws UsageError unless the arrays have the sizes that the weights and extents say
void expect_consistent(HostKtensor const& model);

}  // namespace polyad::io
