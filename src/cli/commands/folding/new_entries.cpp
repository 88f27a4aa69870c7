// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands/folding/new_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <variant>

#include "cli/names/row_texts.hpp"
#include "cli/run/ranks.hpp"
#include "cli/streams/messages.hpp"
#include "cli/streams/refuse.hpp"
#include "cli/tensors/entries.hpp"

namespace polyad::cli {

namespace {

/// The first mode in which entry p has an unknown row; -1 for none. Times after the last count as the last.
int unknown_mode(io::CoordinateList const& list, std::uint64_t p, io::HostFastTucker const& model,
                 std::vector<int> const& own_modes, bool also_unobserved) {
  for (int n = 0; n < list.order(); ++n) {
    if (n == model.time_mode || std::ranges::find(own_modes, n) != own_modes.end()) continue;
    std::uint64_t const row = index_of(list, p, n);
    if (row >= model.extents[static_cast<std::size_t>(n)]) return n;
    if (also_unobserved && !is_observed(model.observed, n, row)) return n;
  }
  return -1;
}

/// Converts the indices to 64 bits.
void widen(io::CoordinateList& list) {
  if (list.wide()) return;
  auto const& narrow = std::get<0>(list.indices);
  std::remove_cvref_t<decltype(std::get<1>(list.indices))> wide(narrow.size());
  std::ranges::copy(narrow, wide.begin());
  list.indices = std::move(wide);
}

}  // namespace

TypedFoldIn settle_fit(TypedFoldIn const& typed, io::HostFastTucker const& model, std::string const& path) {
  TypedFoldIn options = typed;
  if (model.fit) {
    auto const& stored         = *model.fit;
    bool const typed_ridge     = typed.ridge || typed.ridge_per_entry,
               typed_shrinkage = typed.shrinkage.has_value();
    if (!typed.implicit) options.implicit = stored.implicit;
    if (!typed_ridge && !typed_shrinkage) {
      options.ridge           = stored.ridge;
      options.ridge_per_entry = stored.ridge_per_entry;
      options.shrinkage       = stored.shrinkage;
    }
    if (typed.targets.empty()) options.targets = stored.targets;
    if (!typed.has_typed_damping) options.bias_damping = stored.bias_damping;
  }
  if (!options.targets.empty() && options.targets.size() != model.extents.size())
    refuse("--targets gives {} words for {} modes", options.targets.size(), model.order());
  bool const has_biases = !model.biases.empty() || model.mean != 0;
  if (options.implicit && has_biases)
    refuse("{} has a mean and biases, so it was not fitted with --implicit: leave that out", path);
  if (!options.implicit && !has_biases && !model.fit && ranks().rank == 0)
    say("polyad: {} has neither a mean nor biases: if it was fitted with --implicit, give that here, too\n",
        path);
  return options;
}

std::string fit_text(TypedFoldIn const& settled, io::HostFastTucker const& model) {
  std::string text;
  auto const add = [&](std::string const& option) { text += (text.empty() ? "" : " ") + option; };
  if (settled.implicit) add(fmt::format("--implicit={:.4g}", *settled.implicit));
  bool const has_ridge = settled.ridge || settled.ridge_per_entry;
  if (has_ridge) add(fmt::format("--reg {:.4g}", settled.ridge.value_or(usual_ridge)));
  if (settled.ridge_per_entry) add("--reg-per-entry");
  auto const shrinkage = settled.shrinkage.value_or(Shrinkage());
  if (!has_ridge && !settled.implicit)
    add(fmt::format("--shrink {:.4g},{:.4g},{:.4g}", shrinkage.observations, shrinkage.share,
                    shrinkage.to_one));
  std::string words;
  for (auto const target : settled.targets)
    words += fmt::format("{}{}", words.empty() ? "" : ",",
                         target == RowTarget::zero  ? "zero"
                         : target == RowTarget::one ? "one"
                                                    : "out");
  if (!words.empty() && !settled.implicit) add("--targets " + words);
  if (!model.biases.empty()) add(fmt::format("--bias-reg {:.4g}", settled.bias_damping));
  char const* const source = !model.fit         ? "the model's file does not say how rows were fitted"
                             : settled.is_typed ? "as given, and otherwise as the model's file says"
                                                : "as the model's file says";
  return fmt::format("{} ({})", text, source);
}

std::optional<RowFit> fit_to_keep(TypedFoldIn const& settled, io::HostFastTucker const& model) {
  if (!model.fit && !settled.is_typed) return std::nullopt;
  RowFit fit = settled;
  if (fit.ridge_per_entry && !fit.ridge) fit.ridge = usual_ridge;
  return fit;
}

void expect_known_rows(EntriesForModel const& entries, io::HostFastTucker const& model,
                       std::vector<int> const& own_modes, bool allowed) {
  auto const& list = entries.file.tensor;
  RowTexts const rows(entries.names, list.extents, entries.names.index_base);
  std::uint64_t unknown = 0, later = 0;
  for (std::uint64_t p = 0; p < list.nnz(); ++p) {
    if (model.time_mode >= 0 &&
        index_of(list, p, model.time_mode) >= model.extents[static_cast<std::size_t>(model.time_mode)])
      ++later;
    int const n = unknown_mode(list, p, model, own_modes, !allowed);
    if (n < 0) continue;
    ++unknown;
    if (!allowed)
      refuse_file(entries.facts.path.name,
                  "entry {} has row {} of {}, which the model does not have, or has no "
                  "entries of; --cold-start bias uses such entries for biases alone",
                  p + 1, rows.text(n, index_of(list, p, n)), rows.mode_text(n));
  }
  if (unknown > 0)
    say("polyad: {} entries have a row that the model does not have: they count for biases alone, unless the "
        "fit left that mode out\n",
        unknown);
  if (later > 0)
    say("polyad: {} entries have a time that the model does not have: they count as of its last time\n",
        later);
}

io::CoordinateList no_entries(int order) {
  io::CoordinateList none;
  none.extents.assign(static_cast<std::size_t>(order), 0);
  return none;
}

void append(io::CoordinateList& list, io::CoordinateList const& more) {
  if (more.wide()) widen(list);
  std::visit(
      [&](auto& indices) {
        using Index = typename std::remove_cvref_t<decltype(indices)>::value_type;
        std::visit(
            [&](auto const& others) {
              std::size_t next = indices.size();
              indices.resize(next + others.size());
              for (auto const index : others) indices[next++] = static_cast<Index>(index);
            },
            more.indices);
      },
      list.indices);
  list.values.insert(list.values.end(), more.values.begin(), more.values.end());
  for (std::size_t n = 0; n < list.extents.size(); ++n)
    list.extents[n] = std::max(list.extents[n], more.extents[n]);
  bool const needs_wide = std::ranges::any_of(
      list.extents, [](std::uint64_t extent) { return extent > std::numeric_limits<std::uint32_t>::max(); });
  if (needs_wide) widen(list);
}

std::vector<std::vector<std::uint8_t>> with_rows_of(io::CoordinateList const& list,
                                                    std::vector<std::vector<std::uint8_t>> const& before,
                                                    std::vector<std::uint64_t> const& extents,
                                                    std::vector<std::uint64_t> const& now) {
  std::vector<std::vector<std::uint8_t>> marks(now.size());
  bool some_are_missing = false;
  for (std::size_t n = 0; n < now.size(); ++n) {
    auto& of_mode = marks[n];
    of_mode.assign(now[n], 0);
    bool const has_marks = n < before.size() && !before[n].empty();
    for (std::uint64_t k = 0; k < std::min(extents[n], now[n]); ++k)
      of_mode[k] = has_marks ? before[n][k] : std::uint8_t{1};
    for (std::uint64_t p = 0; p < list.nnz(); ++p)
      if (auto const k = index_of(list, p, static_cast<int>(n)); k < now[n]) of_mode[k] = 1;
    if (std::ranges::find(of_mode, std::uint8_t{0}) == of_mode.end())
      of_mode.clear();
    else
      some_are_missing = true;
  }
  if (!some_are_missing) marks.clear();
  return marks;
}

io::RowNames first_names(io::RowNames names, std::vector<std::uint64_t> const& extents,
                         io::HostFastTucker const& model) {
  for (std::size_t n = 0; n < names.labels.size(); ++n) {
    auto& mode = names.labels[n];
    if (mode.rows() <= extents[n]) continue;
    mode.ends.resize(extents[n]);
    mode.bytes.resize(mode.ends.empty() ? 0 : mode.ends.back());
  }
  names.index_base = model.names.index_base;
  return names;
}

}  // namespace polyad::cli
