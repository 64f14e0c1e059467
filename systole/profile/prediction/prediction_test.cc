#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "systole/base/testing/error_of.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"
#include "systole/profile/prediction/cpu_machine.h"
#include "systole/profile/prediction/dense_net.h"
#include "systole/profile/prediction/program_cost.h"
#include "systole/stablehlo/text/text.h"

namespace systole::profile {
namespace {

TEST(TpuSystem, HasThePublishedPeaks) {
  EXPECT_NEAR(tpu_system("v2-8").generation->peak_flops() * 8, 183.5e12, 0.1e12);
  EXPECT_NEAR(tpu_system("v3-8").generation->peak_flops() * 8, 492.8e12, 0.1e12);
  EXPECT_EQ(tpu_system("v3-2048").hosts(), 256);
  EXPECT_NEAR(tpu_system("v5e-4").generation->peak_flops() * 4, 788e12, 2e12);
  EXPECT_EQ(tpu_system("v4-8").cores, 4);
  EXPECT_EQ(testing::error_of([] { tpu_system("v5e-6"); }),
            "INVALID_ARGUMENT: TPU, got 'v5e-6', expected v5e-N with N = 4, 8, ... 256: hosts have "
            "4 chips, and a slice has whole hosts");
}

TEST(Prediction, CountsCyclesOfPaddedProducts) {
  EXPECT_EQ(product_cycles(8, 128, 128), 8);
  EXPECT_EQ(product_cycles(9, 129, 129), 16 * 2 * 2);
  EXPECT_EQ(product_cycles(1024, 1024, 1024, 256), 1024 * 4 * 4);
  OpCost product{.product = hlo::ProductSize{.rows = 1024, .inner = 128, .columns = 8}};
  EXPECT_EQ(product.matrix_cycles(128), 8 * 8) << "the other operand passes through";
  product.is_convolution = true;
  EXPECT_EQ(product.matrix_cycles(128), 1024);
}

TEST(Prediction, AddsWhatDoesNotOverlap) {
  StepCost step{.ops = {{.name = "a", .memory_bytes = 1e9}, {.name = "b", .vector_ops = 1}},
                .all_reduce_bytes = 1e6,
                .all_reduces = 3,
                .infeed_bytes = 1e3};
  const TpuCalibration c;
  const StepPrediction p = predict(step, tpu_system("v2-8"));
  EXPECT_NEAR(p.compute_seconds, 1e9 / (350e9 * c.memory_share), 1e-6);
  EXPECT_NEAR(p.overhead_seconds, c.step_seconds + 2 * c.op_cycles / 700e6, 1e-9);
  EXPECT_NEAR(p.all_reduce_seconds,
              1e6 * 1.75 / c.all_reduce_bytes_per_second + 3 * c.all_reduce_seconds, 1e-9);
  EXPECT_NEAR(p.step_seconds, p.compute_seconds + p.overhead_seconds + p.all_reduce_seconds, 1e-9);
  EXPECT_EQ(p.limit, "memory");
  EXPECT_EQ(p.ops[0].limit, "memory");
  EXPECT_EQ(p.ops[1].limit, "overhead");
  step.infeed_bytes = 1e9;
  EXPECT_EQ(predict(step, tpu_system("v2-8")).limit, "infeed");
}

constexpr double kGiga = 1e9;
const CpuMachine kCpu{.name = "test",
                      .cores = 2,
                      .flops_per_second = 100 * kGiga,
                      .cache_bytes_per_second = 200 * kGiga,
                      .memory_bytes_per_second = 20 * kGiga};

TEST(CpuPrediction, TakesTheLongestOfThreeTimes) {
  const CpuCalibration c;
  const StepCost step{.ops = {{.name = "product", .flops = 1e9, .array_bytes = 1e3},
                              {.name = "cached", .array_bytes = 2e6},
                              {.name = "large", .array_bytes = 2e8},
                              {.name = "exp", .vector_ops = 1e9, .array_bytes = 1e3}},
                      .resident_bytes = 1e6};
  const StepPrediction p = predict(step, kCpu);
  EXPECT_NEAR(p.ops[0].seconds, 1e9 / (100e9 * c.product_share), 1e-9);
  EXPECT_EQ(p.ops[0].limit, "products");
  EXPECT_NEAR(p.ops[1].seconds, 2e6 / (200e9 * c.memory_share), 1e-9);
  EXPECT_EQ(p.ops[1].limit, "caches");
  EXPECT_NEAR(p.ops[2].seconds, 2e8 / (20e9 * c.memory_share), 1e-9);
  EXPECT_EQ(p.ops[2].limit, "memory");
  EXPECT_NEAR(p.ops[3].seconds, 1e9 / (100e9 * c.vector_ops), 1e-9);
  EXPECT_EQ(p.ops[3].limit, "element-wise ops");
  EXPECT_NEAR(p.step_seconds, p.compute_seconds + 4 * c.op_seconds + c.step_seconds, 1e-9);
  EXPECT_EQ(p.infeed_seconds, 0);
  EXPECT_TRUE(p.fits());
}

TEST(CpuPrediction, KeepsMeasurementsInFiles) {
  MemoryFileSystem files;
  save_cpu_machine(kCpu, files, "machine.json");
  const CpuMachine read = load_cpu_machine(files, "machine.json");
  EXPECT_EQ(read.name, kCpu.name);
  EXPECT_EQ(read.cores, kCpu.cores);
  EXPECT_EQ(read.flops_per_second, kCpu.flops_per_second);
  EXPECT_EQ(read.cache_bytes_per_second, kCpu.cache_bytes_per_second);
  EXPECT_EQ(read.memory_bytes_per_second, kCpu.memory_bytes_per_second);
  write_file_atomically(files, "machine.json", R"({"cores": 2, "flops_per_second": "fast"})");
  EXPECT_EQ(testing::error_of([&] { load_cpu_machine(files, "machine.json"); }),
            "INVALID_ARGUMENT: machine.json: flops_per_second, got \"fast\", expected a positive "
            "number; remove the file");
  write_file_atomically(files, "machine.json", "[");
  EXPECT_EQ(testing::error_of([&] { load_cpu_machine(files, "machine.json"); }),
            "INVALID_ARGUMENT: machine.json: got no JSON object, expected one; remove the file");
}

TEST(Prediction, IsAPage) {
  const StepCost step{
      .ops = {{.name = "a", .memory_bytes = 1e6}, {.name = "b", .memory_bytes = 1e9}}};
  const nlohmann::json page = predict(step, tpu_system("v2-8")).to_json("v2-8", 1);
  EXPECT_EQ(page["system"], "v2-8");
  EXPECT_EQ(page["ops"].size(), 1);
  EXPECT_EQ(page["ops"][0]["name"], "b");
  EXPECT_EQ(page["limit"], "memory");
}

TEST(DenseNets, ReadsTables) {
  const auto nets = read_dense_nets(
      "nodes,hidden_layers,input,output,global_batch,steps_per_second\r\n"
      "32,4,2000,200,64,OOM\n\n64,5,8000,10,128,12.5\n1,1,1,1,1,\n",
      "nets.csv");
  ASSERT_EQ(nets.size(), 3U);
  EXPECT_TRUE(nets[0].out_of_memory);
  EXPECT_EQ(nets[1].hidden_layers, 5);
  EXPECT_EQ(nets[1].nodes, 64);
  EXPECT_EQ(nets[1].steps_per_second, 12.5);
  EXPECT_FALSE(nets[2].is_measured());
}

TEST(DenseNets, NamesTheLineOfAnError) {
  const std::string header =
      "hidden_layers\tnodes\tinput\toutput\tglobal_batch\tsteps_per_second\n";
  struct Case {
    std::string text;
    const char* error;
  };
  const Case cases[] = {
      {"", "n.tsv: table, got no line"},
      {"nodes,input\n", "n.tsv:1: columns, got no 'hidden_layers', expected it"},
      {header + "4\t32\t2000\t200\n",
       "n.tsv:2: global_batch, got '', expected a whole number in [1, 2147483648]"},
      {header + "4\t-3\t2000\t200\t64\t1\n",
       "n.tsv:2: nodes, got '-3', expected a whole number in [1, 2147483648]"},
      {header + "4\t3\t2000\t200\t64\tnan\n",
       "n.tsv:2: steps_per_second, got 'nan', expected a positive number, OOM or nothing"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(testing::error_of([&] { read_dense_nets(c.text, "n.tsv"); }),
              std::string("INVALID_ARGUMENT: ") + c.error);
  }
}

// A forward pass has the products of a table's row.
TEST(ProgramCost, CountsProductsAndWhatRidesOnThem) {
  const auto program = hlo::parse(R"(
func.func @main(%x: tensor<16x2000xbf16>, %w: tensor<2000x512xbf16>, %v: tensor<512x200xbf16>) -> tensor<16x200xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x2000xbf16>, tensor<2000x512xbf16>) -> tensor<16x512xbf16>
  %1 = stablehlo.tanh %0 : tensor<16x512xbf16>
  %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<16x512xbf16>, tensor<512x200xbf16>) -> tensor<16x200xbf16>
  return %2 : tensor<16x200xbf16>
})");
  const StepCost step = cost_of(*program);
  // The activation is computed where it is read.
  ASSERT_EQ(step.ops.size(), 2U);
  EXPECT_EQ(step.ops[0].matrix_cycles(128), product_cycles(16, 2000, 512));
  EXPECT_EQ(step.ops[0].flops, 2.0 * 16 * 2000 * 512);
  EXPECT_EQ(step.ops[1].vector_ops, 16 * 512 * 16);
  const StepCost on_cpu = cpu_cost_of(*program);
  ASSERT_EQ(on_cpu.ops.size(), 3U);
  EXPECT_EQ(on_cpu.ops[2].flops, step.ops[1].flops);
}

// A layer has three products, the first two; each variable is summed over the cores.
TEST(DenseNets, HaveAProgram) {
  const DenseNet net{1, 512, 2000, 200, 128, {}, false};
  const auto program = program_of(net, 8);
  hlo::verify(*program);
  const StepCost step = cost_of(net, tpu_system("v2-8"));
  double flops = 0;
  for (const OpCost& op : step.ops) flops += op.flops;
  EXPECT_EQ(flops, 2.0 * 16 * (2 * 2000 * 512 + 3 * 512 * 200));
  const double variables = 4.0 * (2001 * 512 + 513 * 200);
  EXPECT_EQ(step.all_reduces, 4);
  EXPECT_EQ(step.all_reduce_bytes, variables);
  EXPECT_GT(step.resident_bytes, 3 * variables);
  EXPECT_LT(step.resident_bytes, 5 * variables);
  EXPECT_EQ(step.infeed_bytes, 16 * (2 * 2000 + 4 * 200));
}

TEST(ProgramCost, CountsTransfersBetweenCores) {
  const auto program = hlo::parse(R"(
func.func @main(%w: tensor<64x128xbf16>, %x: tensor<8x128xf32>) -> (tensor<256x128xbf16>, tensor<2x128xf32>) {
  %0 = "stablehlo.all_gather"(%w) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<64x128xbf16>) -> tensor<256x128xbf16>
  %1 = "stablehlo.reduce_scatter"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<8x128xf32>) -> tensor<2x128xf32>
  return %0, %1 : tensor<256x128xbf16>, tensor<2x128xf32>
})");
  const StepCost step = cost_of(*program);
  EXPECT_TRUE(step.ops.empty());
  EXPECT_EQ(step.link_bytes, 3.0 * 64 * 128 * 2 + 3.0 * 2 * 128 * 4);
  const TpuSystem v5e = tpu_system("v5e-4");
  const StepPrediction p = predict(step, v5e);
  EXPECT_DOUBLE_EQ(p.all_reduce_seconds, step.link_bytes / v5e.generation->ici_bytes_per_second);
}

// Since v4.
TEST(Prediction, OverlapsTransfersBetweenCoresWithKernels) {
  const StepCost step{.ops = {{.name = "a", .memory_bytes = 1e9}}, .link_bytes = 1e9};
  const StepPrediction p = predict(step, tpu_system("v5e-4"));
  EXPECT_GT(p.all_reduce_seconds, p.compute_seconds);
  EXPECT_EQ(p.step_seconds, p.all_reduce_seconds);
  EXPECT_EQ(p.limit, "all-reduce");
  const StepPrediction v2 = predict(step, tpu_system("v2-8"));
  EXPECT_GT(v2.step_seconds, v2.all_reduce_seconds + v2.compute_seconds);
}

TEST(ProgramCost, CountsConvolutionsLoopsAndSums) {
  const auto program = hlo::parse(R"(
func.func @main(%x: tensor<8x16x16x64xf32>, %k: tensor<3x3x64x128xf32>) -> tensor<8x16x16x128xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x16x16x64xf32>, tensor<3x3x64x128xf32>) -> tensor<8x16x16x128xf32>
  %1 = "stablehlo.all_reduce"(%0) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<> : tensor<0x0xi64>} : (tensor<8x16x16x128xf32>) -> tensor<8x16x16x128xf32>
  return %1 : tensor<8x16x16x128xf32>
})");
  const StepCost step = cost_of(*program);
  ASSERT_EQ(step.ops.size(), 1U);
  EXPECT_EQ(step.ops[0].matrix_cycles(128), product_cycles(8 * 16 * 16, 9 * 64, 128));
  EXPECT_EQ(step.all_reduce_bytes, 8.0 * 16 * 16 * 128 * 4);
  EXPECT_EQ(step.all_reduces, 1);
}

// The measured networks, of which half are never seen by the calibration.
TEST(DenseNets, PredictsMeasuredRates) {
  const std::string path = "../shared/data/paradnn/tpu_v2_8_fc.tsv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not beside the checkout";
  std::vector<DenseNet> nets = read_dense_nets(read_file(local_file_system(), path), path);
  EXPECT_EQ(nets.size(), 964U);
  std::erase_if(nets, is_of_training_half);
  const TpuSystem system = tpu_system("v2-8");
  std::vector<StepPrediction> predictions;
  for (const DenseNet& net : nets) predictions.push_back(predict(cost_of(net, system), system));
  const PredictionErrors errors = prediction_errors(nets, predictions, false);
  EXPECT_GT(errors.count, 400);
  EXPECT_LE(errors.median, 0.045);
  EXPECT_LE(errors.percentile_90, 0.15);
  EXPECT_GE(errors.memory_right, 0.99 * errors.memory_count);
}

}  // namespace
}  // namespace systole::profile
