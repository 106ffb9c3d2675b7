// Pages that show a run or a comparison: one HTML file each, which needs nothing else.
//
// A page is the sources in page/, which are part of the program, around the JSON of the report: what it shows
// comes from there. It is plain SVG and canvas; no library would do more than these few drawings need.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "executor/report/comparison.h"
#include "executor/report/report.h"

namespace podium::report {

/// The part of a page that is open first.
enum class PageView : std::uint8_t { Overview, Ops, Training };

/// `report`, the JSON of --report without memory curves, and `timeline` (page_data.cpp says how it is
/// packed). Equal processors, and lanes whose steps have the same times, are there once.
nlohmann::json run_page_data(const RunReport& report, PageView view = PageView::Overview);
/// `report`, the JSON of --report, with the verdict in sentences; equal processors of a strategy are there
/// once, its `path` by activity alone, and its `sketch` is beside its run.
nlohmann::json comparison_page_data(const ComparedModel& model,
                                    const std::vector<ComparedStrategy>& strategies,
                                    const std::string& verdict);

/// Writes the page of such data. The same data give the same bytes; text of the model cannot become markup.
void write_page(const nlohmann::json& data, std::ostream& out);

}  // namespace podium::report
