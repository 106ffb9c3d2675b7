// Models that train, given as ONNX text, and what the acceptance tests of anchors, accumulation and pipelines
// ask of their sessions.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "executor/session/training_session.h"
#include "tests/support/text_model.h"

namespace podium::testing {

/// The model of a text with every op on a processor, which is its stage too unless `stages` says more.
importer::Model model_of(const std::string& body, const std::vector<int>& processors,
                         const std::vector<int>& stages = {});

/// `count` numbers from [low, high), the same on every machine.
std::vector<float> random_numbers(std::mt19937& random, std::int64_t count, float low, float high);
ir::Tensor random_tensor(std::mt19937& random, ir::Dims dims, float low, float high);
/// An initializer for the text of a graph.
std::string initializer(const std::string& name, const ir::Dims& dims, const std::vector<float>& values);

/// SGD without momentum, and all its values as given.
TrainingOptions training_with(const Strategy& strategy, double learning_rate);

/// The stages of a model that says its processors, as a pipeline.
Strategy pipeline_of(int processors, int batches, int accumulation = 1);

struct Trained {
  TensorsByName outputs = {};  ///< of all runs, [runs, ...]
  TensorsByName weights = {};
  TensorsByName state = {};
};

/// One run on each element of `runs`, which are inputs in the order of the session's. Without fusion, so that
/// ops give the same bits however the graph is cut.
Trained train(importer::Model model, TrainingOptions options,
              const std::vector<std::vector<ir::Datum>>& runs);

/// What a session refuses, "" for nothing.
std::string training_refusal(importer::Model model, const TrainingOptions& options);
std::string inference_refusal(importer::Model model, const Strategy& options);

/// The sum of magnitudes of differences.
double distance(const ir::Tensor& a, const ir::Tensor& b);

}  // namespace podium::testing
