// Strategies side by side: the table and the JSON of `podium compare` (fields: README.md in this folder).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "executor/device/device.h"
#include "executor/report/oracle.h"
#include "executor/report/report.h"
#include "executor/report/sketch.h"

namespace podium::report {

struct ComparedStrategy {
  std::string name;
  std::string refusal = {};  ///< why the model cannot run so; then there is no run
  bool needs_run = false;    ///< it can, but an estimate cannot: data decide sizes
  RunReport run = {};
  /// Largest |a - b| / max(1, |b|) over the outputs (for training: over the weights) against the reference
  /// run; empty when only estimated.
  std::optional<double> difference = {};
  std::optional<OracleVerdict> oracle = {};  ///< where values were followed op by op
  std::optional<Sketch> sketch = {};         ///< where a page is asked for
  /// Clocks its Program, which it keeps, on another device: of the best of those that are only estimated.
  std::function<sim::Timeline(const device::Device&)> clocked_on = {};
};

/// Sorts strategies: those that fit by samples per second, most first; then those that do not fit by
/// fullness, least first; then the refused ones. Equal ones keep their order.
void sort_best_first(std::vector<ComparedStrategy>& strategies);

/// Whether sort_best_first has `a` before `b`, and would wherever they stood.
bool is_better(const ComparedStrategy& a, const ComparedStrategy& b);

enum class Columns : std::uint8_t { Times, TimesAndTraffic };

/// A row for each strategy in the order given, then a line for each refused one. Times are a sample's, and of
/// the first micro-batch from the call to its results; with traffic those of an update, and the bytes that
/// all replicas move in a step between processors, and from and to their streaming memory. Columns that do
/// not fit into `width` characters (0: any width) are left out, the least important first.
std::string comparison_table(const std::vector<ComparedStrategy>& strategies,
                             Columns columns = Columns::Times, std::size_t width = 0);

/// What a sample's time is made of, a row for each strategy that fits in the order given: the way back from
/// the end of its step by kind of work, of which the parts sum up to the time. So two rows say why one is
/// slower; --explain.
std::string sample_time_table(const std::vector<ComparedStrategy>& strategies, std::size_t width);

/// Why each of the strategies that fit is faster or slower than the one before it: the kinds of work whose
/// share of a sample's time changes most. A line for each.
std::string change_sentences(const std::vector<ComparedStrategy>& strategies);

/// What is compared.
struct ComparedModel {
  std::string name;
  std::optional<ModelFile> file = {};         ///< where it is known
  std::optional<Provenance> provenance = {};  ///< where a page is asked for
};

nlohmann::json comparison_json(const ComparedModel& model, const std::vector<ComparedStrategy>& strategies);

}  // namespace podium::report
