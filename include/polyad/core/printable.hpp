// SPDX-License-Identifier: BSD-3-Clause
// Text of unknown origin, such as a file's name, in a message. A name may hold line ends and control
// characters, which would break the message's line or change the colours of a terminal.
#pragma once

#include <string>
#include <string_view>

namespace polyad {

/// The text with escapes in place of control characters and of bytes that are not UTF-8: a backslash and t
/// for a tab, and a backslash, x and two hexadecimal digits for the others.
[[nodiscard]] std::string printable(std::string_view text);

/// Bytes of the UTF-8 character at the beginning of a text that is not empty; 0 if there is none there.
[[nodiscard]] std::size_t character_bytes(std::string_view text);

}  // namespace polyad
