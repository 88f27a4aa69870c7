// SPDX-License-Identifier: BSD-3-Clause
#include "io/delimited/time_steps.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "io/quoted.hpp"
#include "io/text/decimal.hpp"
#include "io/text/tokens.hpp"
#include "polyad/core/error.hpp"

namespace polyad::io {

namespace {

using namespace std::chrono;

constexpr std::string_view unit_names[] = {"hour", "day", "week", "month", "year"};

constexpr double first_second = 1e8, last_second = 1e11, last_millisecond = 1e14;
constexpr std::int64_t day_seconds = 86400;

/// Removes `count` digits from the front.
bool take_digits(std::string_view& text, int count, int& number) {
  if (text.size() < static_cast<std::size_t>(count)) return false;
  number = 0;
  for (int k = 0; k < count; ++k) {
    char const c = text[k];
    if (!is_digit(c)) return false;
    number = 10 * number + (c - '0');
  }
  text.remove_prefix(count);
  return true;
}

bool take_mark(std::string_view& text, char mark) {
  if (!text.starts_with(mark)) return false;
  text.remove_prefix(1);
  return true;
}

/// [T or a blank]HH:MM[:SS[.fff]][Z|+HH:MM|+HHMM|+HH]; seconds since midnight UTC, which may be negative.
bool read_time_of_day(std::string_view text, std::int64_t& seconds) {
  int hour = 0, minute = 0, second = 0;
  if (!take_digits(text, 2, hour) || !take_mark(text, ':') || !take_digits(text, 2, minute)) return false;
  if (take_mark(text, ':')) {
    if (!take_digits(text, 2, second)) return false;
    if (take_mark(text, '.') || take_mark(text, ',')) {
      int digit = 0, count = 0;
      while (take_digits(text, 1, digit)) ++count;
      if (count == 0) return false;
    }
  }
  if (hour > 24 || minute > 59 || second > 60 || (hour == 24 && minute + second > 0)) return false;
  seconds = hour * 3600 + minute * 60 + second;
  if (text.empty() || text == "Z" || text == "z") return true;
  bool const is_behind = text.front() == '-';
  if (!is_behind && text.front() != '+') return false;
  text.remove_prefix(1);
  int hours = 0, minutes = 0;
  if (!take_digits(text, 2, hours)) return false;
  take_mark(text, ':');
  if (!text.empty() && !take_digits(text, 2, minutes)) return false;
  if (!text.empty() || hours > 23 || minutes > 59) return false;
  seconds += (is_behind ? 1 : -1) * (hours * 3600 + minutes * 60);
  return true;
}

/// YYYY-MM-DD, and a time of day if `rest` is not empty afterwards.
bool read_date(std::string_view text, sys_days& days, std::string_view& rest) {
  int year = 0, month = 0, day = 0;
  if (!take_digits(text, 4, year) || !take_mark(text, '-') || !take_digits(text, 2, month) ||
      !take_mark(text, '-') || !take_digits(text, 2, day))
    return false;
  auto const date = std::chrono::year(year) / month / day;
  if (!date.ok() || year == 0) return false;
  days = sys_days(date);
  rest = text;
  return text.empty() || text.front() == 'T' || text.front() == 't' || text.front() == ' ';
}

bool read_iso(std::string_view text, std::int64_t& seconds) {
  sys_days days;
  std::string_view rest;
  if (!read_date(text, days, rest)) return false;
  std::int64_t of_day = 0;
  if (!rest.empty() && !read_time_of_day(rest.substr(1), of_day)) return false;
  seconds = days.time_since_epoch().count() * day_seconds + of_day;
  return true;
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

constexpr std::int64_t days_to_monday = 3;  // day 0 is a Thursday

/// snprintf with a buffer that is large enough for every date.
template <class... Numbers>
std::string formatted(char const* format, Numbers... numbers) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, numbers...);
  return text.data();
}

}  // namespace

std::string_view to_string(TimeUnit unit) noexcept {
  return unit_names[static_cast<std::size_t>(unit)];
}

TimeUnit time_unit(std::string_view name) {
  for (auto const unit : {TimeUnit::hour, TimeUnit::day, TimeUnit::week, TimeUnit::month, TimeUnit::year})
    if (to_string(unit) == name) return unit;
  throw UsageError("a unit of time is hour, day, week, month or year, not '" + std::string(name) + "'");
}

std::optional<TimeForm> form_of_time(std::string_view field) {
  std::int64_t seconds = 0;
  if (read_iso(field, seconds)) return TimeForm::iso;
  double number = 0;
  if (field.empty() || !is_digit(field.front()) || read_decimal(field, false, number) != DecimalFault::none)
    return std::nullopt;
  if (number >= first_second && number < last_second) return TimeForm::seconds;
  if (number >= last_second && number < last_millisecond) return TimeForm::milliseconds;
  return std::nullopt;
}

bool has_time_of_day(std::string_view field) {
  auto const form = form_of_time(field);
  return form && (form != TimeForm::iso || field.size() > 10);
}

std::optional<std::string> read_step(std::string_view field, TimeForm form, TimeUnit unit,
                                     std::int64_t& step) {
  std::int64_t seconds = 0;
  if (form == TimeForm::iso) {
    if (!read_iso(field, seconds))
      return "is not an ISO date such as 2024-01-31T15:30:00Z: " + in_quotes(field);
  } else {
    double number = 0;
    if (field.empty() || !is_digit(field.front()) || read_decimal(field, false, number) != DecimalFault::none)
      return "is not a number: " + in_quotes(field);
    if (form_of_time(field) != form)
      return std::string("is not a time in ") + (form == TimeForm::seconds ? "seconds" : "milliseconds") +
             " since 1970, as the first one is: " + in_quotes(field);
    seconds = static_cast<std::int64_t>(std::floor(form == TimeForm::seconds ? number : number / 1000));
  }
  std::int64_t const days = floor_divide(seconds, day_seconds);
  switch (unit) {
    case TimeUnit::hour:
      step = floor_divide(seconds, 3600);
      return std::nullopt;
    case TimeUnit::day:
      step = days;
      return std::nullopt;
    case TimeUnit::week:
      step = floor_divide(days + days_to_monday, 7);
      return std::nullopt;
    default:
      break;
  }
  year_month_day const date{sys_days(std::chrono::days(days))};
  step = static_cast<int>(date.year()) - 1970;
  if (unit == TimeUnit::month) step = 12 * step + static_cast<unsigned>(date.month()) - 1;
  return std::nullopt;
}

std::string step_label(std::int64_t step, TimeUnit unit) {
  auto const date_of = [](std::int64_t days) { return year_month_day{sys_days(std::chrono::days(days))}; };
  auto const text_of = [](year_month_day const& date) {
    return formatted("%04d-%02u-%02u", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
  };
  switch (unit) {
    case TimeUnit::hour:
      return text_of(date_of(floor_divide(step, 24))) +
             formatted("T%02d", static_cast<int>(step - 24 * floor_divide(step, 24)));
    case TimeUnit::day:
      return text_of(date_of(step));
    case TimeUnit::week: {
      // A week belongs to the year of its Thursday.
      std::int64_t const thursday = 7 * step;
      auto const year             = date_of(thursday).year();
      auto const january          = sys_days(year / January / 1).time_since_epoch().count();
      return formatted("%04d-W%02d", static_cast<int>(year), static_cast<int>((thursday - january) / 7 + 1));
    }
    case TimeUnit::month:
      return formatted("%04d-%02d", static_cast<int>(1970 + floor_divide(step, 12)),
                       static_cast<int>(step - 12 * floor_divide(step, 12) + 1));
    case TimeUnit::year:
      return formatted("%04d", static_cast<int>(1970 + step));
  }
  return "?";
}

}  // namespace polyad::io
