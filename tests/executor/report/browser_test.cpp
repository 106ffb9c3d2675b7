// Pages in a real browser: Debian's chromium without a window. A script that is added to the page uses it as
// a person would and writes what it saw into an element, which --dump-dom prints. Without chromium the tests
// are skipped (tools/setup --browser installs it).
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/run_program.h"

namespace podium::report {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

std::string text_of_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// What scripts of the tests share.
constexpr const char* kHands = R"js(
const seen = {errors: []};
window.addEventListener("error", (event) => seen.errors.push(event.message));
const all = (what) => [...document.querySelectorAll(what)];
const texts = (what) => all(what).map((one) => one.textContent);
const tab = (name) => document.getElementById(`tab-${name}`).click();
const later = (time = 300) => new Promise((done) => setTimeout(done, time));
const key = (element, name) => element.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
const rowsOf = (name) => all(`#table-${name} tbody tr`).length;
const sortBy = (name, head) => all(`#table-${name} thead button`).find((one) => one.textContent === head).click();
function filter(name, text) {
  const input = document.querySelector(`#table-${name} input`);
  input.value = text;
  input.dispatchEvent(new Event("input"));
}
function press(canvas, x, y) {
  const box = canvas.getBoundingClientRect();
  for (const kind of ["pointerdown", "pointerup"]) {
    const event = new PointerEvent(kind, {clientX: box.left + x, clientY: box.top + y, pointerId: 1});
    canvas.setPointerCapture = () => {};
    canvas.dispatchEvent(event);
  }
}
)js";

class Browser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v chromium >/dev/null 2>&1") != 0)
      GTEST_SKIP() << "chromium is not installed (tools/setup --browser)";
  }

  // Writes the page of a command line that ends with --html.
  void make_page(const std::string& command) const {
    const auto result = testing::run_program(command + " --quiet --html " + folder_.file("page.html"));
    ASSERT_EQ(result.status, 0) << command << ": " << result.err;
  }
  std::string model(const std::string& description) const {
    const std::string path = folder_.file("model.onnx");
    EXPECT_EQ(testing::run_program("podium-models " + description + " -o " + path).status, 0);
    return path;
  }

  // Opens the page at `fragment`, runs `script`, and gives what it put into `seen`. Nothing may be written to
  // the console, and nothing loaded.
  Json use(const std::string& script, const std::string& fragment = "") const {
    std::string page = text_of_file(folder_.file("page.html"));
    const std::string added = fmt::format(
        "<script type=\"module\">{}try {{ {} }} catch (error) {{ seen.errors.push(`${{error.stack}}`); }}\n"
        "seen.loaded = performance.getEntriesByType('resource').map((one) => one.name);\n"
        "const result = document.createElement('pre'); result.id = 'result';\n"
        "result.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(seen))));\n"
        "document.body.append(result);</script>",
        kHands, script);
    page.insert(page.rfind("</body>"), added);
    const std::string path = folder_.write("used.html", page);
    const std::string line = fmt::format(
        "timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir={0}/profile "
        "--window-size=1300,900 --virtual-time-budget=20000 --enable-logging=stderr --dump-dom 'file://{1}#{2}' "
        ">{0}/dom 2>{0}/log",
        folder_.path(), path, fragment);
    EXPECT_EQ(std::system(line.c_str()), 0);
    EXPECT_THAT(text_of_file(folder_.file("log")), Not(HasSubstr("CONSOLE")));
    const Json seen = Json::parse(result_in(text_of_file(folder_.file("dom"))));
    EXPECT_EQ(seen["errors"], Json::array());
    EXPECT_EQ(seen["loaded"], Json::array());
    return seen;
  }

  TemporaryFolder folder_;

 private:
  static std::string result_in(const std::string& dom) {
    const std::string start = "id=\"result\">";
    const std::size_t at = dom.rfind(start);
    EXPECT_NE(at, std::string::npos) << dom.substr(0, 500);
    if (at == std::string::npos) return "{}";
    return decoded(dom.substr(at + start.size(), dom.find('<', at) - at - start.size()));
  }
  // Base 64.
  static std::string decoded(const std::string& text) {
    const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    unsigned bits = 0;
    int count = 0;
    for (const char letter : text) {
      const std::size_t value = letters.find(letter);
      if (value == std::string::npos) break;
      bits = bits << 6U | static_cast<unsigned>(value);
      count += 6;
      if (count < 8) continue;
      count -= 8;
      bytes += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xFFU);
    }
    return bytes;
  }
};

TEST_F(Browser, ShowsThePipelineOfMnist) {
  make_page("podium run " + model("mnist-cnn") +
            " --virtual-graph-mode auto --ipus 4 --pipeline --batches-per-step 64"
            " --report " +
            folder_.file("r.json"));
  const Json seen = use(R"js(
    seen.tabs = texts("nav button");
    seen.verdict = texts(".verdict")[0];
    seen.facts = texts(".fact dd");
    seen.bars = all(".bar-row").length;
    seen.mostlyBehind = texts("#table-time tbody td:nth-child(2)");
    const idle = all(".bar-row:last-child .bar-part").find((one) => one.title.includes("idle behind loads"));
    idle.click();
    seen.said = texts(".said")[0];
    seen.hovered = idle.title;
    seen.source = texts("section p").at(-1);
    filter("machine", "clockHertz");
    seen.clock = texts("#table-machine tbody td");
    filter("machine", "");
    tab("timeline");
    await later();
    const canvas = document.querySelector("canvas");
    key(canvas, "+");
    await later();
    seen.zoomed = location.hash;
    key(canvas, "Home");
    await later();
    seen.whole = location.hash;
    canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: -400, cancelable: true, bubbles: true}));
    await later();
    seen.wheeled = location.hash;
    key(canvas, "Home");
    press(canvas, 152, 24 + 22 * 3 + 10);
    seen.gap = texts(".details")[0];
    key(canvas, "Escape");
    for (let x = 160; x < canvas.clientWidth && !texts(".details")[0].includes("It started when"); ++x) press(canvas, x, 24 + 22 * 3 + 10);
    seen.clicked = texts(".details")[0];
    key(canvas, "c");
    seen.cause = texts(".details h3")[0];
    await later();
    seen.events = rowsOf("events");
    tab("memory");
    await later();
    seen.alive = texts("#table-alive tbody td:first-child");
    document.querySelector("canvas").dispatchEvent(new MouseEvent("click", {bubbles: true}));
    await later();
    seen.moment = location.hash;
    tab("ops");
    seen.ops = rowsOf("ops");
    seen.heads = texts("#table-ops thead th");
    filter("ops", "conv");
    seen.convolutions = texts("#table-ops tbody td:first-child");
    filter("ops", "");
    sortBy("ops", "name");
    seen.sorted = texts("#table-ops tbody td:first-child");
    tab("model");
    seen.boxes = texts(".processor h3");
    seen.crossing = texts("#table-crossings tbody td:nth-child(3)");
    seen.ready = document.documentElement.dataset.ready;
  )js");
  const Json report = Json::parse(std::ifstream(folder_.file("r.json")));
  EXPECT_EQ(seen["tabs"], Json::parse(R"(["overview","timeline","memory","ops","model"])"));
  EXPECT_EQ(seen["verdict"], report["cause"].get<std::string>() + ".");
  EXPECT_EQ(seen["facts"][5], "4");
  EXPECT_EQ(seen["bars"], 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const Json& most = report["processors"][i]["awaited"][0];
    const std::string who = most.contains("processor") ? fmt::format("ipu {} ", most["processor"].get<int>())
                                                       : std::string("the host's call ");
    EXPECT_THAT(seen["mostlyBehind"][i].get<std::string>(), ::testing::StartsWith(who));
  }
  EXPECT_THAT(seen["said"].get<std::string>(),
              ::testing::MatchesRegex(
                  "ipu 3: idle behind loads from the host .*: ipu 0 loading from the host .*%\\)"));
  EXPECT_EQ(seen["hovered"], seen["said"]);
  EXPECT_THAT(seen["zoomed"].get<std::string>(), HasSubstr("time="));
  EXPECT_THAT(seen["whole"].get<std::string>(), Not(HasSubstr("time=")));
  EXPECT_THAT(seen["wheeled"].get<std::string>(), HasSubstr("time="));
  EXPECT_THAT(seen["gap"].get<std::string>(), HasSubstr("ipu 3 stands still until"));
  EXPECT_THAT(seen["gap"].get<std::string>(), HasSubstr("It waits for stage1 of ipu 1"));
  EXPECT_THAT(seen["clicked"].get<std::string>(), HasSubstr("It started when"));
  EXPECT_THAT(seen["cause"].get<std::string>(), ::testing::Not(::testing::IsEmpty()));
  EXPECT_GT(seen["events"], 20);
  EXPECT_FALSE(seen["alive"].empty());
  EXPECT_THAT(seen["moment"].get<std::string>(), HasSubstr("moment="));
  EXPECT_EQ(seen["ops"], report["ops"].size());
  EXPECT_THAT(seen["heads"].get<std::vector<std::string>>(), ::testing::Contains("stage"));
  for (const Json& op : report["ops"]) EXPECT_EQ(op["stage"], op["processor"]) << op;
  EXPECT_EQ(report["modelFile"]["bytes"], std::filesystem::file_size(folder_.file("model.onnx")));
  EXPECT_THAT(seen["source"].get<std::string>(),
              HasSubstr("CRC-32 " + report["modelFile"]["crc32"].get<std::string>()));
  EXPECT_EQ(seen["clock"], Json::parse(R"(["clockHertz","1330000000","vendor's sheet"])"));
  EXPECT_EQ(seen["convolutions"], Json::parse(R"(["conv2/Conv","conv1/Conv"])"));
  EXPECT_TRUE(std::is_sorted(seen["sorted"].begin(), seen["sorted"].end()));
  EXPECT_EQ(seen["boxes"], Json::parse(R"(["ipu 0","ipu 1","ipu 2","ipu 3"])"));
  EXPECT_EQ(seen["crossing"].size(), 3U);
  EXPECT_EQ(seen["ready"], "1");
}

TEST_F(Browser, OpensWhatTheAddressSays) {
  make_page("podium run " + model("mnist-cnn") + " --estimate --virtual-graph-mode auto --ipus 2 --pipeline");
  const Json seen = use(
      "seen.open = texts('nav [aria-selected=true]'); seen.rows = texts('#table-ops tbody td:first-child');",
      "tab=ops&ops.filter=fc&ops.sort=0,1");
  EXPECT_EQ(seen["open"], Json::array({"ops"}));
  EXPECT_EQ(seen["rows"], Json::parse(R"(["fc1/Gemm","fc2/Gemm"])"));
}

TEST_F(Browser, ShowsBertOverFour) {
  make_page("podium run " + model("bert") +
            " --estimate --virtual-graph-mode auto --ipus 4 --pipeline "
            "--batches-per-step 32 --report " +
            folder_.file("r.json"));
  const Json seen = use(R"js(
    tab("timeline");
    await later();
    const canvas = document.querySelector("canvas");
    press(canvas, 170, 24 + 10);
    seen.block = rowsOf("block");
    tab("ops");
    const select = document.querySelector("select");
    select.value = "layer";
    select.dispatchEvent(new Event("change"));
    seen.layers = rowsOf("ops");
    tab("memory");
    seen.largest = texts("#table-largest tbody td:nth-child(2)")[0];
  )js");
  EXPECT_GT(seen["block"], 20);
  EXPECT_GT(seen["layers"], 20);
  EXPECT_EQ(seen["largest"], "embeddings/word.weight");
}

TEST_F(Browser, ShowsAComparison) {
  make_page("podium compare " + model("mnist-cnn") + " --ipus 4 --estimate --report " +
            folder_.file("r.json"));
  const Json seen = use(R"js(
    seen.verdict = texts("pre.verdict")[0];
    seen.rows = rowsOf("strategies");
    seen.first = texts("#table-strategies tbody tr:first-child td");
    seen.points = all("circle.point").length;
    seen.sides = texts(".side h3");
    seen.source = texts("section p").at(-1);
    seen.machine = rowsOf("machine");
    seen.together = all("canvas").map((one) => one.getAttribute("aria-label"));
    all("#table-strategies tbody tr")[2].click();
    seen.picked = texts(".side h3");
    await later();
    seen.hash = location.hash;
    sortBy("strategies", "fullest memory");
    seen.most = texts("#table-strategies tbody tr:first-child td")[6];
    seen.marked = texts("#table-strategies tr.marked td:first-child").sort();
  )js");
  const Json report = Json::parse(std::ifstream(folder_.file("r.json")));
  std::size_t possible = 0;
  for (const Json& strategy : report["strategies"]) possible += strategy.contains("run") ? 1 : 0;
  EXPECT_EQ(seen["rows"], possible);
  EXPECT_EQ(seen["points"], possible);
  EXPECT_THAT(seen["verdict"].get<std::string>(), HasSubstr("best: "));
  EXPECT_EQ(seen["first"][0], report["strategies"][0]["name"]);
  EXPECT_EQ(seen["sides"].size(), 2U);
  EXPECT_THAT(seen["source"].get<std::string>(),
              HasSubstr("CRC-32 " + report["modelFile"]["crc32"].get<std::string>()));
  EXPECT_GT(seen["machine"], 20);
  ASSERT_EQ(seen["together"].size(), 1U);
  EXPECT_THAT(seen["together"][0].get<std::string>(),
              HasSubstr(report["strategies"][1]["name"].get<std::string>() + " takes "));
  EXPECT_EQ(seen["picked"][1], report["strategies"][2]["name"]);
  EXPECT_THAT(
      seen["marked"].get<std::vector<std::string>>(),
      ::testing::UnorderedElementsAre(report["strategies"][1]["name"], report["strategies"][2]["name"]));
  EXPECT_THAT(seen["hash"].get<std::string>(), HasSubstr("picked=1%2C2"));
}

// Words of up to 20 letters that a cell shows in two lines, in windows of several widths.
constexpr const char* kBrokenWords = R"js(
  function brokenWords() {
    const broken = [];
    for (const cell of all("td")) {
      const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
      for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        for (const word of node.data.matchAll(/[A-Za-z0-9.%]+/g)) {
          if (word[0].length > 20) continue;
          const range = document.createRange();
          range.setStart(node, word.index);
          range.setEnd(node, word.index + word[0].length);
          if (new Set([...range.getClientRects()].map((one) => Math.round(one.top))).size > 1) broken.push(word[0]);
        }
      }
    }
    return broken;
  }
  seen.broken = [];
  for (const width of [1900, 1300, 900, 600]) {
    document.body.style.width = `${width}px`;
    seen.broken.push(...brokenWords());
  }
  document.body.style.width = "";
)js";

TEST_F(Browser, BreaksNoWordInNarrowTablesOfAComparison) {
  make_page("podium compare " + model("mnist-cnn") + " --ipus 4 --estimate");
  const Json seen = use(std::string(kBrokenWords) + R"js(
    const box = document.querySelector("#table-strategies .scroll");
    seen.isWhole = box.scrollWidth <= box.clientWidth;
  )js");
  EXPECT_EQ(seen["broken"], Json::array());
  EXPECT_EQ(seen["isWhole"], true) << "at 1,300 pixels";
}

TEST_F(Browser, BreaksNoWordInNarrowTablesOfOps) {
  make_page("podium profile " + model("mnist-cnn") + " --ipus 4 --pipeline");
  const Json seen = use(kBrokenWords, "tab=ops");
  EXPECT_EQ(seen["broken"], Json::array());
}

TEST_F(Browser, ShowsATraining) {
  const std::string data = std::string(PODIUM_SOURCE_DIR) + "/models/data/digits-";
  make_page(
      "podium train " + model("mnist-cnn batch=20 pixels=byte loss=cross-entropy") +
      " --loss-tensor loss --optimizer adam,lr=0.001 --epochs 2 --accumulate 5 --virtual-graph-mode auto --ipus 2 "
      "--pipeline --gradient-norm --input image=" +
      data + "images-idx3-ubyte --target label=" + data + "labels-idx1-ubyte --report " +
      folder_.file("r.json"));
  const Json seen = use(R"js(
    seen.open = texts("nav [aria-selected=true]");
    seen.verdict = texts(".verdict")[0];
    seen.charts = texts("figcaption");
    seen.epochs = rowsOf("epochs");
    tab("timeline");
  )js");
  const Json report = Json::parse(std::ifstream(folder_.file("r.json")));
  EXPECT_EQ(seen["open"], Json::array({"training"}));
  EXPECT_EQ(seen["epochs"], report["training"]["epochs"].size());
  EXPECT_THAT(
      seen["verdict"].get<std::string>(),
      HasSubstr(fmt::format("the loss is {:.4f}", report["training"]["epochs"][1]["loss"].get<double>())));
  EXPECT_THAT(seen["charts"].get<std::vector<std::string>>(),
              ElementsAre("loss over steps", "accuracy over steps", "learning rate over steps",
                          "norm of all gradients over steps", "milliseconds on this machine over steps"));
  for (const Json& step : report["training"]["steps"]) EXPECT_GT(step["gradientNorm"], 0.0);
}

// A training of one step that holds nothing out has no columns for what is not there.
TEST_F(Browser, ShowsNothingThatATrainingHasNot) {
  make_page("podium train " + model("mnist-mlp batch=4 loss=cross-entropy") +
            " --loss-tensor loss --optimizer sgd --steps 1 --input image=" +
            PODIUM_SOURCE_DIR "/models/data/digits-train-images-idx3-ubyte --target label=" +
            PODIUM_SOURCE_DIR "/models/data/digits-train-labels-idx1-ubyte");
  const Json seen = use(R"js(
    seen.verdict = texts(".verdict")[0];
    seen.heads = texts("#table-epochs thead button");
    tab("overview");
    seen.advice = texts(".advice")[0];
  )js");
  EXPECT_THAT(seen["verdict"].get<std::string>(), HasSubstr("After 1 step the loss is "));
  EXPECT_THAT(seen["heads"].dump(), Not(HasSubstr("held-out")));
  EXPECT_THAT(seen["advice"].get<std::string>(), HasSubstr("What would help most: --"));
}

TEST_F(Browser, ShowsTheBalanceOfPhases) {
  make_page("podium run " + model("phased-matmul") +
            " --virtual-graph-mode execution-phases --phases 8 --off-chip weights --report " +
            folder_.file("r.json"));
  const Json seen = use(R"js(
    seen.marks = all(".chart .mark").length;
    seen.phases = texts("#table-phases tbody td:first-child");
    seen.balance = texts("#table-phases tbody td:nth-child(5)");
  )js");
  const Json report = Json::parse(std::ifstream(folder_.file("r.json")));
  EXPECT_EQ(seen["marks"], 7);
  EXPECT_EQ(seen["phases"][0], "before the first");
  EXPECT_EQ(seen["phases"].size(), 9U);
  // 2 x 8,000 x 250 x 250 FLOP for a weight of 250 x 250 floats.
  EXPECT_EQ(report["phases"][1]["flopPerByte"], 4000.0);
  EXPECT_EQ(seen["balance"][1], "balanced");
  EXPECT_EQ(seen["balance"][8], "nothing moves");
}

TEST_F(Browser, OpensAPageOfAThousandProcessors) {
  make_page("podium profile " + model("phased-matmul layers=1024 size=64 rows=8 batch=1") +
            " --device ipu-pod1024 --virtual-graph-mode auto --ipus 1024 --pipeline --batches-per-step 1024");
  EXPECT_LT(std::filesystem::file_size(folder_.file("page.html")), 20'000'000U);
  const Json seen = use(R"js(
    seen.open = texts("nav [aria-selected=true]");
    tab("timeline");
    const start = Date.now();
    for (let i = 0; i < 5; ++i) key(document.querySelector("canvas"), "+");
    tab("overview");
    seen.bars = all(".bar-row").length;
    tab("memory");
    seen.memory = texts(".note").at(-1);
    tab("model");
    seen.boxes = all(".processor").length;
  )js");
  EXPECT_EQ(seen["open"], Json::array({"ops"}));
  EXPECT_THAT(seen["memory"].get<std::string>(),
              ::testing::AllOf(HasSubstr("Click or use the arrow keys"), Not(HasSubstr("It is of the first"))));
  EXPECT_EQ(seen["bars"], 27);  // of 1,024, as most are alike
  EXPECT_EQ(seen["boxes"], 48);
}

TEST_F(Browser, HostileNamesAreText) {
  const std::string name = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>" +
                           std::string(10'000, 'n');
  folder_.write(
      "net.onnxtxt",
      "<ir_version: 10, opset_import: [\"\" : 21]>\nnet (float[4] x) => (float[4] y) { y = Neg(x) }");
  make_page("podium run " + folder_.file("net.onnxtxt") + " --estimate");
  std::string page = text_of_file(folder_.file("page.html"));
  const std::string plain = "net.onnxtxt";
  std::string in_json;
  for (const char c : name) in_json += c == '<' ? std::string("\\u003c") : std::string(1, c);
  for (std::size_t at = page.find(plain); at != std::string::npos; at = page.find(plain, at + in_json.size()))
    page.replace(at, plain.size(), in_json);
  folder_.write("page.html", page);
  const Json seen = use(
      "for (const name of ['timeline', 'memory', 'ops', 'model']) tab(name); seen.title = document.title; "
      "seen.images = all('img').length; seen.wide = document.documentElement.scrollWidth <= innerWidth;");
  EXPECT_THAT(seen["title"].get<std::string>(), Not(HasSubstr("owned'")));
  EXPECT_EQ(seen["images"], 0);
  EXPECT_EQ(seen["wide"], true);
}

}  // namespace
}  // namespace podium::report
