// SPDX-License-Identifier: BSD-3-Clause
// The optimizers of fast_tucker, and their properties, which are the same in every run. Free of Kokkos. What
// they do is in polyad/fast_tucker/fast_tucker.hpp; each has a file of its name in src/fast_tucker.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "polyad/formats/capability.hpp"

namespace polyad {

enum class FastTuckerOptimizer { als, adam, sgd };

struct OptimizerFacts {
  FastTuckerOptimizer id;
  char const* name;               // in the tool, in Python and in checkpoints
  char const* summary;            // a few words for the tool's help
  std::vector<Capability> needs;  // what its format can do
  /// The number of additional matrices for each factor and each core, such as the moments of adam.
  int moments          = 0;
  bool runs_on_ranks   = false;  // on several ranks
  bool has_fixed_order = true;   // there are formats on which it gives the same bits in every run
  bool ridge_per_entry = true;   // its ridge may count once for every observation
  bool draws_rows      = false;  // rows are drawn to targets, unless a ridge draws them to zero
  bool has_core_rate   = false;  // the cores have a separate learning rate

  [[nodiscard]] bool needs_of_format(Capability capability) const;
};

/// All of them, the default first.
[[nodiscard]] std::vector<OptimizerFacts> const& fast_tucker_optimizers();

[[nodiscard]] OptimizerFacts const& facts_of(FastTuckerOptimizer optimizer);

/// The names of the optimizers for which `has` is true, as in "als, adam or sgd".
[[nodiscard]] std::string optimizer_names(bool (*has)(OptimizerFacts const&),
                                          std::string_view conjunction = "or");

/// The optimizer of that name. \throws UsageError that lists the names, if there is none
[[nodiscard]] OptimizerFacts const& find_optimizer(std::string_view name);

}  // namespace polyad
