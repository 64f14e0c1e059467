// The rules of OpSemantics::vectorize and OpSemantics::sum_over_replicas that hlo/ops names.
#pragma once

#include <optional>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo::replicas {

class Vectorizer;

// -- movement.cc, and opcodes whose leading axes are batches (same_attrs)
std::vector<Value> vectorize_same_attrs(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_broadcast_in_dim(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_transpose(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_reverse(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_concatenate(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_slice(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_pad(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_dynamic_slice(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_dynamic_update_slice(Vectorizer& v, Instruction& x);

// -- products.cc
std::vector<Value> vectorize_dot_general(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_convolution(Vectorizer& v, Instruction& x);

// -- control_flow.cc: `branches` is the rule of case and if
std::vector<Value> vectorize_while(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_branches(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_optimization_barrier(Vectorizer& v, Instruction& x);

// -- random.cc
std::vector<Value> vectorize_rng_bit_generator(Vectorizer& v, Instruction& x);

// -- indexed.cc
std::vector<Value> vectorize_gather(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_scatter(Vectorizer& v, Instruction& x);

// -- windows.cc
std::vector<Value> vectorize_map(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_reduce(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_reduce_window(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_select_and_scatter(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_sort(Vectorizer& v, Instruction& x);

// -- collectives.cc
std::vector<Value> vectorize_all_gather(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_all_reduce(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_all_to_all(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_collective_broadcast(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_collective_permute(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_collective_reduce(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_partition_id(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_reduce_scatter(Vectorizer& v, Instruction& x);
std::vector<Value> vectorize_replica_id(Vectorizer& v, Instruction& x);
// Returns whether `x` is an all_reduce that adds `operand` up over all replicas, in its dtype.
bool is_plain_sum(const Vectorizer& v, const Instruction& x, Value operand);

// -- sums.cc: `terms` is the rule of add and subtract, `product` of multiply and divide, `linear`
// of opcodes on one operand that commute with addition
std::optional<Value> sum_terms(Vectorizer& v, Instruction& x);
std::optional<Value> sum_convert(Vectorizer& v, Instruction& x);
std::optional<Value> sum_convolution(Vectorizer& v, Instruction& x);
std::optional<Value> sum_product(Vectorizer& v, Instruction& x);
std::optional<Value> sum_dot_general(Vectorizer& v, Instruction& x);
std::optional<Value> sum_linear(Vectorizer& v, Instruction& x);
std::optional<Value> sum_reduce(Vectorizer& v, Instruction& x);
std::optional<Value> sum_scatter(Vectorizer& v, Instruction& x);

}  // namespace systole::hlo::replicas
