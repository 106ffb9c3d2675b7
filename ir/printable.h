// Text from files on its way to people: terminals, log lines, messages, names of files.
#pragma once

#include <string>
#include <string_view>

namespace podium::ir {

/// Line breaks that the text itself has.
enum class Lines : std::uint8_t { Joined, Kept };

/// The text as valid UTF-8 without anything that moves a terminal's cursor, turns the direction of writing or
/// ends a line: such characters are replaced by U+FFFD, line breaks and tabs by a space unless they are kept.
std::string printable(std::string_view text, Lines lines = Lines::Joined);

/// The text as one line of at most 2,000 characters: the place of an error stands at its beginning, the
/// reason at its end, and the middle is left out where that is too long.
std::string one_line(std::string_view text);

}  // namespace podium::ir
