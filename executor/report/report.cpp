// Facts of a run in two forms: JSON with every figure, and rows of a table for people. What both need is
// computed here once: the fullest processor and samples per second.
#include "executor/report/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "executor/device/fields.h"
#include "executor/report/cause.h"
#include "executor/report/names.h"
#include "executor/report/table.h"

namespace podium::report {
namespace {

using nlohmann::json;

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

json by_activity(const std::array<double, sim::kActivities>& amounts) {
  json object = json::object();
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    object[std::string(words_of(static_cast<sim::Activity>(i)).key)] = amounts[i];
  }
  return object;
}

json memory_json(const sim::MemoryUse& memory) {
  json object{{"peak", memory.peak},
              {"peakData", memory.peak_data},
              {"capacity", memory.capacity},
              {"alwaysLive", memory.always_live},
              {"notAlwaysLive", memory.not_always_live},
              {"streaming", memory.streaming},
              {"streamingCapacity", memory.streaming_capacity}};
  for (const MemoryPart& part : memory_parts(memory)) object[std::string(part.words.key)] = part.bytes;
  return object;
}

json processor_json(std::size_t index, const sim::ProcessorReport& processor) {
  json idle = json::object();
  for (std::size_t i = 0; i < processor.idle.size(); ++i) {
    idle[std::string(words_of(static_cast<sim::Idle>(i)).key)] = processor.idle[i];
  }
  json object{{"processor", index},
              {"busySeconds", by_activity(processor.busy)},
              {"idleSeconds", idle},
              {"ioSeconds", by_activity(processor.io_busy)},
              {"overlappedSeconds", processor.overlapped},
              {"flop", processor.flop},
              {"bytes", by_activity(processor.bytes)},
              {"memory", memory_json(processor.memory)},
              {"largest", json::array()}};
  for (const sim::Awaited& one : processor.awaited) {
    json wait{{"seconds", one.seconds}};
    if (one.processor >= 0)
      wait.update({{"processor", one.processor}, {"activity", words_of(one.activity).key}});
    object["awaited"].push_back(std::move(wait));
  }
  for (const sim::LargeTensor& tensor : processor.largest) {
    object["largest"].push_back({{"name", tensor.name}, {"bytes", tensor.bytes}});
  }
  for (const sim::MemoryPoint& point : processor.memory_curve) {
    object["memoryCurve"].push_back(json::array({point.time, point.bytes}));
  }
  return object;
}

json path_json(const sim::Timeline& timeline) {
  json parts = json::array();
  for (const sim::PathPart& part : timeline.path) {
    json one{{"processor", part.processor},
             {"activity", words_of(part.activity).key},
             {"name", part.name},
             {"seconds", part.seconds},
             {"share", share(part.seconds, timeline.makespan)},
             {"times", part.times},
             {"stepSeconds", part.step_seconds()},
             {"stepBytes", part.step_bytes}};
    if (part.receiver >= 0) one["receiver"] = part.receiver;
    parts.push_back(std::move(one));
  }
  return parts;
}

json what_if_json(const WhatIf& what_if) {
  json object{{"of", what_if.kind == WhatIfKind::Strategy ? "strategy" : "device"},
              {"change", what_if.change}};
  if (!what_if.refusal.empty()) {
    object["refused"] = what_if.refusal;
    return object;
  }
  object["fits"] = what_if.fits;
  object["samplesPerSecond"] = what_if.samples_per_second;
  object["times"] = what_if.times;
  return object;
}

json output_json(const OutputFacts& output) {
  json object{{"name", output.name}, {"type", output.type}};
  if (!output.largest_error) return object;
  object["largestError"] = *output.largest_error;
  object["ok"] = output.agrees;
  return object;
}

void add_details(const RunDetails& details, json& object) {
  add_provenance(details.provenance, object);
  object["ops"] = json::array();
  for (const ProfiledOp& op : details.ops) object["ops"].push_back(to_json(op));
  for (const RealOp& op : details.real_ops) object["realOps"].push_back(to_json(op));
  if (details.phases.empty()) return;
  object["phases"] = to_json(details.phases);
  object["balancedFlopPerByte"] = json::array({kBalancedLeast, kBalancedMost});
}

using Rows = std::vector<std::vector<std::string>>;

std::string processors_text(const sim::Timeline& timeline) {
  const std::size_t a_replica = timeline.processors.size();
  const auto all = static_cast<std::int64_t>(a_replica) * timeline.replicas;
  std::string text = count(all);
  if (timeline.replicas > 1) text += fmt::format(" ({} replicas of {})", timeline.replicas, a_replica);
  return text;
}

json bound_json(const schedule::Bound& bound) {
  return {{"seconds", bound.makespan},
          {"limit", schedule::to_string(bound.limit)},
          {"processor", bound.processor}};
}

void add_clock_rows(const RunReport& report, Rows& rows) {
  const sim::Timeline& timeline = report.timeline;
  rows.push_back({"time of a step", duration(timeline.makespan) + " simulated"});
  if (report.bound) rows.push_back({"above its bound", gap_text(report)});
  rows.push_back({"samples per second", rate(samples_per_second(report))});
  rows.push_back({"utilisation", percentage(timeline.utilisation)});
  rows.push_back({"bottleneck", timeline.fits() ? cause_sentence(timeline) : bottleneck(timeline)});
  rows.push_back({"largest memory", memory_line(timeline)});
  for (const auto& [kind, bytes] : bytes_by_kind(timeline.links))
    rows.push_back({kind, report::bytes(bytes) + (timeline.replicas > 1 ? " a replica" : "")});
}

std::string real_time(const RunReport& report) {
  if (report.is_estimate)
    return fmt::format("{} to estimate, nothing computed", duration(report.prepare_seconds));
  std::string of_runs;
  if (report.run_times.size() > 1) {
    of_runs = fmt::format(" (median of {}; 90% took at most {}, 99% {})", report.run_times.size(),
                          duration(percentile(report.run_times, 0.9)),
                          duration(percentile(report.run_times, 0.99)));
  }
  return fmt::format("{} a run{}, {} to load and prepare", duration(report.run_seconds), of_runs,
                     duration(report.prepare_seconds));
}

}  // namespace

std::map<std::string, double> bytes_by_kind(const std::vector<sim::LinkReport>& links) {
  std::map<std::string, double> kinds;
  for (const sim::LinkReport& link : links) {
    std::string kind = link.name;
    std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
    kinds[kind] += link.replica_bytes;
  }
  return kinds;
}

double percentile(const std::vector<double>& ascending, double share) {
  if (ascending.empty()) return 0;
  const auto rank = static_cast<std::ptrdiff_t>(std::ceil(share * static_cast<double>(ascending.size())));
  return ascending[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(rank, 1, std::ssize(ascending)) - 1)];
}

double fullness(const sim::MemoryUse& memory) {
  return std::max(
      share(static_cast<double>(memory.peak), static_cast<double>(memory.capacity)),
      share(static_cast<double>(memory.streaming), static_cast<double>(memory.streaming_capacity)));
}

double samples_per_second(const RunReport& report) {
  const double samples = report.samples_per_micro_batch * report.micro_batches * report.timeline.replicas;
  return share(samples, report.timeline.makespan);
}

std::size_t fullest_processor(const sim::Timeline& timeline) {
  std::size_t fullest = 0;
  for (std::size_t i = 1; i < timeline.processors.size(); ++i) {
    if (fullness(timeline.processors[i].memory) > fullness(timeline.processors[fullest].memory)) fullest = i;
  }
  return fullest;
}

std::string memory_share(const sim::Timeline& timeline) {
  if (timeline.processors.empty()) return report::bytes(0);
  const sim::MemoryUse& memory = timeline.processors[fullest_processor(timeline)].memory;
  const double used = share(static_cast<double>(memory.peak), static_cast<double>(memory.capacity));
  const std::string percent = used > 0 && used < 0.005 ? "<1%" : fmt::format("{:.0f}%", 100 * used);
  return fmt::format("{} ({})", report::bytes(static_cast<double>(memory.peak)), percent);
}

std::string memory_line(const sim::Timeline& timeline) {
  if (timeline.processors.empty()) return report::bytes(0);
  const std::size_t index = fullest_processor(timeline);
  const sim::MemoryUse& memory = timeline.processors[index].memory;
  auto parts = memory_parts(memory);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const MemoryPart& a, const MemoryPart& b) { return a.bytes > b.bytes; });
  constexpr std::size_t kMostParts = 3;
  std::string text;
  for (std::size_t i = 0; i < kMostParts && parts[i].bytes > 0; ++i) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", parts[i].words.text,
                        report::bytes(static_cast<double>(parts[i].bytes)));
  }
  return fmt::format("{}: {} of {} ({})", name_of(timeline.kind, index),
                     report::bytes(static_cast<double>(memory.peak)),
                     report::bytes(static_cast<double>(memory.capacity)), text.empty() ? "empty" : text);
}

std::string gap_text(const RunReport& report) {
  // A bound counts with the memory that is there: what needs more may be faster.
  if (!report.bound || report.bound->makespan <= 0 || !report.timeline.fits()) return "";
  return fmt::format("{:.1f}% above {} ({} of {})",
                     100 * (report.timeline.makespan / report.bound->makespan - 1),
                     duration(report.bound->makespan), schedule::to_string(report.bound->limit),
                     name_of(report.timeline.kind, report.bound->processor));
}

void add_provenance(const Provenance& provenance, json& object) {
  object["program"] = provenance.program;
  object["machine"] = provenance.machine;
  object["machineSources"] = provenance.sources;
}

json to_json(const ModelFile& file) { return {{"crc32", file.crc32}, {"bytes", file.bytes}}; }

json to_json(const RunReport& report) {
  const sim::Timeline& timeline = report.timeline;
  json object{{"version", kReportVersion},
              {"model", report.model},
              {"strategy", report.strategy},
              {"device", report.device},
              {"processorKind", device::name_of(report.timeline.kind)},
              {"options", report.options},
              {"estimate", report.is_estimate},
              {"replicas", timeline.replicas},
              {"processorsPerReplica", timeline.processors.size()},
              {"microBatches", report.micro_batches},
              {"samplesPerMicroBatch", report.samples_per_micro_batch},
              {"seconds", timeline.makespan},
              {"criticalPathSeconds", timeline.critical_path},
              {"firstOutputSeconds", timeline.first_output},
              {"samplesPerSecond", samples_per_second(report)},
              {"utilisation", timeline.utilisation},
              {"flop", timeline.flop},
              {"fits", timeline.fits()},
              {"bottleneck", bottleneck(timeline)},
              {"cause", cause_sentence(timeline)},
              {"path", path_json(timeline)},
              {"fullestProcessor", fullest_processor(timeline)},
              {"bytesSent", timeline.bytes_sent},
              {"bytesReceived", timeline.bytes_received},
              {"prepareSeconds", report.prepare_seconds},
              {"processors", json::array()},
              {"links", json::array()},
              {"crossings", to_json(report.crossings)},
              {"reshardings", to_json(report.reshardings)},
              {"outputs", json::array()}};
  if (report.model_file) object["modelFile"] = to_json(*report.model_file);
  if (!report.is_estimate) object["realSeconds"] = report.run_seconds;
  if (report.run_times.size() > 1) {
    object["realPercentiles"] = {{"runs", report.run_times.size()},
                                 {"p50", percentile(report.run_times, 0.5)},
                                 {"p90", percentile(report.run_times, 0.9)},
                                 {"p99", percentile(report.run_times, 0.99)}};
  }
  for (std::size_t i = 0; i < timeline.processors.size(); ++i) {
    object["processors"].push_back(processor_json(i, timeline.processors[i]));
  }
  for (const sim::LinkReport& link : timeline.links) {
    object["links"].push_back({{"name", link.name},
                               {"bytes", link.bytes},
                               {"replicaBytes", link.replica_bytes},
                               {"busySeconds", link.busy}});
  }
  if (report.bound) object["bound"] = bound_json(*report.bound);
  for (const WhatIf& what_if : report.what_ifs) object["whatIf"].push_back(what_if_json(what_if));
  for (const OutputFacts& output : report.outputs) object["outputs"].push_back(output_json(output));
  if (report.training) object["training"] = to_json(*report.training);
  if (report.details) add_details(*report.details, object);
  return object;
}

std::vector<std::vector<std::string>> rows(const RunReport& report) {
  Rows rows{{"strategy", report.strategy}, {"device", report.device}};
  if (report.is_clocked) rows.push_back({"processors", processors_text(report.timeline)});
  rows.push_back({"micro-batches", count(report.micro_batches)});
  if (report.is_clocked) add_clock_rows(report, rows);
  rows.push_back({"real time", real_time(report)});
  return rows;
}

}  // namespace podium::report
