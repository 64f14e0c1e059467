#include "systole/hlo/ir/module.h"

#include <algorithm>
#include <unordered_set>

#include "systole/base/error.h"
#include "systole/hlo/ir/budget.h"

namespace systole::hlo {

std::string Metadata::to_string() const {
  const std::string place = where.to_string();
  std::string text;
  // Some exporters put whole kernels into names.
  constexpr size_t kLongest = 160;
  const bool fits = name.size() <= kLongest;
  if (!name.empty()) text = fmt::format("node '{}{}'", name.substr(0, kLongest), fits ? "" : "...");
  if (!place.empty()) text += fmt::format("{}at {}", text.empty() ? "" : " ", place);
  return text;
}

// -- Instruction

Instruction::Instruction(Opcode opcode, std::vector<Value> operands,
                         std::vector<TensorType> results, Attrs attrs)
    : opcode_(opcode),
      weight_(weight_of(operands.size())),
      operands_(std::move(operands)),
      results_(std::move(results)),
      attrs_(std::move(attrs)) {
  for (const Value& value : operands_) value.def->add_user(this);
}

Instruction::~Instruction() {
  if (parent_ != nullptr && parent_->module().budget != nullptr) {
    parent_->module().budget->remove_op(weight_);
  }
  regions_.clear();
  drop_operands();
}

void Instruction::remove_user(Instruction* user) {
  // Searched from the end: destruction runs backwards through the program and finds its entry at
  // once.
  const auto found = std::find(users_.rbegin(), users_.rend(), user);
  users_.erase(std::next(found).base());
}

void Instruction::drop_operands() {
  for (const Value& value : operands_) value.def->remove_user(this);
  operands_.clear();
  for (const auto& region : regions_) region->drop_operands();
}

void Instruction::set_attrs(Attrs attrs) { attrs_ = std::move(attrs); }

void Instruction::set_operand(int i, Value value) {
  Value& slot = operands_.at(static_cast<size_t>(i));
  slot.def->remove_user(this);
  slot = value;
  value.def->add_user(this);
}

void Instruction::set_operands(std::vector<Value> values) {
  for (const Value& value : operands_) value.def->remove_user(this);
  operands_ = std::move(values);
  for (const Value& value : operands_) value.def->add_user(this);
}

Computation& Instruction::add_region() {
  if (parent_->depth() >= kMaxRegionDepth) {
    throw make_error(Code::resource_exhausted,
                     "{}: regions, got more than {} levels, expected fewer, {}", opcode_,
                     kMaxRegionDepth, describe());
  }
  std::string name = fmt::format("{}_region_{}", opcode_, regions_.size());
  regions_.push_back(std::make_unique<Computation>(std::move(name), &parent_->module(), this));
  return *regions_.back();
}

std::string Instruction::describe() const {
  const std::string source = metadata_.to_string();
  if (source.empty()) return fmt::format("from '{}' in '{}'", opcode_, parent_->name());
  return fmt::format("from {}", source);
}

// -- Computation

Computation::Computation(std::string name, Module* module, Instruction* owner)
    : name_(std::move(name)),
      module_(module),
      owner_(owner),
      depth_(owner == nullptr ? 0 : owner->parent().depth() + 1) {}

Computation::~Computation() {
  // Drops uses first, so that a computation can be destroyed in any order, valid or not.
  drop_operands();
}

void Computation::drop_operands() {
  std::for_each(instructions_.rbegin(), instructions_.rend(),
                [](const auto& instruction) { instruction->drop_operands(); });
}

bool Computation::encloses(const Computation& other) const {
  for (const Computation* c = &other; c != nullptr;
       c = c->owner_ != nullptr ? &c->owner_->parent() : nullptr) {
    if (c == this) return true;
  }
  return false;
}

std::vector<Instruction*> Computation::instructions() const {
  std::vector<Instruction*> snapshot;
  snapshot.reserve(instructions_.size());
  for (const auto& instruction : instructions_) snapshot.push_back(instruction.get());
  return snapshot;
}

Value Computation::add_parameter(TensorType type, Metadata metadata) {
  Instruction* behind_last = nullptr;  // the first instruction that is no parameter
  const auto position =
      parameters_.empty() ? instructions_.begin() : std::next(parameters_.back()->position_);
  if (position != instructions_.end()) behind_last = position->get();
  Instruction* parameter = insert(Opcode::parameter, {}, {std::move(type)},
                                  ParameterAttrs{num_parameters()}, behind_last);
  parameter->set_metadata(std::move(metadata));
  parameters_.push_back(parameter);
  return parameter->result();
}

void Computation::erase_parameter(int i) {
  Instruction* parameter = parameters_.at(static_cast<size_t>(i));
  if (!parameter->unused()) {
    throw internal_error("{}: erase of parameter {}, got {} uses, expected none", name_, i,
                         parameter->users().size());
  }
  instructions_.erase(parameter->position_);
  parameters_.erase(parameters_.begin() + i);
  attributes_.parameters.erase(i);
  for (auto at = attributes_.parameters.upper_bound(i); at != attributes_.parameters.end();) {
    auto moved = attributes_.parameters.extract(at++);
    --moved.key();
    attributes_.parameters.insert(std::move(moved));
  }
  for (int k = i; k < num_parameters(); ++k) {
    parameters_[k]->set_attrs(ParameterAttrs{k});
  }
}

std::span<const Value> Computation::results() const {
  if (terminator_ == nullptr) {
    throw internal_error("{}: results, got no return yet, expected set_results before", name_);
  }
  return terminator_->operands();
}

void Computation::set_results(std::vector<Value> values) {
  if (terminator_ != nullptr) {
    terminator_->set_operands(std::move(values));
  } else {
    terminator_ = insert(Opcode::return_, std::move(values), {});
  }
}

Instruction* Computation::insert(Opcode opcode, std::vector<Value> operands,
                                 std::vector<TensorType> results, Attrs attrs,
                                 Instruction* before) {
  if (before == nullptr) before = terminator_;
  if (module_->budget != nullptr)
    module_->budget->add_op(*this, Instruction::weight_of(operands.size()));
  const auto position = before == nullptr ? instructions_.end() : before->position_;
  std::unique_ptr<Instruction> instruction(
      new Instruction(opcode, std::move(operands), std::move(results), std::move(attrs)));
  Instruction* raw = instruction.get();
  raw->parent_ = this;
  raw->position_ = instructions_.insert(position, std::move(instruction));
  return raw;
}

void Computation::move_before(Instruction* instruction, Instruction* before) {
  if (instruction == before) return;
  instructions_.splice(before->position_, instructions_, instruction->position_);
}

void Computation::erase(Instruction* instruction) {
  if (!instruction->unused()) {
    throw internal_error("{}: erase, got {} uses, expected none, {}", instruction->opcode(),
                         instruction->users().size(), instruction->describe());
  }
  if (const auto found = std::ranges::find(parameters_, instruction); found != parameters_.end()) {
    erase_parameter(static_cast<int>(found - parameters_.begin()));
    return;
  }
  if (instruction == terminator_) terminator_ = nullptr;
  instructions_.erase(instruction->position_);
}

void Computation::replace_all_uses(Value from, Value to) {
  if (from == to) return;
  const std::vector<Instruction*> users = std::exchange(from.def->users_, {});
  std::unordered_set<Instruction*> done;
  for (Instruction* user : users) {
    if (!done.insert(user).second) continue;
    for (Value& slot : user->operands_) {
      if (slot.def != from.def) continue;
      if (slot == from) slot = to;
      slot.def->add_user(user);
    }
  }
}

namespace {

Value mapped(const ValueMap& map, Value value) {
  const auto found = map.find(value);
  return found == map.end() ? value : found->second;
}

std::vector<Value> mapped(const ValueMap& map, std::span<const Value> values) {
  std::vector<Value> result;
  result.reserve(values.size());
  for (const Value& value : values) result.push_back(mapped(map, value));
  return result;
}

}  // namespace

std::vector<Value> Computation::inline_from(const Computation& source, ValueMap& map,
                                            Instruction* before) {
  for (Instruction* original : source.instructions()) {
    if (original->is(Opcode::parameter) || original == source.terminator_) continue;
    Instruction* copy = insert(original->opcode_, mapped(map, original->operands_),
                               original->results_, original->attrs_, before);
    copy->metadata_ = original->metadata_;
    for (const auto& region : original->regions_) copy->add_region().clone_from(*region, map);
    for (int i = 0; i < original->num_results(); ++i) map[original->result(i)] = copy->result(i);
  }
  return mapped(map, source.results());
}

void Computation::clone_from(const Computation& source, ValueMap& map) {
  for (Instruction* parameter : source.parameters_) {
    map[parameter->result()] = add_parameter(parameter->type(), parameter->metadata());
  }
  set_results(inline_from(source, map));
  terminator_->metadata_ = source.terminator_->metadata_;
}

// -- Module

Module::Module(std::string name) : name_(std::move(name)) {}
Module::~Module() = default;

Computation& Module::add_function(std::string name) {
  if (find_function(name) != nullptr) {
    throw make_error(Code::already_exists, "{}: function, got '{}' again, expected a new name",
                     name_, name);
  }
  functions_.push_back(std::make_unique<Computation>(std::move(name), this, nullptr));
  Computation& function = *functions_.back();
  by_name_.emplace(function.name(), &function);
  return function;
}

Computation* Module::find_function(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

void Module::erase_functions(const std::unordered_set<const Computation*>& functions) {
  for (const Computation* function : functions) by_name_.erase(function->name());
  std::erase_if(functions_, [&](const auto& owned) { return functions.contains(owned.get()); });
}

Computation& Module::entry() const {
  Computation* main = find_function("main");
  if (main == nullptr) {
    throw not_found("{}: entry, got {} functions, expected one named 'main'", name_,
                    functions_.size());
  }
  return *main;
}

std::unique_ptr<Module> Module::clone() const {
  auto copy = std::make_unique<Module>(name_);
  for (const auto& function : functions_) {
    ValueMap map;
    Computation& clone = copy->add_function(function->name());
    clone.clone_from(*function, map);
    clone.attributes() = function->attributes();
  }
  copy->aliases = aliases;
  copy->attributes = attributes;
  return copy;
}

}  // namespace systole::hlo
