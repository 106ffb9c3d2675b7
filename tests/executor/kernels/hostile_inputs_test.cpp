// Every op that a case of ONNX's shows is fed what it does not expect, one input at a time: other ranks, axes
// of no elements, of one and of one too many, extreme numbers. It gives a result or an Error, soon, and
// nothing else. Under AddressSanitizer the same walk shows reads and writes out of bounds: kernels get blocks
// of memory of their own here (evaluate), and in a session the memory plan's.
#include <gtest/gtest.h>

#include <ctime>
#include <limits>
#include <map>
#include <set>

#include "executor/kernels/tools/kernel.h"
#include "executor/session/session.h"
#include "ir/bodies.h"
#include "tests/support/onnx_case.h"

namespace podium::testing {
namespace {

using ir::DataType;
using ir::Datum;
using ir::Dims;
using ir::Graph;
using ir::Tensor;
using ir::ValueId;

constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;
constexpr double kMostSeconds = 5;  // of the processor, whatever else it does

struct Counts {
  int results = 0;
  int errors = 0;
  int too_large = 0;  // to be run here
};

// What is asked for is legal and takes more memory than a test should.
struct TooLarge {};

void check_size_of(const ir::Type& type) {
  if (!type.is_static()) return;
  if (type.element_count() > kMostBytes / static_cast<std::int64_t>(storage_bytes(type.element)))
    throw TooLarge{};
}

// The elements of `from` again and again, in another shape.
Tensor refilled(const Tensor& from, Dims dims) {
  Tensor to(from.type(), std::move(dims));
  const std::size_t width = ir::storage_bytes(from.type());
  if (from.type() == DataType::String) {
    for (std::int64_t i = 0; from.size() > 0 && i < to.size(); ++i)
      to.data<std::string>()[i] = from.data<std::string>()[i % from.size()];
    return to;
  }
  auto* out = static_cast<char*>(to.raw());
  const auto* in = static_cast<const char*>(from.raw());
  for (std::size_t i = 0; i < to.bytes(); ++i)
    out[i] = from.size() == 0 ? 0 : in[i % (from.bytes() / width * width)];
  return to;
}

std::vector<Dims> other_shapes(const Dims& dims) {
  std::set<Dims> shapes{{}, {0}, {1}, {7}};
  Dims more = dims;
  more.insert(more.begin(), 2);
  shapes.insert(more);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    Dims less = dims;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
    shapes.insert(less);
    for (std::int64_t size : {std::int64_t{0}, std::int64_t{1}, dims[i] + 1, dims[i] * 2}) {
      Dims other = dims;
      other[i] = size;
      shapes.insert(other);
    }
  }
  shapes.erase(dims);
  return {shapes.begin(), shapes.end()};
}

template <class T>
void add_extremes(const Tensor& tensor, std::initializer_list<T> numbers, std::vector<Tensor>& result) {
  if (tensor.type() != ir::data_type_of<T> || tensor.size() == 0) return;
  for (T number : numbers) {
    Tensor all = tensor.clone();
    std::fill_n(all.data<T>(), all.size(), number);
    result.push_back(std::move(all));
    Tensor last = tensor.clone();
    last.data<T>()[last.size() - 1] = number;
    result.push_back(std::move(last));
  }
}

// A loop that is to run 2^63 times does so: of such ops the longest one that ends soon.
enum class Most : std::uint8_t { Extreme, Countable };

std::vector<Tensor> other_numbers(const Tensor& tensor, Most most_of_integers) {
  std::vector<Tensor> result;
  if (most_of_integers == Most::Countable) {
    add_extremes<std::int64_t>(tensor, {-1, 0, 65536}, result);
    return result;
  }
  using Long = std::numeric_limits<std::int64_t>;
  using Int = std::numeric_limits<std::int32_t>;
  add_extremes<std::int64_t>(tensor, {-1, 0, 65536, Long::min(), Long::max()}, result);
  add_extremes<std::int32_t>(tensor, {-1, 0, 65536, Int::min(), Int::max()}, result);
  const float none = std::numeric_limits<float>::quiet_NaN();
  const float most = std::numeric_limits<float>::infinity();
  add_extremes<float>(tensor, {none, most, -most, 1e30F, -1e30F}, result);
  return result;
}

class Walk {
 public:
  explicit Walk(std::string folder) : folder_(std::move(folder)) {
    inputs_ = read_case_inputs(folder_);
    graph_ = import_case(folder_, inputs_).graph;
    for (const ir::Op& op : graph_.ops) has_bodies_ = has_bodies_ || ir::has_body(op);
  }

  std::set<const ir::OpSpec*> ops() const {
    std::set<const ir::OpSpec*> result;
    for (const ir::Op& op : graph_.ops) result.insert(op.spec);
    return result;
  }

  void walk(Counts& counts) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].is_tensor()) continue;
      const Datum legal = inputs_[i];
      for (const Dims& dims : other_shapes(legal.tensor.dims())) {
        inputs_[i] = refilled(legal.tensor, dims);
        one(i, counts, [&] { run_session(); });
        if (!has_bodies_) one(i, counts, [&] { run_ops(); });
      }
      for (Tensor& numbers : other_numbers(legal.tensor, has_bodies_ ? Most::Countable : Most::Extreme)) {
        inputs_[i] = std::move(numbers);
        one(i, counts, [&] { has_bodies_ ? run_session() : run_ops(); });
      }
      inputs_[i] = legal;
    }
  }

 private:
  template <class Run>
  void one(std::size_t input, Counts& counts, const Run& run) const {
    const std::clock_t start = std::clock();
    const std::string what =
        fmt::format("{}: input {} is {}", folder_, input, to_string(type_of(inputs_[input])));
    try {
      run();
      ++counts.results;
    } catch (const Error&) {
      ++counts.errors;
    } catch (const std::bad_alloc&) {
      ++counts.errors;
    } catch (const TooLarge&) {
      ++counts.too_large;
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": " << error.what();
    }
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, kMostSeconds) << what;
  }

  void run_session() const {
    importer::Model model = import_case(folder_, inputs_);
    ir::infer(model.graph);
    for (const ir::Value& value : model.graph.values) check_size_of(value.type);
    InferenceSession session(std::move(model), {.threads = 1});
    session.run(inputs_);
  }

  // Each op by itself, with memory of its own for each tensor.
  void run_ops() const {
    ir::IdMap<ValueId, Datum> data(std::ssize(graph_.values));
    for (ValueId id : graph_.value_ids()) {
      if (graph_.is_constant(id)) data[id] = *graph_[id].constant;
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) data[graph_.inputs[i]] = inputs_[i];
    for (const ir::Op& op : graph_.ops) {
      std::vector<Datum> given;
      std::vector<const Datum*> pointers;
      for (ValueId id : op.inputs) given.push_back(id.valid() ? data[id] : Datum());
      for (std::size_t i = 0; i < given.size(); ++i)
        pointers.push_back(op.inputs[i].valid() ? &given[i] : nullptr);
      for (const ir::Type& type : ir::infer_outputs(op, pointers)) check_size_of(type);
      std::vector<Datum> results = kernels::evaluate(op, given);
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (op.outputs[i].valid()) data[op.outputs[i]] = std::move(results[i]);
      }
    }
  }

  std::string folder_;
  std::vector<Datum> inputs_;
  Graph graph_;
  bool has_bodies_ = false;
};

TEST(HostileInputs, GiveAResultOrAnErrorFromEveryOp) {
  constexpr int kCasesAnOp = 2;
  std::map<const ir::OpSpec*, int> seen;
  Counts counts;
  bool has_newer_opsets = false;  // beside those that are packaged
  for (const std::string& folder : case_folders(PODIUM_CASES)) {
    has_newer_opsets |= folder.find("/corpora/") != std::string::npos;
    Walk walk(folder);
    bool is_new = false;
    for (const ir::OpSpec* op : walk.ops()) is_new = ++seen[op] <= kCasesAnOp || is_new;
    if (is_new) walk.walk(counts);
  }
  fmt::print("{} ops: {} results, {} errors, {} too large to run here\n", seen.size(), counts.results,
             counts.errors, counts.too_large);
  EXPECT_GT(seen.size(), has_newer_opsets ? 200 : 150);
  EXPECT_GT(counts.results, 1000);
  EXPECT_GT(counts.errors, 1000);
}

}  // namespace
}  // namespace podium::testing
