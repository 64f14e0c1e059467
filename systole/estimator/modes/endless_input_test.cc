#include "systole/estimator/modes/endless_input.h"

#include <gmock/gmock.h>

namespace systole::estimator {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(EndlessInputWarning, comes_once_after_a_minute) {
  FakeClock clock;
  const LogCapture log;
  EndlessInputWarning warning(/*has_limit=*/false, clock);
  clock.advance(seconds(59));
  warning.note(100);
  EXPECT_THAT(log.messages(), IsEmpty());
  for (const int64_t examples : {200, 300}) {
    clock.advance(seconds(1));
    warning.note(examples);
  }
  EXPECT_THAT(log.messages(),
              ElementsAre(HasSubstr("evaluate: steps, got none, and 200 examples so far")));
}

TEST(EndlessInputWarning, does_not_come_for_a_number_of_steps) {
  FakeClock clock;
  const LogCapture log;
  EndlessInputWarning warning(/*has_limit=*/true, clock);
  clock.advance(seconds(3600));
  warning.note(100);
  EXPECT_THAT(log.messages(), IsEmpty());
}

}  // namespace
}  // namespace systole::estimator
