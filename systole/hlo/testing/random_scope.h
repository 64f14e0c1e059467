// The state that the makers of random instructions share. Internal to random_module.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "systole/base/random.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/testing/random_module.h"

namespace systole::hlo::testing {

// A value that instructions may use, with bounds on its elements.
struct Entry {
  Value value;
  double bound = 0;  // no element of a float is larger in magnitude
  double error = 0;  // how far two correct computations of it may be apart; 0 for all but floats

  bool exact() const { return error == 0; }
  DType dtype() const { return value.dtype(); }
  const Shape& shape() const { return value.shape(); }
};

// A function that `call` may call.
struct Callee {
  const Computation* computation;
  std::vector<Entry> results;
};

// The assumed bounds and errors of parameters of loops and functions.
inline constexpr double kTameBound = 8;
double assumed_error(DType dtype);

// The rounding error of a value below `bound`, a few units in the last place; 0 for integers.
double rounding(DType dtype, double bound);

// One computation under construction. Makers take operands from it, add instructions with
// `builder`, and add results.
class RandomScope {
 public:
  RandomScope(RandomStream& random, const RandomModuleOptions& options, Computation& computation,
              std::vector<Entry> visible, int depth)
      : builder(computation),
        random_(random),
        options_(options),
        pool_(std::move(visible)),
        depth_(depth) {}

  // Adds about `count` instructions by makers chosen at random.
  void grow(int count);

  // Choices.
  int64_t below(int64_t n) {
    return static_cast<int64_t>(random_.next_below(static_cast<uint64_t>(n)));
  }
  bool chance(double probability) { return random_.next_uniform() < probability; }
  template <class Range>
  auto one_of(const Range& range) {
    return *(std::begin(range) + below(static_cast<int64_t>(std::size(range))));
  }
  DType random_dtype();
  DType random_floating();
  Shape random_shape();
  TensorType random_type() { return {random_dtype(), random_shape()}; }

  // Operands: taken from the pool, preferring newer values, or created.
  std::optional<Entry> find(const std::function<bool(const Entry&)>& wanted);
  Entry any();   // of any type
  Entry real();  // no pred
  Entry floating(double bound = kTameBound);
  Entry floating_exact();
  Entry integer();
  Entry pred();
  Entry scalar(DType dtype);
  Entry of_type(const TensorType& type);
  // Also with at most this bound and error.
  Entry of_type(const TensorType& type, double bound, double error);
  Entry leaf(const TensorType& type);  // a constant, a splat or an iota
  // Clamps to [-bound, bound] if the value may be larger.
  Entry tamed(Entry entry, double bound = kTameBound);
  // |x| + 0.5
  Entry positive(Entry entry);

  Value splat(const TensorType& type, double number) { return builder.splat(type, number); }

  void add(Value value, double bound, double error) { pool_.push_back({value, bound, error}); }
  void add(const Entry& entry) { pool_.push_back(entry); }

  RandomStream& random() { return random_; }
  const RandomModuleOptions& options() const { return options_; }
  const std::vector<Entry>& pool() const { return pool_; }
  int depth() const { return depth_; }

  Builder builder;
  std::span<const Callee> callees;

 private:
  bool usable(const Entry& entry) const;

  RandomStream& random_;
  const RandomModuleOptions& options_;
  std::vector<Entry> pool_;
  int depth_;
};

// Adds an instruction and its operands, if the scope allows it.
struct Maker {
  int weight;
  void (*make)(RandomScope&);
};
std::span<const Maker> elementwise_makers();
std::span<const Maker> movement_makers();
std::span<const Maker> contraction_makers();   // reductions, windows, products
std::span<const Maker> control_flow_makers();  // and what is special: calls, random bits, barriers

}  // namespace systole::hlo::testing
