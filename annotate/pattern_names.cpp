#include "annotate/pattern_names.h"

namespace podium::annotate {

const std::vector<std::string_view>& pattern_names() {
  static const std::vector<std::string_view> kNames{
      "AllReduceToIdentity", "Atan2Arg0GradOp", "Atan2Arg1GradOp", "ConvDataGrad", "ConvFlipWeightsDoubleFlip",
      "ConvFlipWeightsGradOp", "ConvTranspose", "CosGradOp", "CoshOp", "DecomposeBinaryConstScalar", "DivArg0GradOp",
      "DivArg1GradOp", "ElementWiseGradOp", "ExpGradOp", "ExpandCast", "Expm1GradOp", "FmodArg0GradOp", "InPlace",
      "InitAccumulate", "LSTMOp", "LambSerialisedWeight", "Log1pGradOp", "LogGradOp", "LoopScanOut", "MatMulLhsGradOp",
      "MatMulOp", "MatMulRhsGradOp", "MulArgGradOp", "NegativeOneScale", "NlllWithSoftmaxGradDirect", "OpToIdentity",
      "PackedDataBlock", "PadSum", "PostNRepl", "PowArg0GradOp", "PowArg1GradOp", "PreUniRepl", "ReciprocalGradOp",
      "RemoveUnnecessaryLossGradCast", "ScanToLoop", "Slice2SliceSubsample", "SoftmaxGradDirect", "SplitGather",
      "SplitGradOpToConcat", "SplitOp", "SqrtGradOp", "SubtractArg1GradOp", "SumToAdd", "TiedGather",
      "TiedGatherAccumulate", "TransposeToIdentityOrReshapePattern", "UpdateInplacePrioritiesForIpu", "UpsampleToResize"};
  return kNames;
}

}  // namespace podium::annotate
