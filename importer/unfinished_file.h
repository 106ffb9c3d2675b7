// Files that are to be removed if the program ends before they are complete.
#pragma once

#include <atomic>
#include <string>

namespace podium::importer {

/// Call it in main: a signal that ends the program (an interrupt, a hang-up, a termination...) removes
/// unfinished files first. A signal that the program was started to ignore stays ignored, and too large a
/// file is an error of its writer instead of the program's end. Where a mapped file loses what is read of it,
/// the program ends with one line and status 1.
void remove_unfinished_files_at_signals();

/// While it lives, the file of this name is unfinished.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

 private:
  std::string path_;
  std::atomic<const char*>* place_ = nullptr;  ///< where signals find the name; nullptr: there was no room
};

}  // namespace podium::importer
