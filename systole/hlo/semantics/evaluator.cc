#include "systole/hlo/semantics/evaluator.h"

#include <algorithm>
#include <system_error>
#include <thread>

#include "systole/base/error.h"
#include "systole/hlo/semantics/op_semantics.h"
#include "systole/hlo/semantics/quantized.h"
#include "systole/hlo/semantics/small_floats.h"

namespace systole::hlo {
namespace {

void check_arguments(const Computation& computation, std::span<const Tensor> arguments) {
  const auto wanted = static_cast<size_t>(computation.num_parameters());
  if (arguments.size() != wanted) {
    throw invalid_argument("{}: number of arguments, got {}, expected {}", computation.name(),
                           arguments.size(), wanted);
  }
  for (int i = 0; i < computation.num_parameters(); ++i) {
    const TensorType got = arguments[i].type();
    if (got != computation.parameter(i).type().storage()) {
      throw invalid_argument("{}: type of argument {}, got {}, expected {}", computation.name(), i,
                             got, computation.parameter(i).type());
    }
  }
}

// Returns the instruction of `computation` that is `user` or encloses it.
const Instruction* anchor_in(const Computation& computation, const Instruction* user) {
  while (&user->parent() != &computation) user = user->parent().owner();
  return user;
}

// By position in `program`: the instructions whose results have their last use there.
std::vector<std::vector<Instruction*>> last_uses(const Computation& computation,
                                                 std::span<Instruction* const> program) {
  std::unordered_map<const Instruction*, size_t> position;
  for (size_t i = 0; i < program.size(); ++i) position[program[i]] = i;
  std::vector<std::vector<Instruction*>> result(program.size());
  for (Instruction* def : program) {
    size_t last = position[def];
    for (const Instruction* user : def->users()) {
      last = std::max(last, position[anchor_in(computation, user)]);
    }
    result[last].push_back(def);
  }
  return result;
}

// Collectives with a region combine whole tensors, with the region's own types. They must meet at
// one instruction.
bool is_widened(const Instruction& instruction) {
  const bool meets = instruction.traits().has(kContextual) && instruction.num_regions() > 0;
  return !meets && needs_widening(instruction);
}

std::vector<Tensor> evaluate_widened(const Instruction& instruction,
                                     std::span<const Tensor> operands, const Evaluator& evaluator) {
  Module module;
  module.attributes = instruction.parent().module().attributes;
  Computation& main = module.add_function("main");
  std::vector<Value> parameters;
  for (const Tensor& operand : operands) parameters.push_back(main.add_parameter(operand.type()));
  Builder b(main);
  main.set_results(insert_widened(instruction, std::move(parameters), b));
  return evaluator.run(main, operands);
}

std::string place_of(const Process& process) {
  return fmt::format("from replica {}, partition {}", process.replica_id(), process.partition_id());
}

}  // namespace

const Tensor& Evaluator::lookup(Value value, const Environment& innermost) const {
  if (const auto found = innermost.find(value); found != innermost.end()) return found->second;
  for (const Evaluator* e = this; e != nullptr; e = e->outer_) {
    if (e->environment_ == nullptr) continue;
    const auto found = e->environment_->find(value);
    if (found != e->environment_->end()) return found->second;
  }
  throw internal_error("evaluate: value, got a use of '{}' before its definition, {}",
                       value.def->opcode(), value.def->describe());
}

std::vector<Tensor> Evaluator::run(const Computation& computation,
                                   std::span<const Tensor> arguments) const {
  if (depth_ >= kMaxDepth) {
    throw make_error(Code::resource_exhausted,
                     "{}: calls and regions within each other, got more than {}, expected fewer",
                     computation.name(), kMaxDepth);
  }
  check_arguments(computation, arguments);
  Environment values;
  const Evaluator inner(this, &values);
  for (int i = 0; i < computation.num_parameters(); ++i) {
    values[computation.parameter(i)] = arguments[i];
  }
  const std::vector<Instruction*> program = computation.instructions();
  const auto dead_after = last_uses(computation, program);
  for (size_t i = 0; i < program.size(); ++i) {
    Instruction* instruction = program[i];
    std::vector<Tensor> operands;
    for (const Value& operand : instruction->operands())
      operands.push_back(lookup(operand, values));
    if (instruction == computation.terminator()) return operands;
    if (!instruction->is(Opcode::parameter)) {
      std::vector<Tensor> results = inner.evaluate(*instruction, operands);
      for (int k = 0; k < instruction->num_results(); ++k) {
        values[instruction->result(k)] = std::move(results[k]);
      }
    }
    for (Instruction* dead : dead_after[i]) {
      for (int k = 0; k < dead->num_results(); ++k) values.erase(dead->result(k));
    }
  }
  throw internal_error("{}: evaluate, got no return, expected one", computation.name());
}

std::vector<Tensor> Evaluator::evaluate(const Instruction& instruction,
                                        std::span<const Tensor> operands) const try {
  const OpSemantics& semantics = semantics_of(instruction.opcode());
  if (semantics.evaluate == nullptr) {
    throw internal_error("evaluate: got '{}', expected an opcode with a value",
                         instruction.opcode());
  }
  std::vector<Tensor> results =
      is_quantized(instruction) ? evaluate_quantized(instruction, operands, *this)
      : is_widened(instruction) ? evaluate_widened(instruction, operands, *this)
                                : semantics.evaluate(instruction, operands, *this);
  if (results.size() != instruction.results().size()) {
    throw internal_error("{}: number of values, got {}, expected {}", instruction.opcode(),
                         results.size(), instruction.results().size());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].type() != instruction.results()[i].storage()) {
      throw internal_error("{}: type of value {}, got {}, expected {}", instruction.opcode(), i,
                           results[i].type(), instruction.results()[i]);
    }
  }
  return results;
} catch (const Error& error) {
  const std::string source = instruction.metadata().to_string();
  if (source.empty()) throw;
  throw error.with_context(source);
}

std::vector<std::vector<Tensor>> evaluate_parallel(const Computation& function,
                                                   const ProcessGrid& grid,
                                                   std::span<const std::vector<Tensor>> arguments) {
  const auto count = static_cast<size_t>(grid.size());
  if (arguments.size() != count) {
    throw invalid_argument("{}: lists of arguments, got {}, expected {}, one a process",
                           function.name(), arguments.size(), count);
  }
  Rendezvous rendezvous(grid.size());
  std::vector<std::vector<Tensor>> results(count);
  {
    std::vector<std::jthread> threads;
    const auto run_process = [&](size_t i) {
      Process process(grid, static_cast<int64_t>(i), rendezvous);
      try {
        results[i] = Evaluator(process).run(function, arguments[i]);
        rendezvous.finish();
      } catch (const Error& error) {
        rendezvous.fail(error.with_context(place_of(process)));
      } catch (const std::exception& error) {
        rendezvous.fail(internal_error("{}: {}", place_of(process), error.what()));
      }
    };
    try {
      for (size_t i = 0; i < count; ++i) threads.emplace_back(run_process, i);
    } catch (const std::system_error& error) {
      // Replicas that run would wait for the others.
      rendezvous.fail(make_error(Code::resource_exhausted, "{}: threads, got {}, expected {}: {}",
                                 function.name(), threads.size(), count, error.what()));
    }
  }
  if (rendezvous.failure()) throw Error(*rendezvous.failure());
  return results;
}

std::vector<std::vector<Tensor>> evaluate_replicated(
    const Module& module, std::span<const std::vector<Tensor>> arguments) {
  const ProcessGrid grid{.num_replicas = static_cast<int64_t>(arguments.size())};
  return evaluate_parallel(module.entry(), grid, arguments);
}

}  // namespace systole::hlo
