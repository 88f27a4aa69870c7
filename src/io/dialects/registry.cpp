// SPDX-License-Identifier: BSD-3-Clause
#include "io/dialects/registry.hpp"

#include <algorithm>
#include <ranges>
#include <string>
#include <vector>

#include "io/binary_kind.hpp"
#include "polyad/core/error.hpp"
#include "polyad/io/atomic_file.hpp"

namespace polyad::io {

namespace {

#define POLYAD_LIST_DIALECT(name) Dialect(name##_dialect),
constexpr Dialect all_dialects[] = {POLYAD_DIALECTS(POLYAD_LIST_DIALECT)};
#undef POLYAD_LIST_DIALECT

}  // namespace

std::string_view Dialect::name() const noexcept {
  return m_definition->name;
}

std::span<std::string_view const> Dialect::endings() const noexcept {
  return m_definition->endings;
}

bool Dialect::is_text() const noexcept {
  return m_definition->is_text;
}

bool Dialect::shows_base_by_indices() const noexcept {
  return m_definition->shows_base_by_indices;
}

bool Dialect::can_write() const noexcept {
  return m_definition->write != nullptr;
}

bool Dialect::holds_names() const noexcept {
  return m_definition->holds_names;
}

bool Dialect::holds_floats() const noexcept {
  return m_definition->holds_floats;
}

bool Dialect::holds_extents() const noexcept {
  return m_definition->holds_extents;
}

bool Dialect::can_pack() const noexcept {
  return m_definition->can_pack;
}

std::span<Dialect const> dialects() noexcept {
  return all_dialects;
}

std::optional<Dialect> recognise_binary(RawInput const& input) {
  std::string_view const start = input.peek();
  for (Dialect const dialect : all_dialects)
    if (auto const begins = dialect.definition().begins; begins != nullptr && begins(start)) return dialect;
  return std::nullopt;
}

std::optional<Dialect> recognise_dialect(RawInput& input, ReadOptions const& options) {
  if (auto const binary = recognise_binary(input)) return binary;
  for (Dialect const dialect : dialects() | std::views::reverse)
    if (auto const recognise = dialect.definition().recognise;
        recognise != nullptr && recognise(input, options))
      return dialect;
  return std::nullopt;
}

void expect_options_fit(RawInput const& input, Dialect dialect, ReadOptions const& options) {
  if (!dialect.is_text() && options.table.is_set())
    throw UsageError(input.name() + ": " + std::string(dialect.name()) +
                     " has no columns to choose; leave the options of delimited text out");
}

void expect_base_fits(RawInput const& input, ReadReport const& report, ReadOptions const& options) {
  if (report.dialect.is_text() || options.index_base == -1 || options.index_base == report.index_base) return;
  std::string const kind(report.dialect.name());
  throw UsageError(input.name() + ": " +
                   (report.knows_index_base ? "says that the text of which it was made counts from "
                                            : kind + " counts from ") +
                   std::to_string(report.index_base) + "; leave the index base out");
}

std::optional<Dialect> dialect_of_ending(std::filesystem::path const& path) {
  std::string const ending = path.extension().string();
  for (Dialect const dialect : dialects())
    if (dialect.can_write() && std::ranges::find(dialect.endings(), ending) != dialect.endings().end())
      return dialect;
  if (own_descriptor(path)) return Dialect::frostt;
  return std::nullopt;
}

std::optional<Dialect> writable_dialect(std::string_view name) {
  for (Dialect const dialect : dialects())
    if (dialect.can_write() && dialect.name() == name) return dialect;
  return std::nullopt;
}

std::string endings_text() {
  std::vector<std::string_view> endings;
  for (Dialect const dialect : dialects())
    if (dialect.can_write())
      endings.insert(endings.end(), dialect.endings().begin(), dialect.endings().end());
  std::string text;
  for (std::size_t k = 0; k < endings.size(); ++k)
    text += (k == 0 ? "" : k + 1 == endings.size() ? " or " : ", ") + std::string(endings[k]);
  return text;
}

}  // namespace polyad::io
