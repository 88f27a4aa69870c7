// SPDX-License-Identifier: BSD-3-Clause
// polyad recommend: the rows of a mode with the highest predictions. Each other mode has a given index, or is
// averaged over.
//
// Also polyad similar: the rows of a mode that are most similar to given ones, by their products with the
// core.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/commands/folding/new_entries.hpp"
#include "cli/names/read_for_model.hpp"
#include "cli/names/row_texts.hpp"
#include "cli/names/words.hpp"
#include "cli/run/ranks.hpp"
#include "cli/tensors/entries.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/printable.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::cli {

namespace {

/// As polyad::every_row: a mode to average over.
constexpr std::uint64_t every_row = std::numeric_limits<std::uint64_t>::max();

/// The place of a query: on the command line, or in a file.
struct Place {
  std::string file;  // empty: the option
  std::uint64_t line   = 0;
  std::uint64_t column = 0;
};

[[noreturn]] void refuse_at(Place const& place, std::string const& option, std::string const& reason) {
  if (place.file.empty()) throw UsageError(option + " " + reason);
  throw InputError(place.file, place.line, place.column, reason);
}

/// The rules for the indices of a query.
struct QueryRules {
  std::string option;      // that gives one
  std::vector<int> modes;  // that have an index
  bool averages = false;   // takes *
  bool known    = false;   // has to be a row of the model that has entries
};

/// Queries, with their words as they are printed, and names that the model does not know.
struct Queries {
  std::vector<std::uint64_t> indices;
  std::vector<std::string> texts;
  std::vector<std::string> unknown;
};

/// The row of --index: a number or a label, which may have the quotes of CSV.
Word word_of_index(std::string const& typed) {
  if (typed.starts_with('"'))
    if (auto words = split_words(typed, false); words.size() == 1) return std::move(words.front());
  return {typed, true, 0};
}

/// Reads the rows of queries by a model's names.
class QueryReader {
public:
  QueryReader(io::HostFastTucker const& model, RowTexts& rows, QueryRules rules)
      : m_model(model), m_rows(rows), m_rules(std::move(rules)) {}

  void add(std::vector<Word> const& words, Place place, Queries& queries) const {
    std::size_t const width = m_rules.modes.size();
    if (words.size() != width) {
      place.column = words.size() > width ? words[width].column : 0;
      refuse_at(place, m_rules.option,
                fmt::format("gives {} indices for the {} {}", words.size(), width,
                            m_rules.averages ? "other modes" : "row that the others are compared with"));
    }
    std::string text;
    for (std::size_t i = 0; i < width; ++i) {
      place.column = words[i].column;
      queries.indices.push_back(row_of(m_rules.modes[i], words[i], place, queries));
      bool const is_name = words[i].is_quoted || m_rows.has_labels(m_rules.modes[i]);
      text += (is_name && !words[i].is_star() ? quoted_if_needed(words[i].text) : words[i].text) + " ";
    }
    queries.texts.push_back(std::move(text));
  }

  /// Reads one query a line; skips empty lines and those that begin with #.
  [[nodiscard]] Queries read(std::filesystem::path const& path) const {
    std::ifstream file(path, std::ios::binary);
    std::string const name = path.string();
    if (!file || std::filesystem::is_directory(path)) refuse_file(name, "cannot be read");
    Queries queries;
    std::string line;
    for (std::uint64_t number = 1; std::getline(file, line); ++number) {
      if (auto const first = line.find_first_not_of(" \t\r"); first == line.npos || line[first] == '#')
        continue;
      std::vector<Word> words;
      try {
        words = split_words(line, true);
      } catch (UsageError const& error) {
        throw InputError(name, number, 0, error.what());
      }
      add(words, {name, number, 0}, queries);
    }
    if (file.bad()) refuse_file(name, "cannot be read");
    if (queries.texts.empty()) refuse_file(name, "holds no query");
    return queries;
  }

private:
  std::uint64_t row_of(int mode, Word const& word, Place const& place, Queries& queries) const {
    if (m_rules.averages && word.is_star()) return every_row;
    auto const row  = m_rows.row(mode, word);
    auto const text = printable(std::string_view(word.text).substr(0, 40));
    if (!row)
      refuse_at(place, m_rules.option,
                fmt::format("takes indices of at least {}{}, not '{}'", m_rows.base(),
                            m_rules.averages ? ", or *" : "", text));
    std::uint64_t const rows = m_rows.rows(mode);
    if (*row >= rows && m_rows.has_labels(mode)) {
      if (m_rules.known)
        refuse_at(place, m_rules.option,
                  fmt::format("'{}' is not a row of {} in the model", text, m_rows.mode_text(mode)));
      queries.unknown.push_back(fmt::format("'{}' in {}", text, m_rows.mode_text(mode)));
    }
    if (m_rules.known && *row >= rows)
      refuse_at(place, m_rules.option,
                fmt::format("{} is not a row of {}: the model has {}, which count from {}", text,
                            m_rows.mode_text(mode), rows, m_rows.base()));
    if (m_rules.known && !is_observed(m_model.observed, mode, *row))
      refuse_at(place, m_rules.option,
                fmt::format("{} is a row of {} that has no entries in the training set", text,
                            m_rows.mode_text(mode)));
    return *row;
  }

  io::HostFastTucker const& m_model;
  RowTexts& m_rows;
  QueryRules m_rules;
};

/// The queries of the file, or the one of the command line. The latter is not printed in front of its rows.
Queries queries_of(std::filesystem::path const& file, std::vector<Word> const& at,
                   QueryReader const& reader) {
  if (!file.empty()) return reader.read(file);
  Queries queries;
  reader.add(at, {}, queries);
  queries.texts[0].clear();
  return queries;
}

/// The words of --for, which may have been given as several arguments.
std::vector<Word> words_of(std::vector<std::string> const& arguments) {
  std::vector<Word> words;
  try {
    for (auto const& argument : arguments)
      for (auto& word : split_words(argument, false)) words.push_back(std::move(word));
  } catch (UsageError const& error) {
    throw UsageError(std::string("--for ") + error.what());
  }
  return words;
}

/// Queries and rows count alike: as the model's rows do.
void write_arrays(RankedRows const& found, std::uint64_t base, std::filesystem::path const& output) {
  std::map<std::string, io::HostArray> arrays;
  auto& query = arrays["query"];
  auto& row   = arrays["row"];
  auto& score = arrays["score"];
  for (std::size_t q = 0; q + 1 < found.starts.size(); ++q)
    query.elements.resize(found.starts[q + 1], static_cast<double>(q + base));
  for (auto const k : found.rows) row.elements.push_back(static_cast<double>(k + base));
  score.elements = found.scores;
  for (auto* array : {&query, &row, &score}) array->shape = {found.rows.size()};
  io::write_arrays_npz(output, arrays, false);
}

/// A line a row, or three arrays of that length.
void put(RankedRows const& found, Queries const& queries, int mode, RowTexts const& rows,
         std::filesystem::path const& output) {
  if (output.extension() == ".npz") {
    write_arrays(found, rows.has_labels(mode) ? 0 : rows.base(), output);
  } else {
    std::string text;
    for (std::size_t q = 0; q < queries.texts.size(); ++q)
      for (auto i = found.starts[q]; i < found.starts[q + 1]; ++i)
        text +=
            fmt::format("{}{} {:.6g}\n", queries.texts[q], rows.text(mode, found.rows[i]), found.scores[i]);
    io::AtomicFile file(output);
    file.write(text);
    file.commit();
  }
  if (io::own_descriptor(output) != STDOUT_FILENO) show("wrote    {}\n", FileName(output));
}

}  // namespace

/// Several ranks compute rows of new users together. Then rank 0 alone recommends.
int run(RecommendOptions const& options, Report& report) {
  if (ranks().size > 1 && options.ratings.empty())
    refuse("recommend runs on several ranks only for --ratings so far: start this command without mpirun");
  auto model     = io::read_fast_tucker(options.model);
  int const mode = mode_of_text(options.mode, model.names.labels, model.order(), "--mode");
  int const base = base_of_model(model.names, options.index_base, options.model);
  RunSession session(options.common, report);
  std::optional<NewUsers> users;
  if (!options.ratings.empty()) {
    session.begin();
    users = fold_new_users(model, options, mode, base, report);
    if (ranks().rank > 0) return 0;
    model                = std::move(users->model);
    users->model.names   = model.names;
    users->model.extents = model.extents;
  }
  RowTexts rows(model.names, model.extents, base);
  QueryRules rules;
  rules.option   = "--for";
  rules.averages = true;
  rules.known    = options.cold_start == ColdStart::refuse;
  for (int n = 0; n < model.order(); ++n)
    if (n != mode) rules.modes.push_back(n);
  QueryReader const reader(model, rows, rules);
  Queries queries;
  if (users && options.at.empty() && options.file.empty())
    for (auto const& words : queries_of_users(*users, mode, base)) reader.add(words, {}, queries);
  else
    queries = queries_of(options.file, words_of(options.at), reader);
  io::CoordinateList seen;
  if (!options.seen.empty())
    seen = read_for_model({.path = options.seen}, rows.base(), model.names, model.extents, options.common)
               .file.tensor;
  if (users && !options.rank_seen) {
    if (seen.nnz() == 0)
      seen = std::move(users->entries);
    else
      append(seen, users->entries);
  }
  session.begin();
  auto found = recommend_rows(model, mode, queries.indices, options.count, std::move(seen));
  // Only on request: the range of the model would make the best scores equal.
  for (double& score : found.scores)
    if (!options.clip.empty()) score = std::min(std::max(score, options.clip[0]), options.clip[1]);
  if (found.unknown > 0) {
    auto const shown = std::min<std::size_t>(queries.unknown.size(), 3);
    say("polyad: {} queries have an index that the model does not know{}{}: their answers use the known "
        "biases only\n",
        found.unknown, shown > 0 ? ", such as " : "",
        fmt::join(queries.unknown.begin(), queries.unknown.begin() + shown, ", "));
  }
  put(found, queries, mode, rows, options.output);
  return 0;
}

int run(SimilarOptions const& options, Report& report) {
  auto const model = io::read_fast_tucker(options.model);
  int const mode   = mode_of_text(options.mode, model.names.labels, model.order(), "--mode");
  RowTexts rows(model.names, model.extents, base_of_model(model.names, options.index_base, options.model));
  QueryRules rules;
  rules.option = "--index";
  rules.known  = true;
  rules.modes  = {mode};
  auto const queries =
      queries_of(options.file, {word_of_index(options.index.value_or(""))}, QueryReader(model, rows, rules));
  Session const session(options.common, report);
  put(similar_rows(model, mode, queries.indices, options.count), queries, mode, rows, options.output);
  return 0;
}

}  // namespace polyad::cli
