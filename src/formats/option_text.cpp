// SPDX-License-Identifier: BSD-3-Clause
#include "polyad/formats/option_text.hpp"

#include <algorithm>
#include <charconv>

#include "polyad/core/error.hpp"

namespace polyad {

OptionText::OptionText(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    auto const comma = std::min(text.find(',', begin), text.size());
    auto const one   = text.substr(begin, comma - begin);
    auto const equal = one.find('=');
    Option option{std::string(one.substr(0, equal)), {}};
    if (equal != std::string_view::npos) option.value = std::string(one.substr(equal + 1));
    POLYAD_EXPECTS(!option.name.empty() && comma + 1 != text.size(), "an option without a name in '", text,
                   "'");
    POLYAD_EXPECTS(!is_given(option.name), "the option ", option.name, " is given twice in '", text, "'");
    m_options.push_back(std::move(option));
    begin = comma + 1;
  }
}

bool OptionText::is_given(std::string_view name) const {
  return std::ranges::any_of(m_options, [&](auto const& option) { return option.name == name; });
}

OptionText::Option* OptionText::take(std::string_view name) {
  m_known.emplace_back(name);
  for (auto& option : m_options)
    if (option.name == name) {
      option.is_read = true;
      return &option;
    }
  return nullptr;
}

void OptionText::read(std::string_view name, bool& flag) {
  auto const* const option = take(name);
  if (!option) return;
  POLYAD_EXPECTS(!option->value, "the option ", name, " takes no value");
  flag = true;
}

template <class Number>
void OptionText::read_number(std::string_view name, Number& number) {
  auto const* const option = take(name);
  if (!option) return;
  POLYAD_EXPECTS(option->value, "the option ", name, " requires a number: ", name, "=N");
  auto const& text = *option->value;
  Number read{};
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  POLYAD_EXPECTS(error == std::errc() && end == text.data() + text.size(), "the option ", name, "=", text,
                 " is not a number in the range of its type");
  number = read;
}

void OptionText::read(std::string_view name, int& number) {
  read_number(name, number);
}
void OptionText::read(std::string_view name, std::uint64_t& number) {
  read_number(name, number);
}
void OptionText::read(std::string_view name, std::int64_t& number) {
  read_number(name, number);
}
void OptionText::read(std::string_view name, std::optional<std::uint64_t>& number) {
  std::uint64_t found = 0;
  read_number(name, found);
  if (is_given(name)) number = found;
}
void OptionText::read(std::string_view name, std::optional<std::int64_t>& number) {
  std::int64_t found = 0;
  read_number(name, found);
  if (is_given(name)) number = found;
}

void OptionText::read(std::string_view name, std::string& word,
                      std::initializer_list<std::string_view> words) {
  auto const* const option = take(name);
  if (!option) return;
  std::string known;
  for (auto const one : words) known += (known.empty() ? "" : ", ") + std::string(one);
  POLYAD_EXPECTS(option->value && std::ranges::find(words, *option->value) != words.end(), "the option ",
                 name, " requires one of ", known);
  word = *option->value;
}

void OptionText::read(std::string_view name, std::optional<int>& number) {
  int found = 0;
  read_number(name, found);
  if (is_given(name)) number = found;
}

std::vector<std::pair<std::string, std::string>> OptionText::all() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (auto const& option : m_options) all.emplace_back(option.name, option.value.value_or(""));
  return all;
}

void OptionText::expect_all_read(std::string_view format) const {
  std::string known;
  for (auto const& name : m_known) known += (known.empty() ? "" : ", ") + name;
  for (auto const& option : m_options)
    POLYAD_EXPECTS(option.is_read, "the format ", format, " has no option '", option.name, "'; it has ",
                   known.empty() ? "none" : known);
}

FormatText split_format_text(std::string_view text) {
  auto const colon = text.find(':');
  if (colon == std::string_view::npos) return {std::string(text), {}};
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

}  // namespace polyad
