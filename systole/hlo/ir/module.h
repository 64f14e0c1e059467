// The intermediate representation: a Module owns functions, a function is a Computation, a
// Computation is a list of Instructions in static single assignment form. Semantics and names are
// StableHLO's.
//
// Ownership: Module -> Computation -> Instruction -> (its regions) Computation. Everything else
// holds plain pointers, which stay valid until the thing pointed to is erased. Not synchronised:
// one thread changes a module at a time; any number may read one that nobody changes.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "systole/base/shape.h"
#include "systole/base/source_location.h"
#include "systole/hlo/ir/attrs.h"
#include "systole/hlo/ir/opcode.h"

namespace systole::hlo {

class Builder;
class Computation;
class Instruction;
class Module;

// One result of an instruction.
struct Value {
  Instruction* def = nullptr;
  int index = 0;

  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  explicit operator bool() const { return def != nullptr; }

  friend bool operator==(const Value&, const Value&) = default;
};

struct ValueHash {
  size_t operator()(const Value& v) const {
    return std::hash<const void*>()(v.def) * 31 + static_cast<size_t>(v.index);
  }
};
// From the values of one computation to those of another (clone, inline, fuse).
using ValueMap = std::unordered_map<Value, Value, ValueHash>;

// Attributes that nothing here reads, as MLIR text by name: kept from text to text. "" for a name
// alone.
using AttributeTexts = std::map<std::string, std::string>;
struct FunctionAttributes {
  AttributeTexts function;
  std::map<int, AttributeTexts> parameters;  // by index, of those that have any
  std::map<int, AttributeTexts> results;
  friend bool operator==(const FunctionAttributes&, const FunctionAttributes&) = default;
};

// Where an instruction comes from; carried by every rewrite, shown by every error.
struct Metadata {
  std::string name;  // the graph node's, "dense/MatMul"
  SourceLocation where;

  std::string to_string() const;  // "node 'dense/MatMul' at iris.cc:41", "" when nothing is known
};

// An operation with any number of operands, results, and regions (computations that it owns and
// that may use values of the computations around it).
class Instruction {
 public:
  Instruction(const Instruction&) = delete;
  Instruction& operator=(const Instruction&) = delete;
  ~Instruction();

  Opcode opcode() const { return opcode_; }
  bool is(Opcode opcode) const { return opcode_ == opcode; }
  const OpcodeTraits& traits() const { return hlo::traits(opcode_); }

  std::span<const Value> operands() const { return operands_; }
  Value operand(int i) const { return operands_[static_cast<size_t>(i)]; }
  int num_operands() const { return static_cast<int>(operands_.size()); }
  void set_operand(int i, Value value);
  void set_operands(std::vector<Value> values);

  std::span<const TensorType> results() const { return results_; }
  int num_results() const { return static_cast<int>(results_.size()); }
  Value result(int i = 0) { return {this, i}; }
  // The type of the only, or the first, result.
  const TensorType& type() const { return results_[0]; }
  const Shape& shape() const { return results_[0].shape; }
  DType dtype() const { return results_[0].dtype; }

  const Attrs& attrs() const { return attrs_; }
  // The attributes as the struct that belongs to the opcode: instruction.attrs<DotAttrs>().
  template <class T>
  const T& attrs() const {
    return std::get<T>(attrs_);
  }
  void set_attrs(Attrs attrs);

  int num_regions() const { return static_cast<int>(regions_.size()); }
  Computation& region(int i = 0) const { return *regions_[static_cast<size_t>(i)]; }
  std::span<const std::unique_ptr<Computation>> regions() const { return regions_; }
  // Appends an empty region.
  Computation& add_region();

  // The instructions that use a result of this one, once for each operand that is such a use, in no
  // given order.
  std::span<Instruction* const> users() const { return users_; }
  bool unused() const { return users_.empty(); }

  Computation& parent() const { return *parent_; }
  const Metadata& metadata() const { return metadata_; }
  void set_metadata(Metadata metadata) { metadata_ = std::move(metadata); }

  // `cpu cannot lower 'fft'` style messages put this at their end: "from node 'x' at file.cc:41".
  std::string describe() const;

 private:
  friend class Builder;
  friend class Computation;
  Instruction(Opcode opcode, std::vector<Value> operands, std::vector<TensorType> results,
              Attrs attrs);

  void drop_operands();
  void add_user(Instruction* user) { users_.push_back(user); }
  void remove_user(Instruction* user);

  Opcode opcode_;
  std::vector<Value> operands_;
  std::vector<TensorType> results_;
  Attrs attrs_;
  std::vector<std::unique_ptr<Computation>> regions_;
  std::vector<Instruction*> users_;
  Computation* parent_ = nullptr;
  std::list<std::unique_ptr<Instruction>>::iterator position_;
  Metadata metadata_;
};

inline const TensorType& Value::type() const { return def->results()[static_cast<size_t>(index)]; }

// A function of a module, or a region of an instruction: parameters, instructions in an order in
// which every value is defined before it is used, and one `return` at the end.
class Computation {
 public:
  Computation(std::string name, Module* module, Instruction* owner);
  ~Computation();
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;

  const std::string& name() const { return name_; }
  Module& module() const { return *module_; }
  // The instruction whose region this is; nullptr for a function.
  Instruction* owner() const { return owner_; }
  // True when `other` is this computation or lies in a region below it.
  bool encloses(const Computation& other) const;

  // A snapshot in program order, so that a pass may insert and erase while it walks.
  std::vector<Instruction*> instructions() const;
  int num_instructions() const { return static_cast<int>(instructions_.size()); }

  Value add_parameter(TensorType type, Metadata metadata = {});
  int num_parameters() const { return static_cast<int>(parameters_.size()); }
  Value parameter(int i) const { return parameters_[static_cast<size_t>(i)]->result(); }
  // Removes a parameter without uses and renumbers those behind it.
  void erase_parameter(int i);

  // The values returned. Errors: INTERNAL before set_results.
  std::span<const Value> results() const;
  bool has_results() const { return terminator_ != nullptr; }
  void set_results(std::vector<Value> values);
  Instruction* terminator() const { return terminator_; }

  // Of a function; regions have none.
  FunctionAttributes& attributes() { return attributes_; }
  const FunctionAttributes& attributes() const { return attributes_; }

  // Appends before the terminator (or before `before`). Nothing is inferred or checked: Builder
  // does that.
  Instruction* insert(Opcode opcode, std::vector<Value> operands, std::vector<TensorType> results,
                      Attrs attrs = NoAttrs{}, Instruction* before = nullptr);
  // Moves an instruction of this computation to before another of it.
  void move_before(Instruction* instruction, Instruction* before);
  // REQUIRES: no users.
  void erase(Instruction* instruction);

  // Makes every user of `from` use `to` instead, in regions too.
  static void replace_all_uses(Value from, Value to);

  // Appends copies of `source`'s instructions, regions included (but not its parameters and its
  // return, whose values must be in or will be looked up in `map`; values not in `map` are captured
  // as they are). `map` receives all copies. Returns the values that stand for source's results.
  std::vector<Value> inline_from(const Computation& source, ValueMap& map,
                                 Instruction* before = nullptr);
  // Makes this empty computation a copy of `source`; values from outside `source` go through `map`.
  void clone_from(const Computation& source, ValueMap& map);

 private:
  friend class Instruction;
  void drop_operands();

  std::string name_;
  Module* module_;
  Instruction* owner_;
  std::list<std::unique_ptr<Instruction>> instructions_;
  std::vector<Instruction*> parameters_;
  Instruction* terminator_ = nullptr;
  FunctionAttributes attributes_;
};

// A program. `entry()` is its function "main".
class Module {
 public:
  explicit Module(std::string name = "module");
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  // Errors: ALREADY_EXISTS when there is one of that name.
  Computation& add_function(std::string name);
  // nullptr when there is none of that name.
  Computation* find_function(std::string_view name) const;
  std::span<const std::unique_ptr<Computation>> functions() const { return functions_; }
  // REQUIRES: nothing calls it.
  void erase_function(const Computation& function);
  // Errors: NOT_FOUND when no function "main" was added.
  Computation& entry() const;

  std::unique_ptr<Module> clone() const;

  // Result `result` of main may be written over the buffer of its parameter `parameter` (an updated
  // variable).
  struct Alias {
    int parameter;
    int result;
    friend bool operator==(const Alias&, const Alias&) = default;
  };
  std::vector<Alias> aliases;

  AttributeTexts attributes;

 private:
  std::string name_;
  std::vector<std::unique_ptr<Computation>> functions_;
};

}  // namespace systole::hlo
