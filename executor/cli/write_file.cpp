#include "executor/cli/write_file.h"

#include <filesystem>
#include <fstream>

#include "importer/output_file.h"
#include "ir/error.h"

namespace podium::cli {

void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) try {
  importer::OutputFile file(path);
  write(file.stream());
  file.commit();
} catch (const Error& error) {
  throw error.at(path);
}

void write_file(const std::string& path, const std::string& text) {
  write_file(path, [&](std::ostream& out) { out << text; });
}

void check_can_write(const std::string& path) try {
  std::error_code failed;
  const bool is_pipe = std::filesystem::is_fifo(path, failed);  // whose reader would take this for the end
  if (!is_pipe) importer::OutputFile{path};                     // without commit nothing is left
} catch (const Error& error) {
  throw error.at(path);
}

}  // namespace podium::cli
