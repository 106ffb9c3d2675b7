// The command line is wrong.
#pragma once

#include "ir/error.h"

namespace podium::cli {

/// Its exit status is kWrongUsage.
class UsageError : public Error {
 public:
  using Error::Error;
};

}  // namespace podium::cli
