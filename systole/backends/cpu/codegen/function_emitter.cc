#include "systole/backends/cpu/codegen/function_emitter.h"

#include <llvm/IR/MDBuilder.h>

#include "systole/backends/cpu/jit/jit.h"
#include "systole/backends/cpu/jit/memory_hints.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/base/error.h"

namespace systole::cpu {

llvm::Type* memory_type(llvm::LLVMContext& c, DType dtype) {
  switch (dtype) {
    case DType::f16:
      return llvm::Type::getHalfTy(c);
    case DType::f32:
      return llvm::Type::getFloatTy(c);
    case DType::f64:
      return llvm::Type::getDoubleTy(c);
    case DType::c64:
    case DType::c128:
      return register_type(c, dtype);
    default:
      return llvm::Type::getIntNTy(c, static_cast<unsigned>(size_of(dtype)) * 8);
  }
}

llvm::Type* register_type(llvm::LLVMContext& c, DType dtype) {
  switch (dtype) {
    case DType::pred:
      return llvm::Type::getInt1Ty(c);
    case DType::f16:
    case DType::bf16:
      return llvm::Type::getFloatTy(c);
    case DType::c64:
    case DType::c128: {
      llvm::Type* part = memory_type(c, real_dtype(dtype));
      return llvm::StructType::get(c, {part, part});
    }
    default:
      return memory_type(c, dtype);
  }
}

KernelSetting ProgramEmitter::kernel_setting() const {
  return {
      .num_threads = num_threads, .streamed_bytes = target.streamed_bytes, .processes = processes};
}

std::optional<ThunkMemory::Place> ThunkMemory::place_of(const Slice& slice) {
  if (slice.memory == Memory::block) return std::nullopt;
  const auto same = std::ranges::find(slices, slice);
  if (same != slices.end()) return Place{same - slices.begin(), 0};
  const auto around = std::ranges::find_if(slices, [&](const Slice& s) {
    return s.memory == slice.memory && s.index == slice.index && s.offset <= slice.offset &&
           slice.offset + slice.bytes <= s.offset + s.bytes;
  });
  if (around != slices.end()) return Place{around - slices.begin(), slice.offset - around->offset};
  complete = false;
  slices.push_back(slice);
  return Place{static_cast<int64_t>(slices.size()) - 1, 0};
}

FunctionEmitter::FunctionEmitter(ProgramEmitter& program, llvm::Function* function)
    : program(program), function(function), b(program.context()) {
  function->addFnAttr(llvm::Attribute::NoUnwind);
  entry_ = llvm::BasicBlock::Create(program.context(), "entry", function);
  b.SetInsertPoint(llvm::BasicBlock::Create(program.context(), "start", function));
}

FunctionEmitter::FunctionEmitter(ProgramEmitter& program, const std::string& name)
    : FunctionEmitter(program, [&] {
        auto* pointer = llvm::PointerType::get(program.context(), 0);
        auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(program.context()),
                                             {pointer, pointer, pointer, pointer}, false);
        return llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, program.module);
      }()) {
  for (unsigned i = 0; i < 4; ++i) function->addParamAttr(i, llvm::Attribute::NoAlias);
  function->addParamAttr(
      2, llvm::Attribute::getWithAlignment(program.context(), llvm::Align(kAlignment)));
  set_pointers(function->getArg(0), function->getArg(1), function->getArg(2), function->getArg(3));
}

std::unique_ptr<FunctionEmitter> FunctionEmitter::with_frame(ProgramEmitter& program,
                                                             const std::string& name,
                                                             std::vector<llvm::Type*> parameters) {
  auto& c = program.context();
  parameters.insert(parameters.begin(), llvm::PointerType::get(c, 0));
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(c), parameters, false);
  auto* function =
      llvm::Function::Create(type, llvm::Function::InternalLinkage, name, program.module);
  std::unique_ptr<FunctionEmitter> result(new FunctionEmitter(program, function));
  llvm::IRBuilder<> at(result->entry_);
  llvm::Value* frame = function->getArg(0);
  llvm::Value* pointers[4];
  for (int i = 0; i < 4; ++i) pointers[i] = result->load_pointer(at, frame, i);
  result->note_alignment(*llvm::cast<llvm::LoadInst>(pointers[2]));
  result->set_pointers(pointers[0], pointers[1], pointers[2], pointers[3]);
  result->frame_ = frame;
  return result;
}

std::unique_ptr<FunctionEmitter> FunctionEmitter::loop_body(ProgramEmitter& program,
                                                            const std::string& name) {
  auto* i64 = llvm::Type::getInt64Ty(program.context());
  auto body = with_frame(program, name, {i64, i64});
  body->begin_ = body->function->getArg(1);
  body->end_ = body->function->getArg(2);
  return body;
}

std::unique_ptr<FunctionEmitter> FunctionEmitter::callback(ProgramEmitter& program,
                                                           const std::string& name) {
  auto result = with_frame(program, name, {llvm::PointerType::get(program.context(), 0)});
  result->data_ = result->function->getArg(1);
  return result;
}

std::vector<Slice> FunctionEmitter::result_slices(const hlo::Instruction& x) const {
  std::vector<Slice> result;
  for (int i = 0; i < x.num_results(); ++i)
    result.push_back(slice(const_cast<hlo::Instruction&>(x).result(i)));
  return result;
}

void FunctionEmitter::set_pointers(llvm::Value* arguments, llvm::Value* results, llvm::Value* temp,
                                   llvm::Value* context) {
  arguments_ = arguments;
  results_ = results;
  temp_ = temp;
  context_ = context;
}

void FunctionEmitter::finish() {
  b.CreateRetVoid();
  llvm::IRBuilder<>(entry_).CreateBr(&*std::next(function->begin()));
}

llvm::Value* FunctionEmitter::load_pointer(llvm::IRBuilder<>& at, llvm::Value* table,
                                           int64_t index) {
  auto* slot = at.CreateConstInBoundsGEP1_64(at.getPtrTy(), table, static_cast<uint64_t>(index));
  auto* load = at.CreateLoad(at.getPtrTy(), slot);
  // The addresses that a shared thunk is given lie in a table that the next call writes over.
  if (program.thunk_memory == nullptr) {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                      llvm::MDNode::get(program.context(), {}));
  }
  return load;
}

// What the program's own memory begins with, whoever gave it.
void FunctionEmitter::note_alignment(llvm::LoadInst& pointer) {
  pointer.setMetadata(
      llvm::LLVMContext::MD_align,
      llvm::MDNode::get(program.context(), llvm::ConstantAsMetadata::get(b.getInt64(kAlignment))));
}

llvm::Value* FunctionEmitter::address(const Slice& slice) {
  llvm::Value*& known = addresses_[{slice.memory, slice.index, slice.offset}];
  if (known != nullptr) return known;
  if (program.thunk_memory != nullptr) {
    if (llvm::Value* given = given_address(slice)) return known = given;
  }
  llvm::IRBuilder<> at(entry_);
  switch (slice.memory) {
    case Memory::argument:
      return known = load_pointer(at, arguments_, slice.index);
    case Memory::result:
      known = load_pointer(at, results_, slice.index);
      note_alignment(*llvm::cast<llvm::LoadInst>(known));
      return known;
    case Memory::temp:
      return known = at.CreateConstInBoundsGEP1_64(at.getInt8Ty(), temp_,
                                                   static_cast<uint64_t>(slice.offset));
    case Memory::block:
      return known = blocks_[slice.index].memory;
    default:
      return known = load_pointer(at, load_pointer(at, context_, 0), slice.index);
  }
}

llvm::Value* FunctionEmitter::element_address(const Slice& slice, DType dtype,
                                              llvm::Value* offset) {
  return b.CreateInBoundsGEP(memory_type(program.context(), dtype), address(slice),
                             place_in(slice, offset));
}

// In a shared thunk, whose arguments are its memory. Null for a block.
llvm::Value* FunctionEmitter::given_address(const Slice& slice) {
  const auto given = program.thunk_memory->place_of(slice);
  if (!given) return nullptr;
  llvm::IRBuilder<> at(entry_);
  llvm::Value* pointer = load_pointer(at, arguments_, given->number);
  if (slice.memory == Memory::temp || slice.memory == Memory::result)
    note_alignment(*llvm::cast<llvm::LoadInst>(pointer));
  if (given->offset == 0) return pointer;
  return at.CreateConstInBoundsGEP1_64(at.getInt8Ty(), pointer,
                                       static_cast<uint64_t>(given->offset));
}

void FunctionEmitter::hint_streamed(const Slice& array) {
  if (array.memory == Memory::argument) note_alignment(*llvm::cast<llvm::LoadInst>(address(array)));
  streamed_.push_back(array);
}

// An argument that is written is a buffer of the device; that it is large is for callers to know.
bool FunctionEmitter::can_stream(const Slice& array, int64_t element_bytes) const {
  const bool own = array.memory == Memory::result || array.memory == Memory::temp ||
                   array.memory == Memory::argument;
  return own && element_bytes > 1 && program.target.vector_bits >= 256;
}

llvm::AllocaInst* FunctionEmitter::local(llvm::Type* type, int64_t count) {
  llvm::IRBuilder<> at(entry_, entry_->begin());
  // A single element is not an array, so that it can become a register.
  if (count != 1) type = llvm::ArrayType::get(type, static_cast<uint64_t>(count));
  auto* result = at.CreateAlloca(type);
  result->setAlignment(llvm::Align(64));
  return result;
}

Slice FunctionEmitter::add_block(int64_t bytes) {
  blocks_.push_back({local(b.getInt8Ty(), std::max<int64_t>(bytes, 2)), nullptr});
  return {Memory::block, static_cast<int>(blocks_.size()) - 1, 0, bytes};
}

void FunctionEmitter::set_origin(const Slice& block, llvm::Value* element) {
  blocks_[block.index].origin = element;
}

llvm::Value* FunctionEmitter::place_in(const Slice& slice, llvm::Value* offset) {
  if (slice.memory != Memory::block) return offset;
  return b.CreateSub(offset, blocks_[slice.index].origin, "", false, true);
}

void FunctionEmitter::stream(const Slice& block, const Slice& to, int64_t element_bytes,
                             llvm::Value* count) {
  const auto bytes = [&](llvm::Value* elements) {
    return b.CreateMul(elements, i64(element_bytes), "", true, true);
  };
  llvm::Value* target =
      b.CreateInBoundsGEP(b.getInt8Ty(), address(to), bytes(blocks_[block.index].origin));
  auto* type =
      llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty()}, false);
  b.CreateCall(runtime_function("systole_cpu_stream", type),
               {target, address(block), bytes(count)});
}

void FunctionEmitter::end_streams() {
  b.CreateCall(runtime_function("systole_cpu_end_streams",
                                llvm::FunctionType::get(b.getVoidTy(), {}, false)),
               {});
}

llvm::Value* FunctionEmitter::frame() {
  if (frame_ != nullptr) return frame_;
  auto* table = local(b.getPtrTy(), 4);
  llvm::IRBuilder<> at(entry_);
  llvm::Value* pointers[] = {arguments_, results_, temp_, context_};
  for (unsigned i = 0; i < 4; ++i) {
    at.CreateStore(pointers[i], at.CreateConstInBoundsGEP1_64(at.getPtrTy(), table, i));
  }
  return frame_ = table;
}

void FunctionEmitter::call(llvm::Function* thunk) {
  b.CreateCall(thunk, {arguments_, results_, temp_, context_});
}

void FunctionEmitter::call_shared(llvm::Function* thunk, std::span<const Slice> memory) {
  if (std::ssize(memory) > kMaxThunkMemory) {
    throw internal_error("shared thunk '{}': arrays, got {}, expected at most {}",
                         thunk->getName().str(), memory.size(), kMaxThunkMemory);
  }
  if (table_ == nullptr) table_ = local(b.getPtrTy(), kMaxThunkMemory);
  for (size_t i = 0; i < memory.size(); ++i) {
    b.CreateStore(address(memory[i]), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), table_, i));
  }
  llvm::Value* none = llvm::ConstantPointerNull::get(b.getPtrTy());
  b.CreateCall(thunk, {table_, none, none, context_});
}

// -- Elements

void FunctionEmitter::begin_kernel(const std::vector<Slice>& written) {
  written_ = written;
  redirected_.clear();
  scopes_.clear();
  llvm::MDBuilder md(program.context());
  auto* domain = md.createAnonymousAliasScopeDomain();
  for (const Slice& slice : written) {
    const bool streamed = std::ranges::find(streamed_, slice) != streamed_.end();
    scopes_.push_back(md.createAnonymousAliasScope(domain, streamed ? kStreamedScope : ""));
  }
}

void FunctionEmitter::tag(llvm::Instruction* access, const Slice& slice, bool is_store) {
  std::vector<llvm::Metadata*> inside;
  std::vector<llvm::Metadata*> outside;
  for (size_t i = 0; i < written_.size(); ++i) {
    (written_[i].overlaps(slice) ? inside : outside).push_back(scopes_[i]);
  }
  const auto ahead = std::ranges::find(ahead_, slice, &std::pair<Slice, int64_t>::first);
  if (!is_store && ahead != ahead_.end()) {
    llvm::MDBuilder md(program.context());
    inside.push_back(md.createAnonymousAliasScope(md.createAnonymousAliasScopeDomain(),
                                                  ahead_scope(ahead->second)));
  }
  // Loads, too: what else the loop reads does not lie in the array, so that it needs no checks.
  if (!inside.empty()) {
    access->setMetadata(llvm::LLVMContext::MD_alias_scope,
                        llvm::MDNode::get(program.context(), inside));
  }
  if (!outside.empty()) {
    access->setMetadata(llvm::LLVMContext::MD_noalias,
                        llvm::MDNode::get(program.context(), outside));
  }
}

llvm::Value* FunctionEmitter::from_memory(DType dtype, llvm::Value* x) {
  switch (dtype) {
    case DType::pred:
      return b.CreateICmpNE(x, b.getInt8(0));
    case DType::f16:
      return b.CreateFPExt(x, b.getFloatTy());
    case DType::bf16:
      return b.CreateBitCast(b.CreateShl(b.CreateZExt(x, b.getInt32Ty()), 16), b.getFloatTy());
    default:
      return x;
  }
}

llvm::Value* FunctionEmitter::to_memory(DType dtype, llvm::Value* x) {
  switch (dtype) {
    case DType::pred:
      return b.CreateZExt(x, b.getInt8Ty());
    case DType::f16:
      return b.CreateFPTrunc(x, b.getHalfTy());
    case DType::bf16:
      return b.CreateTrunc(b.CreateLShr(b.CreateBitCast(x, b.getInt32Ty()), 16), b.getInt16Ty());
    default:
      return x;
  }
}

llvm::Value* FunctionEmitter::constant(const Tensor& value, int64_t index) {
  const auto at = static_cast<size_t>(index);
  return visit_dtype(value.dtype(), [&]<class T>() -> llvm::Value* {
    const T x = value.data<T>()[at];
    auto* type = register_type(program.context(), value.dtype());
    if constexpr (std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      auto* part = llvm::cast<llvm::StructType>(type)->getElementType(0);
      return llvm::ConstantStruct::get(
          llvm::cast<llvm::StructType>(type),
          {llvm::ConstantFP::get(part, x.real()), llvm::ConstantFP::get(part, x.imag())});
    } else if constexpr (std::is_floating_point_v<T>) {
      return llvm::ConstantFP::get(type, x);
    } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      return llvm::ConstantFP::get(type, static_cast<float>(x));
    } else {
      return llvm::ConstantInt::get(type, static_cast<uint64_t>(static_cast<int64_t>(x)), true);
    }
  });
}

llvm::Value* FunctionEmitter::load(hlo::Value value, llvm::Value* offset) {
  const hlo::Instruction* def = value.def;
  if (def->is(hlo::Opcode::constant) && value.shape().num_elements() == 1) {
    return constant(def->attrs<hlo::ConstantAttrs>().value, 0);
  }
  const Slice& from = slice(value);
  llvm::Type* type = memory_type(program.context(), value.dtype());
  llvm::Value* pointer = b.CreateInBoundsGEP(type, address(from), place_in(from, offset));
  auto* x = b.CreateAlignedLoad(
      type, pointer, llvm::Align(static_cast<uint64_t>(std::min(size_of(value.dtype()), 8))));
  tag(x, from, false);
  return from_memory(value.dtype(), x);
}

void FunctionEmitter::store(const Slice& array, DType dtype, llvm::Value* offset,
                            llvm::Value* element) {
  const auto redirected = std::ranges::find(redirected_, array, &std::pair<Slice, Slice>::first);
  const Slice& to = redirected == redirected_.end() ? array : redirected->second;
  llvm::Type* type = memory_type(program.context(), dtype);
  llvm::Value* pointer = b.CreateInBoundsGEP(type, address(to), place_in(to, offset));
  auto* store =
      b.CreateAlignedStore(to_memory(dtype, element), pointer,
                           llvm::Align(static_cast<uint64_t>(std::min(size_of(dtype), 8))));
  tag(store, to, true);
}

llvm::Value* FunctionEmitter::load_from(llvm::Value* pointer, DType dtype, llvm::Value* offset) {
  llvm::Type* type = memory_type(program.context(), dtype);
  return from_memory(dtype, b.CreateLoad(type, b.CreateInBoundsGEP(type, pointer, offset)));
}

void FunctionEmitter::store_to(llvm::Value* pointer, DType dtype, llvm::Value* offset,
                               llvm::Value* element) {
  llvm::Type* type = memory_type(program.context(), dtype);
  b.CreateStore(to_memory(dtype, element), b.CreateInBoundsGEP(type, pointer, offset));
}

// -- Control

void FunctionEmitter::loop(llvm::Value* begin, llvm::Value* end, const LoopBody& body) {
  auto* before = b.GetInsertBlock();
  auto* inside = llvm::BasicBlock::Create(program.context(), "loop", function);
  auto* after = llvm::BasicBlock::Create(program.context(), "after", function);
  b.CreateBr(inside);
  b.SetInsertPoint(inside);
  auto* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(begin, before);
  body(i);
  llvm::Value* next = b.CreateAdd(i, i64(1), "", true, true);
  i->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, end), inside, after);
  b.SetInsertPoint(after);
}

void FunctionEmitter::if_then(llvm::Value* condition, const std::function<void()>& then) {
  auto* inside = llvm::BasicBlock::Create(program.context(), "then", function);
  auto* after = llvm::BasicBlock::Create(program.context(), "endif", function);
  b.CreateCondBr(condition, inside, after);
  b.SetInsertPoint(inside);
  then();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void FunctionEmitter::copy(const Move& move) {
  if (move.from == move.to || move.from.bytes == 0) return;
  const auto align = [](const Slice& s) {
    return llvm::MaybeAlign(s.memory == Memory::temp ? 64 : 1);
  };
  b.CreateMemCpy(address(move.to), align(move.to), address(move.from), align(move.from),
                 static_cast<uint64_t>(move.from.bytes));
}

llvm::FunctionCallee FunctionEmitter::runtime_function(const std::string& name,
                                                       llvm::FunctionType* type) {
  return program.module.getOrInsertFunction(name, type);
}

void FunctionEmitter::call_kernel(const KernelRecord& record,
                                  const std::vector<llvm::Value*>& buffers) {
  call_kernel(record, make_kernel(record, program.kernel_setting()), buffers);
}

bool FunctionEmitter::try_kernel(const KernelRecord& record,
                                 const std::function<std::vector<llvm::Value*>()>& buffers) {
  auto kernel = make_kernel(record, program.kernel_setting());
  if (kernel == nullptr) return false;
  call_kernel(record, std::move(kernel), buffers());
  return true;
}

void FunctionEmitter::call_kernel(const KernelRecord& record, std::unique_ptr<Kernel> kernel,
                                  const std::vector<llvm::Value*>& buffers) {
  auto* table = local(b.getPtrTy(), static_cast<int64_t>(buffers.size()));
  for (size_t i = 0; i < buffers.size(); ++i) {
    b.CreateStore(buffers[i], b.CreateConstInBoundsGEP1_64(b.getPtrTy(), table, i));
  }
  auto* type = llvm::FunctionType::get(
      b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty(), b.getPtrTy(), b.getInt64Ty()}, false);
  const auto number = static_cast<int64_t>(program.kernels.size());
  program.kernels.push_back(std::move(kernel));
  program.record.kernels.push_back(record);
  b.CreateCall(runtime_function("systole_cpu_run_kernel", type),
               {context_, i64(number), table, i64(static_cast<int64_t>(buffers.size()))});
}

llvm::Value* FunctionEmitter::no_error() {
  static_assert(offsetof(RunContext, error) == kError * sizeof(int64_t));
  static_assert(sizeof(std::exception_ptr) == sizeof(void*));
  auto* place = b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), context_, kError);
  return b.CreateIsNull(b.CreateLoad(b.getPtrTy(), place));
}

void FunctionEmitter::note_thunk(int64_t number) {
  auto* pointer = b.getPtrTy();
  auto* type = llvm::FunctionType::get(b.getVoidTy(),
                                       {pointer, b.getInt64Ty(), pointer, pointer, pointer}, false);
  // It is given all memory, so that no load or store moves across it.
  b.CreateCall(runtime_function("systole_cpu_note_thunk", type),
               {context_, i64(number), arguments_, results_, temp_});
}

void FunctionEmitter::call_notes(uint64_t field, const std::string& name,
                                 const std::vector<llvm::Value*>& arguments) {
  static_assert(offsetof(RunContext, notes_steps) == kNotesSteps * sizeof(int64_t));
  static_assert(offsetof(RunContext, notes_ops) == kNotesOps * sizeof(int64_t));
  auto* place = b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), context_, field);
  auto* noted = b.CreateICmpNE(b.CreateLoad(b.getInt64Ty(), place), i64(0));
  auto* inside = llvm::BasicBlock::Create(program.context(), "noted", function);
  auto* after = llvm::BasicBlock::Create(program.context(), "after", function);
  b.CreateCondBr(noted, inside, after,
                 llvm::MDBuilder(program.context()).createUnlikelyBranchWeights());
  b.SetInsertPoint(inside);
  std::vector<llvm::Type*> types;
  for (const llvm::Value* argument : arguments) types.push_back(argument->getType());
  auto* type = llvm::FunctionType::get(b.getVoidTy(), types, false);
  auto* call = b.CreateCall(runtime_function(name, type), arguments);
  call->setOnlyAccessesInaccessibleMemOrArgMem();
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::Cold);
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void FunctionEmitter::note_op(int64_t op) {
  call_notes(kNotesOps, "systole_cpu_note_op", {context_, i64(op)});
}

}  // namespace systole::cpu
