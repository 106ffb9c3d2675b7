// The normalisations, prepared for float and double.
#pragma once

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

PreparedKernel prepare_batch_normalization(PrepareContext& context);
/// The engine's own ops that fuse_norm_gradient makes.
PreparedKernel prepare_batch_normalization_gradient(PrepareContext& context);
PreparedKernel prepare_layer_normalization_gradient(PrepareContext& context);
PreparedKernel prepare_group_normalization_gradient(PrepareContext& context);
PreparedKernel prepare_instance_normalization(PrepareContext& context);
PreparedKernel prepare_group_normalization(PrepareContext& context);
PreparedKernel prepare_lrn(PrepareContext& context);
PreparedKernel prepare_layer_normalization(PrepareContext& context);
PreparedKernel prepare_rms_normalization(PrepareContext& context);
PreparedKernel prepare_lp_normalization(PrepareContext& context);
PreparedKernel prepare_mean_variance_normalization(PrepareContext& context);
/// Prepared for every element type.
PreparedKernel prepare_dropout(PrepareContext& context);

}  // namespace podium::kernels
