#include "systole/runtime/ffi/ffi_call.h"

#include <algorithm>
#include <atomic>
#include <sstream>

#include "systole/base/error.h"
#include "systole/hlo/passes/expand_small_floats.h"
#include "systole/runtime/ffi/ffi_registry.h"
#include "systole/runtime/ffi/ffi_types.h"

namespace systole::runtime {
namespace {

// JAX writes the attributes as one of two.
int64_t next_run_id() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

// The element types of the operands and results, which a pass may have replaced by codes.
std::vector<DType> element_types(const hlo::Instruction& x) {
  std::vector<DType> types;
  for (const hlo::Value& operand : x.operands()) types.push_back(operand.dtype());
  for (const TensorType& result : x.results()) types.push_back(result.dtype);
  for (const auto& [name, attribute] : x.attrs<hlo::CustomCallAttrs>().others) {
    if (name != hlo::kElementTypesAttribute) continue;
    std::string names = attribute.text;
    std::ranges::replace(names, '"', ' ');
    std::istringstream words(names);
    for (DType& type : types) {
      std::string word;
      words >> word;
      const DType told = dtype_from_mlir(word).value_or(type);
      if (size_of(told) == size_of(type)) type = told;
    }
  }
  return types;
}

}  // namespace

bool is_ffi_call(const hlo::Instruction& x) {
  return x.is(hlo::Opcode::custom_call) &&
         find_ffi_handler(x.attrs<hlo::CustomCallAttrs>().call_target_name).has_value();
}

FfiCall::FfiCall(const hlo::Instruction& x)
    : target_(x.attrs<hlo::CustomCallAttrs>().call_target_name),
      handler_(*find_ffi_handler(target_)),
      attributes_(x.attrs<hlo::CustomCallAttrs>().settings(), target_),
      num_operands_(static_cast<size_t>(x.num_operands())) {
  const std::vector<DType> elements = element_types(x);
  const auto add = [&](const TensorType& type) {
    types_.push_back(
        {ffi_type(elements[types_.size()]), {type.shape.dims().begin(), type.shape.dims().end()}});
  };
  for (const hlo::Value& operand : x.operands()) add(operand.type());
  for (const TensorType& type : x.results()) add(type);
  if (handler_.instantiate == nullptr) return;
  FfiStates none;
  XLA_FFI_ExecutionContext context{.instance = states_, .run = none};
  call(handler_.instantiate, XLA_FFI_ExecutionStage_INSTANTIATE, {}, context);
}

void FfiCall::run(std::span<void* const> buffers) const {
  std::vector<XLA_FFI_Buffer> arrays;
  arrays.reserve(types_.size());
  for (size_t i = 0; i < types_.size(); ++i) {
    arrays.push_back({.struct_size = sizeof(XLA_FFI_Buffer),
                      .extension_start = nullptr,
                      .dtype = types_[i].type,
                      .data = buffers[i],
                      .rank = static_cast<int64_t>(types_[i].dims.size()),
                      .dims = const_cast<int64_t*>(types_[i].dims.data())});
  }
  FfiStates states;
  XLA_FFI_ExecutionContext context{.instance = states_, .run = states, .run_id = next_run_id()};
  if (handler_.prepare != nullptr)
    call(handler_.prepare, XLA_FFI_ExecutionStage_PREPARE, arrays, context);
  if (handler_.initialize != nullptr)
    call(handler_.initialize, XLA_FFI_ExecutionStage_INITIALIZE, arrays, context);
  call(handler_.execute, XLA_FFI_ExecutionStage_EXECUTE, arrays, context);
}

void FfiCall::call(XLA_FFI_Handler* handler, XLA_FFI_ExecutionStage stage,
                   std::span<XLA_FFI_Buffer> buffers, XLA_FFI_ExecutionContext& context) const {
  std::vector<void*> pointers;
  for (XLA_FFI_Buffer& buffer : buffers) pointers.push_back(&buffer);
  std::vector<XLA_FFI_ArgType> arg_types(num_operands_, XLA_FFI_ArgType_BUFFER);
  std::vector<XLA_FFI_RetType> ret_types(types_.size() - num_operands_, XLA_FFI_RetType_BUFFER);
  XLA_FFI_CallFrame frame{};
  frame.struct_size = sizeof(XLA_FFI_CallFrame);
  frame.api = &ffi_api();
  frame.ctx = &context;
  frame.stage = stage;
  const bool with_buffers = !buffers.empty();
  frame.args = {sizeof(XLA_FFI_Args), nullptr,
                with_buffers ? static_cast<int64_t>(arg_types.size()) : 0, arg_types.data(),
                pointers.data()};
  frame.rets = {sizeof(XLA_FFI_Rets), nullptr,
                with_buffers ? static_cast<int64_t>(ret_types.size()) : 0, ret_types.data(),
                pointers.data() + (with_buffers ? num_operands_ : 0)};
  frame.attrs = attributes_.attrs();
  if (XLA_FFI_Error* const error = handler(&frame)) throw take_ffi_error(error, target_);
  if (frame.future == nullptr) return;
  const std::unique_ptr<XLA_FFI_Future> future(frame.future);
  if (std::unique_ptr<XLA_FFI_Error> error = future->wait())
    throw take_ffi_error(error.release(), target_);
}

}  // namespace systole::runtime
