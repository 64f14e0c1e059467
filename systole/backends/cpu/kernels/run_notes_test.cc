#include "systole/backends/cpu/kernels/run_notes.h"

#include <gmock/gmock.h>

#include "systole/tracing/recorder.h"

namespace systole::cpu {
namespace {

using ::testing::ElementsAre;

// A step loop evaluates its condition once more than its body.
TEST(RunNotes, ops_of_the_condition_after_the_last_step_are_not_recorded) {
  tracing::Program program{.id = tracing::new_program_id(), .name = "steps"};
  program.ops = {{.name = "condition"}, {.name = "body"}};
  RunContext context;
  RunNotes notes;
  ASSERT_TRUE(tracing::start());
  notes.begin(context, program, true);
  notes.enter_steps(context);
  notes.note_op(0);
  notes.note_op(1);
  notes.end_step(context);
  notes.note_op(0);
  notes.leave_steps(context);
  notes.end(context);
  const tracing::Recording recording = tracing::stop();

  ASSERT_EQ(recording.threads.size(), 1U);
  std::vector<std::string> names;
  for (const tracing::Event& event : recording.threads[0].events) names.emplace_back(event.name);
  EXPECT_THAT(names, ElementsAre("condition", "body", "step"));
}

}  // namespace
}  // namespace systole::cpu
