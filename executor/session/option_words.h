// The words of the session options' enumerations: PopART's in options files, shorter ones of flags.
#pragma once

#include <array>
#include <string_view>

#include "executor/strategy.h"

namespace podium {

template <class Enum>
struct Word {
  std::string_view text;
  Enum value;
  std::string_view flag = {};  ///< on the command line; "": it is said in files alone
};

template <class Enum>
inline constexpr std::array<Word<Enum>, 0> kWords{};

template <>
inline constexpr auto kWords<VirtualGraphMode> = std::to_array<Word<VirtualGraphMode>>(
    {{"Off", VirtualGraphMode::Off, "off"},
     {"Manual", VirtualGraphMode::Manual, "manual"},
     {"Auto", VirtualGraphMode::Auto, "auto"},
     {"ExecutionPhases", VirtualGraphMode::ExecutionPhases, "execution-phases"}});
template <>
inline constexpr auto kWords<PipelineOrder> =
    std::to_array<Word<PipelineOrder>>({{"Lockstep", PipelineOrder::Lockstep, "lockstep"},
                                        {"LockstepSplit", PipelineOrder::LockstepSplit, "lockstep-split"},
                                        {"GPipe", PipelineOrder::GPipe, "gpipe"},
                                        {"1F1B", PipelineOrder::OneForwardOneBackward, "1f1b"},
                                        {"Interleaved", PipelineOrder::Interleaved, "interleaved"},
                                        {"BreadthFirst", PipelineOrder::BreadthFirst, "breadth-first"},
                                        {"ZB-H1", PipelineOrder::ZeroBubbleH1, "zb-h1"},
                                        {"ZB-H2", PipelineOrder::ZeroBubbleH2, "zb-h2"},
                                        {"ZB-V", PipelineOrder::ZeroBubbleV, "zb-v"},
                                        {"V-Half", PipelineOrder::VHalf, "v-half"},
                                        {"V-Min", PipelineOrder::VMin, "v-min"},
                                        {"DualPipe", PipelineOrder::DualPipe, "dualpipe"},
                                        {"DualPipeV", PipelineOrder::DualPipeV, "dualpipe-v"},
                                        {"Chimera", PipelineOrder::Chimera, "chimera"},
                                        {"List", PipelineOrder::ListScheduled, "list"},
                                        {"Auto", PipelineOrder::Auto, "auto"}});
template <>
inline constexpr auto kWords<SyncPattern> = std::to_array<Word<SyncPattern>>(
    {{"Full", SyncPattern::Full, "full"},
     {"SinglePipeline", SyncPattern::SinglePipeline, "single-pipeline"},
     {"ReplicaAndLadder", SyncPattern::ReplicaAndLadder, "replica-and-ladder"}});
template <>
inline constexpr auto kWords<AnchorReturn> =
    std::to_array<Word<AnchorReturn>>({{"All", AnchorReturn::All, "all"},
                                       {"Final", AnchorReturn::Final, "final"},
                                       {"Sum", AnchorReturn::Sum, "sum"},
                                       {"EveryN", AnchorReturn::EveryN}});
template <>
inline constexpr auto kWords<PhaseIo> = std::to_array<Word<PhaseIo>>({{"Preload", PhaseIo::Preload},
                                                                      {"OnDemand", PhaseIo::OnDemand}});
template <>
inline constexpr auto kWords<PhaseSchedule> =
    std::to_array<Word<PhaseSchedule>>({{"Interleaving", PhaseSchedule::Interleaving},
                                        {"Batch", PhaseSchedule::Batch},
                                        {"BatchClusteredIO", PhaseSchedule::BatchClusteredIO}});
template <>
inline constexpr auto kWords<IoMode> = std::to_array<Word<IoMode>>({{"Compute", IoMode::Compute, "compute"},
                                                                    {"IO", IoMode::Io, "io"},
                                                                    {"IOOverlapped", IoMode::IoOverlapped,
                                                                     "io-overlapped"}});
template <>
inline constexpr auto kWords<SyntheticData> =
    std::to_array<Word<SyntheticData>>({{"Off", SyntheticData::Off},
                                        {"Zeros", SyntheticData::Zeros},
                                        {"RandomNormal", SyntheticData::RandomNormal},
                                        {"RandomUniform", SyntheticData::RandomUniform}});
template <>
inline constexpr auto kWords<Recomputation> =
    std::to_array<Word<Recomputation>>({{"None", Recomputation::None, "none"},
                                        {"Standard", Recomputation::Standard, "standard"},
                                        {"NormOnly", Recomputation::NormOnly, "norm-only"},
                                        {"Pipeline", Recomputation::Pipeline, "pipeline"},
                                        {"RecomputeAll", Recomputation::RecomputeAll, "all"}});
template <>
inline constexpr auto kWords<Reduction> = std::to_array<Word<Reduction>>({{"Sum", Reduction::Sum, "sum"},
                                                                          {"Mean", Reduction::Mean, "mean"}});
template <>
inline constexpr auto kWords<MeanStrategy> =
    std::to_array<Word<MeanStrategy>>({{"Post", MeanStrategy::Post}, {"Running", MeanStrategy::Running}});
template <>
inline constexpr auto kWords<GradientTracking> =
    std::to_array<Word<GradientTracking>>({{"AllNonViewChangingGradientTensors", GradientTracking::All},
                                           {"ConvAndMatmulGradients", GradientTracking::ConvAndMatMul},
                                           {"GradientsOfUserSpecifiedTensors", GradientTracking::OfTensors}});
template <>
inline constexpr auto kWords<Partials> = std::to_array<Word<Partials>>({{"float", Partials::Float},
                                                                        {"half", Partials::Half}});
template <>
inline constexpr auto kWords<Operands> = std::to_array<Word<Operands>>(
    {{"float", Operands::AsStored, "float"}, {"mxfp8", Operands::MxFp8, "mxfp8"}});
template <>
inline constexpr auto kWords<ir::ExchangeStrategy> = std::to_array<Word<ir::ExchangeStrategy>>(
    {{"JustInTime", ir::ExchangeStrategy::JustInTime, "none"},
     {"OverlapInnerLoop", ir::ExchangeStrategy::OverlapInnerLoop, "inner"},
     {"OverlapLoops", ir::ExchangeStrategy::OverlapLoops, "loops"},
     {"OverlapStep", ir::ExchangeStrategy::OverlapStep}});
template <>
inline constexpr auto kWords<ir::TileSet> =
    std::to_array<Word<ir::TileSet>>({{"Compute", ir::TileSet::Compute}, {"IO", ir::TileSet::IO}});
template <>
inline constexpr auto kWords<ir::Storage> =
    std::to_array<Word<ir::Storage>>({{"OnChip", ir::Storage::OnChip}, {"OffChip", ir::Storage::OffChip}});
template <>
inline constexpr auto kWords<ir::GroupType> =
    std::to_array<Word<ir::GroupType>>({{"All", ir::GroupType::All},
                                        {"Consecutive", ir::GroupType::Consecutive},
                                        {"Orthogonal", ir::GroupType::Orthogonal},
                                        {"None", ir::GroupType::None}});

/// The word of an enumerator.
template <class Enum>
std::string_view word_of(Enum value) {
  for (const Word<Enum>& word : kWords<Enum>) {
    if (word.value == value) return word.text;
  }
  return "";
}

}  // namespace podium
