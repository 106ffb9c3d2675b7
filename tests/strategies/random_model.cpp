#include "tests/strategies/random_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace podium::testing {
namespace {

constexpr int kProcessors = 3;
constexpr int kMostStages = 4;

// Layers keep [2,3,4]: samples, steps or channels, features.
class Writer {
 public:
  Writer(Random& random, Spread spread, Layers layers) : random_(random), spread_(spread), layers_(layers) {}

  RandomModel write() {
    const int layers = 3 + random_.below(5);
    for (int i = 0; i < layers; ++i) {
      if (i > 0) go_on();
      known_.push_back(layer());
      if (random_.one_in(5)) outputs_.push_back(known_.back());
    }
    go_on();
    const std::string last = op("MatMul", {known_.back(), weight({4, 4})});
    std::string loss = random_.coin() ? squares(last) : cross_entropy(last);
    if (random_.one_in(4)) loss = op("Add", {loss, squares(random_.of(known_))});
    line({"loss"}, "Identity", {loss}, {});
    model_.parts = part_ + 1;
    model_.text = head() + body_ + "}";
    return std::move(model_);
  }

 private:
  using Names = std::vector<std::string>;

  std::string head() const {
    std::string outputs = "float loss";
    for (const std::string& name : outputs_) outputs += ", float[2,3,4] " + name;
    return fmt::format(
        "agraph (float[2,3,4] x, float[2,3,4] z, float[2,3,4] wanted, int64[2,3] ids, int64[2,3] labels) => ({})\n"
        "<{}> {{\n",
        outputs, fmt::join(initializers_, ", "));
  }

  // To the next place, or not.
  void go_on() {
    if (spread_ == Spread::Sharded) processor_ = random_.below(kProcessors);
    if (spread_ == Spread::Phased && random_.coin()) ++part_;
    if (spread_ != Spread::Pipelined || part_ + 1 == kMostStages || random_.coin()) return;
    ++part_;
    processor_ = random_.one_in(4) ? random_.below(used_processors_) : used_processors_++;
  }

  Names annotations() {
    Names all;
    const auto put = [&](const char* name, int value) { all.push_back(fmt::format("{}={}", name, value)); };
    if (spread_ == Spread::Sharded || spread_ == Spread::Pipelined) put("__ipu_number", processor_);
    if (spread_ == Spread::Pipelined) put("__pipeline_stage", part_);
    if (spread_ == Spread::Phased) put("__execution_phase", part_);
    constexpr const char* kRecompute = "__recompute_output_in_backward_pass";
    if (random_.one_in(8)) put(kRecompute, 1 + random_.below(2));
    if (random_.one_in(8))
      all.push_back(fmt::format("__output_tensor_location=[{},0,0,0,0,0]", random_.below(2)));
    return all;
  }
  void line(const Names& outputs, const std::string& type, const Names& inputs, const Names& attributes) {
    Names all = annotations();
    all.insert(all.end(), attributes.begin(), attributes.end());
    const std::string list = all.empty() ? "" : fmt::format(" <{}>", fmt::join(all, ", "));
    body_ += fmt::format("  {} = {}{} ({})\n", fmt::join(outputs, ", "), type, list, fmt::join(inputs, ", "));
    if (type != "Greater") model_.values.push_back(outputs[0]);
  }
  std::string fresh() { return fmt::format("v{}", count_++); }
  std::string op(const std::string& type, const Names& inputs, const Names& attributes = {}) {
    const std::string name = fresh();
    line({name}, type, inputs, attributes);
    return name;
  }

  std::string initializer(const std::string& type, const std::string& name, const std::string& values) {
    initializers_.push_back(fmt::format("{} {} = {{{}}}", type, name, values));
    return name;
  }
  std::string constant(const std::string& type, const std::string& values) {
    return initializer(type, fmt::format("c{}", count_++), values);
  }
  // A new one, or one that another op has.
  std::string weight(const std::vector<int>& dims) {
    Names& same = weights_[dims];
    if (!same.empty() && random_.one_in(4)) return random_.of(same);
    int elements = 1;
    for (const int dim : dims) elements *= dim;
    std::vector<std::string> values;
    for (int i = 0; i < elements; ++i)
      values.push_back(fmt::format("{:.3f}", (random_.below(201) - 100) / 160.0));
    same.push_back(fmt::format("w{}", model_.weights.size()));
    model_.weights.push_back(same.back());
    return initializer(fmt::format("float[{}]", fmt::join(dims, ",")), same.back(),
                       fmt::format("{}", fmt::join(values, ",")));
  }
  std::string any() { return random_.of(known_); }

  std::string squares(const std::string& value) {
    const std::string difference = op("Sub", {value, "wanted"});
    return op("ReduceMean", {op("Mul", {difference, difference})}, {"keepdims=0"});
  }
  std::string cross_entropy(const std::string& value) {
    const std::string scores = op("Transpose", {value}, {"perm=[0,2,1]"});
    return op("SoftmaxCrossEntropyLoss", {scores, "labels"},
              {"ignore_index=-1", random_.coin() ? "reduction=\"mean\"" : "reduction=\"sum\""});
  }

  std::string layer() {
    using Layer = std::string (Writer::*)();
    static const std::vector<Layer> kLayers{
        &Writer::product, &Writer::product,    &Writer::product,   &Writer::binary, &Writer::activation,
        &Writer::bias,    &Writer::layer_norm, &Writer::attention, &Writer::conv,   &Writer::recurrent,
        &Writer::branch,  &Writer::loop,       &Writer::turned,    &Writer::words,  &Writer::swapped,
        &Writer::scaled,  &Writer::batch_norm};
    static const std::vector<Layer> kMore{
        &Writer::centered,   &Writer::pooled,  &Writer::instance_norm, &Writer::scaled_by_logarithms,
        &Writer::group_norm, &Writer::largest, &Writer::heads,         &Writer::table_of_words};
    if (layers_ == Layers::Many && random_.one_in(3)) return (this->*random_.of(kMore))();
    return (this->*random_.of(kLayers))();
  }
  std::string axes() { return constant("int64[1]", std::to_string(random_.below(3))); }
  std::string centered() {
    const std::string from = any();
    const Names kinds{"ReduceMean", "ReduceSum", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"};
    return op("Sub", {from, op(random_.of(kinds), {from, axes()})});
  }
  std::string largest() {
    const std::string from = any();
    return op("Add", {from, op(random_.of(Names{"ReduceMax", "ReduceMin"}), {from, axes()})});
  }
  std::string pooled() {
    return op(random_.of(Names{"AveragePool", "MaxPool"}), {any()}, {"kernel_shape=[3]", "pads=[1,1]"});
  }
  std::string instance_norm() { return op("InstanceNormalization", {any(), weight({3}), weight({3})}); }
  std::string group_norm() {
    return op("GroupNormalization", {any(), weight({3}), weight({3})}, {"num_groups=3"});
  }
  std::string scaled_by_logarithms() { return op("Mul", {any(), op("LogSoftmax", {any()}, {"axis=1"})}); }
  std::string heads() {
    const std::string four = constant("int64[4]", "2,3,2,2");
    const std::string split = op("Transpose", {op("Reshape", {any(), four})}, {"perm=[0,2,1,3]"});
    const std::string scores =
        op("Softmax", {op("MatMul", {split, op("Transpose", {split}, {"perm=[0,1,3,2]"})})});
    const std::string joined = op("Transpose", {op("MatMul", {scores, split})}, {"perm=[0,2,1,3]"});
    return op("Reshape", {joined, constant("int64[3]", "2,3,4")});
  }
  std::string table_of_words() {
    const std::string table = weight({5, 4});
    const std::string scores = op("MatMul", {any(), op("Transpose", {table}, {"perm=[1,0]"})});
    return op("MatMul", {op("Softmax", {scores}), table});
  }
  std::string product() { return op("MatMul", {any(), weight({4, 4})}); }
  std::string binary() { return op(random_.of(Names{"Add", "Mul", "Sub"}), {any(), any()}); }
  std::string activation() { return op(random_.of(Names{"Tanh", "Gelu", "Sigmoid", "Softmax"}), {any()}); }
  std::string bias() { return op("Sub", {any(), weight({4})}); }
  std::string layer_norm() { return op("LayerNormalization", {any(), weight({4}), weight({4})}); }
  std::string attention() {
    const std::string from = any();
    const std::string keys = op("Transpose", {op("MatMul", {from, weight({4, 4})})}, {"perm=[0,2,1]"});
    const std::string scores = op("MatMul", {op("MatMul", {from, weight({4, 4})}), keys});
    return op("MatMul", {op("Softmax", {scores}), any()});
  }
  std::string conv() {
    return op("Conv", {any(), weight({3, 3, 3}), weight({3})}, {"kernel_shape=[3]", "pads=[1,1]"});
  }
  std::string recurrent() {
    const std::string steps = op("Transpose", {any()}, {"perm=[1,0,2]"});
    const std::string made = fresh();
    line({made, "h" + made, "c" + made}, "LSTM",
         {steps, weight({1, 16, 4}), weight({1, 16, 4}), weight({1, 32})}, {"hidden_size=4"});
    return op("Transpose", {op("Squeeze", {made, constant("int64[1]", "1")})}, {"perm=[1,0,2]"});
  }
  std::string branch() {
    const std::string from = any();
    const std::string sum = op("ReduceSum", {from}, {"keepdims=0"});
    // A sum of what has no mean is rounding alone: it may not decide the branch.
    return op("If", {op("Greater", {sum, constant("float", "0.05")})},
              {fmt::format("then_branch = t () => (float[2,3,4] p) {{ p = MatMul ({}, {}) }}", from,
                           weight({4, 4})),
               fmt::format("else_branch = e () => (float[2,3,4] q) {{ q = Tanh ({}) }}", from)});
  }
  std::string loop() {
    return op("Loop", {constant("int64", std::to_string(1 + random_.below(3))), "", any()},
              {fmt::format("body = b (int64 i, bool c, float[2,3,4] u) => (bool d, float[2,3,4] v) "
                           "{{ d = Identity (c) m = MatMul (u, {}) v = Tanh (m) }}",
                           weight({4, 4}))});
  }
  std::string turned() { return op("MatMul", {any(), op("Transpose", {weight({4, 4})}, {"perm=[1,0]"})}); }
  std::string words() { return op("Add", {any(), op("Gather", {weight({5, 4}), "ids"})}); }
  std::string swapped() {
    const std::string one = fresh();
    const std::string two = fresh();
    line({one, two}, "Split", {any()}, {"axis=2", "num_outputs=2"});
    return op("Concat", {two, one}, {"axis=2"});
  }
  std::string scaled() { return op("Mul", {any(), weight({1})}); }
  std::string batch_norm() {
    model_.keeps_statistics = true;
    const std::string mean = constant("float[3]", "0,0,0");
    const std::string variance = constant("float[3]", "1,1,1");
    const std::string made = fresh();
    line({made, "m" + made, "n" + made}, "BatchNormalization",
         {any(), weight({3}), weight({3}), mean, variance}, {"training_mode=1"});
    return made;
  }

  Random& random_;
  Spread spread_;
  Layers layers_;
  RandomModel model_;
  int processor_ = 0;
  int used_processors_ = 1;
  int part_ = 0;
  int count_ = 0;
  Names known_{"x", "z"};
  Names outputs_;
  std::map<std::vector<int>, Names> weights_;
  Names initializers_;
  std::string body_;
};

}  // namespace

RandomModel random_model(Random& random, Spread spread, Layers layers) {
  return Writer(random, spread, layers).write();
}

}  // namespace podium::testing
