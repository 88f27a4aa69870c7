// SPDX-License-Identifier: BSD-3-Clause
// polyad recommend: the rows of a mode with the highest predictions. Each other mode has a given index, or is
// averaged over.
//
// Also polyad similar: the rows of a mode that are most similar to given ones, by their products with the
// core.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/drivers/ranking.hpp"
#include "cli/report/file_name_format.hpp"
#include "cli/run/session.hpp"
#include "cli/streams/messages.hpp"
#include "polyad/core/device.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/per_mode.hpp"
#include "polyad/io/array_npz.hpp"
#include "polyad/io/atomic_file.hpp"
#include "polyad/io/input_file.hpp"
#include "polyad/io/tensor_file.hpp"

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
  std::string option;                  // that gives one
  std::vector<std::uint64_t> extents;  // of the modes that have an index
  std::vector<int> modes;
  std::uint64_t base = 1;
  bool averages      = false;  // takes *
  bool known         = false;  // has to be a row of the model
};

std::uint64_t parse_index(std::string_view word, std::size_t position, QueryRules const& rules,
                          Place const& place) {
  if (rules.averages && word == "*") return every_row;
  std::uint64_t number    = 0;
  auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < rules.base ||
      number - rules.base == every_row)
    refuse_at(place, rules.option,
              fmt::format("takes indices from {} on{}, not '{}'", rules.base, rules.averages ? ", or *" : "",
                          word.substr(0, 40)));
  std::uint64_t const rows = rules.extents[position];
  if (rules.known && number - rules.base >= rows)
    refuse_at(place, rules.option,
              fmt::format("{} is no row of mode {}: the model has {}, which count from {}", number,
                          rules.modes[position], rows, rules.base));
  return number - rules.base;
}

/// Queries, with their original words.
struct Queries {
  std::vector<std::uint64_t> indices;
  std::vector<std::string> texts;
};

void add_query(std::vector<std::pair<std::string_view, std::uint64_t>> const& words, QueryRules const& rules,
               Place place, Queries& queries) {
  std::size_t const width = rules.extents.size();
  if (words.size() != width) {
    place.column = words.size() > width ? words[width].second : 0;
    refuse_at(place, rules.option,
              fmt::format("gives {} indices for the {} {}", words.size(), width,
                          rules.averages ? "other modes" : "row that the others are compared with"));
  }
  std::string text;
  for (std::size_t i = 0; i < width; ++i) {
    place.column = words[i].second;
    queries.indices.push_back(parse_index(words[i].first, i, rules, place));
    text += std::string(words[i].first) + " ";
  }
  queries.texts.push_back(std::move(text));
}

/// Reads one query a line; skips empty lines and those that begin with #.
Queries read_queries(std::filesystem::path const& path, QueryRules const& rules) {
  std::ifstream file(path, std::ios::binary);
  std::string const name = path.string();
  if (!file || std::filesystem::is_directory(path)) throw InputError(name, 0, 0, "cannot be read");
  Queries queries;
  std::string line;
  std::vector<std::pair<std::string_view, std::uint64_t>> words;
  for (std::uint64_t number = 1; std::getline(file, line); ++number) {
    words.clear();
    auto const is_blank = [&](std::size_t i) { return line[i] == ' ' || line[i] == '\t' || line[i] == '\r'; };
    for (std::size_t i = 0; i < line.size();) {
      std::size_t const begin = i;
      while (i < line.size() && !is_blank(i)) ++i;
      if (i > begin) words.emplace_back(std::string_view(line).substr(begin, i - begin), begin + 1);
      while (i < line.size() && is_blank(i)) ++i;
    }
    if (words.empty() || words[0].first[0] == '#') continue;
    add_query(words, rules, {name, number, 0}, queries);
  }
  if (file.bad()) throw InputError(name, 0, 0, "cannot be read");
  if (queries.texts.empty()) throw InputError(name, 0, 0, "holds no query");
  return queries;
}

/// The queries of the file, or the one of the command line. The latter is not printed in front of its rows.
Queries queries_of(std::filesystem::path const& file, std::vector<std::string> const& at,
                   QueryRules const& rules) {
  if (!file.empty()) return read_queries(file, rules);
  std::vector<std::pair<std::string_view, std::uint64_t>> words;
  for (auto const& word : at) words.emplace_back(word, 0);
  Queries queries;
  add_query(words, rules, {}, queries);
  queries.texts[0].clear();
  return queries;
}

io::CoordinateList read_seen(RecommendOptions const& options) {
  io::InputFile file(options.seen);
  if (file.is_table())
    throw UsageError(fmt::format(
        "{} is a table, whose ids are labels, but {} has no labels: give indices as coordinate text",
        FileName(options.seen), FileName(options.model)));
  return file.read_tensor({.index_base = options.index_base, .memory_bytes = options.common.max_memory})
      .tensor;
}

void expect_mode_of(io::HostFastTucker const& model, int mode) {
  if (mode < 0 || mode >= model.order())
    throw UsageError(fmt::format("mode {} of a model of {} modes, which count from 0", mode, model.order()));
}

void write_arrays(RankedRows const& found, std::uint64_t base, std::filesystem::path const& output) {
  std::map<std::string, io::HostArray> arrays;
  auto& query = arrays["query"];
  auto& row   = arrays["row"];
  auto& score = arrays["score"];
  for (std::size_t q = 0; q + 1 < found.starts.size(); ++q)
    query.elements.resize(found.starts[q + 1], static_cast<double>(q));
  for (auto const k : found.rows) row.elements.push_back(static_cast<double>(k + base));
  score.elements = found.scores;
  for (auto* array : {&query, &row, &score}) array->shape = {found.rows.size()};
  io::write_arrays_npz(output, arrays, false);
}

/// A line a row, or three arrays of that length.
void put(RankedRows const& found, Queries const& queries, std::uint64_t base,
         std::filesystem::path const& output) {
  if (output.extension() == ".npz") {
    write_arrays(found, base, output);
  } else {
    std::string text;
    for (std::size_t q = 0; q < queries.texts.size(); ++q)
      for (auto i = found.starts[q]; i < found.starts[q + 1]; ++i)
        text += fmt::format("{}{} {:.6g}\n", queries.texts[q], found.rows[i] + base, found.scores[i]);
    io::AtomicFile file(output);
    file.write(text);
    file.commit();
  }
  if (io::own_descriptor(output) != STDOUT_FILENO) show("wrote    {}\n", FileName(output));
}

}  // namespace

int run(RecommendOptions const& options, Report& report) {
  expect_usable_device();
  io::expect_writable(options.output);
  auto model = io::read_fast_tucker(options.model);
  expect_mode_of(model, options.mode);
  if (!options.clip.empty()) {
    model.lowest  = options.clip[0];
    model.highest = options.clip[1];
  }
  QueryRules rules;
  rules.option   = "--for";
  rules.base     = static_cast<std::uint64_t>(options.index_base);
  rules.averages = true;
  rules.known    = options.cold_start == ColdStart::refuse;
  for (int n = 0; n < model.order(); ++n) {
    if (n == options.mode) continue;
    rules.modes.push_back(n);
    rules.extents.push_back(of_mode(model.extents, n));
  }
  auto const queries = queries_of(options.file, options.at, rules);
  io::CoordinateList seen;
  if (!options.seen.empty()) {
    seen = read_seen(options);
    if (seen.order() != model.order())
      throw InputError(options.seen.string(), 0, 0,
                       fmt::format("has {} modes, but the model has {}", seen.order(), model.order()));
  }
  Session const session(options.common.threads, options.common.verbose);
  report.backend   = session.backend();
  auto const found = recommend_rows(model, options.mode, queries.indices, options.count, std::move(seen));
  if (found.unknown > 0)
    say("polyad: {} queries have an index that the model does not know: their answers use the known biases "
        "only\n",
        found.unknown);
  put(found, queries, rules.base, options.output);
  return 0;
}

int run(SimilarOptions const& options, Report& report) {
  expect_usable_device();
  io::expect_writable(options.output);
  auto const model = io::read_fast_tucker(options.model);
  expect_mode_of(model, options.mode);
  QueryRules rules;
  rules.option  = "--index";
  rules.base    = static_cast<std::uint64_t>(options.index_base);
  rules.known   = true;
  rules.modes   = {options.mode};
  rules.extents = {of_mode(model.extents, options.mode)};
  auto const queries =
      queries_of(options.file, {options.index ? std::to_string(*options.index) : std::string()}, rules);
  Session const session(options.common.threads, options.common.verbose);
  report.backend = session.backend();
  put(similar_rows(model, options.mode, queries.indices, options.count), queries, rules.base, options.output);
  return 0;
}

}  // namespace polyad::cli
