#include "apps/systole/hlo/isolated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <vector>

namespace systole::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "text" or "!death" of every task, in the order in which they were reported.
std::vector<std::string> run_all(size_t count, const IsolationOptions& options,
                                 const std::function<std::string(size_t)>& task) {
  std::vector<std::string> reported;
  run_isolated(count, options, task, [&](size_t i, const IsolatedResult& result) {
    EXPECT_EQ(i, reported.size());
    reported.push_back(result.death.empty() ? result.text : "!" + result.death);
  });
  return reported;
}

TEST(Isolated, ReportsInOrderWhateverEndsFirst) {
  const auto results = run_all(5, {.processes = 3}, [](size_t i) {
    usleep(static_cast<useconds_t>((5 - i) * 2000));
    return std::to_string(i * i);
  });
  EXPECT_THAT(results, ElementsAre("0", "1", "4", "9", "16"));
}

TEST(Isolated, ATaskThatDiesCostsItselfAlone) {
  const auto results = run_all(4, {.processes = 2}, [](size_t i) {
    if (i == 1) raise(SIGKILL);
    if (i == 2) _exit(3);
    return std::string("fine");
  });
  EXPECT_THAT(results, ElementsAre("fine", HasSubstr("!signal 9"), "!exit status 3", "fine"));
}

TEST(Isolated, ATaskWithoutEndIsEnded) {
  const auto results = run_all(2, {.processes = 1, .time_limit = 0.2}, [](size_t i) {
    while (i == 0) pause();  // NOLINT(bugprone-infinite-loop): until it is killed
    return std::string("fine");
  });
  EXPECT_THAT(results, ElementsAre("!no end after 0.2 s", "fine"));
}

TEST(Isolated, TasksRunInOtherProcesses) {
  static int here = 0;
  const auto results = run_all(2, {.processes = 1}, [](size_t) { return std::to_string(++here); });
  EXPECT_THAT(results, ElementsAre("1", "2"));
  EXPECT_EQ(here, 0);
}

TEST(Isolated, LongTextsArriveWhole) {
  const auto text = [](size_t) { return std::string(1 << 20, 'x'); };
  EXPECT_THAT(run_all(1, {}, text), ElementsAre(text(0)));
}

TEST(Isolated, NothingToDo) { EXPECT_TRUE(run_all(0, {.processes = 4}, nullptr).empty()); }

}  // namespace
}  // namespace systole::app
