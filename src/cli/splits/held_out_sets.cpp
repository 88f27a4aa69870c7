// SPDX-License-Identifier: BSD-3-Clause
#include "cli/splits/held_out_sets.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/names/row_texts.hpp"
#include "cli/run/ranks.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/clean_list.hpp"
#include "polyad/io/split.hpp"

namespace polyad::cli {

namespace {

// Streams of random numbers, different from those of the start (src/fast_tucker/start.cpp).
constexpr std::uint64_t test_stream       = 100;
constexpr std::uint64_t validation_stream = 101;

/// The rule of the test set.
io::SplitOptions rule_of(TrainOptions const& options, InputReport const& input, int order) {
  io::SplitOptions split;
  split.seed        = options.seed;
  split.rule        = options.split_repeats == "apart" ? io::SplitRule::entries : io::SplitRule::coordinates;
  split.one_of_ties = options.split_ties == "one";
  auto const mode   = [&](std::string const& text, char const* option) {
    return mode_of_text(text, input.labels, order, option,
                        advice_on_left_out(text, input.table, options.common.table));
  };
  if (!options.split_rows.empty()) {
    split.rule = io::SplitRule::rows;
    split.mode = mode(options.split_rows, "--split-rows");
  }
  if (!options.split_last.empty()) {
    split.rule = io::SplitRule::last;
    split.mode = mode(options.split_last, "--split-last");
  }
  if (options.split_time > 0) split.rule = io::SplitRule::time;
  if (split.rule != io::SplitRule::time && split.rule != io::SplitRule::last) return split;
  if (!options.split_mode.empty())
    split.time_mode = mode(options.split_mode, "--split-mode");
  else if (options.time_mode_text != "-1")
    split.time_mode = mode(options.time_mode_text, "--time-mode");
  return split;
}

std::string rule_text(io::SplitOptions const& split) {
  std::string text = io::facts_of(split.rule).summary;
  if (split.mode >= 0) text += fmt::format(" of mode {}", split.mode);
  if (split.rule == io::SplitRule::last)
    text += split.time_mode < 0 ? " in the file" : fmt::format(" by mode {}", split.time_mode);
  if (split.rule == io::SplitRule::time) text += fmt::format(" of mode {}", split.time_mode);
  return text;
}

HeldOutSet divide(io::CoordinateList&& list, io::SplitOptions split, std::string_view set) {
  HeldOutSet result;
  if (ranks().size > 1) {
    // Entries at one place may be on several ranks: each counts only its own.
    split.first      = sums_of_ranks(list.nnz()).before;
    auto const marks = io::held_out_entries(list, split);
    auto parts       = io::partition(list, [&](std::uint64_t p) { return marks[p] != 0; });
    result.kept      = std::move(parts.first);
    result.held      = std::move(parts.second);
    return result;
  }
  auto parts  = io::split(list, split);
  result.text = fmt::format("{} of {} entries for the {}, {}; {} entries repeat the place of an earlier one",
                            parts.held.nnz(), list.nnz(), set, rule_text(split), parts.repeated);
  if (parts.separated > 0)
    result.text += fmt::format(", and {} held-out ones at that of one to learn from", parts.separated);
  result.kept = std::move(parts.kept);
  result.held = std::move(parts.held);
  return result;
}

}  // namespace

HeldOutSet hold_out(TrainOptions const& options, io::CoordinateList&& list, InputReport const& input,
                    std::string_view set) {
  auto split         = rule_of(options, input, list.order());
  bool const is_test = set == "test";
  split.share  = !is_test ? options.validate : options.split_time > 0 ? options.split_time : options.split;
  split.stream = is_test ? test_stream : validation_stream;
  return divide(std::move(list), split, set);
}

}  // namespace polyad::cli
