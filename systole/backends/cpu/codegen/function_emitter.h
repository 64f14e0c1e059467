// Emits one compiled function: memory locations, loads and stores of elements, and loops.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "systole/backends/cpu/analysis/buffer_assignment.h"
#include "systole/backends/cpu/codegen/program_record.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

struct HostTarget;  // jit.h
class OutlinedThunks;

// More arrays than that make a thunk one of a kind.
constexpr int64_t kMaxThunkMemory = 256;

// The memory that a thunk works on, in the order of its operands, its results and its scratch
// memory.
struct ThunkMemory {
  std::vector<Slice> slices;
  bool complete = true;  // its code asked for no other

  // Names the address that the function of a shared thunk gets by number.
  struct Place {
    int64_t number;
    int64_t offset;
  };
  // Where a slice lies. One that is no part of the memory is added to it, and makes it incomplete.
  // None for blocks, which are the function's own.
  std::optional<Place> place_of(const Slice& slice);
};

// State shared by all functions of the program being emitted.
struct ProgramEmitter {
  llvm::Module& module;
  const BufferAssignment& buffers;
  const HostTarget& target;
  bool optimize = true;
  int num_threads = 1;
  bool profile = false;
  runtime::ProcessGroup* processes = nullptr;  // null: one process
  ProgramRecord record;                        // grows with the code
  std::vector<std::unique_ptr<Kernel>> kernels;
  int64_t num_ops = 0;  // steps that are ops (profile_notes.h)
  // The memory given to functions of a shared thunk while its code is emitted. Null: the program's
  // memory.
  ThunkMemory* thunk_memory = nullptr;
  std::shared_ptr<OutlinedThunks> outlined_thunks =
      nullptr;  // made by the first thunk that may be shared

  llvm::LLVMContext& context() const { return module.getContext(); }
  KernelSetting kernel_setting() const;
  // Whether LLVM may change the order of sums, which then depends on the loops around them. A
  // program that spans processes has other loops for other numbers of replicas.
  bool may_regroup() const { return optimize && processes == nullptr; }
};

// Memory has the layout of a Tensor. In registers pred is i1; s4 and u4 are extended to i8; f16 and
// bf16 are floats that hold a value of the narrow type; complex types are pairs {re, im}.
llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype);
llvm::Type* register_type(llvm::LLVMContext& context, DType dtype);

class FunctionEmitter {
 public:
  // Begins a function (arguments, results, temp, context, then `extra`) -> void. End it with
  // `finish`.
  FunctionEmitter(ProgramEmitter& program, const std::string& name);
  // The body of a parallel loop: function (frame, begin, end) -> void.
  static std::unique_ptr<FunctionEmitter> loop_body(ProgramEmitter& program,
                                                    const std::string& name);
  // A function that C++ calls with one pointer: (frame, data) -> void.
  static std::unique_ptr<FunctionEmitter> callback(ProgramEmitter& program,
                                                   const std::string& name);
  void finish();

  ProgramEmitter& program;
  llvm::Function* function;
  llvm::IRBuilder<> b;

  llvm::Value* i64(int64_t value) { return b.getInt64(static_cast<uint64_t>(value)); }
  llvm::Value* begin() const { return begin_; }  // of a loop body
  llvm::Value* end() const { return end_; }
  llvm::Value* data() const { return data_; }  // of a callback
  llvm::Value* context() const { return context_; }

  const Slice& slice(hlo::Value value) const {
    const auto placed = placed_.find(value);
    return placed == placed_.end() ? program.buffers.slice(value) : placed->second;
  }
  std::vector<Slice> result_slices(const hlo::Instruction& instruction) const;
  // Places the value in `slice` within this function.
  void place(hlo::Value value, const Slice& slice) { placed_[value] = slice; }
  // The scratch memory of a thunk, and its placement within this function.
  Slice scratch(const hlo::Instruction& thunk) const {
    const auto placed = placed_scratch_.find(&thunk);
    return placed == placed_scratch_.end() ? program.buffers.scratch(thunk) : placed->second;
  }
  void place_scratch(const hlo::Instruction& thunk, const Slice& slice) {
    placed_scratch_[&thunk] = slice;
  }
  // Returns a pointer to the first byte, one value for the whole function.
  llvm::Value* address(const Slice& slice);
  // Returns a pointer to the array's element number `offset`, which the slice holds.
  llvm::Value* element_address(const Slice& slice, DType dtype, llvm::Value* offset);
  // Single-element constants and splats are emitted as constants.
  llvm::Value* load(hlo::Value value, llvm::Value* offset);
  void store(const Slice& slice, DType dtype, llvm::Value* offset, llvm::Value* element);
  // Marks an access as one to `array`, for alias analysis.
  void tag(llvm::Instruction* access, const Slice& array, bool is_store);
  // Access memory at any address.
  llvm::Value* load_from(llvm::Value* pointer, DType dtype, llvm::Value* offset);
  void store_to(llvm::Value* pointer, DType dtype, llvm::Value* offset, llvm::Value* element);
  llvm::Value* constant(const Tensor& value, int64_t index);

  // Allocates stack memory for the whole function.
  llvm::AllocaInst* local(llvm::Type* type, int64_t count = 1);

  // Allocates a block of `bytes` bytes of an array. Offsets count from the array's first element;
  // set_origin sets the first element of the block.
  Slice add_block(int64_t bytes);
  void set_origin(const Slice& block, llvm::Value* element);
  // Redirects stores to `array` to the block until the next thunk begins.
  void redirect(const Slice& array, const Slice& block) { redirected_.emplace_back(array, block); }
  // Copies the block's first `count` elements to their place in `to`, bypassing the caches.
  void stream(const Slice& block, const Slice& to, int64_t element_bytes, llvm::Value* count);
  // Orders streamed stores before later stores.
  void end_streams();

  // Until clear_hints(): stores to a streamed array bypass the caches where vectors are aligned,
  // and need end_streams() afterwards; loads from an array with `ahead` prefetch the memory `bytes`
  // after them.
  void hint_streamed(const Slice& array);
  void hint_ahead(const Slice& array, int64_t bytes) { ahead_.emplace_back(array, bytes); }
  // Returns whether the array starts at a cache line and vectors of its elements are wide enough to
  // stream.
  bool can_stream(const Slice& array, int64_t element_bytes) const;
  void clear_hints() {
    streamed_.clear();
    ahead_.clear();
  }

  // While set, thunks compute only the elements in rows [begin, end) of `count`. Thunks that gather
  // rows accumulate into part `part` of `parts`; accumulators are initialised in the phase `first`
  // and merged in `last`.
  struct Rows {
    enum class Phase { first, middle, last };
    int64_t count = 0;  // 0: not set
    llvm::Value* begin = nullptr;
    llvm::Value* end = nullptr;
    llvm::Value* part = nullptr;
    int64_t parts = 1;
    Phase phase = Phase::middle;
  };
  Rows rows;

  // Whether small computations are emitted as calls of shared functions, too: for code that runs
  // for less time than it takes to compile.
  bool calls_only = false;

  // Until the next call, loads from slices other than `written` are assumed not to alias stores to
  // those.
  void begin_kernel(const std::vector<Slice>& written);

  // Emits body(i) for i in [begin, end), in order. REQUIRES: begin < end.
  using LoopBody = std::function<void(llvm::Value*)>;
  void loop(llvm::Value* begin, llvm::Value* end, const LoopBody& body);
  void loop(int64_t end, const LoopBody& body) { loop(i64(0), i64(end), body); }
  void if_then(llvm::Value* condition, const std::function<void()>& then);

  void copy(const Move& move);
  // Makes the kernel, and calls it with these addresses.
  void call_kernel(const KernelRecord& record, const std::vector<llvm::Value*>& buffers);
  // The same with the addresses that `buffers` emits; returns false, and emits nothing, if there is
  // no such kernel.
  bool try_kernel(const KernelRecord& record,
                  const std::function<std::vector<llvm::Value*>()>& buffers);
  // When profiling, emitted after each thunk, step `number` of the record: records the time since
  // the previous thunk ended.
  void note_thunk(int64_t number);
  // Emitted after an op; before the step loop, after each of its steps and after it: calls RunNotes
  // while a recording is in progress. The calls access no memory of the program, so that its code
  // is optimised as if they were not there.
  void note_op(int64_t op);
  void enter_steps() { call_notes(kNotesSteps, "systole_cpu_enter_steps", {context_}); }
  void end_step() { call_notes(kNotesSteps, "systole_cpu_end_step", {context_}); }
  void leave_steps() { call_notes(kNotesSteps, "systole_cpu_leave_steps", {context_}); }
  // Whether no kernel of this run has failed, an i1.
  llvm::Value* no_error();
  llvm::FunctionCallee runtime_function(const std::string& name, llvm::FunctionType* type);
  // The four pointers of this function, as the frame of a loop body.
  llvm::Value* frame();
  // Call a function begun by the first constructor: with this function's memory, or, for a shared
  // thunk, with the addresses of `memory`.
  void call(llvm::Function* thunk);
  void call_shared(llvm::Function* thunk, std::span<const Slice> memory);

 private:
  // Places of fields in a RunContext, counted in 8 bytes.
  static constexpr uint64_t kNotesSteps = 1;
  static constexpr uint64_t kNotesOps = 2;
  static constexpr uint64_t kError = 6;
  void call_kernel(const KernelRecord& record, std::unique_ptr<Kernel> kernel,
                   const std::vector<llvm::Value*>& buffers);
  void call_notes(uint64_t field, const std::string& name,
                  const std::vector<llvm::Value*>& arguments);
  FunctionEmitter(ProgramEmitter& program, llvm::Function* function);
  // A function whose first parameter is a frame.
  static std::unique_ptr<FunctionEmitter> with_frame(ProgramEmitter& program,
                                                     const std::string& name,
                                                     std::vector<llvm::Type*> parameters);
  void set_pointers(llvm::Value* arguments, llvm::Value* results, llvm::Value* temp,
                    llvm::Value* context);
  llvm::Value* load_pointer(llvm::IRBuilder<>& at, llvm::Value* table, int64_t index);
  void note_alignment(llvm::LoadInst& pointer);
  llvm::Value* from_memory(DType dtype, llvm::Value* x);
  llvm::Value* to_memory(DType dtype, llvm::Value* x);
  llvm::Value* place_in(const Slice& slice, llvm::Value* offset);
  llvm::Value* given_address(const Slice& slice);

  llvm::Value* arguments_ = nullptr;
  llvm::Value* results_ = nullptr;
  llvm::Value* temp_ = nullptr;
  llvm::Value* context_ = nullptr;
  llvm::Value* begin_ = nullptr;
  llvm::Value* end_ = nullptr;
  llvm::Value* data_ = nullptr;
  llvm::Value* frame_ = nullptr;
  llvm::AllocaInst* table_ = nullptr;  // the addresses for a shared thunk
  llvm::BasicBlock* entry_;            // allocas and addresses; branches to the rest
  std::map<std::tuple<Memory, int, int64_t>, llvm::Value*> addresses_;
  struct Block {
    llvm::Value* memory;
    llvm::Value* origin;
  };
  std::vector<Block> blocks_;  // by Slice::index
  std::unordered_map<hlo::Value, Slice, hlo::ValueHash> placed_;
  std::unordered_map<const hlo::Instruction*, Slice> placed_scratch_;
  std::vector<Slice> written_;
  std::vector<std::pair<Slice, Slice>> redirected_;
  std::vector<llvm::MDNode*> scopes_;  // one for each written slice
  std::vector<Slice> streamed_;
  std::vector<std::pair<Slice, int64_t>> ahead_;
};

// Emits a thunk: code that puts the results of one instruction, or fusion, into their memory.
using ThunkCode = void (*)(FunctionEmitter& f, const hlo::Instruction& instruction);

}  // namespace systole::cpu
