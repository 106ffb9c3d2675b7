// Strategy of PopART that say how real hardware, its compiler or its tools work. A file that was written for
// PopART can be read as it is: each is checked for its kind of value, and a note names it. The reasons are
// what `podium` has in place of what the option is about.
#include "executor/session/options_without_effect.h"

#include <algorithm>
#include <array>

namespace podium {
namespace {

constexpr auto kOptionsWithoutEffect = [] {
  using enum Shape;
  return std::to_array<OptionWithoutEffect>({
      // How a micro-batch is cut into slices, and what PopART's transform leaves between them.
      {"batchSerializationSettings.concatOnVirtualGraphChange", Truth,
       "slices meet where the cut needs them"},
      {"batchSerializationSettings.concatOnExecutionPhaseChange", Truth,
       "slices meet where the cut needs them"},
      {"batchSerializationSettings.concatOnPipelineStageChange", Truth, "a stage works on a slice at a time"},
      {"batchSerializationSettings.transformContext", Text,
       "the forward graph is cut, its derivatives follow"},
      {"batchSerializationSettings.method", Text, "slices are always a loop"},
      {"batchSerializationSettings.batchSchedule", Text, "ioMode says how slices overlap"},
      // Numbers and movements of hardware that are not simulated.
      {"createImplicitPipeliningFwdOnlyProgram", Truth,
       "an inference session of the model that is saved is that program"},
      {"stashAllTensorsInferencePipeline", Truth, "a stash holds what a later stage reads"},
      {"explicitRecomputation", Truth, "recomputed ops are always ops of the graph"},
      {"enableStochasticRounding", Truth, "numbers are rounded to the nearest"},
      {"enableLoadAndOffloadRNGState", Truth, "random ops have seeds"},
      {"ensureFp32LossScaleTensor", Truth, "the loss scale is always a float"},
      {"enableNonStableSoftmax", Truth, "a softmax is always stable"},
      {"enableStableNorm", Truth, "norms are always stable"},
      {"enableSupportedDataTypeCasting", Truth, "every type of ONNX is computed"},
      {"strictOpVersions", Truth, "older versions are rewritten to the newest"},
      {"throwIfLog2ScaleTensorNotInRange", Truth, "there are no scaled casts to 8 bits"},
      {"enableExplicitMainLoops", Truth, "loops are always steps of the Program"},
      {"useHostCopyOps", Truth, "host loads are always steps of the Program"},
      {"autodiffSettings", Object, "derivatives are made in one way"},
      {"rearrangeAnchorsOnHost", Truth, "tensors have one layout"},
      {"rearrangeStreamsOnHost", Truth, "tensors have one layout"},
      // How a compiler arranges code, exchanges and memory.
      {"enableOutliningCopyCostPruning", Truth,
       "equal blocks are one, or with enableOutlining false none are"},
      {"outlineThreshold", Number, "equal blocks are one, or with enableOutlining false none are"},
      {"outlineSequenceBreakCost", Number, "equal blocks are one, or with enableOutlining false none are"},
      {"subgraphCopyingStrategy", Text, "bodies share the memory of their op"},
      {"mergeVarUpdate", Text, "updates have a block for each weight where that saves memory"},
      {"mergeVarUpdateMemThreshold", Number, "updates have a block for each weight where that saves memory"},
      {"looseThresholdAtPeak", Number, "updates have a block for each weight where that saves memory"},
      {"delayVarUpdates", Truth, "an update comes as soon as its gradient is there"},
      {"scheduleNonWeightUpdateGradientConsumersEarly", Truth,
       "ops keep the order of the graph, or that of __schedule_priority"},
      {"accumulateOuterFragmentSettings", Object,
       "updates of different processors run side by side, which no schedule of them can better"},
      {"decomposeGradSum", Truth, "gradients are added up as they come"},
      {"enableSerializedMatmuls", Truth, "a matrix product is planned as a whole"},
      {"enableFullyConnectedPass", Truth, "a matrix product is planned by its shape"},
      {"aliasZeroCopy", Truth, "copies that can be aliases always are"},
      {"enableEfficientOverlapIOTopoCons", Truth, "the cycle of a pipeline fixes the order of host IO"},
      {"groupHostSync", Truth, "the cycle of a pipeline fixes the order of host IO"},
      {"disableGradAccumulationTensorStreams", Truth, "variables come to the host when they are asked for"},
      {"disableOptimizerStateTensorStreams", Truth, "variables come to the host when they are asked for"},
      {"timeLimitScheduler", Number, "ops keep the order of the graph, or that of __schedule_priority"},
      {"swapLimitScheduler", Number, "ops keep the order of the graph, or that of __schedule_priority"},
      {"kahnTieBreaker", Text, "ops keep the order of the graph, or that of __schedule_priority"},
      {"transitiveClosureOptimizationThreshold", Number,
       "ops keep the order of the graph, or that of __schedule_priority"},
      {"enableVariablesCaching", Truth, "variables are not compiled into anything"},
      {"compileEngine", Truth, "nothing is compiled for hardware"},
      {"convolutionOptions.*", Any, "options of the compiler of hardware"},
      {"matmulOptions.*", Any, "options of the compiler of hardware"},
      {"lstmOptions.*", Any, "options of the compiler of hardware"},
      {"engineOptions", Object, "options of the compiler of hardware"},
      {"reportOptions", Object, "the report of a run has one form"},
      {"gclOptions", Object, "a collective is a ring"},
      {"enableConstantFoldingOfMultipleConsumers", Truth, "constants are always folded"},
      {"useLoopCandidateCreator", Truth, "tensors have one layout"},
      {"separateCallOpPdfs", Truth, "functions are inlined"},
      // Debugging of PopART itself.
      {"logDir", Text, "debugging of PopART"},
      {"dotChecks", List, "debugging of PopART"},
      {"firstDotOp", Number, "debugging of PopART"},
      {"finalDotOp", Number, "debugging of PopART"},
      {"dotOpNames", Truth, "debugging of PopART"},
      {"exportPoplarComputationGraph", Truth, "debugging of PopART"},
      {"exportPoplarVertexGraph", Truth, "debugging of PopART"},
      {"instrumentWithHardwareCycleCounter", Truth,
       "the simulator counts, there is no hardware to instrument"},
      {"hardwareInstrumentations", List, "the simulator counts, there is no hardware to instrument"},
      {"enableFloatingPointChecks", Truth, "a loss that is no number is always found"},
      {"opxAliasChecking", Truth, "debugging of PopART"},
      {"opxModifyChecking", Truth, "debugging of PopART"},
      {"enableInplaceAmbiguityChecking", Truth, "debugging of PopART"},
      {"customCodelets", List, "ops have kernels of the CPU"},
      {"customCodeletCompileFlags", Text, "ops have kernels of the CPU"},
      {"serializedPoprithmsShiftGraphsDir", Text, "debugging of PopART"},
      {"compilationProgressLogger", Any, "nothing is compiled that takes long"},
      {"compilationProgressTotal", Number, "nothing is compiled that takes long"},
      {"developerSettings", Object, "debugging of PopART"},
      {"experimentalSettings", Object, "experiments of PopART"},
  });
}();

void check_shape(const Place& place, Shape shape) {
  using enum Shape;
  const nlohmann::json& value = place.value;
  switch (shape) {
    case Truth:
      return value.is_boolean() ? void() : place.refuse("true or false");
    case Number:
      return value.is_number() ? void() : place.refuse("a number");
    case Text:
      return value.is_string() ? void() : place.refuse("a text");
    case List:
      return value.is_array() ? void() : place.refuse("a list");
    case Object:
      return value.is_object() ? void() : place.refuse("an object");
    case Any:
      return;
  }
}

// A path that ends with a star has all names of its object.
bool is_of(const OptionWithoutEffect& row, std::string_view path) {
  if (!row.path.ends_with('*')) return row.path == path;
  return path.starts_with(row.path.substr(0, row.path.size() - 1));
}

const OptionWithoutEffect* find_without_effect(std::string_view path) {
  const auto found = std::find_if(kOptionsWithoutEffect.begin(), kOptionsWithoutEffect.end(),
                                  [&](const OptionWithoutEffect& row) { return is_of(row, path); });
  return found == kOptionsWithoutEffect.end() ? nullptr : &*found;
}

bool check_without_effect(const Place& place) {
  const OptionWithoutEffect* found = find_without_effect(place.path);
  if (found == nullptr) return false;
  check_shape(place, found->shape);
  return true;
}

// Of the object at `path`, "" of the document.
std::vector<std::string_view> names_without_effect(std::string_view path) {
  std::vector<std::string_view> names;
  for (const OptionWithoutEffect& row : kOptionsWithoutEffect) {
    const std::size_t dot = row.path.rfind('.');
    const std::string_view object = dot == std::string_view::npos ? "" : row.path.substr(0, dot);
    if (object == path && !row.path.ends_with('*')) names.push_back(row.path.substr(dot + 1));
  }
  return names;
}

}  // namespace

const NamesWithoutEffect kWithoutEffect{check_without_effect, names_without_effect};

std::span<const OptionWithoutEffect> options_without_effect() { return kOptionsWithoutEffect; }

std::string_view reason_without_effect(std::string_view path) {
  const OptionWithoutEffect* found = find_without_effect(path);
  return found == nullptr ? "" : found->reason;
}

}  // namespace podium
