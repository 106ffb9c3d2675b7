#include "executor/cli/classes.h"

#include <algorithm>

#include "executor/session/host_arrays.h"

namespace podium::cli {
namespace {

const ir::Op* maker_of(const ir::Graph& graph, ir::ValueId id) {
  const ir::OpId maker = producers(graph)[id];
  return maker.valid() ? &graph[maker] : nullptr;
}

// Labels on their way from an input may be cast and flattened.
ir::ValueId origin(const ir::Graph& graph, ir::ValueId id) {
  const ir::Op* maker = maker_of(graph, id);
  while (maker != nullptr && (maker->is("Cast") || maker->is("Identity") || maker->is("Reshape"))) {
    id = maker->inputs[0];
    maker = maker_of(graph, id);
  }
  return id;
}

bool is_of_classes(const ir::Op& op) {
  return op.is("SoftmaxCrossEntropyLoss") || op.is("NegativeLogLikelihoodLoss");
}

// The loss itself, or what it is the mean of or a multiple of.
const ir::Op* loss_op(const ir::Graph& graph, const std::string& loss) {
  const auto named = std::find_if(graph.values.begin(), graph.values.end(),
                                  [&](const ir::Value& value) { return value.name == loss; });
  if (named == graph.values.end()) return nullptr;
  const ir::Op* op = maker_of(graph, {static_cast<std::int32_t>(named - graph.values.begin())});
  while (op != nullptr && !is_of_classes(*op)) {
    const bool passes = op->is("Div") || op->is("Mul") || op->is("ReduceMean") || op->is("ReduceSum") ||
                        op->is("Cast") || op->is("Identity");
    op = passes ? maker_of(graph, op->inputs[0]) : nullptr;
  }
  return op;
}

template <class T>
void count(Tally& tally, const Classes& classes, std::span<const T> scores, const ir::Tensor& labels) {
  const ir::Tensor wanted = cast(labels, ir::DataType::Int64);
  const auto answers = wanted.values<std::int64_t>();
  IR_CHECK(std::ssize(scores) == wanted.size() * classes.count, "scores do not fit the labels");
  const std::int64_t inner = classes.positions;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] == classes.ignored) continue;
    const auto place = static_cast<std::int64_t>(i);
    const T* first = scores.data() + place / inner * inner * classes.count + place % inner;
    std::int64_t best = 0;
    T most = first[0];
    for (std::int64_t c = 1; c < classes.count; ++c) {
      if (!(first[c * inner] > most)) continue;
      best = c;
      most = first[c * inner];
    }
    tally.right += best == answers[i] ? 1 : 0;
    ++tally.all;
  }
}

}  // namespace

std::optional<Classes> find_classes(const ir::Graph& graph, const std::string& loss) {
  const ir::Op* op = loss_op(graph, loss);
  if (op == nullptr) return std::nullopt;
  const ir::Value& scores = graph[op->inputs[0]];
  const ir::ValueId labels = origin(graph, op->inputs[1]);
  if (std::find(graph.inputs.begin(), graph.inputs.end(), labels) == graph.inputs.end()) return std::nullopt;
  if (!scores.type.is_static()) return std::nullopt;
  Classes classes{.scores = scores.name, .labels = graph[labels].name, .count = scores.type.dims[1]};
  for (std::size_t axis = 2; axis < scores.type.dims.size(); ++axis)
    classes.positions *= scores.type.dims[axis];
  if (const auto* ignored = ir::attribute_if<std::int64_t>(*op, "ignore_index")) classes.ignored = *ignored;
  return classes;
}

void check_labels(const Classes& classes, const Samples& samples) {
  const auto found = samples.arrays.find(classes.labels);
  if (found == samples.arrays.end()) return;
  const ir::Tensor labels = cast(found->second, ir::DataType::Int64);
  const auto values = labels.values<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if ((values[i] >= 0 && values[i] < classes.count) || values[i] == classes.ignored) continue;
    const std::size_t sample = i / (values.size() / static_cast<std::size_t>(samples.count));
    throw Error("{}: label {} of sample {} found, a class from 0 to {} needed",
                samples.files.at(classes.labels), values[i], sample, classes.count - 1);
  }
}

void Tally::add(const Classes& classes, const ir::Tensor& scores, const ir::Tensor& labels) {
  // A language model has millions of scores a step: most come as floats, which are looked at as they lie.
  if (scores.type() == ir::DataType::Float) {
    count(*this, classes, scores.values<float>(), labels);
  } else {
    const ir::Tensor numbers = cast(scores, ir::DataType::Double);
    count(*this, classes, numbers.values<double>(), labels);
  }
}

}  // namespace podium::cli
