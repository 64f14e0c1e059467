// Programs that devices share give the results of the whole program, compiled and run by this
// backend.
#include <gtest/gtest.h>

#include <cstring>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/partitioned.h"
#include "systole/hlo/testing/partitioned_ops.h"
#include "systole/hlo/testing/random_module.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

// An array with the devices as its first axis.
Tensor stack(const std::vector<std::vector<Tensor>>& parts, size_t i, const TensorType& type) {
  Tensor all(type);
  auto* to = static_cast<std::byte*>(all.raw());
  for (const std::vector<Tensor>& device : parts) {
    const auto size = static_cast<size_t>(device[i].byte_size());
    if (size > 0) std::memcpy(to, device[i].raw(), size);
    to += size;
  }
  return all;
}

std::vector<std::vector<Tensor>> run_partitioned(const hlo::Module& module, int num_devices,
                                                 const std::vector<std::vector<Tensor>>& parts) {
  const auto executable = testing::client().compile(module, {.num_partitions = num_devices});
  std::vector<Tensor> arguments;
  for (size_t p = 0; p < executable->parameter_types().size(); ++p) {
    const TensorType& type = executable->parameter_types()[p];
    arguments.push_back(type == parts[0][p].type() ? parts[0][p] : stack(parts, p, type));
  }
  const std::vector<Tensor> results = runtime::run(*executable, arguments);
  std::vector<std::vector<Tensor>> by_device(static_cast<size_t>(num_devices));
  for (size_t k = 0; k < results.size(); ++k) {
    const bool stacked = results[k].rank() > module.entry().results()[k].shape().rank();
    const Dims dims(results[k].shape().begin() + (stacked ? 1 : 0), results[k].shape().end());
    for (int64_t device = 0; device < num_devices; ++device) {
      by_device[device].push_back(
          stacked ? results[k].slice(device, device + 1).reshape(Shape(dims)) : results[k]);
    }
  }
  return by_device;
}

class CpuPartitions : public ::testing::TestWithParam<hlo::testing::PartitionedOp> {};

TEST_P(CpuPartitions, EqualTheWhole) {
  constexpr int kDevices[] = {8, 4, 2};
  for (uint64_t seed = 0; seed < std::size(kDevices); ++seed) {
    const std::string text = text_of(GetParam(), kDevices[seed], seed);
    const auto module = hlo::parse(text);
    ASSERT_EQ(hlo::testing::partition_difference(*module, kDevices[seed], seed, nullptr, {},
                                                 run_partitioned),
              "")
        << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, CpuPartitions, ::testing::ValuesIn(hlo::testing::partitioned_ops()),
                         [](const auto& info) { return info.param.name; });

TEST(CpuPartitioned, RandomProgramsEqualTheWhole) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    hlo::testing::RandomModule random =
        hlo::testing::random_module(seed, {.instructions = 30, .max_dim = 8});
    const int num_devices = 2 << seed % 3;
    hlo::testing::shard_randomly(*random.module, num_devices, seed);
    hlo::verify(*random.module);
    ASSERT_EQ(hlo::testing::partition_difference(*random.module, num_devices, seed, nullptr,
                                                 random.tolerances, run_partitioned),
              "")
        << seed << "\n"
        << hlo::print(*random.module);
  }
}

}  // namespace
}  // namespace systole::cpu
