#include "systole/backends/cpu/codegen/program_record.h"

#include <llvm/Support/Endian.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "systole/backends/cpu/analysis/attention_fusion.h"
#include "systole/backends/cpu/analysis/attention_gradient.h"
#include "systole/backends/cpu/analysis/product_fusion.h"
#include "systole/backends/cpu/codegen/kernel_problems.h"
#include "systole/backends/cpu/kernels/blocked_dot.h"
#include "systole/backends/cpu/kernels/fft.h"
#include "systole/backends/cpu/kernels/lapack.h"
#include "systole/backends/cpu/kernels/onednn_convolution.h"
#include "systole/backends/cpu/kernels/onednn_dot.h"
#include "systole/backends/cpu/kernels/processes.h"
#include "systole/backends/cpu/kernels/reference.h"
#include "systole/backends/cpu/kernels/row_dot.h"
#include "systole/backends/cpu/kernels/transpose.h"
#include "systole/hlo/semantics/op_semantics.h"
#include "systole/runtime/ffi/ffi_call.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using Making = std::unique_ptr<Kernel>(const KernelRecord&, const KernelSetting&);

class FfiKernel : public Kernel {
 public:
  explicit FfiKernel(const Instruction& x) : call_(x) {}
  void run(std::span<void* const> buffers, RunContext&) const override { call_.run(buffers); }

 private:
  const runtime::FfiCall call_;
};

std::unique_ptr<Kernel> make_dot(const KernelRecord& r, const KernelSetting& setting) {
  const bool stays = stays_for_long(*r.x, r.x->operand(1));
  auto kernel = make_dot_kernel(*r.x, stays, setting.num_threads);
  return kernel != nullptr ? std::move(kernel) : make_blocked_dot_kernel(*r.x);
}

std::unique_ptr<Kernel> make_convolution(const KernelRecord& r, const KernelSetting& setting) {
  const bool stays = stays_for_long(*r.x, r.x->operand(1));
  return make_convolution_kernel(*r.x, stays, setting.num_threads);
}

std::unique_ptr<Kernel> make_product(const KernelRecord& r, const KernelSetting& setting) {
  CompletedProduct p = completed_product(*r.x);
  const bool stays = stays_for_long(*r.x, p.operands[1]);
  const auto make =
      p.product->is(Opcode::convolution) ? make_convolution_with_epilogue : make_dot_with_epilogue;
  return make(*p.product, stays, setting.num_threads, std::move(p.epilogue));
}

std::unique_ptr<Kernel> make_pad(const KernelRecord& r, const KernelSetting& setting) {
  std::vector<PaddedAxis> axes = padded_axes(*r.x);
  if (axes.empty()) return nullptr;
  return make_pad_kernel(std::move(axes), size_of(r.x->dtype()),
                         r.x->type().byte_size() >= setting.streamed_bytes);
}

std::unique_ptr<Kernel> make_attention(const KernelRecord& r, const KernelSetting& setting) {
  if (r.x->num_results() == 1)
    return make_attention_kernel(fused_attention(*r.x).attention, setting.num_threads);
  return make_attention_gradient_kernel(fused_attention_gradient(*r.x).gradient);
}

bool is_dot(const KernelRecord& r) { return r.x->is(Opcode::dot_general); }

// How the kernels of a kind are made, and of what.
struct KindRow {
  KernelKind kind;
  bool (*fits)(const KernelRecord&);
  Making* make;
};
constexpr KindRow kKinds[] = {
    {KernelKind::attention, [](const KernelRecord& r) { return is_attention_fusion(*r.x); },
     make_attention},
    {KernelKind::convolution, [](const KernelRecord& r) { return r.x->is(Opcode::convolution); },
     make_convolution},
    {KernelKind::dot, is_dot, make_dot},
    {KernelKind::fft, [](const KernelRecord& r) { return r.x->is(Opcode::fft); },
     [](const KernelRecord& r, const KernelSetting&) { return make_fft_kernel(*r.x); }},
    {KernelKind::foreign, [](const KernelRecord& r) { return runtime::is_ffi_call(*r.x); },
     [](const KernelRecord& r, const KernelSetting&) -> std::unique_ptr<Kernel> {
       return std::make_unique<FfiKernel>(*r.x);
     }},
    {KernelKind::join,
     [](const KernelRecord& r) {
       return r.x->is(Opcode::concatenate) && r.x->shape().num_elements() > 0 && r.argument >= 0 &&
              r.argument < r.x->num_operands();
     },
     [](const KernelRecord& r, const KernelSetting& setting) {
       return make_join_kernel(joined_rows(*r.x, r.argument, setting.streamed_bytes));
     }},
    {KernelKind::lapack, [](const KernelRecord& r) { return is_lapack_call(*r.x); },
     [](const KernelRecord& r, const KernelSetting&) { return make_lapack_kernel(*r.x); }},
    {KernelKind::pad, [](const KernelRecord& r) { return r.x->is(Opcode::pad); }, make_pad},
    {KernelKind::process, [](const KernelRecord& r) { return process_call(*r.x) != nullptr; },
     [](const KernelRecord& r, const KernelSetting& setting) {
       return make_process_kernel(*r.x, setting.processes);
     }},
    {KernelKind::product_fusion, [](const KernelRecord& r) { return is_product_fusion(*r.x); },
     make_product},
    {KernelKind::reference,
     [](const KernelRecord& r) { return hlo::semantics_of(r.x->opcode()).evaluate != nullptr; },
     [](const KernelRecord& r, const KernelSetting&) { return make_reference_kernel(*r.x); }},
    {KernelKind::row_dot, is_dot,
     [](const KernelRecord& r, const KernelSetting&) {
       return make_row_dot_kernel(*r.x, r.argument != 0);
     }},
    {KernelKind::sort,
     [](const KernelRecord& r) { return r.x->is(Opcode::sort) && r.x->shape().num_elements() > 0; },
     [](const KernelRecord& r, const KernelSetting& setting) {
       return make_sort_kernel(sort_problem(*r.x, setting.num_threads));
     }},
    {KernelKind::transpose, [](const KernelRecord& r) { return r.x->is(Opcode::transpose); },
     [](const KernelRecord& r, const KernelSetting& setting) {
       return make_transpose_kernel(*r.x, setting.streamed_bytes);
     }},
};

const KindRow* row_of(KernelKind kind) {
  const auto* const row = std::ranges::find(kKinds, kind, &KindRow::kind);
  return row == std::end(kKinds) ? nullptr : row;
}

// In the order of the program's text. (Parameters may lie anywhere.)
void add_instructions(const hlo::Computation& computation, std::vector<const Instruction*>& all) {
  for (const Instruction* x : computation.instructions()) {
    if (x->is(Opcode::parameter)) continue;
    all.push_back(x);
    for (const auto& region : x->regions()) add_instructions(*region, all);
  }
}

std::vector<const Instruction*> instructions_in_order(const hlo::Module& module) {
  std::vector<const Instruction*> all;
  add_instructions(module.entry(), all);
  return all;
}

using Word = std::array<char, sizeof(uint64_t)>;

class WordWriter {
 public:
  void add(uint64_t word) {
    Word bytes;
    llvm::support::endian::write64le(bytes.data(), word);
    text.append(bytes.data(), bytes.size());
  }
  std::string text;
};

// Reads zeros once it has failed.
class WordReader {
 public:
  explicit WordReader(std::string_view bytes) : left_(bytes) {}
  uint64_t word() {
    if (left_.size() < sizeof(Word)) fail();
    if (failed_) return 0;
    const uint64_t word = llvm::support::endian::read64le(left_.data());
    left_.remove_prefix(sizeof(Word));
    return word;
  }
  // The number of entries of `words` words each, which are there.
  uint64_t count(uint64_t words) {
    const uint64_t count = word();
    if (count > left_.size() / sizeof(Word) / words) fail();
    return failed_ ? 0 : count;
  }
  const Instruction* instruction(const std::vector<const Instruction*>& all) {
    const uint64_t number = word();
    if (number >= all.size()) fail();
    return failed_ ? nullptr : all[number];
  }
  void fail() { failed_ = true; }
  bool failed() const { return failed_; }
  bool done() const { return !failed_ && left_.empty(); }

 private:
  std::string_view left_;
  bool failed_ = false;
};

constexpr uint64_t kKernelWords = 3;
constexpr uint64_t kStepWords = 2;

}  // namespace

int64_t ProgramRecord::interpreted_steps() const {
  return std::ranges::count(steps, true, &StepRecord::interpreted);
}

std::unique_ptr<Kernel> make_kernel(const KernelRecord& record, const KernelSetting& setting) {
  return row_of(record.kind)->make(record, setting);
}

std::string write_record(const ProgramRecord& record, const hlo::Module& module) {
  const std::vector<const Instruction*> all = instructions_in_order(module);
  std::unordered_map<const Instruction*, uint64_t> numbers;
  for (size_t i = 0; i < all.size(); ++i) numbers[all[i]] = i;
  WordWriter words;
  words.add(all.size());
  words.add(record.has_step_loop ? 1 : 0);
  words.add(record.kernels.size());
  for (const KernelRecord& kernel : record.kernels) {
    words.add(static_cast<uint64_t>(kernel.kind));
    words.add(numbers.at(kernel.x));
    words.add(static_cast<uint64_t>(kernel.argument));
  }
  words.add(record.steps.size());
  for (const StepRecord& step : record.steps) {
    words.add(numbers.at(step.x));
    words.add(step.interpreted ? 1 : 0);
  }
  return std::move(words.text);
}

std::optional<ProgramRecord> read_record(std::string_view bytes, const hlo::Module& module) {
  const std::vector<const Instruction*> all = instructions_in_order(module);
  WordReader words(bytes);
  if (words.word() != all.size()) return std::nullopt;
  ProgramRecord record;
  record.has_step_loop = words.word() != 0;
  for (uint64_t left = words.count(kKernelWords); left > 0 && !words.failed(); --left) {
    const uint64_t kind = words.word();
    const Instruction* const x = words.instruction(all);
    const auto argument = static_cast<int64_t>(words.word());
    if (kind >= std::size(kKinds)) words.fail();
    if (words.failed()) break;
    record.kernels.push_back({static_cast<KernelKind>(kind), x, argument});
    if (!row_of(record.kernels.back().kind)->fits(record.kernels.back())) words.fail();
  }
  for (uint64_t left = words.count(kStepWords); left > 0; --left) {
    const Instruction* const x = words.instruction(all);
    record.steps.push_back({x, words.word() != 0});
  }
  if (!words.done()) return std::nullopt;
  return record;
}

}  // namespace systole::cpu
