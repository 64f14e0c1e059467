#include "systole/hlo/passes/replicas/vectorize_replicas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "systole/base/error.h"
#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/index.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/random_module.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

using systole::testing::error_of;

using P = std::span<const Value>;

Tensor random_tensor(RandomStream& random, const TensorType& type) {
  Tensor wide(is_floating(type.dtype) ? DType::f32 : DType::s32, type.shape);
  for (int64_t i = 0; i < wide.num_elements(); ++i) {
    if (wide.dtype() == DType::f32) {
      wide.data<float>()[i] = static_cast<float>(random.next_uniform() * 4 - 2);
    } else {
      wide.data<int32_t>()[i] = static_cast<int32_t>(random.next_below(3));
    }
  }
  return wide.cast(type.dtype);
}

Tensor stacked(const std::vector<Tensor>& lanes) {
  std::vector<Tensor> rows;
  for (const Tensor& lane : lanes) {
    Dims dims = lane.shape().dims();
    dims.insert(dims.begin(), 1);
    rows.push_back(lane.reshape(Shape(dims)));
  }
  return concatenated(rows, 0);
}

Tensor lane(const Tensor& tensor, int64_t i) {
  return tensor.slice(i, i + 1).reshape(
      Shape(Dims(tensor.shape().begin() + 1, tensor.shape().end())));
}

bool has_opcode(const Computation& computation, const std::function<bool(Opcode)>& wanted) {
  for (const Instruction* x : computation.instructions()) {
    if (wanted(x->opcode())) return true;
    for (const auto& region : x->regions()) {
      if (has_opcode(*region, wanted)) return true;
    }
  }
  return false;
}

// Runs `module` on replicas and as one program. "" when both give the same.
std::string compare(const Module& module, const std::vector<std::vector<Tensor>>& arguments,
                    const std::vector<bool>& replicated, std::span<const double> tolerances,
                    bool in_turn) {
  const auto num_replicas = static_cast<int>(arguments.size());
  const ReplicatedModule one = vectorize_replicas(
      module,
      {.num_replicas = num_replicas, .in_turn = in_turn, .replicated_parameters = replicated});
  verify(*one.module);
  if (uses_replicas(*one.module)) return "still asks for its replica";
  const auto want = evaluate_replicated(module, arguments);
  std::vector<Tensor> inputs;
  for (size_t p = 0; p < replicated.size(); ++p) {
    std::vector<Tensor> lanes;
    for (const auto& of_replica : arguments) lanes.push_back(of_replica[p]);
    inputs.push_back(one.varying_parameters[p] ? stacked(lanes) : lanes[0]);
  }
  const std::vector<Tensor> got = Evaluator().run(one.module->entry(), inputs);
  for (size_t k = 0; k < got.size(); ++k) {
    for (size_t r = 0; r < arguments.size(); ++r) {
      const Tensor mine = one.varying_results[k] ? lane(got[k], static_cast<int64_t>(r)) : got[k];
      const std::string text = testing::difference(mine, want[r][k], tolerances[k]);
      if (!text.empty()) return fmt::format("result {} of replica {}: {}", k, r, text);
    }
  }
  return "";
}

// A program of a few instructions, run with each choice of parameters that differ.
struct Case {
  std::string name;
  std::vector<TensorType> parameters;
  std::function<std::vector<Value>(Builder&, P)> results;
  int num_replicas = 4;
};
std::ostream& operator<<(std::ostream& out, const Case& row) { return out << row.name; }

class VectorizeReplicas : public ::testing::TestWithParam<Case> {};

void check(const Case& row, int num_replicas, uint64_t choice) {
  Module module;
  Computation& main = module.add_function("main");
  std::vector<Value> parameters;
  std::vector<bool> replicated;
  RandomStream random(7, choice);
  std::vector<std::vector<Tensor>> arguments(static_cast<size_t>(num_replicas));
  for (size_t p = 0; p < row.parameters.size(); ++p) {
    parameters.push_back(main.add_parameter(row.parameters[p]));
    replicated.push_back((choice >> p & 1) == 0);
    const Tensor common = random_tensor(random, row.parameters[p]);
    for (auto& of_replica : arguments) {
      of_replica.push_back(replicated[p] ? common : random_tensor(random, row.parameters[p]));
    }
  }
  Builder b(main);
  main.set_results(row.results(b, parameters));
  const std::vector<double> tolerances(main.results().size(), 1e-5);
  for (const bool in_turn : {false, true}) {
    EXPECT_EQ(compare(module, arguments, replicated, tolerances, in_turn), "")
        << num_replicas << " replicas, varying " << choice << (in_turn ? ", in turn" : "") << "\n"
        << print(module);
  }
}

TEST_P(VectorizeReplicas, AgreesWithTheReplicas) {
  const Case& row = GetParam();
  for (uint64_t choice = 0; choice < uint64_t{1} << row.parameters.size(); ++choice) {
    check(row, row.num_replicas, choice);
  }
}

const TensorType kF23{DType::f32, {2, 3}};
const TensorType kF234{DType::f32, {2, 3, 4}};
const TensorType kF4{DType::f32, {4}};
const TensorType kF84{DType::f32, {8, 4}};
const TensorType kS{DType::s32, {}};
const TensorType kF{DType::f32, {}};
const TensorType kP{DType::pred, {}};

auto unary(Opcode opcode) {
  return [=](Builder& b, P p) { return std::vector<Value>{b.unary(opcode, p[0])}; };
}

std::function<std::vector<Value>(Builder&, P)> one(std::function<Value(Builder&, P)> make) {
  return [make = std::move(make)](Builder& b, P p) { return std::vector<Value>{make(b, p)}; };
}

const Case kElementwise[] = {
    {"negate", {kF23}, unary(Opcode::negate)},
    {"convert", {kF23}, one([](Builder& b, P p) { return b.convert(p[0], DType::s32); })},
    {"add", {kF23, kF23}, one([](Builder& b, P p) { return b.add(p[0], p[1]); })},
    {"compare", {kF23, kF23}, one([](Builder& b, P p) {
       return b.compare(p[0], p[1], ComparisonDirection::lt);
     })},
    {"clamp_scalars", {kF, kF23, kF}, one([](Builder& b, P p) {
       return b.op(Opcode::clamp, {p[0], p[1], p[2]})->result();
     })},
    {"select_scalar", {kP, kF23, kF23}, one([](Builder& b, P p) {
       return b.select(p[0], p[1], p[2]);
     })},
};

const Case kMovement[] = {
    {"broadcast", {kF4}, one([](Builder& b, P p) {
       return b.broadcast_in_dim(p[0], {2, 4}, {1});
     })},
    {"reshape", {kF234}, one([](Builder& b, P p) {
       return b.reshape(p[0], {6, 4});
     })},
    {"transpose", {kF234}, one([](Builder& b, P p) {
       return b.transpose(p[0], {2, 0, 1});
     })},
    {"slice", {kF84}, one([](Builder& b, P p) {
       return b.slice(p[0], {1, 0}, {7, 3}, {2, 1});
     })},
    {"pad", {kF23, kF}, one([](Builder& b, P p) {
       return b.pad(p[0], p[1], {1, 0}, {0, -1}, {1, 0});
     })},
    {"concatenate", {kF23, kF23}, one([](Builder& b, P p) { return b.concatenate(p, 1); })},
    {"reverse", {kF23}, one([](Builder& b, P p) { return b.reverse(p[0], {1}); })},
    {"bitcast_convert", {kF23}, one([](Builder& b, P p) {
       return b.op(Opcode::bitcast_convert, {p[0]}, NoAttrs{}, {{DType::u16, {2, 3, 2}}})->result();
     })},
    {"dynamic_slice", {kF84, kS, kS}, one([](Builder& b, P p) {
       return b.dynamic_slice(p[0], p.subspan(1), {3, 2});
     })},
    {"dynamic_update_slice", {kF84, kF23, kS, kS}, one([](Builder& b, P p) {
       return b.dynamic_update_slice(p[0], p[1], p.subspan(2));
     })},
    {"own_row", {{DType::f32, {4, 3}}}, one([](Builder& b, P p) {
       const Value id = b.convert(b.op(Opcode::replica_id, {})->result(), DType::s32);
       const Value starts[] = {id, b.scalar(DType::s32, 0)};
       return b.dynamic_slice(p[0], starts, {1, 3});
     })},
    {"get_dimension_size", {kF23}, one([](Builder& b, P p) {
       return b.op(Opcode::get_dimension_size, {p[0]}, GetDimensionSizeAttrs{1})->result();
     })},
};

Value sort_pairs(Builder& b, P p) {
  return b
      .op_with_regions(Opcode::sort, {p[0], p[1]}, SortAttrs{.dimension = -1, .is_stable = true},
                       [](Instruction& x) {
                         Computation& region = x.add_region();
                         const Value l = region.add_parameter(kF);
                         const Value r = region.add_parameter(kF);
                         region.add_parameter(kF);
                         region.add_parameter(kF);
                         Builder c(region);
                         region.set_results({c.compare(l, r, ComparisonDirection::lt)});
                       })
      ->result(1);
}

Value pooled(Builder& b, Value x, WindowAttrs attrs) {
  const auto fill = [](Instruction& op) {
    fill_reducer(op.add_region(), Opcode::maximum, DType::f32);
  };
  return b
      .op_with_regions(Opcode::reduce_window, {x, b.identity(Opcode::maximum, DType::f32)},
                       std::move(attrs), fill)
      ->result();
}

const TensorType kImage{DType::f32, {2, 4, 4, 3}};

Value pool_gradient(Builder& b, P p) {
  const WindowAttrs window{.window_dimensions = {1, 2, 2, 1},
                           .window_strides = {1, 2, 2, 1},
                           .base_dilations = {},
                           .window_dilations = {},
                           .padding = {{0, 0}, {0, 0}, {0, 0}, {0, 0}}};
  return b
      .op_with_regions(Opcode::select_and_scatter, {p[0], p[1], b.scalar(DType::f32, 0)}, window,
                       [](Instruction& x) {
                         Computation& select = x.add_region();
                         const Value l = select.add_parameter(kF);
                         const Value r = select.add_parameter(kF);
                         Builder c(select);
                         select.set_results({c.compare(l, r, ComparisonDirection::ge)});
                         fill_reducer(x.add_region(), Opcode::add, DType::f32);
                       })
      ->result();
}

const Case kWindows[] = {
    {"reduce", {kF234}, one([](Builder& b, P p) {
       return b.reduce(p[0], Opcode::add, {0, 2});
     })},
    {"reduce_from", {kF234, kF}, one([](Builder& b, P p) {
       return b
           .op_with_regions(
               Opcode::reduce, {p[0], p[1]}, DimensionsAttrs{{1}},
               [](Instruction& x) { fill_reducer(x.add_region(), Opcode::maximum, DType::f32); })
           ->result();
     })},
    {"map", {kF23, kF23}, one([](Builder& b, P p) {
       return b
           .op_with_regions(
               Opcode::map, {p[0], p[1]}, DimensionsAttrs{{0, 1}},
               [](Instruction& x) { fill_reducer(x.add_region(), Opcode::subtract, DType::f32); })
           ->result();
     })},
    {"sort", {kF23, kF23}, one(sort_pairs)},
    {"reduce_window", {kImage}, one([](Builder& b, P p) {
       return pooled(b, p[0],
                     {.window_dimensions = {1, 2, 2, 1},
                      .window_strides = {1, 2, 2, 1},
                      .base_dilations = {1, 1, 1, 1},
                      .window_dilations = {1, 1, 1, 1},
                      .padding = {{0, 0}, {0, 1}, {1, 0}, {0, 0}}});
     })},
    {"reduce_window_first_axis", {kF84}, one([](Builder& b, P p) {
       return pooled(b, p[0],
                     {.window_dimensions = {2, 1},
                      .window_strides = {1, 1},
                      .base_dilations = {1, 1},
                      .window_dilations = {1, 1},
                      .padding = {{0, 0}, {1, 0}}});
     })},
    {"select_and_scatter", {kImage, {DType::f32, {2, 2, 2, 3}}}, one(pool_gradient)},
};

Value convolve(Builder& b, P p, int64_t feature_groups, int64_t batch_groups,
               const TensorType& type) {
  return b
      .op(Opcode::convolution, {p[0], p[1]},
          ConvolutionAttrs{.window_strides = {1, 1},
                           .padding = {{1, 1}, {1, 1}},
                           .lhs_dilation = {1, 1},
                           .rhs_dilation = {1, 1},
                           .window_reversal = {false, false},
                           .input_batch_dimension = 0,
                           .input_feature_dimension = 3,
                           .input_spatial_dimensions = {1, 2},
                           .kernel_input_feature_dimension = 2,
                           .kernel_output_feature_dimension = 3,
                           .kernel_spatial_dimensions = {0, 1},
                           .output_batch_dimension = 0,
                           .output_feature_dimension = 3,
                           .output_spatial_dimensions = {1, 2},
                           .feature_group_count = feature_groups,
                           .batch_group_count = batch_groups},
          {type})
      ->result();
}

CollectiveAttrs in_groups(Tensor rows) {
  CollectiveAttrs attrs;
  attrs.replica_groups = rows.valid() ? std::move(rows) : Tensor(DType::s64, {0, 0});
  return attrs;
}

Value all_reduce(Builder& b, Value x, Opcode reducer = Opcode::add, Tensor groups = {}) {
  return b
      .op_with_regions(Opcode::all_reduce, {x}, in_groups(std::move(groups)),
                       [&](Instruction& op) { fill_reducer(op.add_region(), reducer, x.dtype()); })
      ->result();
}

const DotAttrs kMatmul{.lhs_batching_dimensions = {},
                       .rhs_batching_dimensions = {},
                       .lhs_contracting_dimensions = {0},
                       .rhs_contracting_dimensions = {0}};
const DotAttrs kBatched{.lhs_batching_dimensions = {1},
                        .rhs_batching_dimensions = {1},
                        .lhs_contracting_dimensions = {2},
                        .rhs_contracting_dimensions = {2}};

const Case kProducts[] = {
    {"dot", {kF84, {DType::f32, {8, 3}}}, one([](Builder& b, P p) {
       return b.dot_general(p[0], p[1], kMatmul);
     })},
    {"dot_batched", {kF234, {DType::f32, {5, 3, 4}}}, one([](Builder& b, P p) {
       return b.dot_general(p[0], p[1], kBatched);
     })},
    {"dot_sum", {kF84, {DType::f32, {8, 3}}}, one([](Builder& b, P p) {
       return all_reduce(b, b.dot_general(p[0], p[1], kMatmul));
     })},
    {"dot_batched_sum", {kF234, {DType::f32, {5, 3, 4}}}, one([](Builder& b, P p) {
       return all_reduce(b, b.dot_general(p[0], p[1], kBatched));
     })},
    {"convolution", {kImage, {DType::f32, {3, 3, 3, 4}}}, one([](Builder& b, P p) {
       return convolve(b, p, 1, 1, {DType::f32, {2, 4, 4, 4}});
     })},
    {"convolution_feature_groups", {kImage, {DType::f32, {3, 3, 1, 6}}}, one([](Builder& b, P p) {
       return convolve(b, p, 3, 1, {DType::f32, {2, 4, 4, 6}});
     })},
    {"convolution_batch_groups", {kImage, {DType::f32, {3, 3, 3, 4}}}, one([](Builder& b, P p) {
       return convolve(b, p, 1, 2, {DType::f32, {1, 4, 4, 4}});
     })},
    {"convolution_sum", {kImage, {DType::f32, {3, 3, 3, 4}}}, one([](Builder& b, P p) {
       return all_reduce(b, convolve(b, p, 1, 1, {DType::f32, {2, 4, 4, 4}}));
     })},
    {"convolution_batch_groups_sum", {kImage, {DType::f32, {3, 3, 3, 4}}}, one([](Builder& b, P p) {
       return all_reduce(b, convolve(b, p, 1, 2, {DType::f32, {1, 4, 4, 4}}));
     })},
    {"sum_of_linear_terms",
     {kF84, {DType::f32, {8, 3}}, {DType::f32, {4, 3}}, kF},
     one([](Builder& b, P p) {
       const Value product = b.transpose(b.dot_general(p[0], p[1], kMatmul), {1, 0});
       const Value scaled = b.multiply(product, b.broadcast(p[3], product.shape()));
       const Value sum = b.subtract(b.negate(scaled), b.transpose(p[2], {1, 0}));
       return all_reduce(b, b.reshape(b.divide(sum, b.splat_like(sum, 4)), {12}));
     })},
    {"sum_of_reduce", {kF84}, one([](Builder& b, P p) {
       return all_reduce(b, b.reduce(p[0], Opcode::add, {0}));
     })},
    {"cholesky", {kF23}, one([](Builder& b, P p) {
       const Value eye = b.constant(Tensor::of<float>({2, 2}, {50, 1, 1, 50}));
       const Value square = b.dot_general(p[0], p[0], {{}, {}, {1}, {1}});
       return b.op(Opcode::cholesky, {b.add(square, eye)}, CholeskyAttrs{true})->result();
     })},
    {"batch_norm_inference", {kF84, kF4, kF4}, one([](Builder& b, P p) {
       return b
           .op(Opcode::batch_norm_inference,
               {p[0], p[1], p[2], p[2], b.splat({DType::f32, {4}}, 2)},
               BatchNormAttrs{.epsilon = 0.1F, .feature_index = 1})
           ->result();
     })},
};

const GatherAttrs kRows{.offset_dims = {1},
                        .collapsed_slice_dims = {0},
                        .operand_batching_dims = {},
                        .start_indices_batching_dims = {},
                        .start_index_map = {0},
                        .index_vector_dim = 1,
                        .slice_sizes = {1, 4},
                        .indices_are_sorted = false};
const ScatterAttrs kUpdates{.update_window_dims = {1},
                            .inserted_window_dims = {0},
                            .input_batching_dims = {},
                            .scatter_indices_batching_dims = {},
                            .scatter_dims_to_operand_dims = {0},
                            .index_vector_dim = 1};

Value scatter(Builder& b, Value x, Value indices, Value updates) {
  return b
      .op_with_regions(
          Opcode::scatter, {x, indices, updates}, kUpdates,
          [](Instruction& op) { fill_reducer(op.add_region(), Opcode::add, DType::f32); })
      ->result();
}

const TensorType kIndices{DType::s32, {5, 1}};

const Case kIndexed[] = {
    {"gather", {kF84, kIndices}, one([](Builder& b, P p) {
       return b.op(Opcode::gather, {p[0], p[1]}, kRows)->result();
     })},
    {"scatter", {kF84, kIndices, {DType::f32, {5, 4}}}, one([](Builder& b, P p) {
       return scatter(b, p[0], p[1], p[2]);
     })},
    {"scatter_sum", {kIndices, {DType::f32, {5, 4}}}, one([](Builder& b, P p) {
       return all_reduce(b, scatter(b, b.splat({DType::f32, {8, 4}}, 0), p[0], p[1]));
     })},
};

void fill_branch(Instruction& op, const std::function<Value(Builder&)>& make) {
  Computation& region = op.add_region();
  Builder b(region);
  region.set_results({make(b)});
}

// while (i < n) { x = x * y + all_reduce(x); w = w + all_reduce(x) }
std::vector<Value> loop(Builder& b, Value n, Value x, Value w, Value y, bool talks) {
  Instruction* op = b.op_with_regions(
      Opcode::while_, {b.scalar(DType::s32, 0), x, w}, NoAttrs{}, [&](Instruction& now) {
        Computation& cond = now.add_region();
        const Value i = cond.add_parameter(kS);
        cond.add_parameter(x.type());
        cond.add_parameter(w.type());
        Builder c(cond);
        cond.set_results({c.compare(i, n, ComparisonDirection::lt)});
        Computation& body = now.add_region();
        const Value j = body.add_parameter(kS);
        const Value u = body.add_parameter(x.type());
        const Value v = body.add_parameter(w.type());
        Builder d(body);
        const Value sum = talks ? all_reduce(d, u) : u;
        const Value half = d.multiply(d.multiply(u, y), d.splat_like(u, 0.25));
        body.set_results({d.add(j, d.scalar(DType::s32, 1)), half, d.add(v, sum)});
      });
  return {op->result(0), op->result(1), op->result(2)};
}

const Case kControlFlow[] = {
    {"while",
     {kS, kF4, kF4, kF4},
     [](Builder& b, P p) { return loop(b, p[0], p[1], p[2], p[3], false); }},
    {"while_with_sums",
     {kF4, kF4, kF4},
     [](Builder& b, P p) { return loop(b, b.scalar(DType::s32, 3), p[0], p[1], p[2], true); }},
    {"if", {kP, kF4, kF4}, one([](Builder& b, P p) {
       return b
           .op_with_regions(Opcode::if_, {p[0]}, NoAttrs{},
                            [&](Instruction& op) {
                              fill_branch(op, [&](Builder& c) { return c.add(p[1], p[2]); });
                              fill_branch(op, [&](Builder&) { return p[2]; });
                            })
           ->result();
     })},
    {"case_by_replica", {kF4, kF4}, one([](Builder& b, P p) {
       const Value id = b.convert(b.op(Opcode::replica_id, {})->result(), DType::s32);
       return b
           .op_with_regions(Opcode::case_, {id}, NoAttrs{},
                            [&](Instruction& op) {
                              fill_branch(op, [&](Builder&) { return p[0]; });
                              fill_branch(op, [&](Builder& c) { return c.negate(p[1]); });
                              fill_branch(op, [&](Builder& c) {
                                const Value own = c.op(Opcode::replica_id, {})->result();
                                return c.multiply(p[1],
                                                  c.broadcast(c.convert(own, DType::f32), {4}));
                              });
                            })
           ->result();
     })},
    {"barrier",
     {kF4, kF4},
     [](Builder& b, P p) {
       Instruction* op = b.op(Opcode::optimization_barrier, {p[0], p[1]});
       return std::vector<Value>{op->result(0), op->result(1)};
     }},
};

Tensor groups(Shape shape, std::initializer_list<int64_t> ids) {
  return Tensor::of<int64_t>(std::move(shape), ids);
}

Value gathered(Builder& b, Value x, int64_t axis, Tensor rows, const Shape& shape) {
  return b
      .op(Opcode::all_gather, {x},
          AllGatherAttrs{.all_gather_dim = axis, .groups = in_groups(std::move(rows))},
          {{x.dtype(), shape}})
      ->result();
}

Value scattered(Builder& b, Value x, int64_t axis, Tensor rows, const Shape& shape) {
  return b
      .op_with_regions(
          Opcode::reduce_scatter, {x},
          ReduceScatterAttrs{.scatter_dimension = axis, .groups = in_groups(std::move(rows))},
          [&](Instruction& op) { fill_reducer(op.add_region(), Opcode::add, x.dtype()); },
          {{x.dtype(), shape}})
      ->result();
}

Value exchanged(Builder& b, Value x, int64_t split, int64_t concat, int64_t count, Tensor rows) {
  return b
      .op(Opcode::all_to_all, {x},
          AllToAllAttrs{.split_dimension = split,
                        .concat_dimension = concat,
                        .split_count = count,
                        .groups = in_groups(std::move(rows))})
      ->result();
}

Value rooted(Builder& b, Opcode opcode, std::vector<Value> operands, Tensor rows) {
  const bool moves = operands.size() > 1;
  const DType dtype = operands[0].dtype();
  const RootedCollectiveAttrs attrs{.groups = in_groups(std::move(rows)),
                                    .has_dynamic_root = moves};
  return b
      .op_with_regions(opcode, std::move(operands), attrs,
                       [&](Instruction& op) {
                         if (opcode == Opcode::collective_reduce)
                           fill_reducer(op.add_region(), Opcode::add, dtype);
                       })
      ->result();
}

// A reducer that no opcode is: a + 2 b.
Value all_reduce_oddly(Builder& b, Value x) {
  return b
      .op_with_regions(Opcode::all_reduce, {x}, in_groups({}),
                       [](Instruction& op) {
                         Computation& region = op.add_region();
                         const Value l = region.add_parameter(kF);
                         const Value r = region.add_parameter(kF);
                         Builder c(region);
                         region.set_results({c.add(l, c.add(r, r))});
                       })
      ->result();
}

const Case kCollectives[] = {
    {"all_reduce", {kF23}, one([](Builder& b, P p) { return all_reduce(b, p[0]); })},
    {"all_reduce_max", {kF23}, one([](Builder& b, P p) {
       return all_reduce(b, p[0], Opcode::maximum);
     })},
    {"all_reduce_oddly", {kF23}, one([](Builder& b, P p) { return all_reduce_oddly(b, p[0]); })},
    {"all_reduce_groups", {kF23}, one([](Builder& b, P p) {
       return all_reduce(b, p[0], Opcode::add, groups({2, 2}, {0, 2, 3, 1}));
     })},
    {"all_reduce_uneven_groups", {kF23}, one([](Builder& b, P p) {
       return all_reduce(b, p[0], Opcode::add, groups({2, 3}, {0, 2, 3, 1, -1, -1}));
     })},
    {"all_reduce_of_one_replica",
     {kF23},
     one([](Builder& b, P p) { return all_reduce(b, p[0]); }),
     1},
    {"all_gather", {kF23}, one([](Builder& b, P p) {
       return gathered(b, p[0], 1, Tensor(DType::s64, {0, 0}), {2, 12});
     })},
    {"all_gather_out_of_order", {kF23}, one([](Builder& b, P p) {
       return gathered(b, p[0], 0, groups({1, 4}, {2, 0, 3, 1}), {8, 3});
     })},
    {"all_gather_groups", {kF23}, one([](Builder& b, P p) {
       return gathered(b, p[0], 1, groups({2, 2}, {2, 0, 3, 1}), {2, 6});
     })},
    {"all_gather_of_one_replica",
     {kF23},
     one([](Builder& b, P p) {
       return gathered(b, p[0], 1, Tensor(DType::s64, {0, 0}), {2, 3});
     }),
     1},
    {"reduce_scatter", {kF84}, one([](Builder& b, P p) {
       return scattered(b, p[0], 0, Tensor(DType::s64, {0, 0}), {2, 4});
     })},
    {"reduce_scatter_groups", {kF84}, one([](Builder& b, P p) {
       return scattered(b, p[0], 1, groups({2, 2}, {2, 0, 3, 1}), {8, 2});
     })},
    {"all_to_all", {kF84}, one([](Builder& b, P p) {
       return exchanged(b, p[0], 0, 1, 4, groups({1, 4}, {0, 1, 2, 3}));
     })},
    {"all_to_all_groups", {kF84}, one([](Builder& b, P p) {
       return exchanged(b, p[0], 1, 1, 2, groups({2, 2}, {2, 0, 3, 1}));
     })},
    {"collective_permute", {kF23}, one([](Builder& b, P p) {
       return b
           .op(Opcode::collective_permute, {p[0]},
               CollectivePermuteAttrs{.source_target_pairs = {{0, 1}, {1, 3}, {3, 0}},
                                      .channel_handle = {}})
           ->result();
     })},
    {"collective_broadcast", {kF23}, one([](Builder& b, P p) {
       return rooted(b, Opcode::collective_broadcast, {p[0]}, groups({1, 4}, {2, 0, 3, 1}));
     })},
    {"collective_broadcast_some", {kF23}, one([](Builder& b, P p) {
       return rooted(b, Opcode::collective_broadcast, {p[0]}, groups({1, 2}, {2, 0}));
     })},
    {"collective_broadcast_root", {kF23, {DType::s32, {1}}}, one([](Builder& b, P p) {
       return rooted(b, Opcode::collective_broadcast, {p[0], p[1]}, groups({1, 4}, {2, 0, 3, 1}));
     })},
    {"collective_reduce", {kF23}, one([](Builder& b, P p) {
       return rooted(b, Opcode::collective_reduce, {p[0]}, groups({1, 3}, {2, 0, 1}));
     })},
    {"ids",
     {kF4},
     [](Builder& b, P p) {
       return std::vector<Value>{b.op(Opcode::replica_id, {})->result(),
                                 b.op(Opcode::partition_id, {})->result(), p[0]};
     }},
    {"ids_of_one_replica",
     {kF4},
     [](Builder& b, P p) {
       return std::vector<Value>{b.op(Opcode::replica_id, {})->result(),
                                 b.op(Opcode::partition_id, {})->result(), p[0]};
     },
     1},
};

std::vector<Value> drawn(Builder& b, Value state, uint64_t blocks, const Shape& shape) {
  const Value id = b.convert(b.op(Opcode::replica_id, {})->result(), DType::u64);
  const Value step = b.constant(Tensor::of<uint64_t>({3}, {0, blocks, 0}));
  const Value own = b.add(state, b.multiply(b.broadcast(id, {3}), step));
  Instruction* draw =
      b.op(Opcode::rng_bit_generator, {own}, RngBitGeneratorAttrs{RngAlgorithm::philox},
           {own.type(), {DType::u32, shape}});
  return {draw->result(0), draw->result(1)};
}

const TensorType kState{DType::u64, {3}};

const Case kRandom[] = {
    {"bits_in_a_row",
     {kState},
     [](Builder& b, P p) {
       return drawn(b, p[0], 3, {3, 4});
     }},
    {"bits_apart",
     {kState},
     [](Builder& b, P p) {
       return drawn(b, p[0], 4, {3, 4});
     }},
    {"bits_of_partial_blocks", {kState}, [](Builder& b, P p) { return drawn(b, p[0], 1, {3}); }},
};

std::string case_name(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Elementwise, VectorizeReplicas, ::testing::ValuesIn(kElementwise),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Movement, VectorizeReplicas, ::testing::ValuesIn(kMovement), case_name);
INSTANTIATE_TEST_SUITE_P(Windows, VectorizeReplicas, ::testing::ValuesIn(kWindows), case_name);
INSTANTIATE_TEST_SUITE_P(Products, VectorizeReplicas, ::testing::ValuesIn(kProducts), case_name);
INSTANTIATE_TEST_SUITE_P(Indexed, VectorizeReplicas, ::testing::ValuesIn(kIndexed), case_name);
INSTANTIATE_TEST_SUITE_P(ControlFlow, VectorizeReplicas, ::testing::ValuesIn(kControlFlow),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Collectives, VectorizeReplicas, ::testing::ValuesIn(kCollectives),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Random, VectorizeReplicas, ::testing::ValuesIn(kRandom), case_name);

// -- Random programs, with a sum over replicas of each float result

TEST(VectorizeReplicasRandom, ProgramsAgreeWithTheReplicas) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    testing::RandomModule random = testing::random_module(seed, {.dtypes = {DType::f32}});
    Module& module = *random.module;
    InlineCalls().run(module);
    Computation& main = module.entry();
    std::vector<Value> results(main.results().begin(), main.results().end());
    Builder b(main, main.terminator());
    const size_t count = results.size();
    for (size_t k = 0; k < count; ++k) {
      if (results[k].dtype() != DType::f32) continue;
      results.push_back(all_reduce(b, results[k]));
      random.tolerances.push_back(4 * random.tolerances[k] + 1e-3);
    }
    main.set_results(results);
    RandomStream coins(seed, 5);
    std::vector<std::vector<Tensor>> arguments;
    for (uint64_t r = 0; r < 4; ++r) {
      arguments.push_back(testing::random_arguments(module, seed * 8 + r));
    }
    std::vector<bool> replicated;
    for (int p = 0; p < main.num_parameters(); ++p) {
      const auto i = static_cast<size_t>(p);
      replicated.push_back(coins.next_below(2) == 0);
      for (auto& of_replica : arguments) {
        if (replicated[i]) of_replica[i] = arguments[0][i];
      }
    }
    for (const bool in_turn : {false, true}) {
      ASSERT_EQ(compare(module, arguments, replicated, random.tolerances, in_turn), "")
          << "seed " << seed << (in_turn ? ", in turn" : "") << "\n"
          << print(module);
    }
  }
}

// -- What it promises

// w -= sum over replicas of xT x: the update is one value, and no product for each replica is left.
TEST(VectorizeReplicasForm, AnUpdateBySumsIsComputedOnce) {
  Module module;
  Computation& main = module.add_function("main");
  const Value w = main.add_parameter({DType::f32, {4, 4}});
  const Value x = main.add_parameter(kF84);
  Builder b(main);
  const Value gradient = all_reduce(b, b.dot_general(x, x, kMatmul));
  main.set_results({b.subtract(w, gradient)});
  module.aliases = {{0, 0}};
  const ReplicatedModule one =
      vectorize_replicas(module, {.num_replicas = 8, .replicated_parameters = {true, false}});
  EXPECT_EQ(one.varying_results, std::vector<bool>{false});
  EXPECT_EQ(one.module->aliases, module.aliases);
  EXPECT_FALSE(has_opcode(one.module->entry(), [](Opcode o) { return o == Opcode::reduce; }));
}

// In turn nothing but the parameter is there for all replicas.
TEST(VectorizeReplicasForm, ReplicasInTurnAddUpTheirSums) {
  Module module;
  Computation& main = module.add_function("main");
  const Value w = main.add_parameter({DType::f32, {4, 4}});
  const Value x = main.add_parameter(kF84);
  Builder b(main);
  const Value gradient = all_reduce(b, b.dot_general(x, b.negate(x), kMatmul));
  main.set_results({b.subtract(w, gradient)});
  const ReplicatedModule one = vectorize_replicas(
      module, {.num_replicas = 8, .in_turn = true, .replicated_parameters = {true, false}});
  const Computation& all = one.module->entry();
  EXPECT_TRUE(has_opcode(all, [](Opcode o) { return o == Opcode::while_; }));
  for (const Instruction* made : all.instructions()) {
    for (const TensorType& type : made->results()) {
      EXPECT_TRUE(made->is(Opcode::parameter) || type.shape.rank() < 3)
          << to_string(made->opcode());
    }
  }
}

TEST(VectorizeReplicasErrors, SaysWhatDoesNotFit) {
  Module module;
  Computation& main = module.add_function("main");
  const Value w = main.add_parameter(kF4);
  const Value x = main.add_parameter(kF4);
  const Value p = main.add_parameter(kP);
  Builder b(main);
  main.set_results({b.add(w, x)});
  module.aliases = {{0, 0}};
  const auto vectorize = [&](std::vector<bool> replicated, int replicas = 2) {
    return error_of([&] {
      vectorize_replicas(
          module, {.num_replicas = replicas, .replicated_parameters = std::move(replicated)});
    });
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(vectorize({true, false, true}), HasSubstr("result 0, got a value that differs"));
  EXPECT_THAT(vectorize({true}), HasSubstr("replicated_parameters, got 1, expected 3"));
  EXPECT_THAT(vectorize({}, 0), HasSubstr("num_replicas, got 0, expected at least 1"));
  module.aliases.clear();
  const Value y = b.op_with_regions(Opcode::if_, {p}, NoAttrs{}, [&](Instruction& op) {
                     fill_branch(op, [&](Builder& c) { return all_reduce(c, x); });
                     fill_branch(op, [&](Builder&) { return x; });
                   })->result();
  main.set_results({y});
  EXPECT_THAT(vectorize({true, false, false}),
              HasSubstr("if: its condition, got one that differs between replicas around "
                        "'all_reduce', expected one value for all of them"));
}

}  // namespace
}  // namespace systole::hlo
