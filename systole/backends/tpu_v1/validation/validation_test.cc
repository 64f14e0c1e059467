#include "systole/backends/tpu_v1/validation/validation.h"

#include <gtest/gtest.h>

#include "systole/backends/tpu_v1/timing/timing.h"
#include "systole/backends/tpu_v1/workloads/workloads.h"

namespace systole::tpu_v1 {
namespace {

TEST(Validation, KeepsItsPromises) {
  const std::vector<Figure> figures = validation_figures();
  for (const Figure& figure : figures) {
    EXPECT_TRUE(figure.reached()) << figure.section << ": " << figure.name << ": " << figure.ours
                                  << ", paper " << figure.paper;
  }
  RecordProperty("table", validation_table(figures));
  if (HasFailure()) std::fputs(validation_table(figures).c_str(), stderr);
}

TEST(Timing, RowsAddUpToAllCycles) {
  for (const Workload& workload : workloads()) {
    const Counters c = simulate(workload.program({}), {}).counters;
    EXPECT_NEAR(c.active + c.weight_stall + c.weight_shift + c.non_matrix, c.cycles,
                1e-6 * c.cycles)
        << workload.name;
    EXPECT_LE(c.buffer_bytes, MachineConfig{}.buffer_bytes) << workload.name;
  }
}

TEST(Workloads, HaveTheWeightsAndTilesOfTheirReconstruction) {
  const auto tiles = [](std::string_view name) {
    return simulate(workload(name).program({}), {}).counters.tiles;
  };
  EXPECT_EQ(tiles("MLP0-R"), 320);
  EXPECT_EQ(tiles("MLP1-R"), 85);
  EXPECT_EQ(tiles("LSTM0-R"), 768);
  EXPECT_EQ(tiles("LSTM1-R"), 864);
  EXPECT_EQ(tiles("CNN0-R"), 124);
}

}  // namespace
}  // namespace systole::tpu_v1
