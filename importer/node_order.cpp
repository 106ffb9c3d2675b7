#include "importer/node_order.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ir/error.h"

namespace podium::importer {
namespace {

using Names = std::unordered_set<std::string_view>;

void add_outer_names(const onnx::NodeProto& node, Names& names);

// Adds the names that the body reads and does not define.
void add_free_names(const onnx::GraphProto& body, Names& names) {
  Names read;
  for (const auto& node : body.node()) {
    read.insert(node.input().begin(), node.input().end());
    add_outer_names(node, read);
  }
  for (const auto& output : body.output()) read.insert(output.name());
  for (const auto& node : body.node()) {
    for (const auto& output : node.output()) read.erase(output);
  }
  for (const auto& input : body.input()) read.erase(input.name());
  for (const auto& tensor : body.initializer()) read.erase(tensor.name());
  for (const auto& tensor : body.sparse_initializer()) read.erase(tensor.values().name());
  names.merge(read);
}

void add_outer_names(const onnx::NodeProto& node, Names& names) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) add_free_names(attribute.g(), names);
    for (const auto& body : attribute.graphs()) add_free_names(body, names);
  }
}

class Sorter {
 public:
  explicit Sorter(const NodeList& nodes) : nodes_(nodes), marks_(nodes.size()) {
    for (int i = 0; i < nodes.size(); ++i) {
      for (const auto& output : nodes.Get(i).output()) {
        if (!output.empty()) producers_.emplace(output, i);
      }
    }
  }

  std::vector<int> sort() {
    for (int i = 0; i < nodes_.size(); ++i) {
      if (mark(i) == Mark::New) visit(i);
    }
    return std::move(order_);
  }

 private:
  enum class Mark : std::uint8_t { New, Open, Done };
  struct Open {
    int node;
    std::vector<int> needs;
    std::size_t next = 0;
  };

  Mark& mark(int node) { return marks_[node]; }

  std::vector<int> needs_of(int index) const {
    const onnx::NodeProto& node = nodes_.Get(index);
    std::vector<int> needs;
    const auto add = [&](std::string_view name) {
      const auto found = producers_.find(name);
      if (found != producers_.end()) needs.push_back(found->second);
    };
    for (const auto& name : node.input()) add(name);
    Names outer;
    add_outer_names(node, outer);
    for (std::string_view name : outer) add(name);
    std::sort(needs.begin(), needs.end());
    return needs;
  }

  void open(int node) {
    mark(node) = Mark::Open;
    stack_.push_back({node, needs_of(node)});
  }

  // Depth first, with a stack of its own: a chain of nodes may be longer than the machine's stack.
  void visit(int root) {
    open(root);
    while (!stack_.empty()) {
      Open& top = stack_.back();
      if (top.next == top.needs.size()) {
        mark(top.node) = Mark::Done;
        order_.push_back(top.node);
        stack_.pop_back();
        continue;
      }
      const int need = top.needs[top.next++];
      if (mark(need) == Mark::Open) refuse_circle(need);
      if (mark(need) == Mark::New) open(need);
    }
  }

  [[noreturn]] void refuse_circle(int first) const {
    constexpr std::size_t kMostShown = 8;
    std::string text;
    auto at =
        std::find_if(stack_.begin(), stack_.end(), [&](const Open& open) { return open.node == first; });
    for (std::size_t shown = 0; at != stack_.end() && shown < kMostShown; ++at, ++shown) {
      text += (shown == 0 ? "" : ", ") + describe(nodes_.Get(at->node));
    }
    throw Error("{}{} in a circle: each reads an output of the next", text,
                at == stack_.end() ? "" : ", ...");
  }

  const NodeList& nodes_;
  std::unordered_map<std::string_view, int> producers_;
  std::vector<Mark> marks_;
  std::vector<Open> stack_;
  std::vector<int> order_;
};

}  // namespace

std::string shown_name(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  const auto named = std::find_if(node.output().begin(), node.output().end(),
                                  [](const auto& name) { return !name.empty(); });
  return named == node.output().end() ? "" : *named;
}

std::string describe(const onnx::NodeProto& node, const std::string& prefix) {
  return fmt::format("node '{}{}' ({})", prefix, shown_name(node), node.op_type());
}

std::vector<int> node_order(const NodeList& nodes) { return Sorter(nodes).sort(); }

}  // namespace podium::importer
