#include "systole/profile/prediction/machine.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace systole::profile {
namespace {

TEST(Machine, NamesItself) {
  EXPECT_FALSE(cpu_model().empty());
  EXPECT_GE(num_cores(), 1);
}

TEST(Machine, PeaksArePlausible) {
  const auto f32 = measure_peak_flops(DType::f32, 1);
  if (!f32) GTEST_SKIP() << "this CPU has neither AVX2 nor AVX-512";
  const auto f64 = measure_peak_flops(DType::f64, 1);
  ASSERT_TRUE(f64);
  EXPECT_GT(*f32, 1e9);
  EXPECT_LT(*f64, *f32 * 1.5);  // half the lanes, whatever the clock does meanwhile
  EXPECT_FALSE(measure_peak_flops(DType::string, 1));
}

// oneDNN computes bf16 with AMX where there is some: the peak must be that of the same unit.
TEST(Machine, TheBf16PeakIsThatOfAmxWhereThereIsSome) {
  const std::vector<std::string> extensions = cpu_extensions();
  if (std::ranges::find(extensions, "amx_bf16") == extensions.end()) {
    GTEST_SKIP() << "this CPU has no AMX";
  }
  EXPECT_GT(measure_peak_flops(DType::bf16, 1).value(),
            4 * measure_peak_flops(DType::f32, 1).value());
}

TEST(Machine, BandwidthIsPlausible) {
  const double bandwidth = measure_triad_bandwidth(1 << 20, 1);
  EXPECT_GT(bandwidth, 1e8);
  EXPECT_LT(bandwidth, 1e13);
}

}  // namespace
}  // namespace systole::profile
