// The table of ops is whole: what a row needs is in it, and every row has a kernel and every kernel a row.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "executor/kernels/families.h"
#include "ir/gradients/gradient.h"
#include "ir/op_spec.h"

namespace podium::ir {
namespace {

using Names = std::vector<std::string>;

std::string shown(std::string_view domain, std::string_view name) {
  return domain.empty() ? std::string(name) : fmt::format("{}.{}", domain, name);
}

// The ops for which `lacks` is true.
template <class Lacks>
Names rows_that(Lacks lacks) {
  Names names;
  for (const OpSpec* spec : all_ops()) {
    if (lacks(*spec)) names.push_back(shown(spec->domain, spec->name));
  }
  return names;
}

bool has_constraint(const OpSpec& spec, char letter) {
  return std::any_of(spec.types.begin(), spec.types.end(),
                     [&](const TypeConstraint& constraint) { return constraint.letter == letter; });
}

bool any_parameter(const OpSpec& spec,
                   bool (*holds)(const OpSpec&, const std::vector<Parameter>&, std::size_t)) {
  for (const auto* formal : {&spec.inputs, &spec.outputs}) {
    for (std::size_t i = 0; i < formal->size(); ++i) {
      if (holds(spec, *formal, i)) return true;
    }
  }
  return false;
}

// An op that becomes others before the graph is lowered; it never runs.
bool is_expanded(const OpSpec& spec) { return spec.name == "Gradient"; }

TEST(OpTable, EveryRowInfersAndKnowsItsWork) {
  EXPECT_EQ(rows_that([](const OpSpec& spec) { return spec.infer == nullptr; }), Names{});
  EXPECT_EQ(rows_that([](const OpSpec& spec) { return spec.work == nullptr; }), Names{});
}

TEST(OpTable, EveryRowHasAKernel) {
  EXPECT_EQ(rows_that([](const OpSpec& spec) {
              return kernels::find_kernel(spec.domain, spec.name) == nullptr && !is_expanded(spec);
            }),
            Names{});
}

TEST(OpTable, EveryKernelHasARow) {
  Names names;
  for (const auto& family : kernels::kernel_families()) {
    for (const kernels::KernelSpec& kernel : family()) {
      if (find_op(kernel.domain, kernel.name) == nullptr) names.push_back(shown(kernel.domain, kernel.name));
    }
  }
  EXPECT_EQ(names, Names{});
}

TEST(OpTable, AttributesAreNamedOnceAndTheirDefaultsAreOfTheirKind) {
  EXPECT_EQ(rows_that([](const OpSpec& spec) {
              std::set<std::string_view> names;
              return std::any_of(spec.attributes.begin(), spec.attributes.end(),
                                 [&](const AttributeSpec& attribute) {
                                   const bool is_wrong =
                                       attribute.fallback &&
                                       (attribute.required || kind_of(*attribute.fallback) != attribute.kind);
                                   return is_wrong || !names.insert(attribute.name).second;
                                 });
            }),
            Names{});
}

TEST(OpTable, EveryParameterHasAConstraint) {
  EXPECT_EQ(rows_that([](const OpSpec& spec) {
              return any_parameter(spec,
                                   [](const OpSpec& of, const std::vector<Parameter>& formal, std::size_t i) {
                                     return !has_constraint(of, formal[i].constraint);
                                   });
            }),
            Names{});
}

TEST(OpTable, AVariadicParameterIsTheLast) {
  EXPECT_EQ(rows_that([](const OpSpec& spec) {
              return any_parameter(spec,
                                   [](const OpSpec&, const std::vector<Parameter>& formal, std::size_t i) {
                                     return formal[i].formal == Formal::Variadic && i + 1 != formal.size();
                                   });
            }),
            Names{});
}

TEST(OpTable, ConstraintsAreNotEmpty) {
  EXPECT_EQ(rows_that([](const OpSpec& spec) {
              return std::any_of(spec.types.begin(), spec.types.end(), [](const TypeConstraint& constraint) {
                return constraint.types.empty() && !constraint.any_kind;
              });
            }),
            Names{});
}

TEST(OpTable, EveryRowSaysHowItsWorkLies) {
  EXPECT_EQ(rows_that([](const OpSpec& spec) { return spec.category == Category::None; }), Names{});
}

TEST(OpTable, ProductsNameTheirFactors) {
  EXPECT_EQ(rows_that([](const OpSpec& spec) {
              const bool is_product =
                  spec.category == Category::MatrixProduct || spec.category == Category::Convolution;
              return is_product != spec.factors.has_value();
            }),
            Names{});
  EXPECT_EQ(rows_that([](const OpSpec& spec) {
              const bool is_variadic = !spec.inputs.empty() && spec.inputs.back().formal == Formal::Variadic;
              return spec.factors && !is_variadic && spec.factors->right >= spec.inputs.size();
            }),
            Names{});
}

TEST(OpTable, EveryRowHasARuleOfSamplesOrAReason) {
  EXPECT_EQ(rows_that([](const OpSpec& spec) {
              return int{spec.elementwise} + int{spec.samples != nullptr} + int{!spec.no_samples.empty()} !=
                     1;
            }),
            Names{});
}

TEST(OpTable, EveryRowHasAGradientOrAReason) {
  EXPECT_EQ(rows_that([](const OpSpec& spec) {
              return (find_gradient(spec) != nullptr) == !spec.no_gradient.empty();
            }),
            Names{});
  EXPECT_EQ(rows_that([](const OpSpec& spec) { return spec.refuses_gradient && spec.no_gradient.empty(); }),
            Names{});
}

TEST(OpTable, KernelsWorkInPlaceOnlyWhereTheirRowsSaySo) {
  EXPECT_EQ(rows_that([](const OpSpec& spec) {
              const kernels::KernelSpec* kernel = kernels::find_kernel(spec.domain, spec.name);
              return kernel != nullptr && (kernel->in_place & ~spec.in_place) != 0;
            }),
            Names{});
}

TEST(OpTable, NamesAreNotGainedAfterTheirMeaning) {
  EXPECT_EQ(rows_that([](const OpSpec& spec) { return spec.gained < 1 || spec.gained > spec.since; }),
            Names{});
}

// All ops of ONNX 1.23; functions are among them.
constexpr const char* kOnnx =
    "Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool "
    "BatchNormalization Bernoulli BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor "
    "BlackmanWindow Cast CastLike CausalConvWithState Ceil Celu CenterCropPad Clip Col2Im Compress "
    "Concat ConcatFromSequence Constant ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh "
    "CumProd CumSum DFT DeformConv DepthToSpace DequantizeLinear Det Div Dropout DynamicQuantizeLinear "
    "Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu "
    "Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual GridSample "
    "GroupNormalization HammingWindow HannWindow HardSigmoid HardSwish Hardmax Identity If "
    "ImageDecoder InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less "
    "LessOrEqual LinearAttention Log LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger Max "
    "MaxPool MaxRoiPool MaxUnpool Mean MeanVarianceNormalization MelWeightMatrix Min Mish Mod Mul "
    "Multinomial Neg NegativeLogLikelihoodLoss NonMaxSuppression NonZero Not OneHot Optional "
    "OptionalGetElement OptionalHasElement Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear "
    "RMSNormalization RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range "
    "Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
    "ReduceProd ReduceSum ReduceSumSquare RegexFullMatch Relu Reshape Resize ReverseSequence RoiAlign "
    "RotaryEmbedding Round STFT Scan ScatterElements ScatterND Selu SequenceAt SequenceConstruct "
    "SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap Shape Shrink Sigmoid Sign "
    "Sin Sinh Size Slice Softmax SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth Split "
    "SplitToSequence Sqrt Squeeze StringConcat StringNormalizer StringSplit Sub Sum SwiGLU Swish Tan "
    "Tanh TensorScatter TfIdfVectorizer ThresholdedRelu Tile TopK Transpose Trilu Unique Unsqueeze "
    "Where Xor ";

// The ops of the list that have no row.
Names missing(std::string_view domain, const char* list) {
  Names names;
  std::istringstream text(list);
  for (std::string name; text >> name;) {
    if (find_op(domain, name) == nullptr) names.push_back(name);
  }
  return names;
}

TEST(OpTable, HoldsEveryOpOfOnnx) {
  EXPECT_EQ(missing("", kOnnx), Names{});
  EXPECT_EQ(
      missing("ai.onnx.ml",
              "ArrayFeatureExtractor Binarizer CastMap CategoryMapper DictVectorizer FeatureVectorizer "
              "Imputer LabelEncoder LinearClassifier LinearRegressor Normalizer OneHotEncoder Scaler "
              "SVMClassifier SVMRegressor TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor ZipMap"),
      Names{});
  EXPECT_EQ(missing("ai.onnx.preview", "FlexAttention"), Names{});
  EXPECT_EQ(missing("ai.onnx.preview.training", "Adagrad Adam Gradient Momentum"), Names{});
}

}  // namespace
}  // namespace podium::ir
