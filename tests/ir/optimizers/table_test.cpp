// The table of optimizers, row by row: what each must have so that nothing else needs to know it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ir/infer.h"
#include "ir/optimizer_spec.h"
#include "ir/passes/make_training.h"
#include "ir/passes/optimizer_states.h"
#include "ir/passes/set_precision.h"
#include "tests/support/graph_text.h"
#include "tests/support/refusal.h"

namespace podium::ir {
namespace {

using ::testing::UnorderedElementsAreArray;

std::string refusal_of_values(const OptimizerSpec& spec, const OptimizerValues& values) {
  return testing::refusal([&] { check_optimizer(make_optimizer(spec, values), {"w"}); });
}

// Every form of a row by itself, with its values as they are and with all of them able to change.
std::vector<Optimizer> forms_of(const OptimizerSpec& spec) {
  std::vector<Optimizer> forms{make_optimizer(spec)};
  for (const FormSpec& form : all_forms()) {
    if (!spec.has_form(form.word)) continue;
    forms.push_back(make_optimizer(spec));
    form.set(forms.back());
  }
  std::vector<Optimizer> all = forms;
  for (Optimizer& changing : forms) {
    for (auto& [name, value] : changing.defaults) {
      value = {value.value == 0 ? 0.5 : value.value, false};
      if (changing.nesterov && name == "dampening") value = {0};
    }
    changing.loss_scaling = {8, false};
    all.push_back(changing);
  }
  return all;
}

Training trained_in(DataType precision, const Optimizer& optimizer, const Contributions& contributions) {
  Graph graph = testing::graph_of(
      "g (float[2,3] x) => (float loss) <float[2,3] w = {1, 2, 3, 4, 5, 6}> {\n"
      "  p = Mul (w, x)\n  loss = ReduceSum <keepdims = 0> (p)\n}");
  if (precision == DataType::Float16) set_precision(graph, precision);
  infer(graph);
  const std::vector<Variable> weights = take_weights(graph);
  return make_training(
      std::move(graph),
      {.loss = "loss", .weights = weights, .optimizer = optimizer, .contributions = contributions});
}

TEST(OptimizerTable, NamesAreThereOnce) {
  std::set<std::string_view> names;
  for (const OptimizerSpec* spec : all_optimizers()) {
    EXPECT_TRUE(names.insert(spec->name).second) << spec->name;
    EXPECT_EQ(find_optimizer(spec->name), spec);
    std::set<std::string_view> keys;
    for (const ValueSpec& value : spec->values) {
      EXPECT_TRUE(keys.insert(value.name).second) << spec->name << " " << value.name;
      EXPECT_FALSE(value.typed.empty()) << spec->name << " " << value.name;
    }
    EXPECT_TRUE(keys.contains("learningRate")) << spec->name;
  }
  EXPECT_EQ(all_optimizers().front()->name, "SGD");
}

TEST(OptimizerTable, EveryRowCanBeTyped) {
  std::set<std::string_view> typed;
  std::set<std::string_view> variants;
  for (const OptimizerSpec* spec : all_optimizers()) {
    for (const TypedName& name : spec->typed) EXPECT_TRUE(typed.insert(name.name).second) << name.name;
    for (const Variant& variant : spec->variants) {
      ASSERT_NE(find_optimizer(variant.name), nullptr) << variant.name;
      variants.insert(variant.name);
      Optimizer optimizer = make_optimizer(*spec);
      for (const FormSpec& form : all_forms()) {
        if (form.word == variant.word) form.set(optimizer);
      }
      EXPECT_EQ(name_of(optimizer), variant.name);
      EXPECT_EQ(refusal_of_values(*optimizer.spec, optimizer.defaults), "");
    }
  }
  for (const OptimizerSpec* spec : all_optimizers())
    EXPECT_TRUE(!spec->typed.empty() || variants.contains(spec->name)) << spec->name;
}

TEST(OptimizerTable, DefaultsAreInTheirRangesAndNothingElseIs) {
  for (const OptimizerSpec* spec : all_optimizers()) {
    EXPECT_EQ(refusal_of_values(*spec, {}), "") << spec->name;
    for (const ValueSpec& value : spec->values) {
      const std::string name(value.name);
      const auto refused = [&](double number) { return refusal_of_values(*spec, {{name, {number, false}}}); };
      EXPECT_THAT(refused(value.lowest - 0.5), ::testing::StartsWith(name + " is ")) << spec->name;
      EXPECT_EQ(refused(value.lowest).empty(), !value.above_lowest) << spec->name << " " << name;
      EXPECT_NE(refused(value.end), "") << spec->name << " " << name;
      EXPECT_NE(refused(std::nan("")), "") << spec->name << " " << name;
    }
    EXPECT_THAT(refusal_of_values(*spec, {{"learningrate", {1}}}),
                ::testing::StartsWith(std::string(spec->name) + " has no value 'learningrate'"));
  }
}

TEST(OptimizerTable, AnUnknownNameIsRefused) {
  try {
    make_optimizer("Adan");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "there is no optimizer 'Adan'; nearest is 'Adam'");
  }
}

TEST(OptimizerTable, FormsAreKnownAndThoseOfOthersAreRefused) {
  for (const OptimizerSpec* spec : all_optimizers()) {
    for (std::string_view word : spec->forms) {
      const auto forms = all_forms();
      EXPECT_TRUE(std::any_of(forms.begin(), forms.end(), [&](const FormSpec& f) { return f.word == word; }))
          << spec->name << " " << word;
    }
    for (const FormSpec& form : all_forms()) {
      if (form.is_set == nullptr || spec->has_form(form.word)) continue;
      Optimizer optimizer = make_optimizer(*spec);
      form.set(optimizer);
      EXPECT_THROW(check_optimizer(optimizer, {"w"}), Error) << spec->name << " " << form.word;
    }
  }
}

TEST(OptimizerTable, ScalarsCombineValuesThatTheRowHas) {
  for (const OptimizerSpec* spec : all_optimizers()) {
    const Optimizer optimizer = make_optimizer(*spec);
    const Contributions contributions;
    EXPECT_FALSE(spec->scalars.empty()) << spec->name;
    for (const ScalarSpec* scalar : spec->scalars) {
      SCOPED_TRACE(fmt::format("{} {}", spec->name, scalar->name));
      for (std::string_view read : scalar->reads)
        EXPECT_TRUE(read.empty() || read == kLossScaling || spec->find_value(read) != nullptr) << read;
      EXPECT_TRUE(std::isfinite(scalar->value({optimizer, "w", contributions})));
    }
  }
}

// What placing counts before there is a graph is what the graph has then.
TEST(OptimizerTable, UpdatesKeepTheStatesThatTheRowSays) {
  for (const OptimizerSpec* spec : all_optimizers()) {
    for (const Optimizer& optimizer : forms_of(*spec)) {
      for (DataType precision : {DataType::Float, DataType::Float16}) {
        for (int accumulation : {1, 3}) {
          const Contributions contributions{.accumulation = accumulation};
          SCOPED_TRACE(fmt::format("{} nesterov {} separate {} scaled {} changing {} in {} accumulation {}",
                                   spec->name, optimizer.nesterov, optimizer.sgd_state == SgdState::Separate,
                                   optimizer.scaled_state, !optimizer.loss_scaling.constant,
                                   name_of(precision), accumulation));
          const Training training = trained_in(precision, optimizer, contributions);
          std::vector<std::string> found;
          for (const Variable& variable : training.variables) {
            if (variable.kind == VariableKind::Weight) continue;
            found.push_back(fmt::format("{} {} {}", training.graph[variable.value].name,
                                        static_cast<int>(variable.kind),
                                        to_string(variable.initial.type_and_dims())));
          }
          std::vector<std::string> expected;
          for (const KeptTensor& kept :
               states_of({optimizer, "w", contributions}, Type::tensor(precision, {2, 3}))) {
            expected.push_back(
                fmt::format("{}w {} {}", kept.name, static_cast<int>(kept.kind), to_string(kept.type)));
          }
          EXPECT_THAT(found, UnorderedElementsAreArray(expected));
        }
      }
    }
  }
}

// Of Adam in float16: states in float, which squares need, and an accumulator like the weight.
TEST(OptimizerStates, HaveTypesOfTheirOwn) {
  const auto bytes = [](const Optimizer& optimizer, int accumulation) {
    std::string text;
    const Contributions contributions{.accumulation = accumulation};
    for (const KeptTensor& kept :
         states_of({optimizer, "w", contributions}, Type::tensor(DataType::Float16, {8})))
      text += fmt::format("{} {}\n", kept.name, to_string(kept.type));
    return text;
  };
  EXPECT_EQ(bytes(make_optimizer("Adam"), 2),
            "Accum___ float16[8]\nAccl1___ float[8]\nAccl2___ float[8]\nStep___ float[]\n");
  EXPECT_EQ(bytes(make_optimizer("SGD"), 1), "");
  EXPECT_EQ(bytes(make_optimizer("SGD", {{"momentum", {0.9}}}), 2), "Accl___ float16[8]\n");
  Optimizer clipped = make_optimizer("SGD", {{"momentum", {0.9}}});
  clipped.clip_norms = {{1, {}}};
  EXPECT_EQ(bytes(clipped, 2), "Accum___ float16[8]\nAccl___ float16[8]\n");
}

}  // namespace
}  // namespace podium::ir
