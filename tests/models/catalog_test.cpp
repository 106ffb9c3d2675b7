#include "models/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "executor/session/session.h"
#include "importer/export_graph.h"
#include "importer/tensor_file.h"
#include "tests/support/run_program.h"

namespace podium::models {
namespace {

using testing::TemporaryFolder;

// Sizes at which every model is built in a moment.
const std::map<std::string, Parameters> kSmall{
    {"mnist-mlp", {}},
    {"mnist-cnn", {}},
    {"phased-matmul", {{"size", "8"}, {"rows", "3"}, {"batch", "2"}}},
    {"resnet18", {{"image", "32"}}},
    {"resnet50", {{"image", "32"}}},
    {"resnext101", {{"image", "32"}}},
    {"mobilenet-v2", {{"image", "32"}}},
    {"efficientnet", {{"image", "32"}}},
    {"vit", {{"layers", "1"}, {"hidden", "16"}, {"heads", "2"}, {"patch", "8"}, {"image", "16"}}},
    {"unet", {{"image", "16"}, {"depth", "2"}, {"channels", "4"}}},
    {"bert", {{"layers", "1"}, {"hidden", "16"}, {"heads", "2"}, {"sequence", "4"}, {"vocabulary", "10"}}},
    {"gpt2", {{"layers", "1"}, {"hidden", "16"}, {"heads", "2"}, {"sequence", "4"}, {"vocabulary", "10"}}},
    {"llama",
     {{"layers", "1"},
      {"hidden", "16"},
      {"heads", "4"},
      {"kv_heads", "2"},
      {"inner", "24"},
      {"sequence", "4"},
      {"vocabulary", "10"}}},
    {"moe",
     {{"layers", "1"},
      {"hidden", "16"},
      {"heads", "4"},
      {"kv_heads", "2"},
      {"inner", "8"},
      {"sequence", "4"},
      {"vocabulary", "10"},
      {"experts", "4"}}},
    {"lstm", {{"hidden", "4"}, {"features", "3"}, {"sequence", "5"}}},
    {"early-exit", {}},
    {"decoder-loop", {}},
    {"product", {{"rows", "3"}, {"inner", "8"}, {"columns", "5"}}},
    {"convolution", {{"channels", "3"}, {"filters", "5"}, {"image", "8"}}},
    {"triad", {{"size", "8"}}},
    {"weight", {{"size", "8"}}},
    {"rowwise", {{"rows", "3"}, {"columns", "8"}}},
    {"attention", {{"heads", "2"}, {"sequence", "4"}, {"head", "8"}}},
};

// They have no classes to tell apart.
const std::set<std::string_view> kWithoutClasses{"phased-matmul", "product", "convolution", "triad",
                                                 "weight",        "rowwise", "attention"};

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

ir::Datum zeros(const ir::Type& type) {
  ir::Tensor tensor(type.element, type.dims);
  std::fill_n(static_cast<char*>(tensor.raw()), tensor.bytes(), 0);
  return tensor;
}

std::vector<ir::Type> run(const BuiltModel& built) {
  const TemporaryFolder folder;
  importer::export_graph(built.graph, folder.file("model.onnx"),
                         {.opset = built.opset, .symbolic = built.symbolic});
  InferenceSession session(importer::import_model(folder.file("model.onnx")));
  std::vector<ir::Datum> inputs;
  for (const auto& input : session.inputs()) inputs.push_back(zeros(input.type));
  std::vector<ir::Type> types;
  for (const ir::Datum& output : session.run(inputs)) types.push_back(type_of(output));
  return types;
}

TEST(Catalog, BuildsExportsAndRunsEveryModelInEveryForm) {
  for (const ModelSpec& spec : catalog()) {
    for (const char* form : {"ops", "primitive"}) {
      Parameters parameters = kSmall.at(std::string(spec.name));
      parameters["form"] = form;
      EXPECT_FALSE(run(build(spec.name, parameters)).empty()) << spec.name << " " << form;
    }
  }
}

TEST(Catalog, EndsInAScalarWhenALossIsAskedFor) {
  for (const ModelSpec& spec : catalog()) {
    if (kWithoutClasses.contains(spec.name)) continue;
    Parameters parameters = kSmall.at(std::string(spec.name));
    parameters["loss"] = "cross-entropy";
    EXPECT_THAT(run(build(spec.name, parameters)),
                ::testing::ElementsAre(ir::Type::tensor(ir::DataType::Float, {})))
        << spec.name;
  }
}

TEST(Catalog, RunsBertWithDynamicShapesAtEverySizeItIsFed) {
  const TemporaryFolder folder;
  Parameters parameters = kSmall.at("bert");
  parameters["shapes"] = "dynamic";
  const BuiltModel built = build("bert", parameters);
  importer::export_graph(built.graph, folder.file("bert.onnx"),
                         {.opset = built.opset, .symbolic = built.symbolic});
  for (const ir::Dims& dims : {ir::Dims{1, 4}, ir::Dims{3, 2}}) {
    InferenceSession session(importer::import_model(folder.file("bert.onnx"),
                                                    {.dims = {{"batch", dims[0]}, {"sequence", dims[1]}}}));
    std::vector<ir::Datum> inputs(3, zeros(ir::Type::tensor(ir::DataType::Int64, dims)));
    EXPECT_EQ(session.run(inputs)[0].tensor.dims(), (ir::Dims{dims[0], dims[1], 16}));
  }
}

TEST(Catalog, BertsHeadOfWordsIsTheTableOfItsEmbeddings) {
  Parameters parameters = kSmall.at("bert");
  parameters["head"] = "words";
  const BuiltModel built = build("bert", parameters);
  std::set<std::string> readers;
  for (const ir::Op& op : built.graph.ops) {
    for (const ir::ValueId id : inputs_of(op)) {
      if (built.graph[id].name == "embeddings/word.weight") readers.insert(op.name);
    }
  }
  EXPECT_THAT(readers, ::testing::ElementsAre("embeddings/word/Gather", "predictions/Transpose"));
  EXPECT_EQ(run(built), (std::vector{ir::Type::tensor(ir::DataType::Float, {1, 4, 10})}));
  EXPECT_THROW(build("bert", {{"head", "word"}}), Error);
}

TEST(Catalog, BertsPretrainingPredictsMaskedWordsAndWhichSentenceFollows) {
  Parameters parameters = kSmall.at("bert");
  parameters["head"] = "pretraining";
  parameters["masked"] = "2";
  const auto floats = [](ir::Dims dims) { return ir::Type::tensor(ir::DataType::Float, std::move(dims)); };
  EXPECT_EQ(run(build("bert", parameters)), (std::vector{floats({1, 2, 10}), floats({1, 2})}));
  parameters["loss"] = "cross-entropy";
  const BuiltModel built = build("bert", parameters);
  std::vector<std::string> inputs;
  for (const ir::ValueId id : built.graph.inputs) inputs.push_back(built.graph[id].name);
  EXPECT_THAT(inputs, ::testing::ElementsAre("input_ids", "attention_mask", "token_type_ids",
                                             "masked_lm_positions", "labels", "next_sentence_label"));
  EXPECT_EQ(run(built), std::vector{floats({})});
  parameters["masked"] = "5";
  EXPECT_THROW(build("bert", parameters), Error);
  EXPECT_THROW(build("bert", {{"masked", "2"}}), Error);  // of the vector of the whole
}

// Elements of all weights, where numbers are left out.
std::int64_t weights_of(const std::string& name, Parameters parameters) {
  parameters["weights"] = "none";
  std::int64_t count = 0;
  const BuiltModel built = build(name, parameters);
  for (const ir::Value& value : built.graph.values) {
    if (value.data_left_out) count += ir::element_count(value.type.dims);
  }
  return count;
}

TEST(Catalog, HasModelsOfThePublishedSizes) {
  EXPECT_EQ(weights_of("vit", {}), 86567656);
  // A bias of each convolution in place of a scale and a bias of its normalisation.
  EXPECT_EQ(weights_of("efficientnet", {}), 5288548 - 21008);
  EXPECT_EQ(weights_of("efficientnet", {{"variant", "4"}}), 19341616 - 62600);
  EXPECT_EQ(weights_of("resnext101", {}), 44177704 - 68928);
}

TEST(Catalog, TheHeadOfGpt2IsItsTableOrAWeightOfItsOwn) {
  const Parameters small = kSmall.at("gpt2");
  Parameters untied = small;
  untied["head"] = "untied";
  EXPECT_EQ(weights_of("gpt2", untied), weights_of("gpt2", small) + 16 * 10);
  EXPECT_THROW(build("gpt2", {{"head", "none"}}), Error);
}

// In groups as large as divide a block's channels, and normalised by groups.
TEST(Catalog, EfficientNetTakesGroupsOfChannels) {
  Parameters parameters = kSmall.at("efficientnet");
  parameters.insert({{"group_dim", "16"}, {"expand", "4"}, {"norm", "group"}, {"groups", "4"}});
  const BuiltModel built = build("efficientnet", parameters);
  for (const ir::Op& op : built.graph.ops) {
    if (!op.name.ends_with("depthwise/Conv")) continue;
    EXPECT_EQ(built.graph[op.inputs[1]].type.dims[1], 16) << op.name;
  }
  EXPECT_FALSE(run(built).empty());
  parameters["groups"] = "5";
  EXPECT_THROW(build("efficientnet", parameters), Error);
}

bool takes_shapes(const ModelSpec& spec) {
  return std::any_of(spec.parameters.begin(), spec.parameters.end(),
                     [](const ParameterSpec& parameter) { return parameter.name == "shapes"; });
}

TEST(Catalog, ModelsWithDynamicShapesGiveWhatTheStaticOnesGive) {
  const TemporaryFolder folder;
  std::vector<std::string_view> tried;
  for (const ModelSpec& spec : catalog()) {
    if (!takes_shapes(spec)) continue;
    tried.push_back(spec.name);
    Parameters parameters = kSmall.at(std::string(spec.name));
    std::vector<ir::Datum> inputs;
    std::vector<ir::Tensor> results;
    for (const char* shapes : {"static", "dynamic"}) {
      parameters["shapes"] = shapes;
      const BuiltModel built = build(spec.name, parameters);
      EXPECT_EQ(built.symbolic.empty(), shapes == std::string_view("static")) << spec.name;
      importer::export_graph(built.graph, folder.file("m.onnx"),
                             {.opset = built.opset, .symbolic = built.symbolic});
      InferenceSession session(importer::import_model(folder.file("m.onnx")));
      if (inputs.empty()) {
        for (const auto& input : session.inputs()) inputs.push_back(zeros(input.type));
      }
      results.push_back(session.run(inputs)[0].tensor.clone());
    }
    ASSERT_EQ(results[0].dims(), results[1].dims()) << spec.name;
    for (std::int64_t i = 0; i < results[0].size(); ++i) {
      EXPECT_NEAR(results[0].data<float>()[i], results[1].data<float>()[i], 1e-5) << spec.name;
    }
  }
  EXPECT_GE(tried.size(), 10U);
  EXPECT_THROW(build("lstm", {{"shapes", "open"}}), Error);
}

TEST(Catalog, GivesTheSameBytesForTheSameSeedAndOthersForAnother) {
  const TemporaryFolder folder;
  const auto write = [&](const char* seed, const std::string& name) {
    importer::export_graph(build("mnist-cnn", {{"seed", seed}}).graph, folder.file(name));
    return read(folder.file(name));
  };
  const std::string first = write("1", "a.onnx");
  EXPECT_EQ(first, write("1", "b.onnx"));
  EXPECT_NE(first, write("2", "c.onnx"));
}

// The outputs of a model for inputs of one value.
std::vector<ir::Tensor> outputs(const BuiltModel& built, float value) {
  const TemporaryFolder folder;
  importer::export_graph(built.graph, folder.file("model.onnx"), {.opset = built.opset});
  InferenceSession session(importer::import_model(folder.file("model.onnx")));
  ir::Tensor input(session.inputs()[0].type.element, session.inputs()[0].type.dims);
  for (float& element : input.values<float>()) element = value;
  std::vector<ir::Tensor> results;
  const std::vector<ir::Datum> given{input};
  for (const ir::Datum& output : session.run(given)) results.push_back(output.tensor.clone());
  return results;
}

std::vector<float> logits_of_early_exit(const char* confidence, const char* batch = "1") {
  const ir::Tensor logits =
      outputs(build("early-exit", {{"confidence", confidence}, {"batch", batch}}), 0.5F)[0];
  return {logits.data<float>(), logits.data<float>() + logits.size()};
}

TEST(Catalog, EarlyExitRunsItsDeeperPartOnlyForWhatItIsNotSureOf) {
  // One of ten classes always has at least a tenth of the probability, and untrained weights give no class
  // almost all of it.
  const std::vector<float> early = logits_of_early_exit("10");
  const std::vector<float> deep = logits_of_early_exit("99");
  EXPECT_NE(early, deep);
  EXPECT_EQ(early, logits_of_early_exit("5"));
  EXPECT_EQ(deep, logits_of_early_exit("98"));
  EXPECT_EQ(logits_of_early_exit("99", "2").size(), 20U);
}

TEST(Catalog, DecoderLoopGivesTheScoresOfEveryStepAndReadsItsOwnWords) {
  const ir::Tensor eight = outputs(build("decoder-loop", {}), 0.5F)[0];
  EXPECT_EQ(eight.dims(), (ir::Dims{8, 1, 100}));
  const ir::Tensor three = outputs(build("decoder-loop", {{"steps", "3"}}), 0.5F)[0];
  EXPECT_EQ(three.dims(), (ir::Dims{3, 1, 100}));
  const auto row = [](const ir::Tensor& scores, std::int64_t step) {
    return std::vector<float>(scores.data<float>() + 100 * step, scores.data<float>() + 100 * (step + 1));
  };
  for (std::int64_t step = 0; step < 3; ++step) EXPECT_EQ(row(three, step), row(eight, step));
  EXPECT_NE(row(eight, 0), row(eight, 1));
}

// The scores that a small decoder gives for words of its vocabulary.
std::vector<float> scores_of(const char* model, const Parameters& more) {
  Parameters parameters = kSmall.at(model);
  for (const auto& [name, value] : more) parameters[name] = value;
  const BuiltModel built = build(model, parameters);
  const TemporaryFolder folder;
  importer::export_graph(built.graph, folder.file("model.onnx"), {.opset = built.opset});
  InferenceSession session(importer::import_model(folder.file("model.onnx")));
  ir::Tensor ids(ir::DataType::Int64, session.inputs()[0].type.dims);
  for (std::int64_t i = 0; i < ids.size(); ++i) ids.data<std::int64_t>()[i] = (7 * i + 3) % 10;
  const std::vector<ir::Datum> given{ids};
  const ir::Tensor scores = session.run(given)[0].tensor.clone();
  return {scores.data<float>(), scores.data<float>() + scores.size()};
}

void expect_same_scores(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4);
}

TEST(Catalog, TransformersDropWhereTheirAuthorsDo) {
  for (const char* model : {"bert", "gpt2"}) {
    const auto dropping = [&](const char* ratio) {
      const Parameters small{{"layers", "2"}, {"hidden", "8"}, {"heads", "2"}, {"dropout", ratio}};
      const ir::Graph graph = build(model, small).graph;
      return std::count_if(graph.ops.begin(), graph.ops.end(),
                           [](const ir::Op& op) { return op.is("Dropout"); });
    };
    EXPECT_EQ(dropping("0"), 0);
    EXPECT_EQ(dropping("0.1"), 1 + 2 * 3);  // embeddings; attention weights and two residuals a layer
    EXPECT_THROW(dropping("1"), Error);
  }
}

TEST(Catalog, LlamaIsTheSameInOpsAndInPrimitives) {
  for (const char* kv_heads : {"1", "2", "4"}) {
    const Parameters ops{{"kv_heads", kv_heads}, {"batch", "2"}};
    const Parameters primitive{{"kv_heads", kv_heads}, {"batch", "2"}, {"form", "primitive"}};
    expect_same_scores(scores_of("llama", ops), scores_of("llama", primitive));
  }
  EXPECT_NE(scores_of("llama", {{"head", "tied"}}), scores_of("llama", {}));
}

TEST(Catalog, ExpertsGiveTheSameHoweverTokensReachThem) {
  const Parameters routed{{"batch", "2"}, {"capacity", "8"}};
  expect_same_scores(scores_of("moe", routed),
                     scores_of("moe", {{"batch", "2"}, {"routing", "einsum"}, {"capacity", "4"}}));
  const Parameters all{{"batch", "2"}, {"capacity", "8"}, {"top", "4"}};
  expect_same_scores(scores_of("moe", all), scores_of("moe", {{"batch", "2"}, {"routing", "dense"}}));
  EXPECT_NE(scores_of("moe", routed), scores_of("moe", all));
}

TEST(Catalog, GptTakesFewerHeadsOfKeysThanOfQueries) {
  EXPECT_EQ(scores_of("gpt2", {{"heads", "4"}, {"kv_heads", "1"}}).size(), 40U);
  EXPECT_EQ(scores_of("gpt2", {{"heads", "4"}}), scores_of("gpt2", {{"heads", "4"}, {"kv_heads", "4"}}));
}

// "epoch 1 of 4  loss 2.7152": the losses of a training that learns which word each word is.
std::string losses_of(const std::string& words) {
  const TemporaryFolder folder;
  const std::string file = folder.file("model.onnx");
  std::string line = words + " loss=cross-entropy";
  for (const auto& [name, value] : kSmall.at(words.substr(0, words.find(' '))))
    line += " " + name + "=" + value;
  EXPECT_EQ(testing::run_program("podium-models " + line + " -o " + file).status, 0) << line;
  ir::Tensor ids(ir::DataType::Int64, {8, 4});
  for (std::int64_t i = 0; i < ids.size(); ++i) ids.data<std::int64_t>()[i] = (7 * i + 3) % 10;
  const std::string data = folder.file("ids.npy");
  importer::write_npy(ids, data);
  const auto trained =
      testing::run_program("podium train " + file + " --loss-tensor loss --optimizer sgd,lr=0.1 " +
                           "--epochs 3 --quiet --input input_ids=" + data + " --input label=" + data);
  EXPECT_EQ(trained.status, 0) << line << trained.err;
  std::string losses;
  for (std::size_t at = 0; (at = trained.out.find("loss ", at)) != std::string::npos; ++at)
    losses += trained.out.substr(at, 11) + "\n";
  return losses;
}

TEST(Catalog, DecodersTrain) {
  for (const char* words : {"llama", "moe", "moe routing=einsum", "moe routing=dense", "gpt2 kv_heads=1"}) {
    const std::string losses = losses_of(words);
    ASSERT_GE(losses.size(), 36U) << words << losses;
    EXPECT_LT(losses.substr(24, 11), losses.substr(0, 11)) << words;
  }
  EXPECT_EQ(losses_of("llama"), losses_of("llama form=primitive"));
}

TEST(Catalog, WritesShapesOnlyWhenWeightsAreNone) {
  const TemporaryFolder folder;
  const BuiltModel built = build("bert", {{"weights", "none"}});
  importer::export_graph(built.graph, folder.file("bert.onnx"), {.opset = built.opset});
  EXPECT_LT(read(folder.file("bert.onnx")).size(), 1000000U);
  importer::Model model = importer::import_model(folder.file("bert.onnx"));
  optimize(model);
  EXPECT_EQ(model.graph[model.graph.outputs[0]].type, ir::Type::tensor(ir::DataType::Float, {1, 128, 768}));
  EXPECT_THAT([&] { InferenceSession session(model); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("was written without its data")));
}

TEST(Catalog, WritesAModelOfAnySizeAsASmallFile) {
  const TemporaryFolder folder;
  const Parameters gpt3{{"layers", "96"}, {"hidden", "12288"}, {"heads", "96"}, {"weights", "none"}};
  importer::export_graph(build("gpt2", gpt3).graph, folder.file("gpt3.onnx"));
  EXPECT_LT(read(folder.file("gpt3.onnx")).size(), 2000000U);
}

TEST(Catalog, NamesTheNearestModelAndParameter) {
  EXPECT_THAT([] { build("resnet51"); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("the nearest is 'resnet50'")));
  EXPECT_THAT(
      [] {
        build("bert", {{"layer", "2"}});
      },
      ::testing::ThrowsMessage<Error>(::testing::HasSubstr("the nearest is 'layers'")));
}

TEST(Catalog, RefusesSizesThatDoNotFit) {
  EXPECT_THROW(build("bert", {{"hidden", "10"}, {"heads", "3"}}), Error);
  EXPECT_THROW(build("unet", {{"image", "30"}}), Error);
  EXPECT_THROW(build("llama", {{"heads", "5"}}), Error);
  EXPECT_THROW(build("llama", {{"kv_heads", "5"}}), Error);
  EXPECT_THROW(build("llama", {{"head", "none"}, {"layers", "1"}, {"weights", "none"}}), Error);
  EXPECT_THROW(build("gpt2", {{"kv_heads", "5"}}), Error);
  EXPECT_THROW(build("moe", {{"top", "9"}, {"weights", "none"}}), Error);
  EXPECT_THROW(build("product", {{"operands", "int4"}}), Error);
  EXPECT_THROW(build("product", {{"operands", "byte"}, {"batch", "2"}}), Error);
  EXPECT_THROW(build("moe", {{"routing", "none"}, {"weights", "none"}}), Error);
  EXPECT_THROW(build("mnist-mlp", {{"batch", "0"}}), Error);
}

}  // namespace
}  // namespace podium::models
