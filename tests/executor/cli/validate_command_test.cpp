// `podium validate`: the rows that come with the program, and files of users.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "executor/cli/validation_rows.h"
#include "executor/cli/write_file.h"
#include "ir/error.h"
#include "ir/files.h"
#include "tests/support/refusal.h"
#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_program;
using testing::TemporaryFolder;

// Of the rows that come with the program, which are predicted once for all tests.
const json& validated() {
  static const json kReport = [] {
    const TemporaryFolder folder;
    const std::string file = folder.file("report.json");
    const ProgramResult result = run_program("podium validate --quiet --report " + file);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    return json::parse(ir::read_small_file(file));
  }();
  return kReport;
}

// Mean errors that docs/cost-model.md tells, with some room.
TEST(Validate, PredictsPublishedFigures) {
  const std::map<std::string, double> most{
      {"products of halves", 0.08},
      {"products of singles", 0.08},
      {"kernels of a framework", 0.07},
      {"inference on a card", 0.06},
      {"BERT on pods", 0.08},
      {"ResNet-50 on pods", 0.22},
      {"other networks on pods", 0.15},
      {"sharded optimizer state", 0.12},
      {"products on a100-80", 0.08},
      {"products on h100", 0.1},
      {"attention forward", 0.08},
      {"all-reduce in a node", 0.1},
      {"all-reduce between nodes", 0.06},
      {"memory-bound kernels", 0.2},
      {"ResNet-50 on GPUs", 0.08},
      {"best products", 0.1},
      {"inference of BERT-base", 0.11},
      {"training in shards", 0.08},
      {"training in 8 bits on H100 by NeMo", 0.12},
      {"training steps on a node", 0.12},
      {"training steps on 8 nodes", 0.1},
      {"tensor parallel on a node", 0.2},
      {"training steps on 64 nodes", 0.14},
      {"weak scaling of Megatron-LM", 0.07},
  };
  std::map<std::string, double> found;
  const json& report = validated();
  for (const json& group : report["groups"]) found[group["group"]] = group["mean"];
  for (const auto& [group, mean] : most) {
    ASSERT_TRUE(found.contains(group)) << group;
    EXPECT_LT(found[group], mean) << group;
  }
}

TEST(Validate, OrdersTheTableOfShardedStateAsItWasMeasured) {
  std::vector<double> predicted;
  const json& report = validated();
  for (const json& row : report["rows"]) {
    if (row["group"] != "sharded optimizer state" || predicted.size() == 5) continue;
    EXPECT_LT(std::abs(row["error"].get<double>()), 0.2) << row["name"];
    predicted.push_back(row["predicted"]);
  }
  ASSERT_EQ(predicted.size(), 5U);
  for (std::size_t i = 1; i < predicted.size(); ++i) EXPECT_GT(predicted[i], predicted[i - 1]) << i;
}

const std::string kOwn =
    R"([{"group": "mine", "name": "{rows} rows", "model": "product rows={rows} type={type}",
  "command": "run --ipus 1", "options": {"syntheticDataMode": "Zeros"}, "device": {"base": "a100-80", "tiles": 54},
  "quantity": "computeSeconds", "unit": 1e-6, "columns": ["rows", "type", "published"],
  "rows": [[64, "float16", 10], [4096, "float16", 100]]}])";

TEST(Validate, TakesAFileOfRows) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program("podium validate --quiet " + folder.write("rows.json", kOwn));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("mine      2 "));
}

TEST(Validate, SaysWhatCannotBePredictedAndGoesOn) {
  const TemporaryFolder folder;
  std::string text = kOwn;
  text.replace(text.find("float16"), 7, "int4");
  const ProgramResult result = run_program("podium validate --quiet " + folder.write("rows.json", text));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("mine      1 "));
}

TEST(ValidationRows, SpreadOutSeries) {
  const std::vector<ValidationRow> rows = read_validation_rows(kOwn, "rows.json");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].name, "4096 rows");
  EXPECT_EQ(rows[1].model, "product rows=4096 type=float16");
  EXPECT_EQ(rows[1].arguments, (Arguments{"--ipus", "1"}));
  EXPECT_DOUBLE_EQ(rows[1].published, 100e-6);
  EXPECT_EQ(rows[1].quantity, Quantity::ComputeSeconds);
}

TEST(ValidationRows, GiveAPlaceholderTheValueItself) {
  const std::string text =
      R"([{"group": "g", "model": "m", "command": "train", "quantity": "seconds", "device": {"tiles": "{n}"},
           "columns": ["n", "published"], "rows": [[7, 1]]}])";
  EXPECT_EQ(read_validation_rows(text, "f")[0].device["tiles"], 7);
}

std::string refusal_of(const std::string& text) {
  return testing::refusal([&] { read_validation_rows(text, "f.json"); });
}

TEST(ValidationRows, RefuseWhatIsNoRow) {
  EXPECT_EQ(refusal_of("{}"), "f.json: no list found, a list of series needed");
  EXPECT_THAT(refusal_of(R"([{"grup": "x"}])"),
              HasSubstr("f.json: series 1: unknown field 'grup', the nearest is 'group'"));
  EXPECT_THAT(refusal_of(R"([{"group": "g", "model": "m", "command": "jump", "quantity": "seconds"}])"),
              HasSubstr("command 'jump' found, run or train needed"));
  EXPECT_THAT(refusal_of(R"([{"group": "g", "model": "m", "command": "run", "quantity": "second"}])"),
              HasSubstr("quantity 'second' found, the nearest is 'seconds'"));
  EXPECT_THAT(refusal_of(R"([{"group": "g", "model": "m", "command": "run", "quantity": "seconds"}])"),
              HasSubstr("'published' is missing"));
  for (const char* columns : {"[1]", "[null]", "[[]]", "\"n\"", "{\"a\": \"n\"}"})
    EXPECT_THAT(refusal_of(fmt::format(R"([{{"group": "g", "columns": {}, "rows": [[1]]}}])", columns)),
                HasSubstr("a list of texts needed"));
  EXPECT_THAT(refusal_of(R"([{"group": "g", "columns": ["a", "b"], "rows": [[1]]}])"),
              HasSubstr("row [1] found, 2 values needed"));
}

}  // namespace
}  // namespace podium::cli
