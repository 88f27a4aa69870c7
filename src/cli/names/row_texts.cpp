// SPDX-License-Identifier: BSD-3-Clause
#include "cli/names/row_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "cli/run/ranks.hpp"
#include "cli/streams/messages.hpp"
#include "polyad/core/error.hpp"
#include "polyad/core/printable.hpp"

namespace polyad::cli {

namespace {
[[noreturn]] void refuse_unknown_base(std::filesystem::path const& model) {
  throw UsageError(model.string() +
                   ": the model does not say whether its rows count from 0 or from 1; say it with "
                   "--index-base");
}
}  // namespace

int known_base(io::RowNames const& names, int index_base) {
  if (index_base >= 0) return index_base;
  bool const all_have_labels =
      !names.labels.empty() &&
      std::all_of(names.labels.begin(), names.labels.end(), [](auto const& mode) { return mode.has_rows(); });
  return names.index_base < 0 && all_have_labels ? 0 : names.index_base;
}

int base_of_model(io::RowNames const& names, int index_base, std::filesystem::path const& model) {
  int const base = known_base(names, index_base);
  if (base < 0) refuse_unknown_base(model);
  return base;
}

int base_shown_by(io::ReadReport const& entries, std::vector<std::uint64_t> const& dims,
                  std::vector<std::uint64_t> const& extents, int own_mode,
                  std::filesystem::path const& model) {
  if (!entries.dialect.shows_base_by_indices() || entries.index_base == 0) return entries.index_base;
  for (std::size_t n = 0; n < std::min(dims.size(), extents.size()); ++n)
    if (std::cmp_not_equal(n, own_mode) && dims[n] >= extents[n]) return entries.index_base;
  refuse_unknown_base(model);
}

int mode_of_text(std::string const& text, io::Labels const& labels, int order, std::string const& option,
                 std::string const& advice) {
  if (auto const number = whole_number<std::uint64_t>(text)) {
    if (*number >= static_cast<std::uint64_t>(order))
      refuse("{} {} of {} modes, which count from 0{}", option, text, order, advice);
    return static_cast<int>(*number);
  }
  if (auto const mode = io::find_mode(labels, text)) return *mode;
  std::string names;
  for (auto const& mode : labels)
    if (!mode.name.empty()) names += (names.empty() ? "" : ", ") + printable(mode.name);
  refuse("{} takes the number of a mode, counted from 0{}, not '{}'{}", option,
         names.empty() ? "" : ", or one of the names " + names, printable(text.substr(0, 40)), advice);
}

std::string advice_on_left_out(std::string const& text, std::optional<io::DelimitedReport> const& table,
                               io::DelimitedOptions const& asked) {
  if (!table || !table->time.empty()) return "";
  std::vector<std::string> left_out = table->left_out;
  std::erase(left_out, "");
  // A mode that has no number may be the column with that number, or any other.
  if (std::ranges::find(left_out, text) != left_out.end()) left_out = {text};
  if (left_out.empty()) return "";
  bool const is_one       = left_out.size() == 1;
  std::string const names = printable(fmt::format("{}", fmt::join(left_out, ", ")));
  return fmt::format(
      "; {} left out: {}--time {} --time-unit day makes {} a mode that counts days",
      is_one ? "column " + names + " of the table was" : "columns " + names + " of the table were",
      asked.columns.empty() ? "" : fmt::format("add {} to --columns, or ", is_one ? "it" : "one"),
      is_one ? names : "COLUMN", is_one ? "its times" : "the times of one");
}

int mode_on_ranks(std::string const& text, io::Labels const& labels, int order, std::string const& option,
                  std::string const& advice) {
  int const mode = ranks().rank == 0 ? mode_of_text(text, labels, order, option, advice) : 0;
  return static_cast<int>(of_all_ranks({static_cast<std::uint64_t>(mode)}).front().front());
}

void expect_same_rows(io::Labels const& of_a, std::string const& a, io::Labels const& of_b,
                      std::string const& b) {
  for (std::size_t n = 0; n < std::min(of_a.size(), of_b.size()); ++n) {
    auto const &one = of_a[n], &other = of_b[n];
    if (!one.has_rows() || !other.has_rows() || (one.bytes == other.bytes && one.ends == other.ends))
      continue;
    std::size_t row = 0;
    while (row < std::min(one.rows(), other.rows()) && one.label(row) == other.label(row)) ++row;
    auto const text = [row](io::ModeLabels const& mode) {
      return row < mode.rows() ? fmt::format("'{}'", printable(mode.label(row).substr(0, 40)))
                               : std::string("missing");
    };
    refuse(
        "{} and {} have different numberings: row {} of mode {}, counted from 0, is {} in the "
        "first and {} in the second",
        a, b, row, n, text(one), text(other));
  }
}

RowTexts::RowTexts(io::RowNames const& names, std::vector<std::uint64_t> extents, int base)
    : m_names(names), m_extents(std::move(extents)), m_base(base), m_indices(m_extents.size()) {}

bool RowTexts::has_labels(int mode) const {
  return !m_names.labels.empty() && m_names.labels[mode].has_rows();
}

std::string RowTexts::mode_text(int mode) const {
  std::string const name = m_names.labels.empty() ? "" : m_names.labels[mode].name;
  return name.empty() ? fmt::format("mode {}", mode) : fmt::format("mode {} ({})", mode, printable(name));
}

std::string RowTexts::text(int mode, std::uint64_t row) const {
  if (has_labels(mode) && row < rows(mode)) return quoted_if_needed(m_names.labels[mode].label(row));
  return std::to_string(row + m_base);
}

std::optional<std::uint64_t> RowTexts::row(int mode, Word const& word) {
  if (has_labels(mode)) {
    auto& index = m_indices[mode];
    if (!index) index.emplace(m_names.labels[mode]);
    return index->find(word.text).value_or(rows(mode));
  }
  auto const number        = whole_number<std::uint64_t>(word.text);
  std::uint64_t const base = m_base;
  if (!number || *number < base || *number - base == std::numeric_limits<std::uint64_t>::max())
    return std::nullopt;
  return *number - base;
}

std::uint64_t RowTexts::rows(int mode) const {
  return m_extents[mode];
}

}  // namespace polyad::cli
