// The code of every thunk: the lowering table and its entries.
#pragma once

#include "systole/backends/cpu/codegen/elements.h"

namespace systole::cpu {

// Returns whether the backend has code for this opcode on these types, and for everything in its
// regions. Otherwise the instruction is not fused and runs by its reference value.
bool has_native_code(const hlo::Instruction& instruction);

// All instructions of a computation with memory of its own, in program order. Those without native
// code are calls of their reference value.
// Errors: UNIMPLEMENTED `cpu cannot lower '<op>' (<type>), from node 'x' at file.cc:41`.
void emit_thunks(FunctionEmitter& f, const hlo::Computation& computation);
void emit_thunk(FunctionEmitter& f, const hlo::Instruction& instruction);
// Size of the thunk's scratch memory.
int64_t thunk_scratch_bytes(const hlo::Instruction& instruction, bool optimize, int num_threads);
int64_t reduce_scratch_bytes(const hlo::Instruction& instruction);  // reduce.cc
// For a thunk of a row fusion that gathers rows.
int64_t gather_scratch_bytes(const hlo::Instruction& instruction);
int64_t row_fusion_scratch_bytes(const hlo::Instruction& instruction);  // row_fusion.cc

// The entries of the table; each is defined in the file of its name.
void emit_element_loop(FunctionEmitter& f, const hlo::Instruction& x);  // element_loop.cc
void emit_fusion(FunctionEmitter& f, const hlo::Instruction& x);
void emit_row_fusion(FunctionEmitter& f, const hlo::Instruction& x);        // row_fusion.cc
void emit_product_fusion(FunctionEmitter& f, const hlo::Instruction& x);    // product_fusion.cc
void emit_attention_fusion(FunctionEmitter& f, const hlo::Instruction& x);  // attention_fusion.cc
void emit_reduce(FunctionEmitter& f,
                 const hlo::Instruction& x);  // reduce.cc; also a fusion that ends in some
void emit_dot(FunctionEmitter& f, const hlo::Instruction& x);          // dot.cc
void emit_convolution(FunctionEmitter& f, const hlo::Instruction& x);  // convolution.cc
void emit_concatenate(FunctionEmitter& f, const hlo::Instruction& x);  // data_movement.cc
void emit_pad(FunctionEmitter& f, const hlo::Instruction& x);
void emit_transpose(FunctionEmitter& f, const hlo::Instruction& x);
void emit_dynamic_update_slice(FunctionEmitter& f, const hlo::Instruction& x);
void emit_reduce_window(FunctionEmitter& f, const hlo::Instruction& x);  // window.cc
// Emits a reduce_window whose windows run (hlo::running_window), and returns whether it is one.
bool emit_running_window(FunctionEmitter& f, const hlo::Instruction& x);  // running_window.cc
void emit_select_and_scatter(FunctionEmitter& f, const hlo::Instruction& x);
int64_t select_and_scatter_scratch_bytes(const hlo::Instruction& x);
void emit_scatter(FunctionEmitter& f, const hlo::Instruction& x);  // scatter.cc
void emit_sort(FunctionEmitter& f, const hlo::Instruction& x);     // sort.cc
int64_t sort_scratch_bytes(const hlo::Instruction& x, int num_threads);
void emit_rng_bit_generator(FunctionEmitter& f, const hlo::Instruction& x);  // rng.cc
void emit_reference(FunctionEmitter& f, const hlo::Instruction& x);          // kernel_calls.cc
void emit_processes(FunctionEmitter& f, const hlo::Instruction& x);
void emit_ffi(FunctionEmitter& f, const hlo::Instruction& x);
void emit_fft(FunctionEmitter& f, const hlo::Instruction& x);
void emit_lapack(FunctionEmitter& f, const hlo::Instruction& x);
void emit_while(FunctionEmitter& f, const hlo::Instruction& x);  // control_flow.cc
void emit_branches(FunctionEmitter& f, const hlo::Instruction& x);
// Whether all uses of the value are as the initial value of a loop that overwrites it unread.
bool is_overwritten_unread(const hlo::Instruction& x);

// A loop over the index space `shape`. `store` computes and stores the elements of one index;
// `visit` records everything that `store` needs.
struct ElementLoop {
  const Thunk& thunk;
  Shape shape;
  std::vector<Slice> written;
  bool parallel = true;  // iterations of the first dimension may run at the same time
  std::function<void(ElementAccess&, const IndexRef&)> visit;
  std::function<void(Elements&, const IndexRef&)> store;
  // The offset of one index in every result, and the size of the elements. If set, large results
  // bypass the caches.
  std::function<Affine(IndexSpace&, const IndexRef&)> target = nullptr;
  std::vector<int64_t> element_bytes = {};
};
void emit_loop_over(FunctionEmitter& f, const ElementLoop& loop);

}  // namespace systole::cpu
