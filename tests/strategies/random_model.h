// Models of random layers as ONNX text, annotated for a way to spread them.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace podium::testing {

class Random {
 public:
  explicit Random(unsigned seed) : generator_(seed) {}
  int below(int count) { return static_cast<int>(generator_() % static_cast<unsigned>(count)); }
  bool coin() { return below(2) == 0; }
  bool one_in(int count) { return below(count) == 0; }
  template <class T>
  const T& of(const std::vector<T>& choices) {
    return choices[below(static_cast<int>(choices.size()))];
  }

 private:
  std::mt19937 generator_;
};

/// How ops come to processors: annotated (Sharded, Pipelined, Phased) or automatically.
enum class Spread { One, Sharded, Pipelined, Phased, Auto, AutoPipelined, AutoPhased };

/// Inputs x, z and wanted are float[2,3,4], ids are int64[2,3] in [0, 5), labels int64[2,3] in [-1, 4), where
/// -1 does not count. Some may have no effect. The first output is `loss`.
struct RandomModel {
  std::string text;
  std::vector<std::string> weights;  ///< w0, w1, ...
  std::vector<std::string> values;   ///< floats that ops make
  int parts = 1;                     ///< stages or phases of the forward pass
  bool keeps_statistics = false;     ///< of the samples that one processor sees
};

/// Which layers a model may have; Many has reductions, pools and other normalisations beside the few.
enum class Layers { Few, Many };

RandomModel random_model(Random& random, Spread spread, Layers layers = Layers::Few);

}  // namespace podium::testing
