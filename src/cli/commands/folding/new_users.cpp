// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands/folding/new_users.hpp"

#include <cstddef>
#include <string>
#include <unordered_set>
#include <utility>

#include "cli/commands/folding/new_entries.hpp"
#include "cli/drivers/folding/fold_in.hpp"
#include "cli/names/read_for_model.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/run/ranks.hpp"
#include "cli/streams/messages.hpp"
#include "cli/streams/refuse.hpp"
#include "cli/tensors/entries.hpp"

namespace polyad::cli {

namespace {

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
  users.entries     = std::move(entries.file.tensor);
  users.rows        = rows_in_order(users.entries, users.mode);
  task.entries      = users.entries;
  task.added        = users.entries;
  users.model       = fold_in_rows(model, std::move(task), fold);
  auto const mode   = static_cast<std::size_t>(users.mode);
  auto const folded = with_rows_of(users.entries, model.observed, model.extents, users.model.extents);
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
  auto const& labels    = users.model.names.labels;
  auto const mode       = static_cast<std::size_t>(users.mode);
  bool const has_labels = mode < labels.size() && labels[mode].has_rows();
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
        words.push_back({std::to_string(row + static_cast<std::uint64_t>(base)), false, 0});
    }
  }
  return queries;
}

}  // namespace polyad::cli
