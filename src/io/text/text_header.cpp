// SPDX-License-Identifier: BSD-3-Clause
#include "io/text/text_header.hpp"

#include <ranges>
#include <utility>

#include "core/host_memory.hpp"
#include "io/dialects/registry.hpp"
#include "io/known_file.hpp"
#include "io/text/tokens.hpp"

namespace polyad::io {

namespace {

using namespace std::string_view_literals;
using Line = LeadingBlocks::Line;

constexpr auto byte_order_mark = "\xEF\xBB\xBF"sv;

/// The fault of a text of any dialect: it is not text at all, or a header of Matrix Market is in the wrong
/// place.
std::optional<Fault> fault_of_text(LeadingBlocks& lines, Line const& very_first) {
  if (very_first.text.starts_with("\xFF\xFE"sv) || very_first.text.starts_with("\xFE\xFF"sv))
    return Fault{1, 1, "is UTF-16 text, not UTF-8"};
  if (begins_with_banner(very_first.text)) return std::nullopt;
  if (auto const known = describe_foreign_file(lines.text())) return Fault{0, 0, *known};
  if (auto const known = describe_own_file(lines.text())) return Fault{0, 0, *known};
  auto const first      = lines.next();
  auto const& misplaced = first && !lines.banner() && looks_like_banner(first->text) ? first : lines.banner();
  if (misplaced) return Fault{misplaced->number, 1, misplaced_banner(misplaced->text)};
  return std::nullopt;
}

}  // namespace

std::string_view LeadingBlocks::text() {
  if (m_held.empty()) static_cast<void>(fetch());
  return m_held.empty() ? std::string_view() : m_held.front().text;
}

bool LeadingBlocks::fetch() {
  auto block = m_blocks.next();
  if (!block) return false;
  m_blocks.load(*block);
  m_taken += block->text.size();
  if (m_taken >= std::size_t{1} << 20)
    detail::expect_fits_host("the text before the first nonzero", std::exchange(m_taken, 0));
  if (m_held.empty() && block->text.starts_with(byte_order_mark))
    block->text.remove_prefix(byte_order_mark.size());
  m_held.push_back(std::move(*block));
  return true;
}

std::optional<Line> LeadingBlocks::first() {
  if (m_held.empty() && !fetch()) return std::nullopt;
  std::string_view const text = m_held.front().text;
  return Line{1, without_return(text.substr(0, text.find('\n')))};
}

std::optional<Line> LeadingBlocks::next() {
  if (m_next < m_seen.size()) return m_seen[m_next++];
  for (;;) {
    while (m_block < m_held.size() && m_offset == m_held[m_block].text.size()) {
      ++m_block;
      m_offset = 0;
    }
    if (m_block == m_held.size() && !fetch()) return std::nullopt;
    if (m_held[m_block].text.empty()) continue;
    std::string_view const rest = m_held[m_block].text.substr(m_offset);
    std::string_view const line = rest.substr(0, rest.find('\n'));
    m_offset += line.size() + 1;  // a block ends with a line end
    ++m_line;
    std::string_view const text = without_return(line);
    std::string_view tokens     = text;
    auto const token            = take_token(tokens);
    if (!holds_nothing(token)) {
      m_next = m_seen.size() + 1;
      return m_seen.emplace_back(Line{m_line, text});
    }
    m_has_percent |= token.starts_with('%');
    if (!m_banner && looks_like_banner(text)) m_banner = Line{m_line, text};
  }
}

std::deque<TextBlock> LeadingBlocks::release(std::uint64_t lines) {
  while (lines > 0 && !m_held.empty()) {
    std::string_view& text = m_held.front().text;
    for (; lines > 0 && !text.empty(); --lines) text.remove_prefix(text.find('\n') + 1);
    if (text.empty()) m_held.pop_front();
  }
  return std::move(m_held);
}

std::optional<TextHeader> read_text_header(LeadingBlocks& lines, int index_base, int usual_base,
                                           std::optional<Fault>& fault) {
  auto const very_first = lines.first();
  if (!very_first) return std::nullopt;
  fault = fault_of_text(lines, *very_first);
  if (fault) return TextHeader{};
  lines.rewind();
  if (!begins_with_banner(very_first->text) && !lines.next()) return std::nullopt;
  for (Dialect const dialect : dialects() | std::views::reverse) {
    if (dialect.definition().read_header == nullptr) continue;
    lines.rewind();
    auto header = dialect.definition().read_header(lines, fault);
    if (!header) continue;
    int& base = header->rules.index_base;
    base      = index_base >= 0 ? index_base : base >= 0 ? base : usual_base;
    return header;
  }
  return std::nullopt;  // not reached: frostt takes any text
}

}  // namespace polyad::io
