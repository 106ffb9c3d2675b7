#include "ir/gradients/body.h"

#include <algorithm>
#include <utility>

#include "ir/gradients/differentiate.h"
#include "ir/gradients/terms.h"

namespace podium::ir {
namespace {

// Outside training Dropout draws nothing.
bool draws(const Op& op) { return op.spec->random && (!op.is("Dropout") || op.inputs.size() > 2); }

bool has_random_op(const Graph& body) {
  return std::any_of(body.ops.begin(), body.ops.end(), [](const Op& op) {
    bool found = draws(op);
    for_each_body(op, [&](std::string_view, const Graph& inner) { found = found || has_random_op(inner); });
    return found;
  });
}

// Dropout with its mask: elements that are kept grow by 1 / (1 - ratio).
void append_masked(Graph& body, const Op& dropout) {
  Builder builder(body);
  GradientContext context(builder, dropout, {}, {});
  const Term x = term(context, dropout.inputs[0]);
  const Term ratio{&context, context.has_input(1) ? context.call("CastLike", {context.input(1), x})
                                                  : context.number(0.5, x)};
  const Term kept = choose(term(context, dropout.outputs[1]), x, 0) / (1.0 - ratio);
  body.ops.push_back(Op{
      .spec = find_op("", "Where"), .inputs = {context.input(2), kept, x}, .outputs = {dropout.outputs[0]}});
}

}  // namespace

std::vector<ValueId> random_values(Graph& body) {
  give_what_gradients_read(body);
  std::vector<ValueId> values;
  for (const Op& op : body.ops) {
    for_each_body(op, [&](std::string_view, const Graph& inner) {
      if (has_random_op(inner))
        throw Error("{}: no gradient through what it draws at random", body.describe(op));
    });
    if (draws(op)) values.push_back(op.outputs[op.is("Dropout") ? 1 : 0]);
  }
  return values;
}

std::vector<ValueId> take_random(Graph& body) {
  std::vector<ValueId> values = random_values(body);
  for (Op& op : std::exchange(body.ops, {})) {
    if (!draws(op)) {
      body.ops.push_back(std::move(op));
    } else if (op.is("Dropout")) {
      append_masked(body, op);
    }
  }
  return values;
}

ValueId handed_on(Graph& body, ValueId value) {
  const Type type = body[value].type;
  const ValueId same = body.add_value(body.fresh_name("handed_on"), type);
  body.ops.push_back(Op{.spec = find_op("", "Identity"), .inputs = {value}, .outputs = {same}});
  return same;
}

}  // namespace podium::ir
