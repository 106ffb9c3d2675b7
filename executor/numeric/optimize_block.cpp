#include "executor/numeric/optimize_block.h"

#include "executor/numeric/channels_last.h"
#include "executor/numeric/fold_batch_norm.h"
#include "executor/numeric/fold_pad.h"
#include "executor/numeric/fuse_attention.h"
#include "executor/numeric/fuse_bytes.h"
#include "executor/numeric/fuse_depthwise.h"
#include "executor/numeric/fuse_elementwise.h"
#include "executor/numeric/fuse_gelu.h"
#include "executor/numeric/fuse_group_norm.h"
#include "executor/numeric/fuse_layer_norm.h"
#include "executor/numeric/fuse_loss_gradient.h"
#include "executor/numeric/fuse_matmul.h"
#include "executor/numeric/fuse_norm_gradient.h"
#include "executor/numeric/fuse_post_ops.h"
#include "executor/numeric/fuse_softmax_gradient.h"
#include "executor/numeric/widen_products.h"
#include "ir/remove_dead.h"

namespace podium::numeric {

void optimize_block(ir::Graph& graph, const Layouts& layouts) {
  // First the functions that exporters wrote as many ops, while these ops still stand side by side.
  fold_pad(graph);
  fold_batch_norm(graph);
  fuse_norm_gradient(graph);
  fuse_loss_gradient(graph);
  fuse_softmax_gradient(graph);
  fuse_gelu(graph);
  fuse_layer_norm(graph);
  fuse_group_norm(graph);
  // Then layouts and packed weights: convolutions and products become ops of the engine.
  channels_last(graph, layouts);
  make_byte_products(graph);
  widen_products(graph);
  fuse_matmul(graph);
  fuse_attention(graph);
  // Beyond this point every convolution and product that can be ours is.
  fuse_bytes(graph);
  fuse_post_ops(graph);
  fuse_depthwise(graph);
  // Weights that were folded into others go.
  ir::remove_dead(graph);
  // Last, so that no pattern is hidden in a chain.
  fuse_elementwise(graph);
}

}  // namespace podium::numeric
