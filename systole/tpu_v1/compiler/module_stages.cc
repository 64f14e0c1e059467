#include "systole/tpu_v1/compiler/module_stages.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/passes/constant_folding.h"
#include "systole/hlo/passes/dce.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/quantized.h"
#include "systole/tpu_v1/compiler/hlo_network.h"
#include "systole/tpu_v1/compiler/unroll_loops.h"

namespace systole::tpu_v1 {
namespace {

using hlo::Value;
using Constants = std::unordered_map<Value, Tensor, hlo::ValueHash>;

constexpr int kConstant = -1;  // the level of constants

// Adds the values from outside that an instruction reads, in its regions too.
void collect_reads(const hlo::Instruction& op, std::vector<Value>& reads) {
  for (const Value& operand : op.operands()) reads.push_back(operand);
  for (const auto& region : op.regions()) {
    for (const hlo::Instruction* inner : region->instructions()) collect_reads(*inner, reads);
  }
}

std::vector<Value> reads_of(const hlo::Instruction& op) {
  std::vector<Value> all;
  collect_reads(op, all);
  std::vector<Value> outer;
  for (const Value& value : all) {
    if (&value.def->parent() == &op.parent()) outer.push_back(value);
  }
  return outer;
}

class Stager {
 public:
  Stager(const hlo::Module& module, const MachineConfig& config)
      : module_(module.clone()), config_(config) {
    hlo::InlineCalls().run(*module_);
    if (unroll_loops(*module_)) hlo::ConstantFolding().run(*module_);
    hlo::DeadCodeElimination().run(*module_);
    instructions_ = module_->entry().instructions();
  }

  StagedModule make() {
    const hlo::Computation& main = module_->entry();
    for (int i = 0; i < main.num_parameters(); ++i) number_of(main.parameter(i));
    for (hlo::Instruction* op : instructions_) assign_level(*op);
    find_outputs();
    for (int level = 0; level < static_cast<int>(outputs_.size()); ++level) {
      if (outputs_[static_cast<size_t>(level)].empty()) continue;
      staged_.stages.push_back(level % 2 == 0 ? host_stage(level) : machine_stage(level));
    }
    for (const Value& result : main.results()) staged_.results.push_back(number_of(result));
    return std::move(staged_);
  }

 private:
  int number_of(const Value& value) {
    const auto [found, added] = numbers_.emplace(value, static_cast<int>(staged_.values.size()));
    if (added) staged_.values.push_back(value.type().storage());
    return found->second;
  }
  int level_of(const Value& value) const { return levels_.at(value.def); }

  // -- Levels: even ones are the host's.

  void assign_level(hlo::Instruction& op) {
    if (op.is(hlo::Opcode::parameter)) {
      levels_[&op] = 0;
      return;
    }
    int base = kConstant;
    for (const Value& read : reads_of(op)) base = std::max(base, level_of(read));
    if (base == kConstant && is_constant(op)) {
      levels_[&op] = kConstant;
      return;
    }
    base = std::max(base, 0);
    if (is_for_machine(op, base)) {
      levels_[&op] = base % 2 == 1 ? base : base + 1;
    } else {
      levels_[&op] = base % 2 == 0 ? base : base + 1;
    }
  }

  static bool is_for_machine(const hlo::Instruction& op, int base) {
    if (op.num_results() != 1 || !op.type().is_quantized()) return false;
    if (op.is(hlo::Opcode::uniform_quantize) && !op.operand(0).type().is_quantized()) return false;
    std::vector<TensorType> operands;
    for (const Value& operand : op.operands()) operands.push_back(operand.type());
    const hlo::QuantizedRule rule = hlo::quantized_rule(op.opcode(), operands, op.results());
    if (rule == hlo::QuantizedRule::real) return computes_real_op(op);
    const bool moves = rule == hlo::QuantizedRule::moves;
    return !moves || base % 2 == 1;
  }

  // Whether an op on constants can be evaluated.
  static bool is_constant(const hlo::Instruction& op) {
    return !op.traits().has(hlo::kPinned) && op.num_results() == 1 && op.num_regions() == 0;
  }

  void evaluate(const Value& value) {
    if (constants_.contains(value)) return;
    std::vector<Tensor> operands;
    for (const Value& operand : value.def->operands()) {
      evaluate(operand);
      operands.push_back(constants_.at(operand));
    }
    constants_[value] = hlo::Evaluator().evaluate(*value.def, operands)[0];
  }

  // Finds the values that each level hands on.
  void find_outputs() {
    const auto hand_on = [&](const Value& value, int reader) {
      const int level = level_of(value);
      if (value.def->is(hlo::Opcode::parameter) || level == reader) return;
      // Constants are copied into the stages that read them; as results they are the host's.
      if (level == kConstant && reader != kResults) return;
      const auto from = static_cast<size_t>(std::max(level, 0));
      if (outputs_.size() <= from) outputs_.resize(from + 1);
      if (std::ranges::count(outputs_[from], value) == 0) outputs_[from].push_back(value);
    };
    for (const hlo::Instruction* op : instructions_) {
      if (op->is(hlo::Opcode::return_)) continue;
      for (const Value& read : reads_of(*op)) hand_on(read, levels_.at(op));
    }
    for (const Value& result : module_->entry().results()) hand_on(result, kResults);
  }

  // -- Stages

  ModuleStage host_stage(int level) {
    ModuleStage stage;
    stage.host = module_->clone();
    stage.host->aliases.clear();
    hlo::Computation& main = stage.host->entry();
    const std::vector<hlo::Instruction*> copies = main.instructions();
    std::unordered_map<const hlo::Instruction*, hlo::Instruction*> copy_of;
    for (size_t i = 0; i < copies.size(); ++i) copy_of[instructions_[i]] = copies[i];
    for (int i = 0; i < main.num_parameters(); ++i) stage.inputs.push_back(i);
    std::vector<Value> results;
    for (const Value& output : outputs_[static_cast<size_t>(level)]) {
      results.push_back({copy_of.at(output.def), output.index});
      stage.outputs.push_back(number_of(output));
    }
    main.set_results(results);
    for (size_t before = 0; before < outputs_.size() && static_cast<int>(before) < level;
         ++before) {
      for (const Value& value : outputs_[before]) {
        const Value parameter = main.add_parameter(value.type());
        hlo::Computation::replace_all_uses({copy_of.at(value.def), value.index}, parameter);
        stage.inputs.push_back(number_of(value));
      }
    }
    hlo::DeadCodeElimination().run(*stage.host);
    drop_unused_parameters(main, stage.inputs);
    return stage;
  }

  static void drop_unused_parameters(hlo::Computation& main, std::vector<int>& inputs) {
    for (int i = main.num_parameters() - 1; i >= 0; --i) {
      if (!main.parameter(i).def->unused()) continue;
      main.erase_parameter(i);
      inputs.erase(inputs.begin() + i);
    }
  }

  ModuleStage machine_stage(int level) {
    HloPart part;
    part.constants = &constants_;
    part.outputs = outputs_[static_cast<size_t>(level)];
    for (hlo::Instruction* op : instructions_) {
      if (levels_.at(op) != level || op->is(hlo::Opcode::return_)) continue;
      part.instructions.push_back(op);
      for (const Value& read : reads_of(*op)) {
        const int from = level_of(read);
        if (from == kConstant) evaluate(read);
        if (from == level || from == kConstant || std::ranges::count(part.inputs, read) > 0)
          continue;
        part.inputs.push_back(read);
      }
    }
    HloNetwork made = network_of(part);
    ModuleStage stage;
    for (const Value& input : part.inputs) stage.inputs.push_back(number_of(input));
    for (const Value& output : part.outputs) stage.outputs.push_back(number_of(output));
    stage.program = compile_network(made.network, made.batch, config_, &stage.report);
    return stage;
  }

  static constexpr int kResults = 1 << 30;

  std::unique_ptr<hlo::Module> module_;
  MachineConfig config_;
  StagedModule staged_;
  std::vector<hlo::Instruction*> instructions_;
  std::unordered_map<const hlo::Instruction*, int> levels_;
  Constants constants_;
  std::vector<std::vector<Value>> outputs_;  // by level
  std::unordered_map<Value, int, hlo::ValueHash> numbers_;
};

}  // namespace

bool StagedModule::uses_machine() const {
  return std::ranges::any_of(stages,
                             [](const ModuleStage& stage) { return stage.host == nullptr; });
}

StagedModule stage_module(const hlo::Module& module, const MachineConfig& config) {
  return Stager(module, config).make();
}

}  // namespace systole::tpu_v1
