// SPDX-License-Identifier: BSD-3-Clause
#include "io/delimited/table_layout.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "io/known_file.hpp"
#include "io/quoted.hpp"
#include "io/text/matrix_market.hpp"
#include "io/text/tokens.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;

constexpr std::size_t most_sample_records = 100;

/// The sample, which ends with whole lines, from a line on.
struct SampleText {
  std::string_view text;
  [[nodiscard]] char const* end() const { return text.data() + text.size(); }
};

std::string_view first_line(std::string_view text) {
  return without_return(text.substr(0, text.find('\n')));
}

/// The records of the sample, of which the last may be cut off.
/// \param fault  the fault of the record after them, which is wrong or cut off
std::vector<Record> records_of(Separator separator, std::string_view text, Field* fault = nullptr) {
  std::vector<Record> records;
  char const *p = text.data(), *const end = p + text.size();
  std::uint64_t line = 1;
  while (p < end && records.size() < most_sample_records) {
    if (auto const* const next = after_empty_line(separator, p, end)) {
      p = next;
      ++line;
      continue;
    }
    auto record = take_record(separator, p, end, fault);
    if (!record) {
      if (records.empty()) records.emplace_back();  // wrong, or cut off
      break;
    }
    record->line = line;
    line += std::count(p, record->next, '\n');
    p = record->next;
    records.push_back(std::move(*record));
  }
  return records;
}

/// Whether each token is a number, also with a decimal comma: coordinate text, right or wrong.
bool holds_numbers_and_blanks(std::string_view line) {
  int count = 0;
  for (auto token = take_token(line); !token.empty(); token = take_token(line), ++count)
    if (!looks_numeric(token)) return false;
  return count > 1;
}

/// How well a separator explains the records: the fields of the first one, and how many have the same number.
struct Fitness {
  Separator separator;
  std::vector<Record> records;
  std::size_t fields = 0, alike = 0, least = 0;

  /// A mark that every record has separates fields, even if their numbers differ.
  [[nodiscard]] bool is_plausible() const {
    bool const is_mark = separator.kind != Separator::Kind::blanks && records.size() > 1;
    return fields > 1 && (2 * alike > records.size() || (is_mark && least > 1));
  }
  [[nodiscard]] bool is_even() const { return alike == records.size(); }
};

Fitness fitness_of(std::string_view delimiter, std::string_view text) {
  Fitness fitness{Separator::of(delimiter), {}};
  fitness.records = records_of(fitness.separator, text);
  if (fitness.records.empty()) return fitness;
  fitness.fields = fitness.least = fitness.records.front().fields.size();
  for (Record const& record : fitness.records) {
    fitness.alike += record.fields.size() == fitness.fields ? 1 : 0;
    fitness.least = std::min(fitness.least, record.fields.size());
  }
  return fitness;
}

/// Whether every comma within fields belongs to a decimal number.
bool has_decimal_commas_only(std::vector<Record> const& records) {
  for (std::size_t r = 0; r < records.size(); ++r)
    for (auto const& field : records[r].fields)
      if (field.find(',') != std::string::npos && !has_decimal_comma(field)) return false;
  return true;
}

/// The separator that explains the first records. Tabs and :: are hardly ever part of a field; blanks often
/// are. Of the others, the one that gives more fields wins.
std::optional<Fitness> find_separator(std::string_view text) {
  for (bool const even : {true, false}) {
    for (auto const* const mark : {"\t", "::"})
      if (auto fitness = fitness_of(mark, text); fitness.is_plausible() && fitness.is_even() == even)
        return fitness;
    std::optional<Fitness> best;
    for (auto const* const mark : {";", "|", ","}) {
      auto fitness = fitness_of(mark, text);
      if (!fitness.is_plausible() || fitness.is_even() != even) continue;
      if (mark == ";"sv && has_decimal_commas_only(fitness.records)) return fitness;
      if (!best || fitness.fields > best->fields) best = std::move(fitness);
    }
    if (best) return best;
    if (auto fitness = fitness_of(" ", text); fitness.is_plausible() && fitness.is_even() == even)
      return fitness;
  }
  return std::nullopt;
}

/// Whether the fields of the first record can name columns: words, of which the first may be missing.
bool can_be_header(Record const& record) {
  auto const& fields = record.fields;
  for (std::size_t c = 0; c < fields.size(); ++c)
    if ((fields[c].empty() && c > 0) || looks_numeric(fields[c]) || form_of_time(fields[c])) return false;
  return !fields.empty();
}

/// Whether the first record is a header; nothing if it is not clear.
std::optional<bool> is_header(std::vector<Record> const& records, DelimitedOptions const& options) {
  auto const& first = records.front();
  if (!can_be_header(first)) return false;
  if (first.fields.front().empty()) return true;
  std::vector<std::string> said = options.columns;
  for (auto const& column : {options.value, options.time}) said.push_back(column);
  for (auto const& name : first.fields)
    if (std::find(said.begin(), said.end(), name) != said.end()) return true;
  SampleRows rows;
  rows.records.assign(records.begin() + 1, records.end());
  if (rows.records.empty()) return std::nullopt;
  for (std::size_t c = 0; c < first.fields.size(); ++c)
    if (rows.mostly(c, [](auto text) { return looks_numeric(text) || form_of_time(text).has_value(); }) &&
        !rows.field(0, c).empty())
      return true;
  for (std::size_t c = 0; c < first.fields.size(); ++c)
    for (std::size_t r = 0; r < rows.records.size(); ++r)
      if (rows.field(r, c) == first.fields[c]) return false;
  for (auto const& name : first.fields)
    if (names_value(name) || names_time(name) || names_rows(name)) return true;
  return std::nullopt;
}

/// Whether lines with only blanks or tabs are a table with words, not coordinate text with a mistake.
bool shows_words(std::vector<Record> const& records, bool has_header) {
  if (holds_nothing(records.front().fields.front()) && !has_header) return false;
  if (has_header && records.size() > 1) return true;
  for (std::size_t c = 0; c < records.front().fields.size(); ++c) {
    std::size_t words = 0;
    for (Record const& record : records)
      words += c < record.fields.size() && !looks_numeric(record.fields[c]) ? 1 : 0;
    if (words > 1 && 2 * words >= records.size()) return true;
  }
  return false;
}

/// Whether the file is known to be something else: coordinate text, a model, or a file without a reader.
bool is_other_text(std::string_view text) {
  if (text.starts_with("\xFF\xFE"sv) || text.starts_with("\xFE\xFF"sv)) return true;
  if (describe_foreign_file(text) || describe_own_file(text)) return true;
  return looks_like_banner(first_line(text));
}

bool is_headed_coordinates(std::string_view line) {
  auto const word = take_token(line);
  for (auto const known : {"sptensor"sv, "tensor"sv, "ktensor"sv, "matrix"sv, "facmatrix"sv})
    if (word == known) return true;
  return false;
}

/// Passes over empty lines and comments. A comment with as many fields as the next line is a header.
void pass_comments(std::string_view& text, TableLayout& layout, std::optional<Separator> separator) {
  for (;;) {
    auto const line       = first_line(text);
    std::string_view rest = line;
    if (text.empty() || !holds_nothing(take_token(rest))) return;
    std::size_t const bytes = std::min(text.find('\n') + 1, text.size());
    auto const next         = text.substr(bytes);
    if (separator && line.find_first_not_of(" \t") != std::string_view::npos) {
      auto const one = records_of(*separator, text.substr(0, bytes));
      auto const two = records_of(*separator, next);
      if (!one.empty() && !two.empty() && one[0].fields.size() > 1 &&
          one[0].fields.size() == two[0].fields.size())
        return;
    }
    layout.bytes += bytes;
    ++layout.lines;
    text = next;
  }
}

void expect_distinct_names(Record const& header, std::uint64_t line, std::string const& file) {
  std::map<std::string_view, std::size_t> seen;
  for (std::size_t c = 0; c < header.fields.size(); ++c) {
    auto const& name           = header.fields[c];
    auto const [place, is_new] = seen.emplace(name, c);
    if (!is_new)
      throw InputError(file, line, header.columns[c],
                       "column " + std::to_string(c) + " has the name of column " +
                           std::to_string(place->second) + ": " + in_quotes(name));
  }
}

/// \param lines  the lines before the text
InputError fault_of(std::string const& file, std::uint64_t lines, std::string_view text, Field const& field) {
  auto const before = text.substr(0, field.fault - text.data());
  auto const begin  = before.rfind('\n') + 1;  // 0 if there is none
  return {file, lines + 1 + std::count(before.begin(), before.end(), '\n'), before.size() - begin + 1,
          std::string(field.reason)};
}

/// "# user" names the column user.
void strip_comment_mark(std::string& name) {
  if (!name.starts_with('#')) return;
  name.erase(0, std::min(name.find_first_not_of("# \t"), name.size()));
}

}  // namespace

std::optional<TableLayout> recognise_table(std::string_view sample, bool is_whole,
                                           DelimitedOptions const& options, std::string const& file) {
  TableLayout layout;
  if (sample.starts_with("\xEF\xBB\xBF"sv)) {
    layout.bytes = 3;
    sample.remove_prefix(3);
  }
  if (sample.empty() || is_other_text(sample)) return std::nullopt;
  std::string closed;  // with a last line end
  if (is_whole && !sample.ends_with('\n')) {
    closed = std::string(sample) + '\n';
    sample = closed;
  }
  if (!is_whole) sample = sample.substr(0, sample.rfind('\n') + 1);
  std::string_view text = sample;
  std::optional<Separator> separator;
  if (!options.delimiter.empty()) separator = Separator::of(delimiter(options.delimiter));
  TableLayout comments;
  auto rest = text;
  pass_comments(rest, comments, std::nullopt);
  auto const line = first_line(rest);
  if (!options.is_set() && (rest.empty() || is_headed_coordinates(line) || holds_numbers_and_blanks(line) ||
                            looks_numeric(without_return(line))))
    return std::nullopt;
  if (!separator) {
    auto const found = find_separator(rest);
    if (!found && line.find('\r') != std::string_view::npos && line.find_first_of(",;|:\"") < line.find('\r'))
      throw InputError(file, comments.lines + 1, line.find('\r') + 1,
                       "a carriage return is inside a line, which ends with a line feed, or with both");
    if (!found && !options.is_set()) return std::nullopt;
    if (!found)
      throw InputError(
          file, comments.lines + 1, 0,
          "what separates the fields is not clear; say it with the delimiter: " + in_quotes(line));
    separator = found->separator;
  }
  layout.separator = *separator;
  pass_comments(text, layout, separator);
  Field fault;
  auto records = records_of(*separator, text, &fault);
  if (records.empty() || records.front().fields.empty()) {
    if (!options.is_set()) return std::nullopt;
    throw InputError(
        file, layout.lines + 1, 0,
        text.empty() ? "holds no nonzeros" : "the first line is not a record: " + in_quotes(line));
  }
  for (auto& record : records) record.line += layout.lines;
  auto header         = options.header ? options.header : is_header(records, options);
  bool const is_blank = separator->kind == Separator::Kind::blanks || separator->mark == '\t';
  if (!options.is_set() && is_blank && !shows_words(records, header.value_or(false))) return std::nullopt;
  if (!header && fault.fault != nullptr) throw fault_of(file, layout.lines, text, fault);
  if (!header)
    throw InputError(
        file, layout.lines + 1, 1,
        "may name the columns or be a row: no column holds numbers; say which with the header: " +
            in_quotes(first_line(text)));
  auto const& first = records.front();
  // Empty lines before it count, too.
  std::string_view before = text.substr(0, first.next - text.data());
  SampleRows rows;
  rows.has_header = layout.has_header = *header;
  for (std::size_t c = 0; c < first.fields.size(); ++c)
    layout.names.push_back(*header ? first.fields[c] : std::to_string(c));
  if (*header) {
    std::uint64_t const lines = std::count(before.begin(), before.end(), '\n');
    strip_comment_mark(layout.names.front());
    expect_distinct_names(first, layout.lines + lines, file);
    layout.bytes += before.size();
    layout.lines += lines;
    records.erase(records.begin());
  }
  rows.records             = std::move(records);
  layout.report.delimiter  = separator->text();
  layout.report.has_header = *header;
  assign_columns(layout, rows, options, file);
  return layout;
}

std::string describe(DelimitedReport const& report) {
  std::string text = Separator::of(report.delimiter).description() +
                     (report.has_header ? " with" : " without") + " a header:";
  text += report.columns.size() == 1 ? " column" : " columns";
  for (std::size_t n = 0; n < report.columns.size(); ++n)
    text += (n == 0 ? " " : ", ") + report.columns[n] +
            (report.columns[n] == report.time && report.time_unit
                 ? " (by " + std::string(to_string(*report.time_unit)) + ")"
                 : "");
  text += report.value.empty() ? "; each line counts 1" : " -> value " + report.value;
  if (report.left_out.empty()) return text;
  text += "; left out:";
  for (std::size_t n = 0; n < report.left_out.size(); ++n)
    text +=
        (n == 0 ? " " : ", ") + (report.left_out[n].empty() ? "the one without a name" : report.left_out[n]);
  return text;
}

}  // namespace polyad::io
