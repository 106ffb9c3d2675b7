// The models by family, one file each.
#pragma once

#include <vector>

#include "models/catalog.h"

namespace podium::models {

std::vector<ModelSpec> mnist_models();         ///< small classifiers of 28 x 28 digits, and the phased matmul
std::vector<ModelSpec> vision_models();        ///< ResNet, ResNeXt, MobileNetV2, U-Net
std::vector<ModelSpec> scaled_image_models();  ///< EfficientNet
std::vector<ModelSpec> patch_models();         ///< ViT
std::vector<ModelSpec> language_models();      ///< BERT, GPT-2
std::vector<ModelSpec> decoder_models();       ///< LLaMA, and with experts
std::vector<ModelSpec> recurrent_models();     ///< LSTM
std::vector<ModelSpec> kernel_models();        ///< one product, one elementwise op, for measuring
std::vector<ModelSpec> control_flow_models();  ///< an If and a Loop

}  // namespace podium::models
