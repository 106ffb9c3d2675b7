#include "executor/cli/fingerprint.h"

#include <gtest/gtest.h>

#include "ir/error.h"
#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

// The check value that the definition of CRC-32 gives.
TEST(Fingerprint, IsTheCrcOfZipAndTheSize) {
  const testing::TemporaryFolder folder;
  const report::ModelFile found = fingerprint(folder.write("m.onnx", "123456789"));
  EXPECT_EQ(found.crc32, "cbf43926");
  EXPECT_EQ(found.bytes, 9);
}

TEST(Fingerprint, GoesOverAllPiecesOfALargeFile) {
  const testing::TemporaryFolder folder;
  std::string text(200'000, 'a');
  const report::ModelFile before = fingerprint(folder.write("m.onnx", text));
  text.back() = 'b';
  const report::ModelFile after = fingerprint(folder.write("m.onnx", text));
  EXPECT_EQ(before.bytes, 200'000);
  EXPECT_NE(before.crc32, after.crc32);
}

TEST(Fingerprint, NamesAFileThatIsNotThere) { EXPECT_THROW(fingerprint("/nowhere/m.onnx"), Error); }

}  // namespace
}  // namespace podium::cli
