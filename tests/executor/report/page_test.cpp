#include "executor/report/page.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "executor/report/page_parts.h"
#include "tests/executor/report/sample_timeline.h"
#include "tests/support/run_program.h"

namespace podium::report {
namespace {

using Json = nlohmann::json;

RunReport sample_run() {
  RunReport report{.model = "net.onnx", .strategy = "by hand", .device = "two processors"};
  report.timeline = sample_timeline();
  report.timeline.replicas = 1;
  return report;
}

std::string page_text(const Json& data) {
  std::ostringstream out;
  write_page(data, out);
  return out.str();
}

// What a browser takes for the data: the text of the element, up to the end of a script.
Json data_of(const std::string& page) {
  const std::string start = "id=\"data\">";
  const std::size_t at = page.find(start) + start.size();
  return Json::parse(page.substr(at, page.find("</script", at) - at));
}

TEST(Page, HoldsTheReport) {
  const Json data = data_of(page_text(run_page_data(sample_run())));
  Json report = to_json(sample_run());
  EXPECT_EQ(data["kind"], "run");
  for (const char* name : {"seconds", "samplesPerSecond", "cause", "links", "path", "model"})
    EXPECT_EQ(data["report"][name], report[name]) << name;
  EXPECT_EQ(data["report"]["processors"][0]["busySeconds"], report["processors"][0]["busySeconds"]);
}

TEST(Page, PacksTheEventsOfTheTimeline) {
  const Json timeline = run_page_data(sample_run())["timeline"];
  EXPECT_EQ(timeline["lanes"], Json::parse(R"([{"processors":[0],"lane":"compute"},
      {"processors":[1],"lane":"compute"},{"processors":[1],"lane":"io"}])"));
  EXPECT_EQ(timeline["names"], Json::parse(R"(["stage \"0\"","x","h"])"));
  EXPECT_EQ(timeline["events"],
            Json::parse("[[0,0,2000,0,0,3,0,-1,-1,-1,1],[2,0,1000,1,5,0,128,-1,-1,-1,0],"
                        "[0,2000,1000,2,1,0,64,0,-1,0,1],[1,2000,1000,2,1,0,64,0,-1,0,0]]"));
}

TEST(Page, HasLanesWithTheSameTimesOnce) {
  RunReport report = sample_run();
  sim::Timeline& timeline = report.timeline;
  timeline.processors.resize(2);
  timeline.processors.resize(1000, timeline.processors[1]);
  timeline.events.clear();
  for (int i = 0; i < 1000; ++i)
    timeline.events.push_back({.end = 2e-6, .processor = i, .name = fmt::format("part {}", i)});
  const Json data = run_page_data(report);
  EXPECT_EQ(data["timeline"]["lanes"].size(), 1U);
  EXPECT_EQ(data["timeline"]["lanes"][0]["processors"].size(), 1000U);
  EXPECT_EQ(data["timeline"]["events"].size(), 1U);
  EXPECT_EQ(data["report"]["processors"].size(), 2U);
}

TEST(Page, NamesCannotBecomeMarkup) {
  RunReport report = sample_run();
  report.model = "</script><script>alert(1)</script><!--";
  report.timeline.events[0].name = std::string(10'000, 'x') + "\"'<img src=x>\x01\xff";
  const std::string page = page_text(run_page_data(report));
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(data_of(page)["report"]["model"], report.model);
  EXPECT_LT(data_of(page)["timeline"]["names"][0].get<std::string>().size(), 300U);
}

TEST(Page, AsksForNothingElse) {
  const auto [before, after] = page_parts();
  for (const std::string_view part : {before, after}) {
    EXPECT_EQ(part.find("src="), std::string_view::npos);
    EXPECT_EQ(part.find("href"), std::string_view::npos);
    EXPECT_EQ(part.find("import"), std::string_view::npos);
    EXPECT_EQ(part.find("fetch("), std::string_view::npos);
  }
  EXPECT_NE(before.find("default-src 'none'"), std::string_view::npos);
}

// The modules become one script.
TEST(Page, NamesOfItsModulesAreUnique) {
  const std::string code(page_parts().after);
  const std::regex declaration("\n(?:const|let|function|class) ([A-Za-z]+)");
  std::set<std::string> names;
  for (std::sregex_iterator one(code.begin(), code.end(), declaration), end; one != end; ++one)
    EXPECT_TRUE(names.insert((*one)[1]).second) << (*one)[1];
  EXPECT_GT(names.size(), 50U);
}

TEST(Page, OfAComparisonHoldsItsVerdict) {
  const Json data = comparison_page_data({"net.onnx"}, {{.name = "one", .run = sample_run()}}, "best: one");
  EXPECT_EQ(data["kind"], "comparison");
  EXPECT_EQ(data["verdict"], "best: one");
  EXPECT_EQ(data["report"]["strategies"][0]["run"]["samplesPerSecond"],
            to_json(sample_run())["samplesPerSecond"]);
}

Json sorted(Json list) {
  std::sort(list.begin(), list.end());
  return list;
}

// The ops of each processor, out of rows that stand for several.
Json ops_shown(const Json& packed) {
  Json ops = Json::array();
  for (const Json& row : packed["rows"]) {
    Json op;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!row[i].is_null()) op[packed["keys"][i].get<std::string>()] = row[i];
    }
    const Json processors = op["processors"];
    op.erase("processors");
    for (const Json& processor : processors) {
      op["processor"] = processor;
      ops.push_back(op);
    }
  }
  return sorted(std::move(ops));
}

// The report of the same command has the same figures; only how long this machine took differs.
TEST(Page, OfEveryCommandHasTheFiguresOfItsReport) {
  const testing::TemporaryFolder folder;
  const std::string model = folder.file("model.onnx");
  ASSERT_EQ(testing::run_program("podium-models mnist-cnn batch=2 loss=cross-entropy -o " + model).status, 0);
  const std::string pipeline = " --quiet --virtual-graph-mode auto --ipus 2 --pipeline ";
  for (const std::string& command :
       {"podium run " + model + pipeline + "--batches-per-step 40",
        "podium train " + model + pipeline + "--accumulate 8 --loss-tensor loss --optimizer sgd --estimate",
        "podium profile " + model + pipeline + "--batches-per-step 8",
        "podium compare " + model + " --quiet --ipus 2 --estimate"}) {
    const std::string files =
        fmt::format(" --html {} --report {}", folder.file("page.html"), folder.file("r.json"));
    const auto result = testing::run_program(command + files);
    ASSERT_EQ(result.status, 0) << command << result.err;
    std::stringstream page;
    page << std::ifstream(folder.file("page.html")).rdbuf();
    const Json shown = data_of(page.str())["report"];
    const Json report = Json::parse(std::ifstream(folder.file("r.json")));
    EXPECT_EQ(shown["model"], report["model"]);
    if (report.contains("seconds")) {
      EXPECT_EQ(shown["seconds"], report["seconds"]) << command;
    }
    if (report.contains("ops")) {
      EXPECT_EQ(ops_shown(shown["ops"]), sorted(report["ops"])) << command;
    }
    if (!report.contains("strategies")) continue;
    ASSERT_EQ(shown["strategies"].size(), report["strategies"].size());
    EXPECT_EQ(shown["strategies"][0]["run"]["seconds"], report["strategies"][0]["run"]["seconds"]);
  }
}

}  // namespace
}  // namespace podium::report
