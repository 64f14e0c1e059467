#include "systole/train/loop/progress_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/train/loop/hook_runner.h"
#include "systole/train/losses/losses.h"

namespace systole {
namespace {

std::string written_to(std::FILE* file) {
  std::rewind(file);
  std::string text(1000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

// Four loops of 20 steps and 4 seconds each from step 20 on.
std::string shown(ProgressHook::Options options) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  Graph graph;
  const GraphScope scope(graph);
  losses::compute_weighted_loss(3.0F);
  FakeClock clock;
  options.out = file.get();
  options.terminal = false;
  options.clock = &clock;
  train::HookRunner pass({std::make_shared<ProgressHook>(options)}, graph);
  EXPECT_EQ(pass.fetches().size(), 1U);
  Session session;
  pass.start(session, 20);
  const Tensor loss = Tensor::of<float>({}, {0.25F});
  for (int64_t loop = 1; loop <= 4; ++loop) {
    EXPECT_TRUE(pass.before());
    clock.advance(std::chrono::seconds(4));
    EXPECT_TRUE(
        pass.after({.global_step = 20 + loop * 20, .steps = 20, .seconds = 4, .examples = 2560},
                   std::span(&loss, 1)));
  }
  pass.end();
  return written_to(file.get());
}

TEST(ProgressHookTest, ShowsStepsLossAndSpeed) {
  EXPECT_EQ(shown({.last_step = 100}),
            "train   60 %  60 of 100, 8 s left  loss 0.2500, 5 steps/s\n"
            "train  100 %  100 of 100  loss 0.2500, 5 steps/s\n");
}

TEST(ProgressHookTest, CountsBatchesWhereNothingIsTrained) {
  EXPECT_EQ(shown({.name = "evaluate", .steps = 160, .counts_batches = true}),
            "evaluate   25 %  40 of 160, 24 s left  loss 0.2500, 640 examples/s\n"
            "evaluate   50 %  80 of 160, 16 s left  loss 0.2500, 640 examples/s\n");
  EXPECT_EQ(shown({.name = "evaluate", .counts_batches = true}),
            "evaluate  40  loss 0.2500, 640 examples/s\n"
            "evaluate  80  loss 0.2500, 640 examples/s\n");
}

TEST(ProgressHookTest, AModelWithoutLossesHasNone) {
  Graph graph;
  const GraphScope scope(graph);
  ProgressHook hook({.last_step = 100});
  hook.begin();
  EXPECT_TRUE(hook.fetches().empty());
}

}  // namespace
}  // namespace systole
