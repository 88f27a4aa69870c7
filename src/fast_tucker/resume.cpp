// SPDX-License-Identifier: BSD-3-Clause
#include "fast_tucker/resume.hpp"

#include <filesystem>
#include <optional>
#include <ostream>
#include <sstream>
#include <string_view>
#include <type_traits>

#include "polyad/core/error.hpp"

namespace polyad::detail {
namespace {

void write_value(std::ostream& out, FastTuckerOptimizer optimizer) {
  out << facts_of(optimizer).name;
}
void write_value(std::ostream& out, RowTarget target) {
  out << static_cast<int>(target);
}
void write_value(std::ostream& out, BiasDrift const& drift) {
  out << drift.bins << '/' << drift.damping;
}
void write_value(std::ostream& out, Shrinkage const& shrinkage) {
  out << shrinkage.observations << ',' << shrinkage.share << ',' << shrinkage.to_one;
}
void write_value(std::ostream& out, PredictionRange const& range) {
  out << range.lowest << ',' << range.highest;
}
void write_value(std::ostream& out, std::filesystem::path const& file) {
  out << file.string();
}
template <class Number>
  requires std::is_arithmetic_v<Number>
void write_value(std::ostream& out, Number number) {
  out << number;
}
template <class Value>
void write_value(std::ostream& out, std::optional<Value> const& value) {
  write_value(out, *value);
}
template <class Value>
void write_value(std::ostream& out, std::vector<Value> const& values) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (k > 0) out << ',';
    write_value(out, values[k]);
  }
}

template <class Value>
bool is_set(Value const&) {
  return true;
}
template <class Value>
bool is_set(std::optional<Value> const& value) {
  return value.has_value();
}

std::vector<std::string> parts_of(std::string const& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = std::min(text.find("; ", begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return parts;
}

}  // namespace

std::string asked_text(FastTuckerOptions const& options) {
  auto const& optimizer = facts_of(options.optimizer);
  std::ostringstream text;
  text.precision(17);  // numbers to the last bit
  std::string_view last;
  for_each_option(options, [&](OptionRow const& row, auto const& value) {
    std::string_view const name = row.name, key = row.stored;
    bool const of_another = (name == "cg_steps" && !options.implicit) ||
                            (name.starts_with("adam.") && optimizer.moments == 0) ||
                            (name.starts_with("sgd.") && !optimizer.has_core_rate);
    if (key.empty() || of_another || !is_set(value)) return;
    if (key == last)
      text << ',';
    else
      text << (last.empty() ? "" : "; ") << key << ' ';
    write_value(text, value);
    last = key;
  });
  return text.str();
}

void share_facts(RunRanks const& ranks, FastTuckerState& state) {
  auto const list = [&](auto& numbers) {
    using Number      = typename std::remove_cvref_t<decltype(numbers)>::value_type;
    auto const agreed = ranks.from_root(std::vector<double>(numbers.begin(), numbers.end()));
    numbers.clear();
    for (double const number : agreed) numbers.push_back(static_cast<Number>(number));
  };
  auto const number = [&](auto& x) {
    auto agreed = static_cast<double>(x);
    ranks.broadcast_from_root(&agreed, 1);
    x = static_cast<std::remove_cvref_t<decltype(x)>>(agreed);
  };
  auto const resize = [&](auto& lists) {
    double count = static_cast<double>(lists.size());
    ranks.broadcast_from_root(&count, 1);
    lists.resize(static_cast<std::size_t>(count));
  };
  auto const lists = [&](auto& list_per_mode) {
    resize(list_per_mode);
    for (auto& numbers : list_per_mode) list(numbers);
  };
  auto const errors = [&](PredictionErrors& set) {
    number(set.entries);
    number(set.rmse);
    number(set.mae);
  };
  for (auto* const text : {&state.file, &state.precision, &state.format, &state.asked}) list(*text);
  for (auto* const numbers : {&state.extents, &state.columns, &state.targets, &state.drift_bins, &state.bins,
                              &state.left_to_biases})
    list(*numbers);
  for (auto* const numbers :
       {&state.shrinkage, &state.ridge, &state.bias_damping, &state.drift_damping, &state.squares})
    list(*numbers);
  for (auto* const x : {&state.nnz, &state.validation_nnz, &state.rank, &state.candidates,
                        &state.choice_epochs, &state.epoch, &state.kept_epoch})
    number(*x);
  for (auto* const x : {&state.norm_squared, &state.choice_s, &state.mean, &state.best}) number(*x);
  number(state.ridge_per_entry);
  number(state.has_choice);
  number(state.time_mode);
  for (auto* const set : {&state.choice_biases, &state.choice_model}) errors(*set);
  for (auto& set : state.kept_errors) errors(set);
  lists(state.biases);
  lists(state.drifts);
  for (auto* const matrices :
       {&state.factors, &state.cores, &state.intermediates, &state.moments, &state.kept})
    resize(*matrices);
}

void refuse_state(FastTuckerState const& state, std::string const& what) {
  if (!state.file.empty()) throw InputError(state.file, 0, 0, what);
  throw UsageError("the state " + what);
}

void expect_asked(FastTuckerState const& state, std::string const& asked) {
  if (state.asked == asked) return;
  auto const in_state = parts_of(state.asked), in_run = parts_of(asked);
  for (std::size_t k = 0; k < std::min(in_state.size(), in_run.size()); ++k)
    if (in_state[k] != in_run[k])
      refuse_state(state, "is of a run with other options: '" + in_state[k] + "', not '" + in_run[k] + "'");
  refuse_state(state, "is of a run with other options");
}

void put_chosen(FastTuckerOptions const& chosen, FastTuckerState& state) {
  state.rank = chosen.rank;
  state.columns.assign(chosen.columns.begin(), chosen.columns.end());
  for (auto const target : chosen.targets) state.targets.push_back(static_cast<std::uint64_t>(target));
  if (chosen.shrinkage)
    state.shrinkage = {chosen.shrinkage->observations, chosen.shrinkage->share, chosen.shrinkage->to_one};
  if (chosen.ridge) state.ridge = {*chosen.ridge};
  state.ridge_per_entry = chosen.ridge_per_entry;
  state.bias_damping    = {chosen.bias.damping};
  for (auto const& drift : chosen.bias.drift) {
    state.drift_bins.push_back(drift.bins);
    state.drift_damping.push_back(drift.damping);
  }
}

FastTuckerOptions with_chosen(FastTuckerOptions options, FastTuckerState const& state) {
  options.rank = state.rank;
  options.columns.assign(state.columns.begin(), state.columns.end());
  options.targets.clear();
  for (auto const target : state.targets) {
    if (target > static_cast<std::uint64_t>(RowTarget::left_out))
      refuse_state(state, "has an unknown target");
    options.targets.push_back(static_cast<RowTarget>(target));
  }
  if (state.shrinkage.size() == 3)
    options.shrinkage = Shrinkage{state.shrinkage[0], state.shrinkage[1], state.shrinkage[2]};
  // A search that chooses a ridge does not update the cores: with a ridge, such steps would fit the noise.
  if (state.ridge.size() == 1 && !options.ridge) options.update_cores = false;
  if (state.ridge.size() == 1) options.ridge = state.ridge[0];
  options.ridge_per_entry = state.ridge_per_entry;
  if (state.bias_damping.size() == 1) options.bias.damping = state.bias_damping[0];
  if (state.drift_bins.size() != state.drift_damping.size())
    refuse_state(state, "has drifts that make no sense");
  options.bias.drift.clear();
  for (std::size_t n = 0; n < state.drift_bins.size(); ++n) {
    BiasDrift drift;
    drift.bins    = state.drift_bins[n];
    drift.damping = state.drift_damping[n];
    options.bias.drift.push_back(drift);
  }
  return options;
}

}  // namespace polyad::detail
