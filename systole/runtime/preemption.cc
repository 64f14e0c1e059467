#include "systole/runtime/preemption.h"

#include <atomic>

namespace systole::runtime {
namespace {

std::atomic<bool> noticed = false;

}  // namespace

void note_preemption() { noticed = true; }
bool preempted() { return noticed; }
void clear_preemption() { noticed = false; }

}  // namespace systole::runtime
