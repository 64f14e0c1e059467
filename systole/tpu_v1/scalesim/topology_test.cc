#include "systole/tpu_v1/scalesim/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "systole/base/testing/error_of.h"
#include "systole/io/file_systems/file_systems.h"

namespace systole::tpu_v1 {
namespace {

constexpr int kArray = 256;

TEST(ScaleSim, CyclesOfProductsAreItsIntegers) {
  struct Expected {
    int64_t m, n, k, cycles;
    double utilization;
  };
  // Measured with SCALE-Sim v3 on a 256x256 weight-stationary array.
  for (const Expected& e : {Expected{200, 256, 256, 965, 20.725},
                            {256, 256, 256, 1021, 25.073},
                            {128, 512, 512, 3575, 14.322},
                            {200, 2048, 2048, 61823, 20.704},
                            {96, 600, 600, 7757, 6.798},
                            {64, 1024, 2048, 26559, 7.711},
                            {1, 1000, 2048, 24543, 0.1273}}) {
    const TopologyLayer layer{"gemm", e.m, e.k, e.n};
    EXPECT_EQ(scalesim_cycles(layer, kArray, kArray), e.cycles);
    EXPECT_NEAR(scalesim_utilization(layer, kArray, kArray), e.utilization, 0.0006);
  }
  EXPECT_EQ(scalesim_cycles({"test_mnk_input", 256, 256, 128}, 32, 32), 11199);
}

struct FileTotals {
  size_t layers = 0;
  int64_t multiply_adds = 0;
  int64_t weights = 0;
  int64_t cycles = 0;
};

std::string topology_folder() { return "../shared/data/scalesim"; }

Topology load_topology(const std::string& name) {
  const std::string path = topology_folder() + "/" + name;
  return parse_topology(read_file(default_file_system(), path), path);
}

FileTotals totals_of(const std::string& name) {
  FileTotals totals;
  for (const TopologyLayer& layer : load_topology(name).layers) {
    ++totals.layers;
    totals.multiply_adds += layer.multiply_adds();
    totals.weights += layer.weights();
    totals.cycles += scalesim_cycles(layer, kArray, kArray);
  }
  return totals;
}

TEST(ScaleSim, TotalsOfItsTopologies) {
  if (!std::filesystem::exists(topology_folder()))
    GTEST_SKIP() << topology_folder() << " is not there";
  struct Expected {
    const char* file;
    size_t layers;
    int64_t multiply_adds, weights, cycles;
  };
  for (const Expected& e : {Expected{"mlperf/AlphaGoZero.csv", 8, 352869108, 1573620, 29194},
                            {"mlperf/Resnet50.csv", 54, 3479536384, 25502912, 438375},
                            {"mlperf/DeepSpeech2.csv", 6, 1755361152, 355936, 326037},
                            {"mlperf/FasterRCNN.csv", 46, 3560764160, 13258944, 299379},
                            {"conv_nets/alexnet.csv", 5, 805118496, 3745824, 73747},
                            {"conv_nets/Googlenet.csv", 58, 1352365952, 6854208, 216967},
                            {"conv_nets/mobilenet.csv", 27, 565519488, 3185088, 287925},
                            {"conv_nets/yolo_tiny.csv", 9, 1753649072, 15855212, 451773}}) {
    const FileTotals totals = totals_of(e.file);
    EXPECT_EQ(totals.layers, e.layers) << e.file;
    EXPECT_EQ(totals.multiply_adds, e.multiply_adds) << e.file;
    EXPECT_EQ(totals.weights, e.weights) << e.file;
    EXPECT_EQ(totals.cycles, e.cycles) << e.file;
  }
}

TEST(ScaleSim, EveryTopologyLoads) {
  if (!std::filesystem::exists(topology_folder()))
    GTEST_SKIP() << topology_folder() << " is not there";
  int files = 0;
  size_t notes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(topology_folder())) {
    if (!entry.is_regular_file()) continue;
    ++files;
    const Topology topology =
        parse_topology(read_file(default_file_system(), entry.path()), entry.path());
    EXPECT_FALSE(topology.layers.empty()) << entry.path();
    notes += topology.notes.size();
  }
  EXPECT_EQ(files, 16);
  EXPECT_EQ(notes, 1U);  // the row `FC, 1, 1, 1, ,1 2, 2, 1,`
}

TEST(ScaleSim, SurvivesDirt) {
  const Topology topology = parse_topology(
      "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
      "Strides,\r\n"
      "\n,,,,,,,,\nA section,\nConv, 19, 19, 3, 3, 17, 256, 1, \r\nFC, 1, 1, 1, ,1 2, 2, 1,\n"
      "ConvDP, 10, 10, 3, 3, 32, 1, 2,\nBig, 2, 2, 3, 3, 1, 1, 1,\nSym, B, H, 1, 1, 1, 1, 1,",
      "t");
  ASSERT_EQ(topology.layers.size(), 2U);
  EXPECT_EQ(scalesim_cycles(topology.layers[0], kArray, kArray), 1054);
  EXPECT_EQ(topology.layers[1].repeats, 32);
  EXPECT_EQ(topology.layers[1].vectors, 25);  // rounds up
  ASSERT_EQ(topology.notes.size(), 3U);
  EXPECT_EQ(topology.notes[0],
            "t:6: row skipped: field 5, got '', expected a number from 1 to 2147483647");
  EXPECT_THAT(topology.notes[1], ::testing::HasSubstr("t:8: row skipped: filter, got 3x3"));
  EXPECT_THAT(topology.notes[2], ::testing::HasSubstr("t:9: row skipped: field 2, got 'B'"));
  EXPECT_THAT(systole::testing::error_of([] { parse_topology("", "t"); }),
              ::testing::HasSubstr("t: layers, got none"));
}

// The first product of a U-Net has 4,186,116 rows.
TEST(ScaleSim, CountsLongProducts) {
  const Topology topology = parse_topology(
      "Layer, M, N, K,\nbig, 4186116, 64, 27,\nhuge, 2000000000, 2000000000, 2000000000,\n", "t");
  ASSERT_EQ(topology.layers.size(), 1U);
  EXPECT_EQ(scalesim_cycles(topology.layers[0], kArray, kArray), 2 * 256 + 256 + 4186116 - 2 - 1);
  ASSERT_EQ(topology.notes.size(), 1U);
  EXPECT_EQ(topology.notes[0],
            "t:3: row skipped: size, got more than 1e15 multiply-adds, expected fewer");
  const Topology convolution = parse_topology(
      "name, h, w, fh, fw, c, f, s,\nc, 2147483647, 2147483647, 2147483647, 2147483647, "
      "2147483647, "
      "1, 1,\nd, 8, 8, 1, 1, 1, 1, 1,\n",
      "t");
  EXPECT_EQ(convolution.layers.size(), 1U);
  EXPECT_EQ(convolution.notes.size(), 1U);
  EXPECT_THAT(
      systole::testing::error_of([] { parse_topology("Layer\tM\tN\tK\na\t1\t2\t3\n", "t"); }),
      ::testing::HasSubstr("got tabs between them, expected commas"));
}

}  // namespace
}  // namespace systole::tpu_v1
