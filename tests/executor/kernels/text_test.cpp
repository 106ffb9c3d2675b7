#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/kernels/text_case.h"
#include "tests/support/run_op.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::Dims;
using ir::Tensor;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::run_text;
using testing::tensor;
using testing::values;
using Words = std::vector<std::string>;

Tensor words(const Words& list) { return tensor<std::string>({std::ssize(list)}, list); }

TEST(CaseRules, ChangeLettersBeyondAsciiAndLeaveOtherBytes) {
  const CaseRules rules("no_SUCH");
  EXPECT_EQ(rules.changed("stra\xC3\xA9 \xD0\xB6\xF0\x90\x90\xA8!", Case::Upper),
            "STRA\xC3\x89 \xD0\x96\xF0\x90\x90\x80!");
  EXPECT_EQ(rules.changed("\xE1\xBA\x9E\xC3", Case::Lower), "\xC3\x9F\xC3");
}

TEST(StringConcat, StretchesBothSides) {
  const auto y = run_text("g (string[2,1] a, string[3] b) => (string[2,3] y) { y = StringConcat(a, b) }",
                          {tensor<std::string>({2, 1}, {"x", "y"}), words({"1", "2", ""})});
  EXPECT_THAT(values<std::string>(y[0]), ElementsAre("x1", "x2", "x", "y1", "y2", "y"));
}

TEST(StringSplit, AtSpacesDropsEmptyParts) {
  const auto split = [](const std::string& attributes, const std::string& text) {
    return values<std::string>(run_text(
        "g (string[1] x) => (string[N,M] y, int64[N] z) { y, z = StringSplit " + attributes + " (x) }",
        {words({text})})[0]);
  };
  EXPECT_THAT(split("", "  a \t b  "), ElementsAre("a", "b"));
  EXPECT_THAT(split("<maxsplit = 1>", " a  b c "), ElementsAre("a", "b c "));
  EXPECT_THAT(split("<maxsplit = 0>", " a b"), ElementsAre("a b"));
  EXPECT_THAT(split("<delimiter = \"--\">", "a----b"), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("<delimiter = \",\", maxsplit = 1>", "a,b,c"), ElementsAre("a", "b,c"));
  EXPECT_THAT(split("<delimiter = \",\">", ""), ElementsAre(""));
}

TEST(StringSplit, PadsAndCounts) {
  const auto y = run_text("g (string[N] x) => (string[N,M] y, int64[N] z) { y, z = StringSplit(x) }",
                          {words({"a b", " "})});
  EXPECT_EQ(y[0].tensor.dims(), (Dims{2, 2}));
  EXPECT_THAT(values<std::string>(y[0]), ElementsAre("a", "b", "", ""));
  EXPECT_THAT(values<std::int64_t>(y[1]), ElementsAre(2, 0));
  const auto none =
      run_text("g (string[N] x) => (string[N,M] y, int64[N] z) { y, z = StringSplit(x) }", {words({""})});
  EXPECT_EQ(none[0].tensor.dims(), (Dims{1, 0}));
}

TEST(StringNormalizer, ComparesWithoutCaseUnlessToldTo) {
  const auto run = [](const std::string& attributes) {
    return values<std::string>(run_text("g (string[N] x) => (string[M] y) { y = StringNormalizer <" +
                                            attributes + ", stopwords = [\"The\"]> (x) }",
                                        {words({"the", "The", "\xC3\x89t\xC3\xA9"})})[0]);
  };
  EXPECT_THAT(run("is_case_sensitive = 0"), ElementsAre("\xC3\x89t\xC3\xA9"));
  EXPECT_THAT(run("is_case_sensitive = 1, case_change_action = \"LOWER\""),
              ElementsAre("the", "\xC3\xA9t\xC3\xA9"));
  EXPECT_THAT(
      error_of("g (string[N] x) => (string[M] y) { y = StringNormalizer <case_change_action = \"up\"> (x) }",
               {words({"a"})}),
      HasSubstr("case_change_action is 'up'"));
}

TEST(RegexFullMatch, MatchesTheWholeTextWithoutBacktracking) {
  const std::string graph = "g (string[N] x) => (bool[N] y) { y = RegexFullMatch <pattern = ";
  const auto y =
      run_text(graph + "\"(?i)(a+)+b\"> (x) }", {words({"aaB", "aabc", std::string(100000, 'a')})});
  EXPECT_THAT(values<bool>(y[0]), ElementsAre(true, false, false));
  EXPECT_THAT(error_of(graph + "\"(a\"> (x) }", {words({"a"})}), HasSubstr("pattern '(a': missing )"));
}

const std::string kGrams =
    "g (int64[N] x) => (float[M] y) { y = TfIdfVectorizer <min_gram_length = 1, max_gram_length = 2,"
    " ngram_counts = [0, 2], ngram_indexes = [0, 1, 3], pool_int64s = [5, 6, 5, 7], ";

TEST(TfIdfVectorizer, CountsSingleWordsOnceAndPairsForEverySkip) {
  const auto x = Tensor::ints({5, 7, 5, 8, 7});
  const auto run = [&](const std::string& attributes) {
    return values<float>(run_text(kGrams + attributes + "> (x) }", {x})[0]);
  };
  EXPECT_THAT(run("mode = \"TF\", max_skip_count = 0"), ElementsAre(2, 0, 0, 1));
  EXPECT_THAT(run("mode = \"TF\", max_skip_count = 1"), ElementsAre(2, 0, 0, 2));
  EXPECT_THAT(run("mode = \"IDF\", max_skip_count = 1, weights = [3.0, 1.0, 1.0, 0.5]"),
              ElementsAre(3, 0, 0, 0.5F));
  EXPECT_THAT(run("mode = \"TFIDF\", max_skip_count = 1, weights = [3.0, 1.0, 1.0, 0.5]"),
              ElementsAre(6, 0, 0, 1));
}

TEST(TfIdfVectorizer, OfNothingIsAllZeroAndOfTextNeedsAPoolOfText) {
  EXPECT_THAT(
      values<float>(run_text(kGrams + "mode = \"TF\", max_skip_count = 0> (x) }", {Tensor::ints({})})[0]),
      ElementsAre(0, 0, 0, 0));
  std::string graph = kGrams + "mode = \"TF\", max_skip_count = 0> (x) }";
  graph.replace(graph.find("int64"), 5, "string");
  EXPECT_THAT(error_of(graph, {words({"a"})}), HasSubstr("there is no pool of string"));
}

TEST(TfIdfVectorizer, RefusesAColumnBehindWhichNoNumberIsLeft) {
  const auto with_column = [](const std::string& column) {
    return "g (int64[N] x) => (float[M] y) { y = TfIdfVectorizer <min_gram_length = 1, max_gram_length = 1,"
           " max_skip_count = 0, mode = \"TF\", ngram_counts = [0], pool_int64s = [1], ngram_indexes = [" +
           column + "]> (x) }";
  };
  for (const std::string column : {"-1", "9223372036854775807"}) {
    EXPECT_THAT(error_of(with_column(column), {Tensor::ints({1})}),
                HasSubstr("ngram_indexes has " + column + ", 0 to 9223372036854775806 needed"));
  }
}

// How often 1 stands before 2 in the text, at any distance.
float pairs_in(const std::vector<std::int64_t>& text) {
  return testing::run_op("TfIdfVectorizer", {Tensor::ints(text)},
                         {{"mode", std::string("TF")},
                          {"min_gram_length", std::int64_t{2}},
                          {"max_gram_length", std::int64_t{2}},
                          {"max_skip_count", std::int64_t{1} << 62},
                          {"ngram_counts", ir::IntList{0, 0}},
                          {"ngram_indexes", ir::IntList{0}},
                          {"pool_int64s", ir::IntList{1, 2}}})
      .data<float>()[0];
}

TEST(TfIdfVectorizer, SkipsNoFartherThanTheTextIsLong) { EXPECT_EQ(pairs_in({1, 2, 1, 2}), 3); }

// Of each skip only the words that an n-gram begins with are looked at, or this were 4e10 words.
TEST(TfIdfVectorizer, FindsAPairAtTheEndsOfALongText) {
  std::vector<std::int64_t> text(200'000, 0);
  text.front() = 1;
  text.back() = 2;
  EXPECT_EQ(pairs_in(text), 1);
}

}  // namespace
}  // namespace podium::kernels
