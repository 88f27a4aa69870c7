// SPDX-License-Identifier: BSD-3-Clause
#include "cp/run/checkpoint_of_run.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "io/checkpoints/same_run.hpp"
#include "polyad/io/model_file.hpp"
#include "polyad/tensor/constraints.hpp"

namespace polyad::detail {

namespace {

std::string number_text(double number) {
  std::array<char, 32> digits;
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

/// "0.1, 0.1, 0.5", or "none".
std::string penalties_text(std::vector<double> const& penalties) {
  std::string text;
  for (double const penalty : penalties) text += (text.empty() ? "" : ", ") + number_text(penalty);
  return text.empty() ? "none" : text;
}

/// "mode 0: lower 0, l1 0.1, inner sweeps 1; mode 2: ridge 1, inner sweeps 1", or "none".
/// \param numbers  io::Checkpoint::constraints
std::string constraints_text(std::vector<double> const& numbers) {
  static constexpr std::array names{"lower", "upper", "l1", "ridge", "inner sweeps"};
  std::string text;
  for (std::size_t n = 0; n * names.size() < numbers.size(); ++n) {
    std::string of_mode;
    bool const is_fixed = numbers[n * names.size()] > numbers[n * names.size() + 1];
    if (is_fixed) of_mode = "fixed";
    for (std::size_t i = is_fixed ? 2 : 0; i < names.size(); ++i) {
      double const number = numbers[n * names.size() + i];
      bool const is_bound = i < 2;
      if (is_bound ? std::abs(number) == std::numeric_limits<double>::max() : number == 0) continue;
      bool const is_exact = i == 4 && number == exact_inner;
      of_mode += (of_mode.empty() ? "" : ", ") + std::string(names[i]) + ' ' +
                 (is_exact ? "exact" : number_text(number));
    }
    text += (text.empty() ? "" : "; ") + ("mode " + std::to_string(n) + ": " + of_mode);
  }
  return text.empty() ? "none" : text;
}

/// Reduces the factors of a checkpoint that has all rows to the rows that `run` stores. All updates of an
/// iteration make the rows that do not occur zero, so the Gram matrices stay the same.
void keep_stored_rows(io::Checkpoint& found, io::Checkpoint const& run) {
  if (run.rows.empty() || !found.rows.empty()) return;
  io::HostKtensor all{std::vector<double>(found.rank, 1.0), found.extents, std::move(found.factors), {}};
  found.factors = io::with_rows(std::move(all), run.rows).factors;
}

/// The difference of ridges or constraints; empty for a tensor of another order.
std::string difference_of_updates(io::Checkpoint const& found, io::Checkpoint const& run) {
  if (found.extents.size() != run.extents.size()) return {};
  if (found.constraints == run.constraints)
    return io::difference_of("the ridge", penalties_text(found.penalties), penalties_text(run.penalties));
  return "is a checkpoint of other constraints (" + constraints_text(found.constraints) + ") than " +
         constraints_text(run.constraints);
}

}  // namespace

io::Checkpoint checkpoint_to_resume(RunRanks const& ranks, std::filesystem::path const& path,
                                    io::Checkpoint run) {
  ranks.on_root([&] {
    auto found            = io::read_checkpoint(path);
    auto const difference = io::difference_of_runs(
        found, run, ranks.keeps_format(),
        found.rows.empty() || found.rows == run.rows,  // earlier versions store all rows
        io::difference_of("rank", std::to_string(found.rank), std::to_string(run.rank)),
        difference_of_updates(found, run));
    if (!difference.empty()) throw InputError(path.string(), 0, 0, difference);
    keep_stored_rows(found, run);
    if (found.weights.empty()) found.weights.assign(run.rank, 1.0);
    run = std::move(found);
  });
  double facts[] = {static_cast<double>(run.iteration), run.fit, static_cast<double>(run.gram_fallbacks)};
  ranks.broadcast_from_root(facts, std::size(facts));
  run.iteration      = static_cast<std::uint64_t>(facts[0]);
  run.fit            = facts[1];
  run.gram_fallbacks = static_cast<std::uint64_t>(facts[2]);
  for (auto* const numbers : {&run.grams, &run.weights, &run.scales})
    ranks.broadcast_from_root(numbers->data(), numbers->size());
  run.factors.resize(run.extents.size());
  return run;
}

}  // namespace polyad::detail
