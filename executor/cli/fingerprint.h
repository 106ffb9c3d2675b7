// What tells one model file from another.
#pragma once

#include <string>

#include "executor/report/report.h"

namespace podium::cli {

/// CRC-32 (ISO 3309, as in zip and PNG) and size of a file. Data that a model keeps in files beside it do not
/// count. Error when the file cannot be read.
report::ModelFile fingerprint(const std::string& path);

}  // namespace podium::cli
