// Networks of convolutions whose images are cut over devices in rows, or sample by sample: the numbers are
// those of one device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "importer/import.h"
#include "ir/glob.h"
#include "tests/support/run_program.h"

namespace podium::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string printed(const std::string& command) {
  const ProgramResult result = run_program(command);
  EXPECT_EQ(result.status, 0) << command << "\n" << result.err;
  return result.out + result.err;
}

template <class T>
std::string npy(const std::string& type, const std::string& shape, const std::vector<T>& numbers) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(117, ' ');
  header += '\n';
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
  return bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T));
}

// Images of noise, and a class for each, or for each of their places.
std::string data_for(const TemporaryFolder& folder, int images, int size, bool each_place) {
  const int places = size * size;
  std::vector<float> pixels(std::size_t(images) * 3 * places);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<float>(i * 2654435761U % 1000) / 500 - 1;
  std::vector<std::int64_t> classes(std::size_t(images) * (each_place ? places : 1));
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<std::int64_t>(i / 3 % 5);
  const std::string area = fmt::format("{0}, {0}", size);
  return " --input image=" +
         folder.write("image.npy", npy("<f4", fmt::format("{}, 3, {}", images, area), pixels)) +
         " --input label=" +
         folder.write("label.npy",
                      npy("<i8", fmt::format("{},{}", images, each_place ? " " + area : ""), classes));
}

std::map<std::string, ir::Tensor> weights_of(const std::string& path) {
  std::map<std::string, ir::Tensor> weights;
  for (const ir::Value& value : importer::import_model(path).graph.values) {
    if (value.constant && value.constant->type() == ir::DataType::Float)
      weights.emplace(value.name, *value.constant);
  }
  return weights;
}

// The largest difference of a weight, relative to its largest number. Biases in front of a normalisation by
// the statistics of the batch have no effect: their gradients are nothing but rounding.
double difference(const std::string& plain, const std::string& cut, const std::string& left_out) {
  const std::map<std::string, ir::Tensor> others = weights_of(cut);
  double worst = 0;
  for (const auto& [name, weight] : weights_of(plain)) {
    if (!left_out.empty() && ir::matches(left_out, name)) continue;
    const auto own = weight.values<float>();
    const auto other = others.at(name).values<float>();
    float largest = 1e-9F;
    float apart = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      largest = std::max(largest, std::abs(own[i]));
      apart = std::max(apart, std::abs(own[i] - other[i]));
    }
    worst = std::max(worst, static_cast<double>(apart / largest));
  }
  return worst;
}

struct Network {
  std::string name;
  int image;
  bool is_of_places;
  std::string without_effect = "";  ///< a glob on names of weights
};
void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

class CutImages : public ::testing::TestWithParam<Network> {};

TEST_P(CutImages, TrainAsOnOneDevice) {
  const TemporaryFolder folder;
  const std::string plain = folder.file("plain.onnx");
  const std::string cut = folder.file("cut.onnx");
  const Network& network = GetParam();
  printed(fmt::format("podium-models {} image={} batch=2 classes=5 loss=cross-entropy -o {}", network.name,
                      network.image, plain));
  printed("podium annotate " + plain + " --shard image:2=4 --configuration rows --output " + cut);
  const std::string asked = " --loss-tensor loss --steps 2 --optimizer sgd,lr=0.05,momentum=0.9" +
                            data_for(folder, 4, network.image, network.is_of_places);
  printed("podium train " + plain + asked + " --save " + folder.file("a.onnx"));
  const std::string notes = printed("podium train " + cut + asked + " --device ipu-pod16 --ipus 4" +
                                    " --configuration rows --save " + folder.file("b.onnx"));
  EXPECT_THAT(notes, HasSubstr("transfers"));
  EXPECT_LT(difference(folder.file("a.onnx"), folder.file("b.onnx"), network.without_effect), 1e-5);
  printed("podium train " + plain + asked + " --device ipu-pod16 --ipus 4 --spatial-parallel 4 --save " +
          folder.file("c.onnx"));
  EXPECT_LT(difference(folder.file("a.onnx"), folder.file("c.onnx"), network.without_effect), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, CutImages,
    ::testing::Values(Network{"unet depth=2 channels=8 norm=training", 32, true, "*conv?.bias"},
                      Network{"resnet18", 64, false}, Network{"unet depth=2 channels=8", 32, true},
                      Network{"unet depth=2 channels=4", 20, true}));

// Statistics of a batch are those of all its samples; replicas have each their own.
TEST(CutImage, BySamplesTrainsOnStatisticsOfTheWholeBatch) {
  const TemporaryFolder folder;
  const auto model = [&](int batch) {
    const std::string path = folder.file(fmt::format("batch{}.onnx", batch));
    printed(
        fmt::format("podium-models unet depth=2 channels=8 norm=training image=32 batch={} classes=5 "
                    "loss=cross-entropy -o {}",
                    batch, path));
    return path;
  };
  const std::string data = data_for(folder, 8, 32, true);
  const auto train = [&](const std::string& path, const std::string& more) {
    const std::string saved = folder.file(fmt::format("{}.onnx", more.size()));
    printed("podium train " + path + " --loss-tensor loss --steps 2 --optimizer sgd,lr=0.05,momentum=0.9" +
            data + " --device ipu-pod16 --save " + saved + more);
    return saved;
  };
  const std::string before_norms = "*conv?.bias";
  const std::string alone = train(model(4), "");
  EXPECT_LT(difference(alone, train(model(4), " --sample-parallel 2"), before_norms), 1e-5);
  EXPECT_LT(difference(alone, train(model(4), " --sample-parallel 2 --spatial-parallel 2"), before_norms),
            1e-5);
  EXPECT_GT(difference(alone, train(model(2), " --replicas 2 --reduction mean"), before_norms), 1e-3);
}

TEST(CutImage, IsAmongTheStrategiesOfAModelThatSaysNothing) {
  const TemporaryFolder folder;
  const std::string plain = folder.file("plain.onnx");
  printed("podium-models unet image=32 depth=2 channels=8 classes=5 -o " + plain);
  const std::string table = printed("podium compare " + plain + " --ipus 4");
  EXPECT_THAT(table, HasSubstr("images shared out among 2, 2 replicas"));
  EXPECT_THAT(table, HasSubstr("images shared out among 4"));
  EXPECT_THAT(table, HasSubstr("every strategy gave the numbers of one processor"));
  EXPECT_THAT(printed("podium compare " + plain + " --ipus 8 --spatial-parallel 4"),
              HasSubstr("images shared out among 4, pipelined over 2"));
}

TEST(CutImage, ByFlagsMovesWhatItsFileMoves) {
  const TemporaryFolder folder;
  const std::string plain = folder.file("plain.onnx");
  const std::string cut = folder.file("cut.onnx");
  printed("podium-models unet image=32 depth=2 channels=8 classes=5 -o " + plain);
  const std::string notes = printed("podium annotate " + plain + " --spatial-parallel 4 -o " + cut);
  EXPECT_THAT(notes, HasSubstr("images cut over 4 devices"));
  const std::string moved = "9 transfers, 61440 bytes in all; the largest: 'up1/conv1/Conv'";
  EXPECT_THAT(printed("podium run " + cut + " --device ipu-pod16 --configuration podium"), HasSubstr(moved));
  EXPECT_THAT(printed("podium run " + plain + " --device ipu-pod16 --spatial-parallel 4"), HasSubstr(moved));
}

TEST(CutImage, RefusesWhatDoesNotGoWithIt) {
  const TemporaryFolder folder;
  const std::string plain = folder.file("plain.onnx");
  printed("podium-models unet image=32 depth=2 channels=8 classes=5 -o " + plain);
  const auto refused = [&](const std::string& command, int status) {
    const ProgramResult result = run_program("podium " + command);
    EXPECT_EQ(result.status, status) << command;
    return result.err;
  };
  EXPECT_THAT(
      refused("run " + plain + " --spatial-parallel 4 --tensor-parallel 2", 1),
      HasSubstr("tensorParallelSettings.spatialGroups 4 (--spatial-parallel) excludes devices 2, 1 needed"));
  EXPECT_THAT(
      refused("run " + plain + " --sample-parallel 2 --context-parallel 2", 1),
      HasSubstr(
          "tensorParallelSettings.sampleGroups 2 (--sample-parallel) excludes contextGroups 2, 1 needed"));
  EXPECT_THAT(
      refused("run " + plain + " --sample-parallel 2", 1),
      HasSubstr(
          "tensorParallelSettings.sampleGroups 2: no convolution, pool or batch normalisation found whose images have "
          "2 samples, one for each device needed"));
  EXPECT_THAT(
      refused("annotate " + plain + " --spatial-parallel 4 --context-parallel 2 -o " + folder.file("o.onnx"),
              2),
      HasSubstr("--spatial-parallel: found beside --context-parallel, one of them needed"));
  EXPECT_THAT(
      refused("run " + plain + " --device ipu-pod64 --spatial-parallel 64", 1),
      HasSubstr(
          "no convolution, pool or batch normalisation found whose images have 64 rows or columns, one for each device needed"));
}

// No image is ever put together where all layers keep the rows apart: parts of the result leave from their
// devices.
TEST(CutImage, MovesHalosAlone) {
  const TemporaryFolder folder;
  const std::string plain = folder.file("plain.onnx");
  const std::string cut = folder.file("cut.onnx");
  printed("podium-models unet image=32 depth=2 channels=8 classes=5 -o " + plain);
  printed("podium annotate " + plain + " --shard image:2=4 --configuration rows --output " + cut);
  const std::string notes = printed("podium run " + cut + " --device ipu-pod16 --configuration rows");
  EXPECT_THAT(notes, HasSubstr("9 transfers"));
  EXPECT_THAT(notes, Not(HasSubstr("all-gather")));
}

}  // namespace
}  // namespace podium::testing
