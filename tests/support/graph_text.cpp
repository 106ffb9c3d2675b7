#include "tests/support/graph_text.h"

#include "importer/import.h"
#include "ir/infer.h"
#include "tests/support/run_text.h"

namespace podium::testing {

ir::Graph graph_of(const std::string& body, int opset) {
  ir::Graph graph = importer::import_text(model_text(body, opset)).graph;
  ir::infer(graph);
  return graph;
}

}  // namespace podium::testing
