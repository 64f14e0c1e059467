#include "systole/worker/testing/processes.h"

#include <gtest/gtest.h>

#include <memory>

#include "systole/runtime/registry.h"
#include "systole/worker/session_main.h"

namespace systole::worker::testing {
namespace {

class Processes final : public ::testing::Environment {
 public:
  void SetUp() override {
    made = new SessionTemplate(
        [](const SessionSeat& seat, const std::shared_ptr<SharedCounters>& counters) {
          run_session(runtime::client("cpu"), seat, counters, true);
        });
  }

  // Never deleted: workers of the contract's tests live as long as this process.
  SessionTemplate* made = nullptr;
};

Processes& processes = *static_cast<Processes*>(::testing::AddGlobalTestEnvironment(new Processes));

}  // namespace

SessionTemplate& session_processes() { return *processes.made; }

}  // namespace systole::worker::testing
