#include "executor/cli/write_file.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "ir/error.h"

namespace podium::cli {

void write_file(const std::string& path, const std::string& text) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::ofstream file(temporary, std::ios::binary);
  file << text;
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    throw Error("{}: cannot be written", path);
  }
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("{}: cannot be opened", path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file && !file.eof()) throw Error("{}: cannot be read", path);
  return text.str();
}

}  // namespace podium::cli
