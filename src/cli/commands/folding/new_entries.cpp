// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands/folding/new_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <variant>

#include "cli/drivers/drivers.hpp"
#include "cli/names/read_for_model.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/run/ranks.hpp"
#include "cli/streams/messages.hpp"
#include "cli/tensors/entries.hpp"

namespace polyad::cli {

namespace {

/// The first mode in which entry p has an unknown row; -1 for none. Times after the last count as the last.
int unknown_mode(io::CoordinateList const& list, std::uint64_t p, io::HostFastTucker const& model,
                 std::vector<int> const& own_modes, bool also_unobserved) {
  for (int n = 0; n < list.order(); ++n) {
    if (n == model.time_mode || std::ranges::find(own_modes, n) != own_modes.end()) continue;
    std::uint64_t const row = index_of(list, p, n);
    if (row >= model.extents[n]) return n;
    if (also_unobserved && !is_observed(model.observed, n, row)) return n;
  }
  return -1;
}

int mode_of_users(io::HostFastTucker const& model, RecommendOptions const& options, int items) {
  int users = items == 0 ? 1 : 0;
  if (!options.users.empty())
    users = mode_of_text(options.users, model.names.labels, model.order(), "--user-mode");
  if (users == items) refuse("--mode and --user-mode are both mode {}", items);
  if (users == model.time_mode)
    refuse("mode {} is the mode of time, not of users: say by --user-mode which is", users);
  return users;
}

std::vector<std::uint64_t> rows_in_order(io::CoordinateList const& list, int mode) {
  std::vector<std::uint64_t> rows;
  std::unordered_set<std::uint64_t> met;
  for (std::uint64_t p = 0; p < list.nnz(); ++p)
    if (auto const row = index_of(list, p, mode); met.insert(row).second) rows.push_back(row);
  return rows;
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
    if (model.time_mode >= 0 && index_of(list, p, model.time_mode) >= model.extents[model.time_mode]) ++later;
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
  none.extents.assign(order, 0);
  return none;
}

void append(io::CoordinateList& list, io::CoordinateList const& more) {
  for (std::size_t n = 0; n < list.extents.size(); ++n)
    list.extents[n] = std::max(list.extents[n], more.extents[n]);
  settle_index_type(list);
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
}

std::vector<std::vector<std::uint8_t>> with_rows_of(io::CoordinateList const& list,
                                                    std::vector<std::vector<std::uint8_t>> const& before,
                                                    std::vector<std::uint64_t> const& extents,
                                                    std::vector<std::uint64_t> const& now) {
  std::vector<std::vector<std::uint8_t>> marks(now.size());
  bool some_are_missing = false;
  for (int n = 0; n < std::ssize(now); ++n) {
    auto& of_mode = marks[n];
    of_mode.assign(now[n], 0);
    bool const has_marks = n < std::ssize(before) && !before[n].empty();
    for (std::uint64_t k = 0; k < std::min(extents[n], now[n]); ++k)
      of_mode[k] = has_marks ? before[n][k] : std::uint8_t{1};
    for (std::uint64_t p = 0; p < list.nnz(); ++p)
      if (auto const k = index_of(list, p, n); k < now[n]) of_mode[k] = 1;
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

NewUsers fold_new_users(io::HostFastTucker const& model, RecommendOptions const& options, int items, int base,
                        Report& report) {
  NewUsers users;
  users.mode = mode_of_users(model, options, items);
  auto fold  = settle_fit(options.fold, model, options.model.string());
  fold.modes = {users.mode};
  FoldInTask task;
  if (ranks().rank > 0) {
    task.entries = no_entries(model.order());
    task.added   = task.entries;
    users.model  = fold_in_rows(model, std::move(task), fold);
    return users;
  }
  auto entries = read_for_model({.path = options.ratings}, base, model.names, model.extents, options.common);
  report.input = entries.facts;
  expect_known_rows(entries, model, {users.mode}, options.cold_start == ColdStart::bias);
  say("polyad: rows of {} are solved by {}\n", FileName(options.ratings), fit_text(fold, model));
  users.entries          = std::move(entries.file.tensor);
  users.rows             = rows_in_order(users.entries, users.mode);
  task.entries           = users.entries;
  task.added             = users.entries;
  users.model            = fold_in_rows(model, std::move(task), fold);
  std::size_t const mode = users.mode;
  auto const folded      = with_rows_of(users.entries, model.observed, model.extents, users.model.extents);
  auto const before = with_rows_of(io::CoordinateList(), model.observed, model.extents, users.model.extents);
  // The model learns nothing of items that only the ratings have: they are not recommended.
  users.model.observed = before;
  if (!folded.empty() || !before.empty()) {
    users.model.observed.resize(model.extents.size());
    users.model.observed[mode] = folded.empty() ? std::vector<std::uint8_t>() : folded[mode];
  }
  users.model.names = first_names(std::move(entries.names), users.model.extents, model);
  return users;
}

std::vector<std::vector<Word>> queries_of_users(NewUsers const& users, int items, int base) {
  auto const& labels     = users.model.names.labels;
  std::size_t const mode = users.mode;
  bool const has_labels  = mode < labels.size() && labels[mode].has_rows();
  std::vector<std::vector<Word>> queries;
  for (auto const row : users.rows) {
    auto& words = queries.emplace_back();
    for (int n = 0; n < users.model.order(); ++n) {
      if (n == items) continue;
      if (n != users.mode)
        words.push_back({"*", false, 0});
      else if (has_labels)
        words.push_back({std::string(labels[mode].label(row)), true, 0});
      else
        words.push_back({std::to_string(row + base), false, 0});
    }
  }
  return queries;
}

}  // namespace polyad::cli
