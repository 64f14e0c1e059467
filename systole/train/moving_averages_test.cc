#include "systole/train/moving_averages.h"

#include <gmock/gmock.h>

#include "systole/base/testing/error_of.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/session/session.h"

namespace systole {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MovingAveragesTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

TEST_F(MovingAveragesTest, FollowWhatTheStepHasMade) {
  const Variable w(1.0F, {.name = "w"});
  ExponentialMovingAverage ema(0.75);
  Operation step;
  {
    const ControlDependencies after({w.assign_add(4.0F)});
    step = ema.apply({w});
  }
  EXPECT_EQ(ema.average_name(w), "w/ExponentialMovingAverage");
  const Variable average = ema.average(w);
  EXPECT_EQ(average.name(), "w/ExponentialMovingAverage");
  EXPECT_THAT(trainable_variables(), ElementsAre(w));
  EXPECT_THAT(ema.variables_to_restore(),
              ElementsAre(::testing::Pair("w/ExponentialMovingAverage", "w")));
  Session session;
  session.run(global_variables_initializer());
  session.run(step);
  EXPECT_EQ(session.run(average).item<float>(), 0.75F * 1 + 0.25F * 5);
  session.run(step);
  EXPECT_EQ(session.run(average).item<float>(), 0.75F * 2 + 0.25F * 9);
}

TEST_F(MovingAveragesTest, AreEvaluatedInAnotherGraph) {
  MemoryFileSystem fs;
  {
    const Variable w(1.0F, {.name = "w"});
    const Variable steps(int64_t{7}, {.name = "steps", .trainable = false});
    ExponentialMovingAverage ema(0.75);
    const Operation step = ema.apply();
    EXPECT_THAT(graph_->collection<Variable>(graph_keys::moving_average_variables), ElementsAre(w));
    Session session;
    session.run(global_variables_initializer());
    session.run(w.assign(5.0F));
    session.run(step);
    Saver({.file_system = &fs}).save(session, "d/m");
  }
  Graph evaluated;
  const GraphScope scope(evaluated);
  const Variable w(0.0F, {.name = "w"});
  const Variable steps(int64_t{0}, {.name = "steps", .trainable = false});
  const AssignmentMap map = ExponentialMovingAverage(0.75).variables_to_restore();
  EXPECT_THAT(map, ElementsAre(::testing::Pair("w/ExponentialMovingAverage", "w"),
                               ::testing::Pair("steps", "steps")));
  Session session;
  session.run(global_variables_initializer());
  EXPECT_EQ(init_from_checkpoint(session, "d/m", map, &fs), 2);
  EXPECT_EQ(session.run(w).item<float>(), 0.75F * 1 + 0.25F * 5);
  EXPECT_EQ(session.run(steps).item<int64_t>(), 7);
  EXPECT_THAT(systole::testing::error_of([&] { init_from_checkpoint(session, "d/m", {}, &fs); }),
              HasSubstr("init_from_checkpoint: assignments, got none, expected at least one"));
}

TEST_F(MovingAveragesTest, MoveFasterAtFirst) {
  const Variable w(10.0F);
  const Variable steps(int64_t{0}, {.trainable = false});
  ExponentialMovingAverage ema(0.99, {.num_updates = steps.value()});
  const Operation step = ema.apply();
  Session session;
  session.run(global_variables_initializer());
  session.run(w.assign(0.0F));
  session.run(step);
  EXPECT_FLOAT_EQ(session.run(ema.average(w)).item<float>(), 1);  // a decay of 1 / 10
}

TEST_F(MovingAveragesTest, OfFloatsOnly) {
  const Variable n(1, {.name = "n"});
  EXPECT_FALSE(ExponentialMovingAverage(0.9).average(n).valid());
  EXPECT_THAT(systole::testing::error_of([&] { ExponentialMovingAverage(0.9).apply({n}); }),
              HasSubstr("variable 'n', got s32[], expected a floating dtype"));
}

}  // namespace
}  // namespace systole
