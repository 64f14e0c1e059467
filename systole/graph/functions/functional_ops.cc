#include "systole/graph/functions/functional_ops.h"

#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/set_shape.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/where_scope.h"
#include "systole/graph/lowering/loop_lowering.h"
#include "systole/graph/ops/control_flow/control_flow.h"
#include "systole/graph/ops/control_flow/loop_gradient.h"

namespace systole {
namespace {

// The tensors whose rows are gone through, and how many those are.
struct RowsOf {
  std::vector<Output> elems;
  int64_t known = kUnknown;
  Output count;  // s32[]
};

RowsOf rows_of(std::string_view op, const InputList& elems) {
  RowsOf rows;
  for (const Input& elem : elems.inputs()) {
    const Output tensor = elem.resolve();
    const int64_t these = tensor.shape().rank() > 0 ? tensor.shape()[0] : 0;
    if (these == 0 || (rows.known != kUnknown && these != kUnknown && these != rows.known)) {
      throw at_line(
          invalid_argument("{}: elems, got {}, expected {} rows", op, tensor.type(),
                           rows.known == kUnknown ? "one or more" : std::to_string(rows.known)),
          {});
    }
    rows.known = these == kUnknown ? rows.known : these;
    rows.elems.push_back(tensor);
  }
  rows.count = rows.known == kUnknown ? gather(shape(rows.elems[0]), 0)
                                      : constant(static_cast<int32_t>(rows.known));
  return rows;
}

// The line of the first of `elems`. Errors: INVALID_ARGUMENT when there is none.
SourceLocation line_of(std::string_view op, const InputList& elems) {
  if (!elems.inputs().empty()) return elems.inputs().front().where();
  throw at_line(invalid_argument("{}: elems, got none, expected at least one tensor", op), {});
}

// The rows of this step. Where a number of rows is known only at run time, that all have as many is
// checked then, against those of the first.
std::vector<Output> rows_at(std::string_view op, const std::vector<Output>& elems,
                            const Output& place) {
  const bool known =
      std::ranges::none_of(elems, [](const Output& elem) { return elem.shape()[0] == kUnknown; });
  std::vector<Output> rows;
  for (const Output& elem : elems) {
    rows.push_back(known ? read_history(elem, place) : read_row(op, elem, place, elems[0]));
  }
  return rows;
}

std::vector<Output> checked_step(std::string_view op, const ScanFn& fn,
                                 std::span<const Output> state,
                                 const std::vector<Output>& elements) {
  std::vector<Output> next = fn({state.begin(), state.end()}, elements);
  try {
    check_loop_results(op, "fn", state, next);
  } catch (const Error& error) {
    throw at_line(error, {});
  }
  return next;
}

struct RowLoop {
  std::string_view op;
  int32_t first = 0;  // of the rows in their order: where to begin
  bool reverse = false;
};

// A While of a counter and `states`, which goes through the rows.
Node* add_row_loop(const RowLoop& loop, const ScanFn& fn, const RowsOf& rows,
                   const std::vector<Output>& states) {
  std::vector<Output> initial = {constant(loop.first)};
  initial.insert(initial.end(), states.begin(), states.end());
  const auto step = [&](const std::vector<Output>& vars) {
    const Output place = loop.reverse ? rows.count - 1 - vars[0] : vars[0];
    std::vector<Output> next =
        checked_step(loop.op, fn, std::span(vars).subspan(1), rows_at(loop.op, rows.elems, place));
    next.insert(next.begin(), vars[0] + 1);
    return next;
  };
  return add_while({.initial = initial,
                    .cond = [&](const auto& vars) { return less(vars[0], rows.count); },
                    .body = step},
                   WhereScope::current(), "while");
}

// A loop keeps each variable's values at the start of all iterations: all but the first, and the
// last one.
Output stacked_states(Node& loop, const WhileOutputs& outputs, int i, int64_t rows, bool reversed) {
  const Output history = loop.output(outputs.history(i));
  const Output last = loop.output(outputs.value(i));
  Dims dims = {rows};
  dims.insert(dims.end(), last.shape().begin(), last.shape().end());
  const Output stacked = set_shape(
      concat({strided_slice(history, {1}, {0}, {.end_mask = 1}), expand_dims(last, 0)}, 0),
      Shape(dims));
  return reversed ? reverse(stacked, 0) : stacked;
}

}  // namespace

Scan scan(const ScanFn& fn, const InputList& elems, const InputList& initializer,
          const ScanOptions& options) {
  const WhereScope where(line_of("scan", elems));
  const NameScope scope(options.name);
  const RowsOf rows = rows_of("scan", elems);
  std::vector<Output> states;
  for (const Input& state : initializer.inputs()) states.push_back(state.resolve());
  const RowLoop of_all{.op = "scan", .reverse = options.reverse};
  Node* loop = add_row_loop(of_all, fn, rows, states);
  const WhileOutputs outputs{loop->num_inputs()};  // what fn captures is after the states
  Scan result;
  for (int i = 1; i <= static_cast<int>(states.size()); ++i) {
    result.stacked.push_back(stacked_states(*loop, outputs, i, rows.known, options.reverse));
    result.last.push_back(loop->output(outputs.value(i)));
  }
  return result;
}

Output scan(const std::function<Output(const Output& state, const Output& element)>& fn,
            const Input& elems, const Input& initializer, const ScanOptions& options) {
  return scan([&](const std::vector<Output>& state, const std::vector<Output>& elements)
                  -> std::vector<Output> { return {fn(state[0], elements[0])}; },
              {elems}, {initializer}, options)
      .stacked[0];
}

// -- Folds

namespace {

Output fold_rows(std::string_view op, const FoldFn& fn, const Input& elems,
                 const Input* initializer, const NameOptions& options, bool reverse) {
  const WhereScope where(elems.where());
  const NameScope scope(options.name.empty() ? op : std::string_view(options.name));
  const RowsOf rows = rows_of(op, {elems});
  const Output& tensor = rows.elems[0];
  RowLoop loop{.op = op, .reverse = reverse};
  Output state;
  if (initializer != nullptr) {
    state = initializer->resolve(tensor.dtype());
  } else {
    state = strided_slice(tensor, {reverse ? -1 : 0}, {0}, {.shrink_axis_mask = 1});
    if (rows.known == 1) return state;
    loop.first = 1;
  }
  const auto step = [&](const std::vector<Output>& states,
                        const std::vector<Output>& elements) -> std::vector<Output> {
    return {fn(states[0], elements[0])};
  };
  Node* node = add_row_loop(loop, step, rows, {state});
  return node->output(WhileOutputs{node->num_inputs()}.value(1));
}

}  // namespace

Output foldl(const FoldFn& fn, const Input& elems, const NameOptions& options) {
  return fold_rows("foldl", fn, elems, nullptr, options, /*reverse=*/false);
}

Output foldl(const FoldFn& fn, const Input& elems, const Input& initializer,
             const NameOptions& options) {
  return fold_rows("foldl", fn, elems, &initializer, options, /*reverse=*/false);
}

Output foldr(const FoldFn& fn, const Input& elems, const NameOptions& options) {
  return fold_rows("foldr", fn, elems, nullptr, options, /*reverse=*/true);
}

Output foldr(const FoldFn& fn, const Input& elems, const Input& initializer,
             const NameOptions& options) {
  return fold_rows("foldr", fn, elems, &initializer, options, /*reverse=*/true);
}

// -- Maps

namespace {

void check_map_results(std::span<const Output> results) {
  if (results.empty()) {
    throw at_line(invalid_argument("map_fn: results of fn, got none, expected at least one tensor"),
                  {});
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].valid() && results[i].shape().is_static()) continue;
    throw at_line(
        invalid_argument("map_fn: result {} of fn, got {}, expected a tensor of known sizes", i,
                         results[i].valid() ? results[i].type().to_string() : "none"),
        {});
  }
}

}  // namespace

std::vector<Output> map_fn(const MapFn& fn, const InputList& elems, const MapFnOptions& options) {
  const WhereScope where(line_of("map_fn", elems));
  const NameScope scope(options.name);
  const RowsOf rows = rows_of("map_fn", elems);
  int count = 0;
  const auto step = [&](const std::vector<Output>& vars) {
    std::vector<Output> results = fn(rows_at("map_fn", rows.elems, vars[0]));
    check_map_results(results);
    count = static_cast<int>(results.size());
    results.insert(results.begin(), vars[0] + 1);
    return results;
  };
  Node* loop = add_while({.initial = {constant(int32_t{0})},
                          .cond = [&](const auto& vars) { return less(vars[0], rows.count); },
                          .body = step,
                          .collects = true},
                         WhereScope::current(), "while");
  const WhileOutputs outputs{loop->num_inputs()};
  std::vector<Output> stacked;
  for (int i = loop->num_inputs() - count; i < loop->num_inputs(); ++i) {
    stacked.push_back(stacked_states(*loop, outputs, i, rows.known, /*reversed=*/false));
  }
  return stacked;
}

Output map_fn(const std::function<Output(const Output& element)>& fn, const Input& elems,
              const MapFnOptions& options) {
  return map_fn(
      [&](const std::vector<Output>& elements) -> std::vector<Output> { return {fn(elements[0])}; },
      {elems}, options)[0];
}

}  // namespace systole
