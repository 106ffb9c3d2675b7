// What Python says of a session, read as the command line reads it.
#pragma once

#include <string>
#include <vector>

#include "executor/cli/options.h"
#include "executor/device/device.h"
#include "executor/session/session.h"

namespace podium::python {

/// Keyword arguments as they come from Python.
struct Request {
  std::string model;                   ///< its name, for errors and reports
  std::vector<std::string> arguments;  ///< flags of the command line
  std::string document = {};           ///< session options as JSON, with PopART's names; flags win
  std::string device = {};             ///< a device as JSON; "": as the flags say
};

struct Settings {
  cli::Options options;
  device::Device device;
};

/// Error for what the command line refuses, too.
Settings read_settings(cli::Command command, const Request& request);

/// Settings of a session that polls for signals.
SessionOptions session_options(const Settings& settings);

}  // namespace podium::python
