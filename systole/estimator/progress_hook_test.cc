#include "systole/estimator/progress_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/train/losses.h"

namespace systole {
namespace {

std::string written_to(std::FILE* file) {
  std::rewind(file);
  std::string text(1000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

TEST(ProgressHookTest, ShowsStepsLossAndSpeed) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  ASSERT_NE(file, nullptr);
  Graph graph;
  const GraphScope scope(graph);
  losses::compute_weighted_loss(3.0F);
  FakeClock clock;
  ProgressHook hook({.last_step = 100, .out = file.get(), .terminal = false, .clock = &clock});
  hook.begin();
  ASSERT_EQ(hook.fetches().size(), 1U);
  Session session;
  RunContext context(session, 20);
  const Tensor loss = Tensor::of<float>({}, {0.25F});
  for (int loop = 1; loop <= 4; ++loop) {
    hook.before_run(context);
    clock.advance(std::chrono::seconds(4));
    context.set_loop(20 + loop * 20, 20, 4, 2560);
    hook.after_run(context, std::span(&loss, 1));
  }
  hook.end(session);
  EXPECT_EQ(written_to(file.get()),
            "train   60 %  60 of 100, 8 s left  loss 0.2500, 5 steps/s\n"
            "train  100 %  100 of 100  loss 0.2500, 5 steps/s\n");
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
