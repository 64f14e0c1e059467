#include "systole/backends/cpu/kernels/processes.h"

#include "systole/base/error.h"
#include "systole/hlo/passes/vectorize_replicas.h"

namespace systole::cpu {
namespace {

const std::string* target_of(const hlo::Instruction& x) {
  const auto* const attrs = std::get_if<hlo::CustomCallAttrs>(&x.attrs());
  return attrs == nullptr ? nullptr : &attrs->call_target_name;
}

class SumReplicas : public Kernel {
 public:
  SumReplicas(const hlo::Instruction& x, runtime::ProcessGroup& processes)
      : processes_(processes),
        dtype_(x.dtype()),
        lanes_(x.operand(0).shape()[0]),
        count_(x.shape().num_elements()) {}
  void run(std::span<void* const> buffers, RunContext&) const override {
    processes_.sum_replicas(dtype_, buffers[0], lanes_, count_, buffers[1]);
  }

 private:
  runtime::ProcessGroup& processes_;
  const DType dtype_;
  const int64_t lanes_;
  const int64_t count_;
};

class GatherReplicas : public Kernel {
 public:
  GatherReplicas(const hlo::Instruction& x, runtime::ProcessGroup& processes)
      : processes_(processes), bytes_(x.operand(0).type().byte_size()) {}
  void run(std::span<void* const> buffers, RunContext&) const override {
    processes_.gather_bytes(buffers[0], bytes_, buffers[1]);
  }

 private:
  runtime::ProcessGroup& processes_;
  const int64_t bytes_;
};

}  // namespace

bool is_process_call(const hlo::Instruction& x) {
  const std::string* const target = target_of(x);
  return target != nullptr && (*target == hlo::kSumReplicas || *target == hlo::kGatherReplicas);
}

std::unique_ptr<Kernel> make_process_kernel(const hlo::Instruction& x,
                                            runtime::ProcessGroup* processes) {
  if (processes == nullptr) {
    throw failed_precondition("cpu: custom_call '{}', got one process, expected a group of them",
                              *target_of(x));
  }
  if (*target_of(x) == hlo::kSumReplicas) return std::make_unique<SumReplicas>(x, *processes);
  return std::make_unique<GatherReplicas>(x, *processes);
}

}  // namespace systole::cpu
