// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/fast_tucker/optimizers.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "polyad/core/error.hpp"

namespace polyad {

bool OptimizerFacts::needs_of_format(Capability capability) const {
  return std::find(needs.begin(), needs.end(), capability) != needs.end();
}

std::vector<OptimizerFacts> const& fast_tucker_optimizers() {
  static std::vector<OptimizerFacts> const all{
      {.id            = FastTuckerOptimizer::als,
       .name          = "als",
       .summary       = "least squares",
       .needs         = {Capability::row_least_squares, Capability::residual_sweep},
       .runs_on_ranks = true,
       .draws_rows    = true},
      {.id              = FastTuckerOptimizer::adam,
       .name            = "adam",
       .summary         = "whole sweeps",
       .needs           = {Capability::residual_sweep},
       .moments         = 2,
       .ridge_per_entry = false},
      {.id              = FastTuckerOptimizer::sgd,
       .name            = "sgd",
       .summary         = "the paper's updates",
       .needs           = {Capability::sgd},
       .has_fixed_order = false,
       .has_core_rate   = true}};
  return all;
}

OptimizerFacts const& facts_of(FastTuckerOptimizer optimizer) {
  auto const& all = fast_tucker_optimizers();
  return *std::find_if(all.begin(), all.end(), [&](auto const& facts) { return facts.id == optimizer; });
}

std::string optimizer_names(bool (*has)(OptimizerFacts const&), std::string_view conjunction) {
  std::vector<std::string> names;
  for (auto const& facts : fast_tucker_optimizers())
    if (has(facts)) names.emplace_back(facts.name);
  std::string text;
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (k > 0) text += k + 1 < names.size() ? ", " : " " + std::string(conjunction) + " ";
    text += names[k];
  }
  return text;
}

OptimizerFacts const& find_optimizer(std::string_view name) {
  for (auto const& facts : fast_tucker_optimizers())
    if (facts.name == name) return facts;
  throw UsageError("the optimizer is " + optimizer_names([](auto const&) { return true; }) + ", not '" +
                   std::string(name) + "'");
}

}  // namespace polyad
