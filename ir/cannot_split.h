#pragma once

#include "ir/error.h"

namespace podium {

/// A model that cannot be cut into as many parts or slices as were asked for, though nothing is wrong with it:
/// whoever tries many models goes on without.
class CannotSplit : public Error {
 public:
  using Error::Error;
  explicit CannotSplit(const Error& error) : Error(error) {}
};

}  // namespace podium
