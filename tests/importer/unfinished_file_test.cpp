#include "importer/unfinished_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <vector>

#include "importer/output_file.h"
#include "tests/support/run_program.h"

namespace podium::importer {
namespace {

using ::testing::KilledBySignal;
using testing::TemporaryFolder;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  return names;
}

TEST(UnfinishedFiles, GoWhenASignalEndsTheProgram) {
  const TemporaryFolder folder;
  folder.write("done", "as it was");
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE, SIGTERM}) {
    EXPECT_EXIT(
        {
          std::signal(signal, SIG_DFL);  // under nohup it is ignored
          remove_unfinished_files_at_signals();
          OutputFile replacement(folder.file("done"));
          OutputFile other(folder.file("other"));
          replacement.write(std::string(100000, 'x'));
          if (names_in(folder.path()).size() == 3) std::raise(signal);
        },
        KilledBySignal(signal), "");
  }
  EXPECT_THAT(names_in(folder.path()), ::testing::ElementsAre("done"));
  EXPECT_EQ(std::filesystem::file_size(folder.file("done")), 9U);
}

TEST(UnfinishedFiles, AreNoConcernOnceTheyAreDone) {
  const TemporaryFolder folder;
  EXPECT_EXIT(
      {
        remove_unfinished_files_at_signals();
        for (int i = 0; i < 100; ++i) OutputFile(folder.file("file")).commit();
        std::raise(SIGTERM);
      },
      KilledBySignal(SIGTERM), "");
  EXPECT_THAT(names_in(folder.path()), ::testing::ElementsAre("file"));
}

// As processes have in a container, or where the system begins to count again.
TEST(UnfinishedFiles, OfADeadProcessWithAShortNumberGoWithTheNextFileOfTheirName) {
  pid_t gone = 2;
  while (::kill(gone, 0) == 0 || errno != ESRCH) ++gone;
  const TemporaryFolder folder;
  folder.write(fmt::format("file.part{:08}", gone), "what it had written");
  folder.write(fmt::format("file.part{}", gone), "a part of an archive");
  OutputFile(folder.file("file")).commit();
  EXPECT_THAT(names_in(folder.path()),
              ::testing::UnorderedElementsAre("file", fmt::format("file.part{}", gone)));
}

TEST(UnfinishedFiles, GoWithOneLineWhenAFileThatIsReadIsCut) {
  const TemporaryFolder folder;
  const std::string data = folder.write("data", std::string(100000, 'x'));
  EXPECT_EXIT(
      {
        remove_unfinished_files_at_signals();
        const OutputFile unfinished(folder.file("file"));
        const int file = ::open(data.c_str(), O_RDONLY);
        const auto* bytes =
            static_cast<const char*>(::mmap(nullptr, 100000, PROT_READ, MAP_PRIVATE, file, 0));
        if (bytes[99999] == 'x' && ::truncate(data.c_str(), 10) == 0) std::exit(bytes[99999]);
      },
      ::testing::ExitedWithCode(1),
      "^error: a data file became shorter, or unreadable, while it was read\n$");
  EXPECT_THAT(names_in(folder.path()), ::testing::ElementsAre("data"));
}

TEST(UnfinishedFiles, SignalsThatWereIgnoredStayIgnored) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        remove_unfinished_files_at_signals();
        std::raise(SIGHUP);
        std::exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace podium::importer
