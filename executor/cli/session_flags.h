// The flags that are shorthands for session options.
#pragma once

#include <cxxopts.hpp>
#include <nlohmann/json.hpp>

namespace podium::cli {

void add_session_flags(cxxopts::Options& options);

/// What the flags say, as an options file would say it. UsageError for a value that is none.
nlohmann::json read_session_flags(const cxxopts::ParseResult& result);

}  // namespace podium::cli
