// The program to partition: without calls, and with its shardings read.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "systole/hlo/ir/sharding.h"

namespace systole::hlo::spmd {

// A manual computation: its body sees a device's part along some axes of the mesh.
struct Scope {
  const Scope* outer = nullptr;  // null: main
  Mesh mesh;
  std::vector<std::string> axes;  // besides those of `outer`
};

inline constexpr std::string_view kToLocal = "xla.sdy.GlobalToLocalShape";
inline constexpr std::string_view kToGlobal = "xla.sdy.LocalToGlobalShape";
inline constexpr std::string_view kConstraint = "Sharding";

// The main function of a copy of the module. Bodies of manual computations stand in line: their
// instructions have a scope.
class Program {
 public:
  // Errors: INVALID_ARGUMENT for malformed shardings.
  explicit Program(const Module& module);

  Module& module() const { return *module_; }
  Computation& main() const { return module_->entry(); }
  const Meshes& meshes() const { return meshes_; }
  // Returns the innermost manual computation around the instruction; null outside of all.
  const Scope* scope_of(const Instruction& x) const;
  // Returns the shardings that a custom call gives: of its operands (kToLocal) or of its results.
  const std::vector<Sharding>& shardings_of(const Instruction& x) const;
  // Returns the axes that a shape change (kToLocal, kToGlobal) makes manual.
  std::vector<std::string> manual_axes_of(const Instruction& x) const;
  // By parameter and result of main.
  const std::vector<std::optional<Sharding>>& parameters() const { return parameters_; }
  const std::vector<std::optional<Sharding>>& results() const { return results_; }
  // Returns all shardings of the program.
  std::vector<Sharding> all_shardings() const;

 private:
  void inline_calls();
  const Scope* scope_of_body(const Instruction& call, const Computation& body);
  void read_shardings(const Computation& computation);
  void read_signature();

  std::unique_ptr<Module> module_;
  Meshes meshes_;
  std::deque<Scope> scopes_;
  std::unordered_map<const Instruction*, const Scope*> scope_of_;
  std::unordered_map<const Instruction*, std::vector<Sharding>> shardings_;
  std::vector<std::optional<Sharding>> parameters_;
  std::vector<std::optional<Sharding>> results_;
};

// Returns the text of an attribute of a custom call, "" if it is missing.
std::string_view attribute_text(const Instruction& x, std::string_view name);

// Returns the target of a custom call, "" for other opcodes.
std::string_view target_of(const Instruction& x);

}  // namespace systole::hlo::spmd
