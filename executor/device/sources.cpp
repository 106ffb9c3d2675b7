// A row a field: its source for processors of tiles (presets of IPUs) and for those with shared memory (GPUs,
// TPUs), as the marks in presets.cpp have it; then the presets that differ from their kind. Where a number is
// built of two, the weaker source counts.
#include "executor/device/sources.h"

#include <algorithm>
#include <array>

#include "executor/device/presets.h"
#include "executor/device/read_device.h"
#include "ir/error.h"

namespace podium::device {
namespace {

struct SourceRow {
  std::string_view field;
  Source tiles;
  Source shared;
};

using enum Source;
constexpr auto kSourceRows = std::to_array<SourceRow>({
    {"processorKind", Sheet, Sheet},
    {"processors", Sheet, Sheet},
    {"tiles", Sheet, Sheet},
    {"clockHertz", Sheet, Sheet},
    {"tileMemoryBytes", Sheet, Sheet},
    {"matrixHalfHalf", Sheet, Sheet},
    {"matrixHalfSingle", Sheet, Sheet},
    {"matrixSingle", Sheet, Sheet},
    {"matrixQuarter", Sheet, Sheet},
    {"vectorBytesPerCycle", Sheet, Sheet},
    {"exchangeBytesPerCycle", Libraries, Study},
    {"copyBytesPerCycle", Libraries, Guess},
    {"phaseOverheadCycles", Study, Study},
    {"matrixOverheadHalfCycles", Fit, Fit},
    {"matrixOverheadSingleCycles", Fit, Fit},
    {"matrixWeightsHalfCycles", Fit, Unused},
    {"matrixWeightsSingleCycles", Fit, Unused},
    {"matrixShare", Fit, Fit},
    {"matrixFill", Unused, Fit},
    {"matrixTileExponent", Unused, Fit},
    {"convolutionShare", Unused, Unused},
    {"winogradShare", Unused, Unused},
    {"rowConvolutionShare", Unused, Unused},
    {"fewRowsShare", Unused, Unused},
    {"changingWeightsShare", Unused, Unused},
    {"aheadShare", Unused, Unused},
    {"attentionShare", Unused, Fit},
    {"sustainedShare", Unused, Unused},
    {"rateSpread", Unused, Study},
    {"rearrangeWideCyclesPerByte", Libraries, Unused},
    {"rearrangeSingleCyclesPerByte", Libraries, Unused},
    {"rearrangeHalfCyclesPerByte", Libraries, Unused},
    {"fusion", Framework, Framework},
    {"cacheBytes", Unused, Study},
    {"cacheSpeed", Unused, Study},
    {"nearCacheBytes", Unused, Unused},
    {"nearCacheSpeed", Unused, Unused},
    {"readSpeed", Unused, Unused},
    {"rowBytes", Unused, Framework},
    {"dispatchSeconds", Unused, Unused},
    {"spreadSeconds", Unused, Unused},
    {"synchronous", Sheet, Sheet},
    {"syncCycles", Study, Unused},
    {"globalSyncSeconds", Study, Unused},
    {"topology", Sheet, Sheet},
    {"rungBytesPerSecond", Libraries, Sheet},
    {"rungLatencySeconds", Study, Study},
    {"railBytesPerSecond", Libraries, Unused},
    {"railLatencySeconds", Study, Unused},
    {"linkDomain", Sheet, Sheet},
    {"processorsPerHost", Sheet, Sheet},
    {"gatewayBytesPerSecond", Fit, Sheet},
    {"gatewayLatencySeconds", Guess, Guess},
    {"collectiveOverheadSeconds", Fit, Fit},
    {"collectiveMergeBytes", Unused, Framework},
    {"collectiveMergeMemberBytes", Unused, Framework},
    {"earlyCollectives", Unused, Framework},
    {"exchangesBesideProducts", Unused, Framework},
    {"multiTensorKernels", Unused, Libraries},
    {"ringShare", Unused, Fit},
    {"switchReductionShare", Unused, Fit},
    {"networkShare", Unused, Fit},
    {"hostCallSeconds", Tool, Guess},
    {"hostLoadBytesPerSecond", Tool, Guess},
    {"hostLoadLatencySeconds", Guess, Guess},
    {"hostStoreBytesPerSecond", Tool, Guess},
    {"hostStoreLatencySeconds", Guess, Guess},
    {"streamingLoadBytesPerSecond", Fit, Guess},
    {"streamingLoadLatencySeconds", Fit, Guess},
    {"streamingStoreBytesPerSecond", Fit, Guess},
    {"streamingStoreLatencySeconds", Fit, Guess},
    {"shardedTransactionSeconds", Fit, Guess},
    {"transactionBytes", Guess, Guess},
    {"streamingMemoryBytes", Sheet, Guess},
    {"codeBytesPerOp", Guess, Unused},
    {"exchangeCodeBytesPerStep", Guess, Unused},
});

struct SourceException {
  std::string_view preset;  ///< how its name begins
  std::string_view field;
  Source source;
};

constexpr auto kSourceExceptions = std::to_array<SourceException>({
    {"ipu-mk1", "rungBytesPerSecond", Sheet},
    {"ipu-mk1", "railBytesPerSecond", Sheet},
    {"ipu-mk1", "gatewayBytesPerSecond", Unused},
    {"ipu-mk1", "gatewayLatencySeconds", Unused},
    {"ipu-mk1", "hostLoadBytesPerSecond", Sheet},
    {"ipu-mk1", "hostStoreBytesPerSecond", Sheet},
    {"ipu-mk1", "streamingLoadBytesPerSecond", Sheet},
    {"ipu-mk1", "streamingLoadLatencySeconds", Guess},
    {"ipu-mk1", "streamingStoreBytesPerSecond", Sheet},
    {"ipu-mk1", "streamingStoreLatencySeconds", Guess},
    {"bow-", "clockHertz", Tool},
    {"c600", "clockHertz", Study},
    {"c600", "hostCallSeconds", Fit},
    {"c600", "gatewayBytesPerSecond", Unused},
    {"c600", "gatewayLatencySeconds", Unused},
    {"h100", "sustainedShare", Fit},
    {"h200", "sustainedShare", Fit},
    {"tpu-", "rateSpread", Unused},
    {"tpu-", "rowBytes", Guess},
    {"tpu-", "collectiveOverheadSeconds", Guess},
    {"tpu-", "gatewayBytesPerSecond", Unused},
    {"tpu-", "gatewayLatencySeconds", Unused},
});

bool is_of_tiles(std::string_view preset) {
  return preset.starts_with("ipu-") || preset.starts_with("bow-") || preset == "c600";
}

bool are_equal(const Device& a, const Device& b, const Field& field) {
  Device one = a;  // fields give access to what may be written
  Device other = b;
  return std::visit([&](auto access) { return access(one) == access(other); }, field.access);
}

}  // namespace

std::string_view name_of(Source source) {
  switch (source) {
    case Sheet:
      return "vendor's sheet";
    case Tool:
      return "vendor's tool";
    case Libraries:
      return "vendor's open libraries";
    case Study:
      return "measured by third parties";
    case Framework:
      return "default of compilers and frameworks";
    case Fit:
      return "fitted on published figures";
    case Guess:
      return "guess, nothing is published";
    case Unused:
      return "no effect here";
    case Measured:
      return "podium calibrate";
    case Given:
      return "given";
  }
  return {};
}

Source source_of(const Device& device, const Field& field) {
  const std::string_view name = std::string_view(device.name).substr(0, device.name.find(':'));
  if (name == kHost) return Measured;
  const Device* preset = find_preset(name);
  if (preset == nullptr || !are_equal(device, *preset, field)) return Given;
  const auto exception = std::ranges::find_if(kSourceExceptions, [&](const SourceException& one) {
    return one.field == field.name && name.starts_with(one.preset);
  });
  if (exception != kSourceExceptions.end()) return exception->source;
  const auto row = std::ranges::find(kSourceRows, field.name, &SourceRow::field);
  IR_CHECK(row != kSourceRows.end(), "no source of {}", field.name);
  return is_of_tiles(name) ? row->tiles : row->shared;
}

}  // namespace podium::device
