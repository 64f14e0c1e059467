// The intermediate representation. A Module owns functions; a function is a Computation; a
// Computation is a list of Instructions in static single assignment form. Semantics and names are
// StableHLO's.
//
// Ownership: Module -> Computation -> Instruction -> Computation (a region). All other pointers are
// borrowed and stay valid until their object is erased. Not synchronised: one thread may change a
// module at a time; any number may read a module that nobody changes.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "systole/base/shape.h"
#include "systole/base/source_location.h"
#include "systole/hlo/ir/attrs.h"
#include "systole/hlo/ir/opcode.h"

namespace systole::hlo {

class Budget;
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
// Maps values of one computation to values of another (clone, inline, fuse).
using ValueMap = std::unordered_map<Value, Value, ValueHash>;

// Attributes that no code reads, as MLIR text by name; the printer writes them back. The text is ""
// for a name without a value.
using AttributeTexts = std::map<std::string, std::string>;
struct FunctionAttributes {
  AttributeTexts function;
  std::map<int, AttributeTexts> parameters;  // by index, of those that have any
  std::map<int, AttributeTexts> results;
  friend bool operator==(const FunctionAttributes&, const FunctionAttributes&) = default;
};

// The source of an instruction. Rewrites carry it over; errors show it.
struct Metadata {
  std::string name;  // the graph node's, "dense/MatMul"
  SourceLocation where;
  bool collective = false;  // combines values of replicas, or did before vectorize_replicas

  std::string to_string() const;  // "node 'dense/MatMul' at iris.cc:41", "" when nothing is known
};

// Metadata::name of the loop of a StepLoop: each iteration is a step. No graph node has this name.
inline constexpr std::string_view kStepLoop = "step loop";

// An operation with any number of operands, results and regions. A region is a computation that the
// instruction owns; it may use values of the enclosing computations.
class Instruction {
 public:
  Instruction(const Instruction&) = delete;
  Instruction& operator=(const Instruction&) = delete;
  ~Instruction();

  Opcode opcode() const { return opcode_; }
  bool is(Opcode opcode) const { return opcode_ == opcode; }
  const OpcodeTraits& traits() const { return hlo::traits(opcode_); }

  std::span<const Value> operands() const { return operands_; }
  Value operand(int i) const { return operands_[i]; }
  int num_operands() const { return static_cast<int>(operands_.size()); }
  void set_operand(int i, Value value);
  void set_operands(std::vector<Value> values);

  std::span<const TensorType> results() const { return results_; }
  int num_results() const { return static_cast<int>(results_.size()); }
  Value result(int i = 0) { return {this, i}; }
  // The type of the first result.
  const TensorType& type() const { return results_[0]; }
  const Shape& shape() const { return results_[0].shape; }
  DType dtype() const { return results_[0].dtype; }

  const Attrs& attrs() const { return attrs_; }
  // The attributes as the opcode's struct: instruction.attrs<DotAttrs>().
  template <class T>
  const T& attrs() const {
    return std::get<T>(attrs_);
  }
  void set_attrs(Attrs attrs);

  int num_regions() const { return static_cast<int>(regions_.size()); }
  Computation& region(int i = 0) const { return *regions_[i]; }
  std::span<const std::unique_ptr<Computation>> regions() const { return regions_; }
  // Appends an empty region. Errors: RESOURCE_EXHAUSTED if it were more than kMaxRegionDepth deep.
  Computation& add_region();

  // The instructions that use a result of this one, once per operand, in no particular order.
  std::span<Instruction* const> users() const { return users_; }
  bool unused() const { return users_.empty(); }

  Computation& parent() const { return *parent_; }
  const Metadata& metadata() const { return metadata_; }
  void set_metadata(Metadata metadata) { metadata_ = std::move(metadata); }

  int64_t weight() const { return weight_; }

  // Returns "from node 'x' at file.cc:41", for the end of an error message.
  std::string describe() const;

 private:
  friend class Builder;
  friend class Computation;
  Instruction(Opcode opcode, std::vector<Value> operands, std::vector<TensorType> results,
              Attrs attrs);

  // What it counts in a budget: more than one with many operands.
  static int64_t weight_of(size_t num_operands) {
    return 1 + static_cast<int64_t>(num_operands / 8);
  }

  void drop_operands();
  void add_user(Instruction* user) { users_.push_back(user); }
  void remove_user(Instruction* user);

  Opcode opcode_;
  int64_t weight_;  // of the operands that it was made with
  std::vector<Value> operands_;
  std::vector<TensorType> results_;
  Attrs attrs_;
  std::vector<std::unique_ptr<Computation>> regions_;
  std::vector<Instruction*> users_;
  Computation* parent_ = nullptr;
  std::list<std::unique_ptr<Instruction>>::iterator position_;
  Metadata metadata_;
};

inline const TensorType& Value::type() const { return def->results()[index]; }

// Regions are nested at most this deep, so that code may recurse into them. Readers take less;
// inlining adds the regions of callees to those around their calls.
inline constexpr int kMaxRegionDepth = 128;

// A function of a module or a region of an instruction: parameters, instructions ordered so that
// every definition comes before its uses, and one `return` at the end.
class Computation {
 public:
  Computation(std::string name, Module* module, Instruction* owner);
  ~Computation();
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;

  const std::string& name() const { return name_; }
  Module& module() const { return *module_; }
  // The instruction that owns this region; nullptr for a function.
  Instruction* owner() const { return owner_; }
  // The number of instructions around this region; 0 for a function.
  int depth() const { return depth_; }
  // Returns whether `other` is this computation or nested in a region of it.
  bool encloses(const Computation& other) const;

  // Returns the instructions in program order, as a copy: callers may insert and erase while they
  // iterate.
  std::vector<Instruction*> instructions() const;
  int num_instructions() const { return static_cast<int>(instructions_.size()); }

  Value add_parameter(TensorType type, Metadata metadata = {});
  int num_parameters() const { return static_cast<int>(parameters_.size()); }
  Value parameter(int i) const { return parameters_[i]->result(); }
  // Removes an unused parameter and renumbers those after it.
  void erase_parameter(int i);

  // The returned values. Errors: INTERNAL before set_results.
  std::span<const Value> results() const;
  bool has_results() const { return terminator_ != nullptr; }
  void set_results(std::vector<Value> values);
  Instruction* terminator() const { return terminator_; }

  // Functions only; regions have no attributes.
  FunctionAttributes& attributes() { return attributes_; }
  const FunctionAttributes& attributes() const { return attributes_; }

  // Inserts before `before`, by default at the end. Infers and checks nothing; use Builder for
  // that. Errors: RESOURCE_EXHAUSTED beyond the module's budget.
  Instruction* insert(Opcode opcode, std::vector<Value> operands, std::vector<TensorType> results,
                      Attrs attrs = NoAttrs{}, Instruction* before = nullptr);
  // Moves an instruction before another one of this computation.
  void move_before(Instruction* instruction, Instruction* before);
  // REQUIRES: no users.
  void erase(Instruction* instruction);

  // Replaces `from` by `to` in every user, in regions too.
  static void replace_all_uses(Value from, Value to);

  // Appends copies of `source`'s instructions with their regions, without its parameters and its
  // return. Operands are looked up in `map`; values not in `map` are used unchanged. `map` receives
  // the copies. Returns the values that correspond to source's results.
  std::vector<Value> inline_from(const Computation& source, ValueMap& map,
                                 Instruction* before = nullptr);
  // Copies `source` into this empty computation. Values from outside `source` are looked up in
  // `map`.
  void clone_from(const Computation& source, ValueMap& map);

 private:
  friend class Instruction;
  void drop_operands();

  std::string name_;
  Module* module_;
  Instruction* owner_;
  int depth_;
  std::list<std::unique_ptr<Instruction>> instructions_;
  std::vector<Instruction*> parameters_;
  Instruction* terminator_ = nullptr;
  FunctionAttributes attributes_;
};

// A program. `entry()` is the function "main".
class Module {
 public:
  explicit Module(std::string name = "module");
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  // Errors: ALREADY_EXISTS if the name is taken.
  Computation& add_function(std::string name);
  // Returns nullptr if there is no such function.
  Computation* find_function(std::string_view name) const;
  std::span<const std::unique_ptr<Computation>> functions() const { return functions_; }
  // REQUIRES: no instruction outside of them calls them.
  void erase_functions(const std::unordered_set<const Computation*>& functions);
  // Errors: NOT_FOUND if there is no function "main".
  Computation& entry() const;

  std::unique_ptr<Module> clone() const;

  // Result `result` of main may reuse the buffer of parameter `parameter` (an updated variable).
  struct Alias {
    int parameter;
    int result;
    friend bool operator==(const Alias&, const Alias&) = default;
  };
  std::vector<Alias> aliases;

  AttributeTexts attributes;

  // What passes may still add; null while nothing is counted. Not copied by clone().
  std::shared_ptr<Budget> budget;

 private:
  std::string name_;
  std::vector<std::unique_ptr<Computation>> functions_;
  std::unordered_map<std::string_view, Computation*> by_name_;  // names of the functions
};

}  // namespace systole::hlo
