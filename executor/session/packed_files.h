// Packed weights in files: what one process has packed, others map.
#pragma once

#include <memory>
#include <string>

#include "executor/kernels/tools/packed_store.h"

namespace podium {

/// A folder of packed weights. Files are found by the digest of what was packed, of how, of the machine and
/// of the version that did; one that is damaged counts as none. Any number of processes may use a folder at
/// once, and be killed. It is kept at 16 GiB at most: what nobody has used for longest goes.
class PackedFiles : public kernels::PackedStore {
 public:
  /// Why something could not be kept; empty where all could. Then nothing more is tried.
  virtual std::string trouble() const = 0;
};

/// Makes the folder where there is none, and takes out what it has above `most_bytes`. Error where there can
/// be no such folder.
std::shared_ptr<PackedFiles> open_packed_files(const std::string& folder,
                                               std::uintmax_t most_bytes = std::uintmax_t{16} << 30);

}  // namespace podium
