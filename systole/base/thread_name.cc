#include "systole/base/thread_name.h"

namespace systole {
namespace {
thread_local const char* name_of_thread = nullptr;
}  // namespace

void name_thread(const char* name) { name_of_thread = name; }
const char* thread_name() { return name_of_thread; }

}  // namespace systole
