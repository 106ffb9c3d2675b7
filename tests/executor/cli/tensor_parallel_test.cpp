// Transformers whose tensors are cut over devices, from the model to the saved weights: the numbers are those
// of one device, whatever else the strategy does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "importer/import.h"
#include "tests/support/run_program.h"

namespace podium::testing {
namespace {

using ::testing::HasSubstr;

// int64 as a .npy file, all of them 1 or below a number.
std::string integers(const std::string& shape, int count, int below) {
  std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(117, ' ');
  header += '\n';
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
  for (int i = 0; i < count; ++i) {
    const std::int64_t number = below == 1 ? 1 : (i * 7 + i / 3) % below;
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return bytes;
}

struct Transformer {
  std::string name;
  std::string cuts;  ///< of `podium annotate`, with T for the number of devices
  bool has_mask = false;
};

const Transformer kGpt2{"gpt2",
                        "--shard 'wte.weight:0=T' --shard '*c_attn.weight:1=T' --shard '*c_proj.weight:0=T' "
                        "--shard '*c_fc.weight:1=T'"};
const Transformer kBert{"bert",
                        "--shard '*query.weight:1=T' --shard '*key.weight:1=T' --shard '*value.weight:1=T' "
                        "--shard '*attention/output.weight:0=T' --shard '*intermediate.weight:1=T' "
                        "--shard 'layer?/output.weight:0=T' --shard 'embeddings/word.weight:0=T'",
                        true};

/// A folder with a small model, the same cut over devices, and samples.
class Cut {
 public:
  Cut(Transformer transformer, int devices) : transformer_(std::move(transformer)), devices_(devices) {
    run("podium-models " + transformer_.name +
        " layers=2 hidden=32 heads=4 vocabulary=50 sequence=8 batch=2 loss=cross-entropy -o " + plain());
    std::string cuts = transformer_.cuts;
    for (auto at = cuts.find("=T"); at != std::string::npos; at = cuts.find("=T", at))
      cuts.replace(at + 1, 1, std::to_string(devices));
    run("podium annotate " + plain() + " " + cuts + " --configuration tp --output " + cut());
    data_ = " --input input_ids=" + folder_.write("ids.npy", integers("24, 8", 192, 50));
    if (transformer_.has_mask) {
      data_ += " --input attention_mask=" + folder_.write("mask.npy", integers("24, 8", 192, 1));
      data_ += " --input token_type_ids=" + folder_.write("types.npy", integers("24, 8", 192, 2));
      data_ += " --input label=" + folder_.write("label.npy", integers("24,", 24, 2));
    } else {
      data_ += " --input label=" + folder_.write("label.npy", integers("24, 8", 192, 50));
    }
  }

  std::string plain() const { return folder_.file("plain.onnx"); }
  std::string cut() const { return folder_.file("cut.onnx"); }
  int devices() const { return devices_; }

  /// Trains both, the cut one with more flags and on so many groups of devices, and gives the largest
  /// difference of a weight, relative to its largest number.
  double train(const std::string& flags, int replicas = 1, const std::string& own = "", int groups = 1) {
    const std::string asked = " --loss-tensor loss --steps 3 --device ipu-pod16 " + data_ + " " + flags +
                              " --replicas " + std::to_string(replicas);
    run("podium train " + plain() + asked + " --ipus " + std::to_string(replicas) + " --save " +
        saved("plain"));
    notes_ = run("podium train " + cut() + asked + " --configuration tp --ipus " +
                 std::to_string(replicas * devices_ * groups) + " " + own + " --save " + saved("cut"));
    return difference();
  }
  /// Trains the plain model on one device and under other flags.
  double train_plain(const std::string& flags, const std::string& own) {
    const std::string asked = " --loss-tensor loss --steps 3 --device ipu-pod16 " + data_ + " " + flags;
    run("podium train " + plain() + asked + " --ipus 1 --save " + saved("plain"));
    notes_ = run("podium train " + plain() + asked + " " + own + " --save " + saved("cut"));
    return difference();
  }
  const std::string& notes() const { return notes_; }

 private:
  static std::string run(const std::string& command) {
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.status, 0) << command << "\n" << result.err;
    return result.err;
  }
  std::string saved(const std::string& name) const { return folder_.file(name + "-trained.onnx"); }

  double difference() const {
    const importer::Model plain = importer::import_model(saved("plain"));
    const importer::Model cut = importer::import_model(saved("cut"));
    std::map<std::string, ir::Tensor> others;
    for (const ir::Value& value : cut.graph.values) {
      if (value.constant) others.emplace(value.name, *value.constant);
    }
    double worst = 0;
    int compared = 0;
    for (const ir::Value& value : plain.graph.values) {
      if (!value.constant || value.constant->type() != ir::DataType::Float) continue;
      // The scores of a query are all shifted alike by this bias: its gradient is nothing but rounding.
      if (value.name.ends_with("key.bias")) continue;
      const auto own = value.constant->values<float>();
      const auto other = others.at(value.name).values<float>();
      EXPECT_EQ(own.size(), other.size()) << value.name;
      float largest = 1e-9F;
      float apart = 0;
      for (std::size_t i = 0; i < own.size(); ++i) {
        largest = std::max(largest, std::abs(own[i]));
        apart = std::max(apart, std::abs(own[i] - other[i]));
      }
      worst = std::max(worst, static_cast<double>(apart / largest));
      ++compared;
    }
    EXPECT_GT(compared, 10);
    return worst;
  }

  TemporaryFolder folder_;
  Transformer transformer_;
  int devices_;
  std::string data_;
  std::string notes_;
};

class CutTransformers : public ::testing::TestWithParam<int> {};

TEST_P(CutTransformers, TrainAsOnOneDevice) {
  for (const Transformer& transformer : {kGpt2, kBert}) {
    Cut cut(transformer, GetParam());
    for (const char* flags : {"--optimizer sgd,lr=0.1,momentum=0.9", "--optimizer sgd,lr=0.1 --clip-norm 0.1",
                              "--optimizer sgd,lr=0.1 --accumulate 3 --micro-batch 2",
                              "--optimizer sgd,lr=0.1 --off-chip weights,optimizer --recompute standard"}) {
      EXPECT_LT(cut.train(flags), 1e-5) << transformer.name << " over " << GetParam() << ": " << flags;
    }
    EXPECT_LT(
        cut.train("--optimizer sgd,lr=0.1,momentum=0.9 --shard optimizer,weights --shard-threshold 8", 2),
        1e-5)
        << transformer.name << " over " << GetParam() << " in 2 replicas";
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, CutTransformers, ::testing::Values(2, 3, 4));

// Two groups of two devices, in stages and in phases, in one replica or two: up to eight processors.
TEST(CutTransformer, TrainsInGroupsAsOnOneDevice) {
  for (const Transformer& transformer : {kGpt2, kBert}) {
    Cut cut(transformer, 2);
    const std::string asked = "--optimizer sgd,lr=0.1 --accumulate 4 --micro-batch 2";
    EXPECT_LT(cut.train(asked, 1, "--pipeline", 2), 1e-5);
    EXPECT_LT(cut.train(asked, 1, "--phases 2 --virtual-graph-mode execution-phases", 2), 1e-5);
    EXPECT_LT(cut.train("--optimizer sgd,lr=0.1 --accumulate 2 --micro-batch 2", 2,
                        "--pipeline --pipeline-schedule 1f1b --recompute pipeline --shard optimizer", 2),
              1e-5);
  }
}

// Nobody has to write annotations for that.
TEST(CutTransformer, IsAskedForByAFlagAlone) {
  for (const Transformer& transformer : {kGpt2, kBert}) {
    Cut cut(transformer, 2);
    EXPECT_LT(cut.train_plain("--optimizer sgd,lr=0.1,momentum=0.9", "--tensor-parallel 4"), 1e-5);
    EXPECT_THAT(cut.notes(), HasSubstr("2 attention blocks, "));
    EXPECT_LT(cut.train_plain("--optimizer sgd,lr=0.1", "--tensor-parallel 3"),
              1e-5);  // two heads, one and one
    const std::string accumulated = "--optimizer sgd,lr=0.1 --accumulate 4 --micro-batch 2";
    EXPECT_LT(cut.train_plain(accumulated, "--tensor-parallel 2 --pipeline --ipus 4"), 1e-5);
    EXPECT_LT(cut.train_plain(accumulated, "--tensor-parallel 2 --scatter-sends --pipeline --ipus 4"), 1e-5);
    EXPECT_LT(cut.train_plain(accumulated, "--tensor-parallel 2 --sequence-parallel --pipeline --ipus 4"),
              1e-5);
  }
}

// What layers that run again have exchanged is kept, or exchanged again as in Megatron's recomputation: the
// same numbers, and half as many all-reduces more than the backward pass has.
TEST(CutTransformer, ExchangesAgainWhatRunsAgain) {
  for (const Transformer& transformer : {kGpt2, kBert}) {
    Cut cut(transformer, 2);
    const std::string plain = "--optimizer sgd,lr=0.1,momentum=0.9 --accumulate 4 --micro-batch 2";
    for (const char* own : {"--tensor-parallel 2 --recompute all", "--tensor-parallel 2 --recompute standard",
                            "--tensor-parallel 2 --sequence-parallel --recompute all",
                            "--tensor-parallel 2 --recompute all --pipeline --ipus 4",
                            "--tensor-parallel 2 --scatter-sends --recompute pipeline --pipeline --ipus 4"}) {
      EXPECT_LT(cut.train_plain(plain, std::string(own) + " --recompute-exchanges"), 1e-5)
          << transformer.name << " " << own;
    }
  }
}

const Transformer kLlama{"llama form=primitive kv_heads=2", ""};
const Transformer kLlamaInOps{"llama kv_heads=2", ""};

// The way back through a weight that is turned goes by the weight, however many tokens flow: else scores
// would go from device to device.
TEST(CutTransformer, MovesNoScoresWhereTokensAreCutBetweenBlocks) {
  const TemporaryFolder folder;
  for (const char* form : {"ops", "primitive"}) {
    const std::string model = folder.file("llama.onnx");
    const std::string made = std::string("podium-models llama layers=2 hidden=32 heads=4 kv_heads=2 form=") +
                             form + " vocabulary=50 sequence=64 batch=2 loss=cross-entropy -o " + model;
    ASSERT_EQ(run_program(made).status, 0);
    const ProgramResult trained =
        run_program("podium train " + model +
                    " --loss-tensor loss --optimizer sgd,lr=0.1 --tensor-parallel 2 --sequence-parallel "
                    "--device h100 --estimate");
    EXPECT_EQ(trained.status, 0) << trained.err;
    EXPECT_THAT(trained.err, HasSubstr("reduce-scatter"));
    EXPECT_THAT(trained.err, Not(HasSubstr("all-to-all")));
  }
}

struct Groups {
  const char* flags;
  int devices;
};

class CutTokens : public ::testing::TestWithParam<Groups> {};

// What rounding alone comes to with products in the order of AVX2, 1.08e-5 at most: of sums over three
// micro-batches more than over one.
constexpr double kRounding = 2e-5;

// Each group of devices has its own tokens, eight shared out, and gathers keys and values.
TEST_P(CutTokens, TrainAsOnOneDevice) {
  for (Transformer transformer : {kGpt2, kBert, kLlama, kLlamaInOps}) {
    transformer.cuts = GetParam().flags;
    Cut cut(transformer, GetParam().devices);
    for (const char* flags :
         {"--optimizer sgd,lr=0.1,momentum=0.9", "--optimizer sgd,lr=0.1 --accumulate 3 --micro-batch 2"})
      EXPECT_LT(cut.train(flags), kRounding) << transformer.name << ": " << flags;
    EXPECT_LT(cut.train_plain("--optimizer sgd,lr=0.1", GetParam().flags), kRounding) << transformer.name;
  }
}

TEST(CutTransformer, WithTokensSharedOutIsAStageOfPipelines) {
  for (const Transformer& transformer : {kGpt2, kBert}) {
    Cut cut(transformer, 2);
    EXPECT_LT(cut.train_plain("--optimizer sgd,lr=0.1 --accumulate 4 --micro-batch 2",
                              "--context-parallel 2 --pipeline --ipus 4"),
              1e-5);
  }
}

TEST(CutTransformer, WithTokensSharedOutIsCompared) {
  const Cut cut(kGpt2, 2);
  const ProgramResult result =
      run_program("podium compare " + cut.plain() + " --ipus 8 --tensor-parallel 2 --context-parallel 2");
  EXPECT_EQ(result.status, 0) << result.err;
  for (const char* name : {"tensors cut over 2, tokens shared out among 2, 2 replicas",
                           "tensors cut over 2, tokens shared out among 2, pipelined over 2"})
    EXPECT_THAT(result.out, HasSubstr(name));
  EXPECT_THAT(result.out, HasSubstr("every strategy gave the numbers of one processor"));
}

INSTANTIATE_TEST_SUITE_P(Groups, CutTokens,
                         ::testing::Values(Groups{"--context-parallel 2", 2},
                                           Groups{"--context-parallel 3", 3},
                                           Groups{"--context-parallel 4", 4},
                                           Groups{"--tensor-parallel 2 --context-parallel 2", 4},
                                           Groups{"--tensor-parallel 2 --sequence-parallel "
                                                  "--context-parallel 2",
                                                  4}));

// Two layers gather keys and values of [2, 8, 32] floats: each of 4 devices gets the 3/4 that it has not.
// Heads of keys that several queries share are gathered before they are copied.
TEST(CutTransformer, MovesKeysAndValuesAlone) {
  const auto moved = [](Transformer transformer) {
    transformer.cuts = "--context-parallel 4";
    const Cut cut(transformer, 4);
    const ProgramResult result =
        run_program("podium run " + cut.cut() + " --configuration tp --device ipu-pod16");
    EXPECT_EQ(result.status, 0) << result.err;
    return result.err;
  };
  EXPECT_THAT(moved(kGpt2), HasSubstr("4 all-gather, 24576 bytes in all"));
  EXPECT_THAT(moved(kGpt2), HasSubstr("1 reduce, 12 bytes in all; the largest: the output needs 'loss'"));
  EXPECT_THAT(moved(kLlama), HasSubstr("4 all-gather, 12288 bytes in all"));
  EXPECT_THAT(moved(kLlamaInOps), HasSubstr("4 all-gather, 12288 bytes in all"));
}

class Trained {
 public:
  explicit Trained(const std::string& model) {
    run_program("podium-models " + model + " weights=none loss=cross-entropy -o " + file_);
  }

  /// What moves in a training step, as the notes of an estimate say.
  std::string moved(const std::string& how) const {
    const ProgramResult result = run_program("podium train " + file_ + " --optimizer sgd,lr=0.1 " + how +
                                             " --device ipu-pod16 --estimate");
    EXPECT_EQ(result.status, 0) << result.err;
    return result.err;
  }

 private:
  TemporaryFolder folder_;
  std::string file_ = folder_.file("model.onnx");
};

Trained small_llama(const std::string& form) {
  return Trained("llama layers=2 hidden=256 heads=8 kv_heads=4 inner=512 vocabulary=2000 sequence=64 form=" +
                 form);
}

// Between the blocks tokens are cut: into each of two blocks a layer all tokens are gathered, and out of it
// sums go to their tokens, forward and back, a tensor of [1, 64, 256] floats each time. Beside the layers are
// the words' table and scores: two of each.
TEST(CutTransformer, GathersTokensAndScattersSumsTwiceALayerForwardAndBack) {
  for (const std::string form : {"ops", "primitive"}) {
    const Trained llama = small_llama(form);
    for (const int devices : {2, 4}) {
      const std::string moved =
          llama.moved("--tensor-parallel " + std::to_string(devices) + " --sequence-parallel");
      const std::string bytes = std::to_string(10 * 64 * 256 * 4 * (devices - 1));
      EXPECT_THAT(moved, HasSubstr(": 10 reduce-scatter, " + bytes + " bytes in all")) << form;
      EXPECT_THAT(moved, HasSubstr(": 10 all-gather, " + bytes + " bytes in all")) << form;
      EXPECT_THAT(moved, Not(HasSubstr("all-to-all"))) << form;
    }
  }
}

// The first stage ends between a norm and what reads it. There are as many reduce-scatters of [1, 32, 64]
// floats as without stages, each where the summands are, and what is summed up by all is the loss's alone.
TEST(CutTransformer, ScattersSumsOfAnotherStageWhereTheyAre) {
  const Trained gpt("gpt2 layers=4 hidden=64 heads=4 sequence=32 batch=1 vocabulary=96");
  const std::string how = "--tensor-parallel 2 --sequence-parallel --accumulate 8";
  const std::string in_stages = how + " --ipus 4 --virtual-graph-mode auto --pipeline";
  for (const std::string& moved : {gpt.moved(how), gpt.moved(in_stages)}) {
    EXPECT_THAT(moved, HasSubstr(": 18 reduce-scatter, " + std::to_string(18 * 32 * 64 * 4) + " bytes"));
    EXPECT_THAT(moved, HasSubstr(": 5 all-reduce, 1280 bytes in all; the largest: 'loss'"));
  }
}

// Keys and values, [1, 64, 128] floats each, are gathered once a layer, and their gradients go to their
// tokens: also those of keys, which are rotated before they are the gradient of a tensor.
TEST(CutTransformer, GathersKeysAndValuesAndScattersTheirGradients) {
  for (const int devices : {2, 4}) {
    const std::string moved = small_llama("ops").moved("--context-parallel " + std::to_string(devices));
    const std::string bytes = std::to_string(4 * 64 * 128 * 4 * (devices - 1));
    EXPECT_THAT(moved, HasSubstr(": 4 reduce-scatter, " + bytes + " bytes in all")) << devices;
    EXPECT_THAT(moved, Not(HasSubstr("all-reduce"))) << devices;
  }
}

// 4 samples of 8 tokens in 32 features, whose rows have 4 places in each of 4 experts: samples are shared
// out, and experts over the same devices. Each row goes from its sample's device to its expert's and back, k
// - 1 of k.
TEST(CutTransformer, MovesRowsToTheirExpertsAndBack) {
  const TemporaryFolder folder;
  const std::string plain = folder.file("moe.onnx");
  run_program(
      "podium-models moe routing=einsum layers=1 hidden=32 heads=4 inner=16 vocabulary=50 sequence=8 "
      "batch=4 experts=4 -o " +
      plain);
  for (const int devices : {2, 4}) {
    const std::string cut = folder.file("cut.onnx");
    const auto shard = [&](const std::string& what) {
      return " --shard '" + what + "=" + std::to_string(devices) + "'";
    };
    const ProgramResult made =
        run_program("podium annotate " + plain + shard("input_ids:0") +
                    shard("embed_tokens/Gather_output_0:0") + shard("*experts*weight:0") +
                    shard("layers.0/mlp/Reshape_1_output_0:1") + " --configuration ep --output " + cut);
    ASSERT_EQ(made.status, 0) << made.err;
    const ProgramResult result = run_program("podium run " + cut + " --configuration ep --device ipu-pod16");
    ASSERT_EQ(result.status, 0) << result.err;
    const int rows = 4 * 4 * 4 * 32 * 4 / devices * (devices - 1);
    EXPECT_THAT(result.err, HasSubstr("2 all-to-all, " + std::to_string(2 * rows) + " bytes in all"));
    EXPECT_THAT(result.err, Not(HasSubstr("reduce")));
  }
}

// The norms of LAMB are of whole weights, not of their parts.
TEST(CutTransformer, TakesNormsOfWholeWeights) {
  Cut cut(kGpt2, 2);
  EXPECT_LT(cut.train("--optimizer lamb,lr=0.01"), 1e-3);
}

// Forward two sums a layer and one of the embedding, back two a layer; those of the loss are small.
TEST(CutTransformer, MovesWhatItsSumsNeed) {
  Cut cut(kBert, 4);
  cut.train("--optimizer sgd,lr=0.1");
  // 9 sums of [2, 8, 32] floats: each of 4 devices gets 2 * 3/4 of 2,048 bytes.
  EXPECT_THAT(cut.notes(), HasSubstr("tensors cut over devices: 9 all-reduce, 110592 bytes in all"));
  EXPECT_THAT(cut.notes(), Not(HasSubstr("all-gather")));
}

TEST(CutTransformer, ReportsWhatMovesNodeByNode) {
  Cut cut(kBert, 2);
  const TemporaryFolder folder;
  const ProgramResult result = run_program("podium run " + cut.cut() +
                                           " --configuration tp --explain --report " + folder.file("r.json"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("all-reduce"));
  std::ifstream file(folder.file("r.json"));
  const nlohmann::json reshardings = nlohmann::json::parse(file).at("reshardings");
  ASSERT_EQ(reshardings.size(), 5U);  // one of the embedding, two a layer
  for (const nlohmann::json& one : reshardings) {
    EXPECT_EQ(one.at("kind"), "all-reduce");
    EXPECT_EQ(one.at("bytes"), 4096);  // both devices get all of [2, 8, 32] floats, half of it twice
  }
}

TEST(CutTransformer, ExplainsWhatDevicesOfACutExchange) {
  const Cut cut(kBert, 2);
  const TemporaryFolder folder;
  const std::string slow_links =
      folder.write("slow.json", R"({"base": "ipu-pod16", "rungBytesPerSecond": 1e8})");
  const auto explained = [&](const std::string& flags) {
    const ProgramResult result = run_program("podium run " + cut.plain() + " --tensor-parallel 2 --device " +
                                             slow_links + " --explain " + flags);
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  };
  const std::string alone = explained("--ipus 2");
  EXPECT_THAT(alone, ::testing::ContainsRegex("exchanging layer0/output/MatMul_output_0 with the devices of "
                                              "its cut"));
  EXPECT_THAT(alone, HasSubstr("collectives between devices of a cut"));
  EXPECT_THAT(alone, Not(HasSubstr("with its replicas")));
  // Both halves of an all-reduce of [2, 8, 32] floats, each way.
  EXPECT_THAT(alone, ::testing::ContainsRegex("ipu 0 +ipu 1 +layer0/output/MatMul_output_0 +1 +2.00 KiB"));
  EXPECT_THAT(alone, ::testing::ContainsRegex("ipu 1 +ipu 0 +layer0/output/MatMul_output_0 +1 +2.00 KiB"));
  // What devices exchange is counted for a replica, whether there are more of them or not.
  const auto line_of = [](const std::string& text) {
    const std::size_t at = text.find("ipu->ipu");
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_NE(line_of(alone), "");
  EXPECT_THAT(line_of(explained("--ipus 4 --replicas 2")), HasSubstr(line_of(alone)));
}

TEST(CutTransformer, IsCompared) {
  Cut cut(kBert, 2);
  const ProgramResult result = run_program("podium compare " + cut.cut() + " --ipus 4");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("tensors cut over 2 ('tp'), 2 replicas"));
  EXPECT_THAT(result.out, HasSubstr("every strategy gave the numbers of one processor"));
  const ProgramResult training = run_program(
      "podium compare " + cut.cut() + " --ipus 2 --train --loss-tensor loss --optimizer adam --estimate");
  EXPECT_EQ(training.status, 0) << training.err;
  EXPECT_THAT(training.out, HasSubstr("tensors cut over 2 ('tp')"));
}

TEST(CutTransformer, IsAmongTheStrategiesOfAModelThatSaysNothing) {
  Cut cut(kGpt2, 2);
  const ProgramResult result = run_program("podium compare " + cut.plain() + " --ipus 8");
  EXPECT_EQ(result.status, 0) << result.err;
  for (const char* name : {"tensors cut over 4, 2 replicas", "tensors cut over 4, pipelined over 2",
                           "tensors cut over 2, pipelined over 2, 2 replicas"})
    EXPECT_THAT(result.out, HasSubstr(name));
  EXPECT_THAT(result.out, HasSubstr("every strategy gave the numbers of one processor"));
}

TEST(CutTransformer, RefusesWhatDoesNotGoWithIt) {
  Cut cut(kGpt2, 2);
  const auto refused = [&](const std::string& flags) {
    const ProgramResult result = run_program("podium run " + cut.cut() + " " + flags);
    EXPECT_EQ(result.status, 1) << flags;
    return result.err;
  };
  EXPECT_THAT(refused("--configuration dp"),
              HasSubstr("no device configuration 'dp' found, one of 'tp' needed"));
  EXPECT_THAT(
      refused("--configuration tp --ipus 1"),
      HasSubstr("1 processor found (numIPUs), 2 needed: 2 a replica, replicatedGraphCount 1 (--ipus 2)\n"));
  EXPECT_EQ(run_program("podium run " + cut.cut() + " --configuration tp --ipus 2 --estimate").status, 0);
  EXPECT_THAT(refused("--configuration tp --virtual-graph-mode auto --ipus 3"),
              HasSubstr("numIPUs 3 found, a multiple of 2 needed: 2 devices of configuration 'tp' a group"));
  EXPECT_THAT(refused("--configuration tp --batch-serialize 2"),
              HasSubstr("deviceConfiguration 'tp' excludes batchSerializationSettings.factor"));
  EXPECT_THAT(refused("--tensor-parallel 2 --configuration tp"),
              HasSubstr("tensorParallelSettings.devices 2 excludes deviceConfiguration 'tp'"));
  EXPECT_THAT(refused("--tensor-parallel 2 --batch-serialize 2"),
              HasSubstr("tensorParallelSettings.devices 2 excludes batchSerializationSettings.factor"));
  EXPECT_THAT(refused("--tensor-parallel 2 --expert-parallel 2"), HasSubstr("no MLP of experts found"));
  EXPECT_THAT(refused("--sequence-parallel"),
              HasSubstr("tensorParallelSettings.cutsTokens needs devices of at least 2 (--tensor-parallel)"));
  EXPECT_THAT(refused("--context-parallel 2 --configuration tp"),
              HasSubstr("tensorParallelSettings.contextGroups 2 excludes deviceConfiguration 'tp'"));
  EXPECT_THAT(refused("--tensor-parallel 65536 --context-parallel 65536"),
              HasSubstr("65536 devices for each of 65536 contextGroups found, at most 65536 in all needed"));
}

}  // namespace
}  // namespace podium::testing
