// TfIdfVectorizer: counts the n-grams of a pool in sequences of words or numbers.
#pragma once

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

PreparedKernel tf_idf(PrepareContext& context);

}  // namespace podium::kernels
