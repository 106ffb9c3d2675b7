// What calibrate alone is told.
#pragma once

#include <string>

namespace podium::cli {

struct Options;

struct CalibrateOptions {
  std::string file;     ///< that gets the device in place of those in the cache folder
  double seconds = 40;  ///< that measuring takes, about
};

/// UsageError for a path, of which calibrate takes none.
void check_calibrate(const Options& options);

}  // namespace podium::cli
