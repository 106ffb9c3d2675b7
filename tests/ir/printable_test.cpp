#include "ir/printable.h"

#include <gtest/gtest.h>

namespace podium::ir {
namespace {

constexpr std::string_view kGone = "\xEF\xBF\xBD";

std::string gone(int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += kGone;
  return text;
}

TEST(Printable, LeavesTextOfAnyLanguageAsItIs) {
  for (const std::string text : {"", "conv1/weights:0", "größe", "重み", "🏆", "a'\"\\b"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, HasNothingThatATerminalObeys) {
  EXPECT_EQ(printable("\x1B[31mred\x07"), gone(1) + "[31mred" + gone(1));
  EXPECT_EQ(printable("a\xC2\x9B"
                      "2Jb\x7F"),
            "a" + gone(1) + "2Jb" + gone(1));
  EXPECT_EQ(printable("x\xE2\x80\xAEy\xE2\x80\xA8z"), "x" + gone(1) + "y" + gone(1) + "z");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a" + gone(1) + "b");
}

TEST(Printable, IsValidUtf8) {
  EXPECT_EQ(printable("\xFF"), gone(1));
  EXPECT_EQ(printable("a\xE9"), "a" + gone(1));  // Latin-1
  EXPECT_EQ(printable("\xE2\x82"), gone(2));     // cut off
  EXPECT_EQ(printable("\xC0\xAF\xED\xA0\x80\xF5"),
            gone(2 + 3 + 1));  // overlong, a surrogate, beyond the last
}

TEST(Printable, KeepsLinesOnlyWhereAskedTo) {
  EXPECT_EQ(printable("a\nerror: b\r\n\tc"), "a error: b   c");
  EXPECT_EQ(printable("a\nb\r\n", Lines::Kept), "a\nb \n");
}

TEST(OneLine, IsCutInItsMiddle) {
  EXPECT_EQ(one_line("short\nline"), "short line");
  for (const std::string part : {"x", "ö", "\x1B", "\xFF"}) {
    for (const int times : {700, 1999, 2001, 100'000}) {
      std::string text = "begin ";
      for (int i = 0; i < times; ++i) text += part;
      const std::string line = one_line(text + " end");
      EXPECT_LE(line.size(), 2000U);
      EXPECT_TRUE(line.starts_with("begin ") && line.ends_with(" end")) << line;
      EXPECT_EQ(printable(line), line);
    }
  }
}

}  // namespace
}  // namespace podium::ir
