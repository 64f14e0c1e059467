#include "systole/quantize/calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "systole/base/error.h"
#include "systole/hlo/ir/builder.h"
#include "systole/runtime/client.h"
#include "systole/runtime/registry.h"

namespace systole::quantize {
namespace {

using hlo::Builder;
using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

const TensorType kScalar{DType::f32, {}};

void check_arguments(const Computation& main, std::span<const std::vector<Tensor>> batches) {
  if (batches.empty()) throw invalid_argument("calibration: batches, got none, expected some");
  for (size_t b = 0; b < batches.size(); ++b) {
    if (static_cast<int>(batches[b].size()) != main.num_parameters()) {
      throw invalid_argument("calibration: batch {}: number of arguments, got {}, expected {}", b,
                             batches[b].size(), main.num_parameters());
    }
    for (int i = 0; i < main.num_parameters(); ++i) {
      const Tensor& argument = batches[b][i];
      if (argument.type() != main.parameter(i).type()) {
        throw invalid_argument("calibration: batch {}: argument {}, got {}, expected {}", b, i,
                               argument.type(), main.parameter(i).type());
      }
      if (argument.dtype() != DType::f32) continue;
      const std::span<const float> values = argument.data<float>();
      const auto bad = std::ranges::find_if(values, [](float x) { return !std::isfinite(x); });
      if (bad != values.end()) {
        throw invalid_argument(
            "calibration: batch {}: argument {}, element {}, got {}, expected a finite number", b,
            i, bad - values.begin(), *bad);
      }
    }
  }
}

// A copy of the program that returns the observed values after its own results.
class Observer {
 public:
  Observer(const hlo::Module& module, std::span<const Value> values) {
    const Computation& from = module.entry();
    Computation& main = module_.add_function("main");
    for (int i = 0; i < from.num_parameters(); ++i) {
      map_[from.parameter(i)] = main.add_parameter(from.parameter(i).type());
    }
    for (Instruction* x : from.instructions()) {
      if (x->is(Opcode::parameter) || x == from.terminator()) continue;
      const std::vector<Value> inside = inside_of(*x, values);
      if (inside.empty()) {
        copy(*x, main);
      } else {
        copy_loop(*x, main, inside);
      }
    }
    std::vector<Value> results;
    for (const Value& value : values) {
      if (&value.def->parent() != &from) continue;
      observed.push_back(value);
      results.push_back(map_.at(value));
    }
    for (const Value& value : in_loops_) {
      observed.push_back(value);
      results.insert(results.end(), extremes_.at(value).begin(), extremes_.at(value).end());
    }
    main.set_results(std::move(results));
  }

  const hlo::Module& module() const { return module_; }
  // In the order of the results; each in a loop has two, its least and its greatest number.
  std::vector<Value> observed;
  size_t num_tensors() const { return observed.size() - in_loops_.size(); }

 private:
  static std::vector<Value> inside_of(const Instruction& x, std::span<const Value> values) {
    std::vector<Value> inside;
    if (!x.is(Opcode::while_)) return inside;
    std::ranges::copy_if(values, std::back_inserter(inside),
                         [&](const Value& value) { return &value.def->parent() == &x.region(1); });
    return inside;
  }

  void copy(Instruction& x, Computation& to) {
    std::vector<Value> operands;
    for (const Value& operand : x.operands()) operands.push_back(map_.at(operand));
    Instruction& copied = *to.insert(x.opcode(), std::move(operands),
                                     {x.results().begin(), x.results().end()}, x.attrs());
    for (const auto& region : x.regions()) copied.add_region().clone_from(*region, map_);
    for (int i = 0; i < x.num_results(); ++i) map_[x.result(i)] = copied.result(i);
  }

  // The loop carries the least and greatest numbers so far.
  void copy_loop(Instruction& x, Computation& to, const std::vector<Value>& inside) {
    Builder b(to);
    std::vector<Value> operands;
    for (const Value& operand : x.operands()) operands.push_back(map_.at(operand));
    std::vector<TensorType> types(x.results().begin(), x.results().end());
    for (size_t i = 0; i < inside.size(); ++i) {
      operands.push_back(b.scalar(DType::f32, std::numeric_limits<double>::infinity()));
      operands.push_back(b.scalar(DType::f32, -std::numeric_limits<double>::infinity()));
      types.insert(types.end(), {kScalar, kScalar});
    }
    Instruction& loop = *to.insert(Opcode::while_, std::move(operands), types, x.attrs());
    for (int r = 0; r < 2; ++r) {
      Computation& region = loop.add_region();
      for (int i = 0; i < x.region(r).num_parameters(); ++i) {
        map_[x.region(r).parameter(i)] = region.add_parameter(x.region(r).parameter(i).type());
      }
      std::vector<Value> extremes;
      for (size_t i = 0; i < 2 * inside.size(); ++i) {
        extremes.push_back(region.add_parameter(kScalar));
      }
      std::vector<Value> results = region.inline_from(x.region(r), map_);
      Builder inner(region);
      for (size_t i = 0; r == 1 && i < inside.size(); ++i) {
        const Value value = map_.at(inside[i]);
        Dims all;
        for (int axis = 0; axis < value.shape().rank(); ++axis) all.push_back(axis);
        results.push_back(
            inner.minimum(extremes[2 * i], inner.reduce(value, Opcode::minimum, all)));
        results.push_back(
            inner.maximum(extremes[2 * i + 1], inner.reduce(value, Opcode::maximum, all)));
      }
      region.set_results(std::move(results));
    }
    for (int i = 0; i < x.num_results(); ++i) map_[x.result(i)] = loop.result(i);
    for (size_t i = 0; i < inside.size(); ++i) {
      const int first = x.num_results() + 2 * static_cast<int>(i);
      extremes_[inside[i]] = {loop.result(first), loop.result(first + 1)};
      in_loops_.push_back(inside[i]);
    }
  }

  hlo::Module module_;
  hlo::ValueMap map_;
  std::unordered_map<Value, std::vector<Value>, hlo::ValueHash> extremes_;
  std::vector<Value> in_loops_;
};

}  // namespace

std::unique_ptr<hlo::Module> with_results(const hlo::Module& module,
                                          std::span<const Value> values) {
  return Observer(module, values).module().clone();
}

Histograms calibrate(const hlo::Module& module, std::span<const Value> values,
                     std::span<const std::vector<Tensor>> batches, const std::string& backend) {
  check_arguments(module.entry(), batches);
  const Observer observer(module, values);
  const auto program = runtime::client(backend).compile(observer.module());
  Histograms histograms;
  for (size_t b = 0; b < batches.size(); ++b) {
    const std::vector<Tensor> results = runtime::run(*program, batches[b]);
    for (size_t i = 0; i < results.size(); ++i) {
      const size_t tensors = observer.num_tensors();
      const Value value = observer.observed[i < tensors ? i : tensors + (i - tensors) / 2];
      try {
        // A loop without iterations leaves infinities.
        if (i >= tensors && std::isinf(results[i].item<float>())) continue;
        histograms[value].add(results[i]);
      } catch (const Error& error) {
        throw error.with_context(fmt::format("in batch {}, {}", b, value.def->describe()));
      }
    }
  }
  return histograms;
}

}  // namespace systole::quantize
