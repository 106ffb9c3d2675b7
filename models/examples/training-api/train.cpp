// Trains a classifier of digits from a program of one's own: train MODEL.onnx IMAGES LABELS SAVED.onnx
#include <fmt/core.h>

#include "executor/session/host_arrays.h"
#include "executor/session/training_session.h"
#include "importer/tensor_file.h"

using namespace podium;

int main(int count, char** words) try {
  if (count != 5) throw Error("4 files needed: MODEL.onnx IMAGES LABELS SAVED.onnx");

  // 4 micro-batches make an update, each worked on by one processor after the other.
  TrainingOptions options{.loss = "loss"};
  options.session.strategy = {.virtual_graph_mode = VirtualGraphMode::Auto,
                              .ipus = 2,
                              .accumulation_factor = 4,
                              .reduction = Reduction::Mean};
  options.session.clock = true;
  options.optimizer = ir::make_optimizer("Adam", {{"learningRate", {1e-3, false}}});
  TrainingSession session(importer::import_model(words[1]), options);

  // A run takes all micro-batches in one array an input, of the input's type.
  std::vector<ir::Datum> data;
  for (std::size_t i = 0; i < session.inputs().size(); ++i) {
    const ir::Type& type = session.inputs()[i].type;
    data.emplace_back(cast(importer::read_tensor_file(words[2 + i], type).tensor, type.element));
  }
  for (int epoch = 1; epoch <= 10; ++epoch) {
    session.run(data);
    fmt::print("epoch {}: loss {:.4f}\n", epoch, session.loss());
    options.optimizer.defaults["learningRate"].value *= 0.9;
    session.update_optimizer(options.optimizer);
  }
  fmt::print("an update takes {:.3f} ms simulated\n", 1e3 * session.timeline()->makespan);
  session.model_to_file(words[4]);
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "error: {}\n", error.what());
  return 1;
}
