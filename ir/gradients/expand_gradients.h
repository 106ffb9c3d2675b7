// ONNX's op Gradient becomes the ops that compute it.
#pragma once

namespace podium::ir {

class Graph;
struct InferOptions;

/// Replaces each Gradient of ai.onnx.preview.training in the main graph. Where it is fed with other values
/// than the tensors it names, the ops between these tensors and y are appended once more, on the fed values.
/// Infers types where it replaces one, so it comes before any pass that renames or removes values. True when
/// there was one.
bool expand_gradients(Graph& graph, const InferOptions& options);

}  // namespace podium::ir
