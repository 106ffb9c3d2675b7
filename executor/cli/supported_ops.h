// What `podium info --ops-supported` shows.
#pragma once

#include <string>

namespace podium::cli {

/// A table of the ops that models may contain, one of those of other domains that are read as ops of ONNX,
/// then how many of the first have a derivative and why the others have none.
std::string supported_ops();

/// The same as JSON: `ops` {domain, name, since, derivative, why (without one), types}, `withDerivative` (a
/// number), `rewritten` {domain, name} (read as others), `withoutDerivative` {why, ops}, `takenAsGiven`
/// (inputs that derivatives are not taken by).
std::string supported_ops_json();

}  // namespace podium::cli
