#include "systole/backends/cpu/kernels/reference.h"

#include <cstring>

#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/semantics/evaluator.h"

namespace systole::cpu {
namespace {

class ReferenceKernel : public Kernel {
 public:
  explicit ReferenceKernel(const hlo::Instruction& instruction) : module_("reference") {
    hlo::Computation& main = module_.add_function("main");
    hlo::ValueMap map;
    for (const hlo::Value& operand : instruction.operands())
      map[operand] = main.add_parameter(operand.type());
    for (const hlo::Value& captured : hlo::captures(instruction))
      map[captured] = main.add_parameter(captured.type());
    hlo::Instruction* copy = hlo::copy_instruction(instruction, map, main, nullptr);
    // Each operand becomes a separate parameter, also where two operands are the same value.
    for (int i = 0; i < copy->num_operands(); ++i) copy->set_operand(i, main.parameter(i));
    std::vector<hlo::Value> results;
    for (int i = 0; i < copy->num_results(); ++i) results.push_back(copy->result(i));
    main.set_results(std::move(results));
  }

  void run(std::span<void* const> buffers, RunContext&) const override {
    const hlo::Computation& main = module_.entry();
    const auto count = static_cast<size_t>(main.num_parameters());
    std::vector<Tensor> arguments;
    for (size_t i = 0; i < count; ++i) {
      const TensorType& type = main.parameter(static_cast<int>(i)).type();
      arguments.push_back(Tensor::view(type.dtype, type.shape, buffers[i]));
    }
    const std::vector<Tensor> results = hlo::Evaluator().run(main, arguments);
    // After all of them are computed: they may lie where the operands do.
    for (size_t k = 0; k < results.size(); ++k) {
      std::memmove(buffers[count + k], results[k].raw(),
                   static_cast<size_t>(results[k].byte_size()));
    }
  }

 private:
  hlo::Module module_;
};

}  // namespace

std::unique_ptr<Kernel> make_reference_kernel(const hlo::Instruction& instruction) {
  return std::make_unique<ReferenceKernel>(instruction);
}

}  // namespace systole::cpu
