// What a strategy's numbers are beside those of one processor, value by value: a line and JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ir/data_type.h"

namespace podium::report {

/// An op whose sum the strategy adds up in another order, and by how much that moved its results.
struct Reassociation {
  std::string op;               ///< "node 'proj' (MatMul)"; "" of a weight after a step
  std::string tensor;           ///< that it makes
  std::string why;              ///< "summed up over 4 devices"
  double difference = 0;        ///< the largest
  double bound = 0;             ///< of that element
  bool is_estimate = false;     ///< the bound is
  bool in_zeros_alone = false;  ///< all that differs is the sign of zeros
};

/// The first tensor that is not what one processor makes of the same operands.
struct Parting {
  std::string op = {};  ///< that makes it; "" for a weight
  std::string tensor;
  std::string when;                        ///< "step 1, update 2, micro-batch 3"
  std::vector<std::int64_t> element = {};  ///< its index along each axis
  ir::DataType type = ir::DataType::Float;
  double found = 0;
  double expected = 0;
  std::optional<double> bound = {};  ///< of what adding up in another order would explain
  std::string remark = {};
};

enum class Judgement : std::uint8_t { EqualToTheBit, Explained, Parts, NotJudged };

struct OracleVerdict {
  std::string why_not = {};                   ///< why the strategy's values cannot be followed
  int steps = 0;                              ///< that were followed
  std::int64_t tensors = 0;                   ///< that were compared, each in every micro-batch
  std::int64_t nans = 0;                      ///< elements that are NaN in both, of other bits
  std::vector<Reassociation> explained = {};  ///< in the order in which they came first
  std::optional<Parting> parting = {};
  double difference = 0;  ///< at the end: the largest |a - b| / max(1, |b|) of weights, or of outputs

  Judgement judgement() const;
};

/// "equal to the bit (2 steps, 120 tensors)"; "equal up to the order of 3 sums; the largest difference ..."
std::string sentence(const OracleVerdict& verdict);
nlohmann::json to_json(const OracleVerdict& verdict);

}  // namespace podium::report
