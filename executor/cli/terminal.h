// The two streams of a person: all that is printed goes through here.
#pragma once

#include <string_view>

namespace podium::cli {

/// Standard output gets the lines, with nothing in them that a terminal would obey. Error when it cannot be
/// written.
void show(std::string_view text);
/// Error when what was shown so far cannot be written.
void finish_showing();
/// Standard error gets one line. That it cannot be written is no error: nobody is there to be told.
void tell(std::string_view line);

/// Closed standard streams are opened on nothing, so that no other file takes their place.
void keep_standard_streams();

}  // namespace podium::cli
