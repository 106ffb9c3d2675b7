// Support vector machines.
#pragma once

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

PreparedKernel svm_classifier(PrepareContext& context);
PreparedKernel svm_regressor(PrepareContext& context);

}  // namespace podium::kernels
