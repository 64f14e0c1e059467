// graph -> HLO: the part of a graph that a run needs, with the shapes that it is fed.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/ir/module.h"

namespace systole {

struct Feed {
  Output output;    // any tensor of the graph, a placeholder usually
  TensorType type;  // static
  // When valid: the program is made for this value, and takes no parameter for it.
  Tensor value = {};
};

// A graph made into a program for one set of feeds and fetches.
// Parameters of main: the variables that are read (in this order), feeds (in the order given),
// then, when `random_nodes` is not empty, the random state u64[1 + n]: the session's own seed, then
// for each random node how often it has run. Results: fetches (in the order given), updated
// variables, checks.
struct SpecializedProgram {
  std::unique_ptr<hlo::Module> module;
  std::vector<const Node*> variables;  // VarHandleOp nodes that it reads or writes
  std::vector<bool> variable_read;     // its value at the start matters: it must be initialised
  std::vector<int> updated;  // indices into `variables`, one for each updated-variable result
  std::vector<const Node*> random_nodes;
  // Each check is a pred scalar result that must be false; else the run fails with this error. A
  // program with checks aliases nothing, so that a failed run changes no variable.
  struct Check {
    Code code;
    std::string message;
  };
  std::vector<Check> checks;
};

// Errors: INVALID_ARGUMENT: a placeholder that a fetch needs and that is not fed (names both); a
// feed whose type does not fit; a dimension that stays unknown; a value that must be a constant and
// is not. UNIMPLEMENTED: an op without lowering (string and IO ops run on the host).
// `wants_value`, where it is not null, is set when an op asked for a constant and got none: a
// caller that catches an error then may try again with Feed::value. `num_replicas`: the replicas
// that will run the program together, in all processes.
SpecializedProgram specialize(const Graph& graph, std::span<const Output> fetches,
                              std::span<Node* const> targets, std::span<const Feed> feeds,
                              bool* wants_value = nullptr, int64_t num_replicas = 1);

// The state of one specialisation, as ops' lowerings see it. Ops without functions use the first
// five methods at most.
class Lowering {
 public:
  virtual ~Lowering() = default;
  // The variable's value at this point of the program / after this point.
  virtual hlo::Value read_variable(const Node& handle, bool at_start) = 0;
  virtual void assign_variable(const Node& handle, hlo::Value value) = 0;
  // u64[3]: the Philox state (key, counter) of a random node, for rng_bit_generator. `blocks`: of
  // 128 bits, that a run of one replica takes of a stream that seeds tell.
  virtual hlo::Value random_state(const Node& node, uint64_t blocks) = 0;
  // Fails the run with `message` when `failed` (a pred scalar) is true.
  virtual void check(hlo::Value failed, Code code, std::string message) = 0;
  // The value of an HLO value that depends on constants alone; nullopt for any other.
  virtual std::optional<Tensor> constant_value(hlo::Value value) = 0;

  // Appends a function's body; returns its results. An argument of dtype resource has an empty
  // value.
  virtual std::vector<hlo::Value> lower_function(const Graph& function, hlo::Builder& b,
                                                 std::span<const hlo::Value> arguments) = 0;
  // Keeps a function alive that a lowering made, for as long as it is lowered.
  virtual void keep(std::shared_ptr<const Graph> function) = 0;
  // How many replicas will run the program.
  virtual int64_t num_replicas() const = 0;
  // True when something in this program uses this output of the node that is being lowered.
  virtual bool needed(int output) const = 0;

  // A check made in a region: its value exists only there, so the region must return it.
  struct RegionCheck {
    hlo::Value failed;
    SpecializedProgram::Check check;
  };
  // Between the two, checks are collected for the region instead of the program. `iteration` (an
  // integer scalar, in the body of a loop) makes each iteration draw its own random numbers.
  virtual void begin_region(hlo::Value iteration = {}) = 0;
  virtual std::vector<RegionCheck> end_region() = 0;
};

}  // namespace systole
