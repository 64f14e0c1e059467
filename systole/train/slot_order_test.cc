#include "systole/train/slot_order.h"

#include <gtest/gtest.h>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

class SlotOrderTest : public ::testing::Test {
 protected:
  SlotOrderTest() {
    optimizer_.minimize(square(w_));
    session_.run(global_variables_initializer());
  }

  // A checkpoint with these values, the one under "w/RMSProp_1" first.
  void write_checkpoint(float second, float third) {
    fs_.make_directories("m");
    BundleWriter writer(fs_, "m/old");
    writer.add("w", Tensor(5.0F));
    writer.add("w/RMSProp", Tensor(6.0F));
    writer.add("w/RMSProp_1", Tensor(second));
    writer.add("w/RMSProp_2", Tensor(third));
    writer.finish();
  }
  Saver saver() { return Saver({.write_meta_graph = false, .file_system = &fs_}); }
  float slot(const char* name) {
    return session_.variable_value(optimizer_.slot(w_, name)).item<float>();
  }

  Graph graph_;
  GraphScope scope_{graph_};
  Variable w_{2.0F, {.name = "w"}};
  RMSPropOptimizer optimizer_{0.1, RMSPropOptions{.momentum = 0.9, .centered = true}};
  Session session_{"", {.graph = &graph_}};
  MemoryFileSystem fs_;
};

TEST_F(SlotOrderTest, IsTensorFlows) {
  EXPECT_EQ(optimizer_.slot_names(), (std::vector<std::string>{"rms", "mg", "momentum"}));
  EXPECT_EQ(optimizer_.slot(w_, "rms").name(), "w/RMSProp");
  EXPECT_EQ(optimizer_.slot(w_, "mg").name(), "w/RMSProp_1");
  EXPECT_EQ(optimizer_.slot(w_, "momentum").name(), "w/RMSProp_2");
}

TEST_F(SlotOrderTest, OfNewCheckpointsIsTheSame) {
  session_.set_variable(optimizer_.slot(w_, "mg"), Tensor(3.0F));
  session_.set_variable(optimizer_.slot(w_, "momentum"), Tensor(4.0F));
  const std::string prefix = saver().save(session_, "m/new");
  session_.run(global_variables_initializer());
  saver().restore(session_, prefix);
  EXPECT_EQ(slot("mg"), 3);
  EXPECT_EQ(slot("momentum"), 4);
}

TEST_F(SlotOrderTest, OfOldCheckpointsIsExchanged) {
  write_checkpoint(/*momentum=*/4, /*mg=*/3);
  write_checkpoint_extras(fs_, "m/old", {{"random", "state"}});
  saver().restore(session_, "m/old");
  EXPECT_EQ(slot("rms"), 6);
  EXPECT_EQ(slot("mg"), 3);
  EXPECT_EQ(slot("momentum"), 4);
}

TEST_F(SlotOrderTest, OfTensorFlowsCheckpointsIsTheSame) {
  write_checkpoint(/*mg=*/3, /*momentum=*/4);
  saver().restore(session_, "m/old");
  EXPECT_EQ(slot("mg"), 3);
  EXPECT_EQ(slot("momentum"), 4);
}

}  // namespace
}  // namespace systole
