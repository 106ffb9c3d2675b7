// The tools of a model's builder: its parameters, named ops and seeded weights.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "models/catalog.h"

namespace podium::models {

/// The parameters of one build, with defaults filled in.
class Recipe {
 public:
  Recipe(const ModelSpec& spec, const Parameters& given);

  /// A positive whole number.
  std::int64_t number(std::string_view name) const;
  /// Zero is allowed.
  std::int64_t count(std::string_view name) const;
  /// A number in [0, 1).
  double share(std::string_view name) const;
  const std::string& word(std::string_view name) const;
  bool is(std::string_view name, std::string_view value) const { return word(name) == value; }
  /// shapes=dynamic, of a model that takes it.
  bool is_dynamic() const;

 private:
  std::string_view model_;
  Parameters values_;
};

/// A branch or body of a control-flow op: its own inputs, ops and outputs, and by their ids whatever it reads
/// of the graph around it.
struct BodyDraft {
  std::string attribute;  ///< of the op: "then_branch", "body"
  std::vector<ir::ValueId> inputs;
  std::vector<ir::Op> ops;
  std::vector<ir::ValueId> outputs;
};

/// Where scores have the classes: dimension 1, or the last of a sequence's tokens.
enum class ClassAxis { One, Last };

/// Of the node of a loss, and of the input with the classes that are right.
struct LossNames {
  std::string loss;
  std::string label;
  std::vector<std::string> symbols;  ///< of the input, as Net::input takes them
};

/// The parameter of a model whose inputs name some of their dimensions.
ParameterSpec shapes_parameter(std::string_view open);

/// Builds a graph op by op. Node names are paths such as "layer1/0/conv1", values are named after their node.
class Net {
 public:
  explicit Net(const Recipe& recipe);

  /// `symbols` names dimensions that are open with shapes=dynamic: "" or nothing for one that is not.
  ir::ValueId input(std::string name, ir::DataType type, ir::Dims dims,
                    std::vector<std::string> symbols = {});
  /// A trained weight: uniform in +-sqrt(gain / fan_in), or without data when weights=none.
  ir::ValueId weight(const std::string& name, ir::Dims dims, double fan_in, double gain = 3.0);
  /// A weight whose elements all have one value, such as a bias or a scale.
  ir::ValueId filled(const std::string& name, ir::Dims dims, float value);
  /// A scalar of the model's float type.
  ir::ValueId scalar(float value);
  ir::ValueId ints(const std::vector<std::int64_t>& values);
  ir::ValueId constant(ir::Tensor tensor);
  ir::ValueId op(const std::string& name, std::string_view type, std::vector<ir::ValueId> inputs,
                 std::vector<ir::Attribute> attributes = {});
  std::vector<ir::ValueId> ops(const std::string& name, std::string_view type,
                               std::vector<ir::ValueId> inputs, std::size_t outputs,
                               std::vector<ir::Attribute> attributes = {});
  /// The ops that `build` adds, given the body's inputs, make up the body; its weights stay in the outer
  /// graph, as exporters leave them. It returns the body's outputs, each the result of an op of the body.
  using BuildBody = std::function<std::vector<ir::ValueId>(const std::vector<ir::ValueId>& inputs)>;
  BodyDraft body(std::string attribute, const std::vector<ir::Type>& inputs, const BuildBody& build);
  /// An If, Loop or Scan over bodies, with outputs of these types.
  std::vector<ir::ValueId> control(const std::string& name, std::string_view type,
                                   std::vector<ir::ValueId> inputs, const std::vector<ir::Type>& types,
                                   const std::vector<BodyDraft>& bodies);
  void output(ir::ValueId value, const std::string& name);
  /// Class scores as the output "logits", or with loss=cross-entropy an input "label" and the output "loss".
  void classify(ir::ValueId logits, ClassAxis axis = ClassAxis::One);
  /// The loss of class scores against an input of this name. Throws podium::Error where the parameter loss is
  /// not cross-entropy.
  ir::ValueId cross_entropy(ir::ValueId logits, const LossNames& names, ClassAxis axis);

  ir::ValueId linear(const std::string& name, ir::ValueId x, std::int64_t in, std::int64_t out);
  ir::ValueId convolution(const std::string& name, ir::ValueId x, std::int64_t in, std::int64_t out,
                          std::int64_t kernel, std::int64_t stride = 1, std::int64_t pad = 0,
                          std::int64_t group = 1);
  /// LayerNormalization and Gelu as one op each, or in primitive ops when form=primitive.
  ir::ValueId layer_norm(const std::string& name, ir::ValueId x, std::int64_t size);
  ir::ValueId gelu(const std::string& name, ir::ValueId x);

  const ir::Type& type(ir::ValueId value) const { return graph_[value].type; }
  const Recipe& recipe() const { return recipe_; }
  bool is_primitive() const { return primitive_; }
  BuiltModel finish(int opset);

 private:
  ir::ValueId gelu_erf(const std::string& name, ir::ValueId x);
  ir::ValueId shape_only(const std::string& name, ir::Dims dims);
  void name_last_op(const std::string& name);

  const Recipe& recipe_;
  ir::Graph graph_;
  ir::Builder builder_{graph_};
  std::uint64_t seed_;
  bool with_data_;
  bool primitive_;
  ir::DataType type_;
  std::map<std::string, std::vector<std::string>> symbolic_;  ///< as BuiltModel::symbolic
};

}  // namespace podium::models
