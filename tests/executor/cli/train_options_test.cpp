#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/cli/loss_text.h"
#include "executor/cli/optimizer_text.h"
#include "executor/cli/rate_schedule.h"
#include "executor/cli/usage_error.h"
#include "ir/optimizer_spec.h"
#include "tests/support/refusal.h"

namespace podium::cli {
namespace {

using ::testing::HasSubstr;

double value(const ir::Optimizer& optimizer, const std::string& name) {
  return optimizer.defaults.at(name).value;
}

template <class Read>
std::string refusal(Read read, const std::string& text) {
  return testing::refusal<UsageError>([&] { read(text); });
}

TEST(OptimizerText, ReadsANameAndValues) {
  const ir::Optimizer optimizer = read_optimizer("adamw,lr=1e-3,weight-decay=0.01");
  EXPECT_EQ(name_of(optimizer), "Adam");
  EXPECT_EQ(optimizer.decay_mode, ir::WeightDecayMode::Decay);
  EXPECT_EQ(value(optimizer, "learningRate"), 1e-3);
  EXPECT_EQ(value(optimizer, "weightDecay"), 0.01);
  EXPECT_EQ(value(optimizer, "beta1"), 0.9);
  EXPECT_EQ(read_optimizer("adam").decay_mode, ir::WeightDecayMode::L2Regularization);
}

TEST(OptimizerText, ReadsWords) {
  const ir::Optimizer sgd = read_optimizer("sgd,momentum=0.9,nesterov,separate");
  EXPECT_TRUE(sgd.nesterov);
  EXPECT_EQ(sgd.sgd_state, ir::SgdState::Separate);
  EXPECT_EQ(name_of(read_optimizer("rmsprop,centered")), "CenteredRMSProp");
  EXPECT_EQ(name_of(read_optimizer("lamb,no-bias")), "LambNoBias");
  EXPECT_EQ(read_optimizer("sgd").state_type, std::nullopt);
  EXPECT_EQ(read_optimizer("sgd,float32-state").state_type, ir::DataType::Float);
  EXPECT_EQ(read_optimizer("adam,float16-state").accumulator_type, ir::DataType::Float16);
  EXPECT_TRUE(read_optimizer("lamb,scaled-state").scaled_state);
  EXPECT_EQ(read_optimizer("rmsprop,decay").decay_mode, ir::WeightDecayMode::Decay);
  EXPECT_EQ(read_optimizer("lamb,l2").decay_mode, ir::WeightDecayMode::L2Regularization);
}

TEST(OptimizerText, EveryNameValueAndWordOfTheTableCanBeTypedAndIsInTheHelp) {
  const std::string help = optimizer_help();
  for (const ir::OptimizerSpec* spec : ir::all_optimizers()) {
    for (const ir::TypedName& typed : spec->typed) {
      const std::string name(typed.name);
      const ir::Optimizer optimizer = read_optimizer(name);
      EXPECT_EQ(optimizer.spec, spec);
      EXPECT_EQ(optimizer.decay_mode, typed.decay);
      EXPECT_THAT(help, HasSubstr(name));
      for (const ir::ValueSpec& known : spec->values) {
        EXPECT_EQ(value(optimizer, std::string(known.name)), known.fallback);
        EXPECT_THAT(help.substr(help.find(name)),
                    HasSubstr(fmt::format("{}={}", known.typed, known.fallback)));
        const ir::Optimizer given = read_optimizer(fmt::format("{},{}=0.25", name, known.typed));
        EXPECT_EQ(value(given, std::string(known.name)), 0.25) << name << " " << known.typed;
        EXPECT_THAT(help, HasSubstr(std::string(known.typed)));
      }
      for (const ir::FormSpec& form : ir::all_forms()) {
        const std::string text = fmt::format("{},{}", name, form.word);
        EXPECT_EQ(refusal(read_optimizer, text).empty(), spec->has_form(form.word)) << text;
        EXPECT_THAT(help, HasSubstr(std::string(form.word)));
      }
    }
  }
}

TEST(OptimizerText, NamesTheNearest) {
  EXPECT_THAT(refusal(read_optimizer, "adamm"), HasSubstr("the nearest is 'adam"));
  EXPECT_THAT(refusal(read_optimizer, "sgd,momentun=1"),
              HasSubstr("sgd has no value 'momentun', the nearest is 'momentum'"));
  EXPECT_THAT(refusal(read_optimizer, "sgd,nestrov"), HasSubstr("the nearest is 'nesterov'"));
  EXPECT_THAT(refusal(read_optimizer, "adam,nesterov"), HasSubstr("adam has no form 'nesterov'"));
  EXPECT_THAT(refusal(read_optimizer, "sgd,lr=1,lr=2"), HasSubstr("--optimizer lr: given twice"));
  EXPECT_THAT(refusal(read_optimizer, "sgd,nesterov,nesterov"), HasSubstr("nesterov: given twice"));
  EXPECT_THAT(refusal(read_optimizer, "sgd,lr=fast"), HasSubstr("'fast' found"));
  EXPECT_THAT(refusal(read_optimizer, "sgd,scaled-state"), HasSubstr("sgd has no form 'scaled-state'"));
  EXPECT_THAT(refusal(read_optimizer, "sgd,decay"), HasSubstr("sgd has no form 'decay'"));
}

TEST(LossText, ReadsANameAndValues) {
  const LossText plain = read_loss("cross-entropy");
  EXPECT_EQ(plain.kind, ir::LossKind::CrossEntropy);
  EXPECT_EQ(plain.options.reduction, ir::LossReduction::Mean);
  EXPECT_FALSE(plain.has_axis);
  const LossText loss = read_loss("nll,ignore-index=-100,axis=1,reduction=sum");
  EXPECT_EQ(loss.kind, ir::LossKind::NegativeLogLikelihood);
  EXPECT_EQ(loss.options.ignored_label, -100);
  EXPECT_EQ(loss.options.class_axis, 1);
  EXPECT_TRUE(loss.has_axis);
  EXPECT_EQ(loss.options.reduction, ir::LossReduction::Sum);
  EXPECT_EQ(read_loss("l1,lambda=0.1").options.lambda, 0.1);
  EXPECT_EQ(read_loss("log-nll,ignore-index=3").kind, ir::LossKind::LogNegativeLogLikelihood);
}

TEST(LossText, NamesTheNearest) {
  EXPECT_THAT(refusal(read_loss, "cross-entrop"), HasSubstr("the nearest is 'cross-entropy'"));
  EXPECT_THAT(refusal(read_loss, "nll,ignore=1"), HasSubstr("the nearest is 'ignore-index'"));
  EXPECT_THAT(refusal(read_loss, "mse,ignore-index=1"), HasSubstr("mse has no 'ignore-index'"));
  EXPECT_THAT(refusal(read_loss, "mse,lambda=1"), HasSubstr("mse has no 'lambda'"));
  EXPECT_THAT(refusal(read_loss, "nll,axis=last"),
              HasSubstr("--loss axis: 'last' found, a whole number needed"));
  EXPECT_THAT(refusal(read_loss, "l1,lambda=x"), HasSubstr("--loss lambda: 'x' found, a number needed"));
  EXPECT_THAT(refusal(read_loss, "nll,reduction=none"), HasSubstr("'none' found, one of mean, sum needed"));
  EXPECT_THAT(refusal(read_loss, "nll,axis=1,axis=2"), HasSubstr("--loss axis: given twice"));
  EXPECT_THAT(refusal(read_loss, "nll,axis"), HasSubstr("'axis' found, KEY=VALUE needed"));
}

TEST(RateSchedule, HoldsARateUntilTheNext) {
  const RateSchedule schedule(R"([{"step": 2, "learning-rate": 0.5}, {"step": 5, "learning-rate": 0.1}])",
                              "s.json");
  EXPECT_EQ(schedule.at(1), std::nullopt);
  EXPECT_EQ(schedule.at(2), 0.5);
  EXPECT_EQ(schedule.at(4), 0.5);
  EXPECT_EQ(schedule.at(100), 0.1);
}

TEST(RateSchedule, RefusesWhatIsNone) {
  for (const char* text : {"", "{}", "[]", R"([{"step": 1}])", R"([{"step": -1, "learning-rate": 1}])",
                           R"([{"step": 1, "learning-rate": -1}])",
                           R"([{"step": 1, "learning-rate": 1}, {"step": 1, "learning-rate": 2}])"}) {
    EXPECT_THROW(RateSchedule(text, "s.json"), Error) << text;
  }
}

}  // namespace
}  // namespace podium::cli
