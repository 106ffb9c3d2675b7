#include "executor/cli/fingerprint.h"

#include <fmt/core.h>
#include <zlib.h>

#include <array>
#include <fstream>

#include "ir/error.h"

namespace podium::cli {

report::ModelFile fingerprint(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("{}: cannot be read", path);
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::array<char, kPiece> piece{};
  uLong sum = crc32_z(0, nullptr, 0);
  report::ModelFile found;
  while (file.read(piece.data(), piece.size()), file.gcount() > 0) {
    const auto count = static_cast<std::size_t>(file.gcount());
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(piece.data()), count);
    found.bytes += static_cast<std::int64_t>(count);
  }
  found.crc32 = fmt::format("{:08x}", sum);
  return found;
}

}  // namespace podium::cli
