// Says before anything is optimized whether the annotations of a model can be what the session asks for.
#pragma once

#include <string>
#include <string_view>

#include "annotate/metadata.h"
#include "annotate/request.h"
#include "ir/error.h"
#include "ir/graph.h"

namespace podium::annotate {

/// A node is on a processor that a replica has not.
class LacksProcessors : public Error {
 public:
  LacksProcessors(const std::string& text, int needed_by_nodes) : Error(text), needed(needed_by_nodes) {}
  int needed;  ///< in a replica, by all nodes
};

/// Checks `graph` as it was imported: LacksProcessors, and other errors. Three kinds of ops need no
/// annotation: ops that no output depends on, ops that handle only constants and shapes (they are folded away
/// or inherit), and Identity. Error for each row of semantics, section 1.4 that concerns placement; also for
/// a stage or phase that decreases along an edge, which PopART let pass. Annotations that the session does
/// not read are not checked: mode Off reads no virtual graphs and phases, a session without pipelining reads
/// no stages, and mode Auto replaces processors and stages.
void check(const ir::Graph& graph, const Metadata& metadata, const Request& request);

/// Checks the execution contexts of a graph that is to train, before passes; its weights are no constants.
/// Error where a node that runs for each micro-batch reads what another makes once per update, and where the
/// loss itself is made once per update: derivatives need it for each micro-batch. Nodes that handle only
/// constants are folded away, so theirs are not checked.
void check_contexts(const ir::Graph& graph, std::string_view loss);

}  // namespace podium::annotate
