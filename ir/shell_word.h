// Words of a command line that is printed for people to type.
#pragma once

#include <string>
#include <string_view>

namespace podium::ir {

/// The text as one word of a POSIX shell: as it is where nothing in it means anything to the shell, else in
/// single quotes.
std::string shell_word(std::string_view text);

}  // namespace podium::ir
