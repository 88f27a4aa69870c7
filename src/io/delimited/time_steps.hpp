// SPDX-License-Identifier: BSD-3-Clause
// Steps of time: hours, days, weeks, months or years since 1970, in UTC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "polyad/io/delimited_text.hpp"

namespace polyad::io {

/// How a column writes its times.
enum class TimeForm { seconds, milliseconds, iso };

/// The form of one time; nothing if it has none of them, such as 20240131 or 5. Numbers are taken for seconds
/// from 1973 to 5138, or for milliseconds of the same years.
[[nodiscard]] std::optional<TimeForm> form_of_time(std::string_view field);
/// Whether the time has a time of day: then it hardly ever repeats.
[[nodiscard]] bool has_time_of_day(std::string_view field);

/// The step that a time belongs to. \return the reason why it cannot be read, or nothing
[[nodiscard]] std::optional<std::string> read_step(std::string_view field, TimeForm form, TimeUnit unit,
                                                   std::int64_t& step);

/// "2024-01-31T15", "2024-01-31", "2024-W05", "2024-01" or "2024"
[[nodiscard]] std::string step_label(std::int64_t step, TimeUnit unit);

}  // namespace polyad::io
