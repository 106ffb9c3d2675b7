// Times models on the numeric engine: median, rate, share of the core's arithmetic limit.
//   podium_bench [--threads N] [--seconds S] [--no-fuse] [--check] [--processors P]
//   [--train] [--schedules] [--only TEXT] [MODEL[,key=value...] ...]
// --check compares with the graph as it was given instead: the largest difference relative to the largest
// number.
// --processors compares a micro-batch on P simulated processors, as many ops on each, with one on one
// processor; with --check too the exit status is 1 when it takes more than 15 % longer.
// --train times a step of training by Adam; with --processors it compares one on one processor with one of
// the same work under strategies, and with --check too the exit status is 1 when one takes more than 20 %
// longer. --growth N shows instead how the time of each stage grows with a graph's nodes, up to N; with
// --check the exit status is 1 where ten times the nodes take more than twenty times as long (forty, where a
// linear walk over the graph shows that caches ask for it); --quadratic adds a stage that the check has to
// find. --schedules shows how long schedules of pipelines take to estimate, with --check status 1 above 0.2
// s.
// --only leaves those out whose names do not have the text in them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "executor/lower/lower.h"
#include "executor/numeric/engine.h"
#include "ir/builder.h"
#include "ir/number_text.h"
#include "tests/bench/common.h"
#include "tests/bench/peak.h"

namespace podium::bench {
namespace {

const std::vector<std::string> kDefault{"resnet50",
                                        "mobilenet-v2",
                                        "bert,form=primitive",
                                        "bert,form=ops",
                                        "lstm",
                                        "lstm,batch=8",
                                        "mnist-mlp,batch=8",
                                        "mnist-mlp",
                                        "mnist-cnn,batch=40",
                                        "gpt2",
                                        "gpt2,sequence=1,past=128",
                                        "tiny-adds"};

const std::vector<std::string> kTrained{"mnist-cnn,batch=40", "mnist-mlp,batch=40",
                                        "bert,layers=2,hidden=256,heads=4,sequence=64"};

// A thousand additions of four numbers: what an op costs beside its arithmetic.
ir::Graph tiny_adds() {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", ir::Type::tensor(ir::DataType::Float, {4}));
  const ir::ValueId one = builder.constant(ir::Tensor::of<float>({4}, {1, 2, 3, 4}));
  ir::ValueId y = x;
  for (int i = 0; i < 1000; ++i) y = builder.op("Add", {y, one});
  builder.output(y);
  return graph;
}

ir::Graph build(const std::string& text) {
  if (text == "tiny-adds") return tiny_adds();
  const NamedModel model = parse_model(text);
  ir::Graph graph = models::build(model.name, model.parameters).graph;
  ir::infer(graph, {.evaluate = kernels::evaluate});
  return graph;
}

double flop_of(const ir::Graph& graph) {
  double total = 0;
  for (const ir::Op& op : graph.ops) total += op.spec->work(ir::TypedOp(graph, op)).flop;
  return total;
}

// Milliseconds of a run: by the clock on the wall, and of processor time over all threads, which other
// programs on the machine disturb less.
struct Times {
  std::vector<double> wall;
  std::vector<double> processor;
};

Times time_runs(numeric::Engine& engine, const std::vector<ir::Datum>& inputs, double seconds) {
  for (int i = 0; i < 3; ++i) engine.run(inputs);
  Times times;
  const auto start = Clock::now();
  while (times.wall.size() < 5 || std::chrono::duration<double>(Clock::now() - start).count() < seconds) {
    const double processor_before = processor_ms();
    const auto before = Clock::now();
    engine.run(inputs);
    times.wall.push_back(std::chrono::duration<double, std::milli>(Clock::now() - before).count());
    times.processor.push_back(processor_ms() - processor_before);
  }
  std::sort(times.wall.begin(), times.wall.end());
  std::sort(times.processor.begin(), times.processor.end());
  return times;
}

std::vector<ir::Datum> inputs_of(const ir::Graph& graph) {
  std::vector<ir::Datum> inputs;
  for (ir::ValueId id : graph.inputs) inputs.emplace_back(filled(graph[id].type));
  return inputs;
}

void check_model(const std::string& text, const Settings& options) {
  const ir::Graph graph = build(text);
  const std::vector<ir::Datum> inputs = inputs_of(graph);
  numeric::Engine plain(lower::on_one_processor(graph), {.threads = options.threads, .fuse = false});
  numeric::Engine fused(lower::on_one_processor(graph), {.threads = options.threads});
  const auto expected = plain.run(inputs);
  const auto found = fused.run(inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].tensor.type() != ir::DataType::Float) continue;
    double largest = 0;
    double difference = 0;
    for (std::int64_t k = 0; k < expected[i].tensor.size(); ++k) {
      const double wanted = expected[i].tensor.data<float>()[k];
      largest = std::max(largest, std::abs(wanted));
      difference = std::max(difference, std::abs(found[i].tensor.data<float>()[k] - wanted));
    }
    fmt::print("{:<24} output {:<3} largest {:>10.4g}  largest difference relative to it {:.1e}\n", text, i,
               largest, difference / largest);
  }
}

void run_model(const std::string& text, const Settings& options) {
  ir::Graph graph = build(text);
  const double flop = flop_of(graph);
  const std::vector<ir::Datum> inputs = inputs_of(graph);
  const auto start = Clock::now();
  numeric::Engine engine(lower::on_one_processor(std::move(graph)),
                         {.threads = options.threads, .fuse = options.fuse});
  const double prepared = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  const double peak_before = measure_peak();
  const Times times = time_runs(engine, inputs, options.seconds);
  const double peak = std::max(peak_before, measure_peak()) * options.threads;
  const double median = times.wall[times.wall.size() / 2];
  const double best = times.wall.front();
  const auto share = [&](double ms) { return 100 * flop / ms / 1e6 / peak; };
  fmt::print("{:<24} {:>9.4f} {:>9.1f} {:>6.1f}% {:>9.4f} {:>6.1f}% {:>9.4f} {:>8.1f} {:>9.2f}\n", text,
             median, flop / median / 1e6, share(median), best, share(best),
             times.processor[times.processor.size() / 2], prepared,
             static_cast<double>(engine.arena().planned) / 1048576);
  std::fflush(stdout);
}

// One way to run a model: an engine, its inputs and what one micro-batch took, run by run.
struct Way {
  std::string name;
  int batches;
  numeric::Engine engine;
  std::vector<ir::Datum> inputs;
  std::vector<double> ms = {};

  Way(std::string called, const ir::Graph& graph, const ir::Placement& placement, const Strategy& session,
      const Settings& options)
      : name(std::move(called)),
        batches(session.batches_per_step),
        engine(lower::lower(graph, placement, session), {.threads = options.threads, .fuse = options.fuse}) {
    for (const executor::HostTensor& input : engine.program().inputs) {
      ir::Type type = input.type;
      type.dims.insert(type.dims.begin(), batches);
      inputs.emplace_back(batches == 1 ? filled(input.type) : filled(type));
    }
  }
  // So many micro-batches one after the other that what the ways before have left in the caches is soon
  // forgotten.
  void time(int micro_batches) {
    const auto before = Clock::now();
    for (int i = 0; i < micro_batches; i += batches) engine.run(inputs);
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - before).count() / micro_batches);
  }
};

// All ways in turn. False when one takes too long for a check.
bool compare_ways(const std::string& text, const Settings& options) {
  const ir::Graph graph = build(text);
  const ir::Placement alone{.ops = std::vector<ir::OpPlacement>(graph.ops.size())};
  const ir::Placement split = even_split(graph, options.processors);
  const int batches = 4 * options.processors;
  std::vector<Way> ways;
  ways.emplace_back("one processor", graph, alone, Strategy{}, options);
  ways.emplace_back("sharded", graph, split, Strategy{}, options);
  ways.emplace_back("one processor, batches", graph, alone, Strategy{.batches_per_step = batches}, options);
  ways.emplace_back("sharded, batches", graph, split, Strategy{.batches_per_step = batches}, options);
  ways.emplace_back("pipelined", graph, split, Strategy{.pipelining = true, .batches_per_step = batches},
                    options);
  const auto start = Clock::now();
  while (ways[0].ms.size() < 20 ||
         std::chrono::duration<double>(Clock::now() - start).count() < options.seconds) {
    for (Way& way : ways) way.time(batches);
  }
  constexpr double kMost = 1.15;
  bool is_good = true;
  for (const Way& way : ways) {
    const double ratio = times_as_long(way.ms, ways[way.batches == 1 ? 0 : 2].ms);
    const bool is_long = options.check && ratio > kMost;
    fmt::print("{:<24} {:<24} {:>9.4f} ms  {:>5.2f} of one processor's{}\n", text, way.name, median(way.ms),
               ratio, is_long ? fmt::format(", at most {} needed", kMost) : "");
    is_good = is_good && !is_long;
  }
  return is_good;
}

bool run_one(const std::string& model, const Settings& options) {
  if (options.train) return compare_training(model, options);
  if (options.processors > 1) return compare_ways(model, options);
  options.check ? check_model(model, options) : run_model(model, options);
  return true;
}

std::vector<std::string> models_of(const Settings& options) {
  if (!options.models.empty()) return options.models;
  if (options.train) return kTrained;
  return options.processors > 1 ? std::vector<std::string>{"mnist-cnn,batch=40"} : kDefault;
}

int run(const Settings& options) {
  if (options.schedules) return time_schedules(options) ? 0 : 1;
  if (options.nodes > 0) return show_growth(options) ? 0 : 1;
  fmt::print("{} thread(s), multiply-add limit {:.1f} GFLOP/s a core\n", options.threads, measure_peak());
  fmt::print("{:<24} {:>9} {:>9} {:>7} {:>9} {:>7} {:>9} {:>8} {:>9}\n", "model", "median ms", "GFLOP/s",
             "of peak", "best ms", "of peak", "cpu ms", "prep ms", "arena MiB");
  bool is_good = true;
  for (const std::string& model : models_of(options)) {
    try {
      is_good = run_one(model, options) && is_good;
    } catch (const std::exception& error) {
      fmt::print("{:<24} {}\n", model, error.what());
      is_good = false;
    }
  }
  return is_good ? 0 : 1;
}

template <class Number>
Number number(const std::string& text) {
  if (const auto value = ir::number_of<Number>(text)) return *value;
  throw Error("'{}' found, a number needed", text);
}

Settings parse(int count, char** words) {
  Settings options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--threads" && i + 1 < count) {
      options.threads = number<int>(words[++i]);
    } else if (word == "--seconds" && i + 1 < count) {
      options.seconds = number<double>(words[++i]);
    } else if (word == "--processors" && i + 1 < count) {
      options.processors = number<int>(words[++i]);
    } else if (word == "--growth" && i + 1 < count) {
      options.nodes = number<int>(words[++i]);
    } else if (word == "--only" && i + 1 < count) {
      options.only = words[++i];
    } else if (word == "--quadratic") {
      options.quadratic = true;
    } else if (word == "--schedules") {
      options.schedules = true;
    } else if (word == "--train") {
      options.train = true;
    } else if (word == "--check") {
      options.check = true;
    } else if (word == "--no-fuse") {
      options.fuse = false;
    } else {
      options.models.push_back(word);
    }
  }
  return options;
}

}  // namespace
}  // namespace podium::bench

int main(int count, char** words) {
  try {
    return podium::bench::run(podium::bench::parse(count, words));
  } catch (const podium::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}
