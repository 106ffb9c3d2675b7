#include "tests/bench/common.h"

#include <time.h>

#include <algorithm>

namespace podium::bench {

NamedModel parse_model(const std::string& text) {
  NamedModel model;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    const std::string part = text.substr(from, to - from);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) {
      model.name = part;
    } else {
      model.parameters[part.substr(0, equals)] = part.substr(equals + 1);
    }
    from = to + 1;
  }
  return model;
}

ir::Tensor filled(const ir::Type& type) {
  ir::Tensor tensor(type.element, type.dims);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    if (type.element == ir::DataType::Float) {
      tensor.data<float>()[i] = static_cast<float>((i * 7919 + 13) % 1009) / 504.5F - 1.0F;
    } else if (type.element == ir::DataType::Int64) {
      tensor.data<std::int64_t>()[i] = i % 2;
    } else {
      throw Error("an input of {} found, float or int64 needed", name_of(type.element));
    }
  }
  return tensor;
}

ir::Placement even_split(const ir::Graph& graph, int processors) {
  ir::Placement placement{.ops = {}, .processors = processors, .stages = processors};
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const int processor = static_cast<int>(i * static_cast<std::size_t>(processors) / graph.ops.size());
    placement.ops.push_back({.processor = processor, .stage = processor});
  }
  return placement;
}

double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

double times_as_long(const std::vector<double>& ms, const std::vector<double>& base) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ms.size(); ++i) ratios.push_back(ms[i] / base[i]);
  return median(std::move(ratios));
}

}  // namespace podium::bench
