// Gradient builders, named after their ops: what OpSpec::gradient of the rows refers to.
#pragma once

#include "ir/gradient.h"

namespace podium::ir {

/// The row with a gradient: `differentiable(unary("Exp", 13), exp_gradient)`.
inline OpSpec differentiable(OpSpec spec, GradientFunction gradient) {
  spec.gradient = gradient;
  return spec;
}

/// Refuses an op that has a derivative on paper but none here: an Error with the row's `no_gradient`.
void refuse_gradient(GradientContext& context);

// Elementwise, in gradients_elementwise.cpp.
void abs_gradient(GradientContext& context);
void add_gradient(GradientContext& context);
void cast_gradient(GradientContext& context);
void cos_gradient(GradientContext& context);
void div_gradient(GradientContext& context);
void erf_gradient(GradientContext& context);
void exp_gradient(GradientContext& context);
void identity_gradient(GradientContext& context);
void log_gradient(GradientContext& context);
void mean_gradient(GradientContext& context);
void mul_gradient(GradientContext& context);
void neg_gradient(GradientContext& context);
void pow_gradient(GradientContext& context);
void reciprocal_gradient(GradientContext& context);
void relu_gradient(GradientContext& context);
void sigmoid_gradient(GradientContext& context);
void sin_gradient(GradientContext& context);
void sqrt_gradient(GradientContext& context);
void sub_gradient(GradientContext& context);
void sum_gradient(GradientContext& context);
void tanh_gradient(GradientContext& context);
void where_gradient(GradientContext& context);

// Activations and other functions of one number, in gradients_activation.cpp.
void acos_gradient(GradientContext& context);
void acosh_gradient(GradientContext& context);
void asin_gradient(GradientContext& context);
void asinh_gradient(GradientContext& context);
void atan_gradient(GradientContext& context);
void atanh_gradient(GradientContext& context);
void celu_gradient(GradientContext& context);
void clip_gradient(GradientContext& context);
void cosh_gradient(GradientContext& context);
void elu_gradient(GradientContext& context);
/// Max, Min.
void extreme_gradient(GradientContext& context);
void gelu_gradient(GradientContext& context);
void hard_sigmoid_gradient(GradientContext& context);
void hard_swish_gradient(GradientContext& context);
void leaky_relu_gradient(GradientContext& context);
void mish_gradient(GradientContext& context);
void mod_gradient(GradientContext& context);
void prelu_gradient(GradientContext& context);
void selu_gradient(GradientContext& context);
void shrink_gradient(GradientContext& context);
void sinh_gradient(GradientContext& context);
void softplus_gradient(GradientContext& context);
void softsign_gradient(GradientContext& context);
void swiglu_gradient(GradientContext& context);
void swish_gradient(GradientContext& context);
void tan_gradient(GradientContext& context);
void thresholded_relu_gradient(GradientContext& context);

// Movements, in gradients_movement.cpp.
void concat_gradient(GradientContext& context);
void depth_to_space_gradient(GradientContext& context);
void expand_gradient(GradientContext& context);
void gather_gradient(GradientContext& context);
void one_hot_gradient(GradientContext& context);
void pad_gradient(GradientContext& context);
/// Reshape, Flatten, Squeeze, Unsqueeze: the same numbers under another shape.
void reshape_gradient(GradientContext& context);
void reverse_sequence_gradient(GradientContext& context);
/// ScatterElements and ScatterND.
void scatter_gradient(GradientContext& context);
/// Slice, Tile, Compress, GatherElements, GatherND, CenterCropPad: each output element is one of input 0's,
/// or 0.
void selection_gradient(GradientContext& context);
void slice_gradient(GradientContext& context);
void space_to_depth_gradient(GradientContext& context);
void split_gradient(GradientContext& context);
void tensor_scatter_gradient(GradientContext& context);
void top_k_gradient(GradientContext& context);
void transpose_gradient(GradientContext& context);
void trilu_gradient(GradientContext& context);
void unique_gradient(GradientContext& context);
void array_feature_extractor_gradient(GradientContext& context);

// Ops of ai.onnx.ml, in gradients_ml.cpp.
void feature_vectorizer_gradient(GradientContext& context);
void imputer_gradient(GradientContext& context);
void linear_classifier_gradient(GradientContext& context);
void linear_regressor_gradient(GradientContext& context);
void normalizer_gradient(GradientContext& context);
void scaler_gradient(GradientContext& context);
void svm_classifier_gradient(GradientContext& context);
void svm_regressor_gradient(GradientContext& context);

// Sequences and optionals, in gradients_sequence.cpp.
void concat_from_sequence_gradient(GradientContext& context);
void optional_get_element_gradient(GradientContext& context);
void optional_gradient(GradientContext& context);
void sequence_at_gradient(GradientContext& context);
void sequence_construct_gradient(GradientContext& context);
void sequence_erase_gradient(GradientContext& context);
void sequence_insert_gradient(GradientContext& context);
void sequence_map_gradient(GradientContext& context);
void split_to_sequence_gradient(GradientContext& context);

// ONNX's optimizers, in gradients_update.cpp.
void adagrad_gradient(GradientContext& context);
void adam_gradient(GradientContext& context);
void momentum_gradient(GradientContext& context);

// Convolutions, in gradients_conv.cpp.
void causal_conv_gradient(GradientContext& context);
void conv_gradient(GradientContext& context);
void conv_transpose_gradient(GradientContext& context);
/// In gradients_deform.cpp.
void deform_conv_gradient(GradientContext& context);
/// The second derivative: ConvWeightGradient is itself an op with a gradient.
void conv_weight_gradient_gradient(GradientContext& context);

// Pools, in gradients_pool.cpp.
void average_pool_gradient(GradientContext& context);
void global_average_pool_gradient(GradientContext& context);
void global_lp_pool_gradient(GradientContext& context);
void global_max_pool_gradient(GradientContext& context);
void lp_pool_gradient(GradientContext& context);
void max_pool_gradient(GradientContext& context);
void max_unpool_gradient(GradientContext& context);
/// Second derivatives: the gradients of the ops MaxPoolGradient and SumPoolGradient.
void max_pool_gradient_gradient(GradientContext& context);
void sum_pool_gradient_gradient(GradientContext& context);

// Ops that sample images between their elements, in gradients_resample.cpp.
void affine_grid_gradient(GradientContext& context);
void col2im_gradient(GradientContext& context);
void grid_sample_gradient(GradientContext& context);
void max_roi_pool_gradient(GradientContext& context);
void resize_gradient(GradientContext& context);
void roi_align_gradient(GradientContext& context);
/// Second derivatives: the gradients of gradient ops.
void grid_sample_input_gradient_gradient(GradientContext& context);
void max_roi_pool_choice_gradient(GradientContext& context);
void max_roi_pool_gradient_gradient(GradientContext& context);
void resize_gradient_gradient(GradientContext& context);
void roi_align_choice_gradient(GradientContext& context);
void roi_align_gradient_gradient(GradientContext& context);
/// In gradients_grid.cpp.
void grid_sample_grid_gradient_gradient(GradientContext& context);

// Normalisations, dropout and losses, in gradients_norm.cpp and gradients_loss.cpp.
void batch_normalization_gradient(GradientContext& context);
void dropout_gradient(GradientContext& context);
void group_normalization_gradient(GradientContext& context);
void instance_normalization_gradient(GradientContext& context);
void layer_normalization_gradient(GradientContext& context);
void lp_normalization_gradient(GradientContext& context);
void lrn_gradient(GradientContext& context);
void mean_variance_normalization_gradient(GradientContext& context);
void negative_log_likelihood_gradient(GradientContext& context);
void rms_normalization_gradient(GradientContext& context);
void softmax_cross_entropy_gradient(GradientContext& context);

// Control flow, in gradients_branch.cpp and gradients_loop.cpp.
void if_gradient(GradientContext& context);
void loop_gradient(GradientContext& context);
void scan_gradient(GradientContext& context);

// In gradients_recurrent.cpp.
void gru_gradient(GradientContext& context);
void lstm_gradient(GradientContext& context);
void rnn_gradient(GradientContext& context);

// In gradients_attention.cpp and gradients_linear_attention.cpp.
void attention_gradient(GradientContext& context);
void flex_attention_gradient(GradientContext& context);
void linear_attention_gradient(GradientContext& context);
void rotary_embedding_gradient(GradientContext& context);

// In gradients_signal.cpp.
void dequantize_gradient(GradientContext& context);
void dynamic_quantize_gradient(GradientContext& context);
void det_gradient(GradientContext& context);
/// The gradient of the op Cofactors, for the second derivative of Det.
void cofactors_gradient(GradientContext& context);
void dft_gradient(GradientContext& context);
void stft_gradient(GradientContext& context);

// Sums and products, in gradients_reduction.cpp.
void cum_prod_gradient(GradientContext& context);
void cum_sum_gradient(GradientContext& context);
void einsum_gradient(GradientContext& context);
void range_gradient(GradientContext& context);
void gemm_gradient(GradientContext& context);
void log_softmax_gradient(GradientContext& context);
void matmul_gradient(GradientContext& context);
/// ReduceMax, ReduceMin.
void reduce_extreme_gradient(GradientContext& context);
void reduce_l1_gradient(GradientContext& context);
void reduce_l2_gradient(GradientContext& context);
void reduce_log_sum_exp_gradient(GradientContext& context);
void reduce_log_sum_gradient(GradientContext& context);
void reduce_mean_gradient(GradientContext& context);
void reduce_prod_gradient(GradientContext& context);
void reduce_sum_gradient(GradientContext& context);
void reduce_sum_square_gradient(GradientContext& context);
void softmax_gradient(GradientContext& context);

}  // namespace podium::ir
