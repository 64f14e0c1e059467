#include <atomic>

#include "systole/base/log.h"
#include "systole/session/host/host_kernel.h"
#include "systole/session/host/print_text.h"

namespace systole::kernels {
namespace {

// A step after a device program gets the printed values and has no results; a step among host ops
// gets all inputs.
std::vector<Tensor> run_print(KernelContext& c) {
  const bool passes = c.inputs.size() == static_cast<size_t>(c.node.num_inputs());
  const auto first_n = c.attr<int64_t>("first_n");
  if (first_n >= 0) {
    const auto count = c.resources.get<std::atomic<int64_t>>(
        "Print:" + c.node.name(), [] { return std::make_shared<std::atomic<int64_t>>(0); });
    if ((*count)++ >= first_n) return passes ? std::vector{c.input(0)} : std::vector<Tensor>();
  }
  log_message(LogLevel::info, print_text(c.node, passes ? c.inputs.subspan(1) : c.inputs));
  return passes ? std::vector{c.input(0)} : std::vector<Tensor>();
}

}  // namespace

extern const HostKernelDef print_kernel{.op = "Print", .run = run_print};

}  // namespace systole::kernels
