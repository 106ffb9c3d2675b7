#include "ir/shell_word.h"

#include <gtest/gtest.h>

namespace podium::ir {
namespace {

TEST(ShellWord, WhatAShellTakesAsItIsStaysSo) { EXPECT_EQ(shell_word("models/a-1.onnx"), "models/a-1.onnx"); }

TEST(ShellWord, BlanksStarsAndQuotesAreQuoted) {
  EXPECT_EQ(shell_word("*=1"), "'*=1'");
  EXPECT_EQ(shell_word("past + 1"), "'past + 1'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace podium::ir
