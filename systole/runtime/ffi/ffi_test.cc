#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "systole/base/testing/error_of.h"
#include "systole/runtime/ffi/ffi_api.h"
#include "systole/runtime/ffi/ffi_registry.h"
#include "systole/runtime/registry.h"
#include "systole/stablehlo/text/text.h"

namespace systole::runtime {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

// Answers the question for the version. Returns whether it was asked.
bool answers_version(XLA_FFI_CallFrame* frame, int major = kFfiMajor) {
  if (frame->extension_start == nullptr) return false;
  auto* const extension = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start);
  extension->metadata->api_version.major_version = major;
  return true;
}

XLA_FFI_Error* error_of_handler(XLA_FFI_CallFrame* frame, Code code, const char* message) {
  XLA_FFI_Error_Create_Args args{sizeof(args), nullptr, message, static_cast<int>(code)};
  return frame->api->XLA_FFI_Error_Create(&args);
}

const XLA_FFI_Buffer& argument(const XLA_FFI_CallFrame* frame, int i) {
  return *static_cast<XLA_FFI_Buffer*>(frame->args.args[i]);
}
const XLA_FFI_Buffer& result(const XLA_FFI_CallFrame* frame, int i) {
  return *static_cast<XLA_FFI_Buffer*>(frame->rets.rets[i]);
}

// y = x * scale.
XLA_FFI_Error* scale(XLA_FFI_CallFrame* frame) {
  if (answers_version(frame)) return nullptr;
  const XLA_FFI_Buffer& x = argument(frame, 0);
  const XLA_FFI_Buffer& y = result(frame, 0);
  if (x.rank != 1 || x.dtype != 11 || frame->attrs.size != 2)
    return error_of_handler(frame, Code::internal, "unexpected call");
  const XLA_FFI_ByteSpan& name = *frame->attrs.names[1];
  if (std::string_view(name.ptr, name.len) != "scale")
    return error_of_handler(frame, Code::internal, "attributes are not sorted");
  const auto& factor = *static_cast<XLA_FFI_Scalar*>(frame->attrs.attrs[1]);
  for (int64_t i = 0; i < x.dims[0]; ++i) {
    static_cast<float*>(y.data)[i] =
        static_cast<float*>(x.data)[i] * *static_cast<float*>(factor.value);
  }
  return nullptr;
}

XLA_FFI_Error* fail(XLA_FFI_CallFrame* frame) {
  if (answers_version(frame)) return nullptr;
  return error_of_handler(frame, Code::data_loss, "it went wrong");
}

// y = x + 1, on a thread of its own.
XLA_FFI_Error* add_later(XLA_FFI_CallFrame* frame) {
  if (answers_version(frame)) return nullptr;
  XLA_FFI_Future_Create_Args create{sizeof(create), nullptr, nullptr};
  if (XLA_FFI_Error* const error = frame->api->XLA_FFI_Future_Create(&create)) return error;
  frame->future = create.future;
  const XLA_FFI_Api* const api = frame->api;
  std::thread([api, future = create.future, x = argument(frame, 0), y = result(frame, 0)] {
    *static_cast<float*>(y.data) = *static_cast<float*>(x.data) + 1;
    XLA_FFI_Future_SetAvailable_Args done{sizeof(done), nullptr, future};
    api->XLA_FFI_Future_SetAvailable(&done);
  }).detach();
  return nullptr;
}

XLA_FFI_Error* of_the_future(XLA_FFI_CallFrame* frame) {
  answers_version(frame, kFfiMajor + 1);
  return nullptr;
}

int deleted_states = 0;
const XLA_FFI_TypeInfo kCounted{sizeof(XLA_FFI_TypeInfo), nullptr, [](void* object) {
                                  delete static_cast<float*>(object);
                                  ++deleted_states;
                                }};

XLA_FFI_TypeId counted_type() { return {register_ffi_type("counted", 0, &kCounted)}; }

XLA_FFI_Error* remember(XLA_FFI_CallFrame* frame) {
  XLA_FFI_TypeId type = counted_type();
  XLA_FFI_State_Set_Args set{sizeof(set),  nullptr, frame->ctx,
                             frame->stage, &type,   new float(41.0F)};
  return frame->api->XLA_FFI_State_Set(&set);
}

XLA_FFI_Error* recall(XLA_FFI_CallFrame* frame) {
  if (answers_version(frame)) return nullptr;
  XLA_FFI_TypeId type = counted_type();
  XLA_FFI_State_Get_Args get{sizeof(get), nullptr, frame->ctx, XLA_FFI_ExecutionStage_INSTANTIATE,
                             &type,       nullptr};
  if (XLA_FFI_Error* const error = frame->api->XLA_FFI_State_Get(&get)) return error;
  *static_cast<float*>(result(frame, 0).data) = *static_cast<float*>(get.state);
  return nullptr;
}

std::string program(const std::string& target, const std::string& attributes, int size = 1) {
  return fmt::format(
      "func.func @main(%x: tensor<{1}xf32>) -> tensor<{1}xf32> {{\n"
      "  %y = \"stablehlo.custom_call\"(%x) {{call_target_name = \"{0}\", api_version = 4 : i32, "
      "backend_config = {2}}} : (tensor<{1}xf32>) -> tensor<{1}xf32>\n"
      "  return %y : tensor<{1}xf32>\n}}\n",
      target, size, attributes);
}

std::vector<float> run(const std::string& text, const std::vector<float>& x) {
  const auto module = hlo::parse(text);
  Client& cpu = client("cpu");
  const auto executable = cpu.compile(*module, {});
  const Tensor argument = Tensor::of<float>({static_cast<int64_t>(x.size())}, x);
  const std::vector<Tensor> results = runtime::run(*executable, std::vector<Tensor>{argument});
  const auto values = results.at(0).data<float>();
  return {values.begin(), values.end()};
}

void register_execute(std::string_view name, XLA_FFI_Handler* execute,
                      XLA_FFI_Handler* instantiate = nullptr) {
  register_ffi_handler(name, {instantiate, nullptr, nullptr, execute});
}

TEST(Ffi, CallsAHandlerWithBuffersAndAttributes) {
  register_execute("test.scale", scale);
  const std::string text =
      program("test.scale", "{scale = 2.5 : f32, a = {b = array<i64: 1, -2>, c = \"x\"}}", 3);
  EXPECT_EQ(run(text, {1, 2, -4}), (std::vector<float>{2.5F, 5, -10}));
}

TEST(Ffi, ErrorsOfHandlersArrive) {
  register_execute("test.fail", fail);
  const std::string error = error_of([] { run(program("test.fail", "{}"), {1}); });
  EXPECT_THAT(error, HasSubstr("custom_call 'test.fail': it went wrong"));
}

TEST(Ffi, WaitsForFutures) {
  register_execute("test.add_later", add_later);
  EXPECT_EQ(run(program("test.add_later", "{}"), {1}), std::vector<float>{2});
}

TEST(Ffi, StatesOfACallSiteLiveAsLongAsItsProgram) {
  register_execute("test.state", recall, remember);
  deleted_states = 0;
  EXPECT_EQ(run(program("test.state", "{}"), {0}), std::vector<float>{41});
  EXPECT_EQ(deleted_states, 1);
}

TEST(Ffi, RefusesWhatIsNoHandler) {
  EXPECT_THAT(error_of([] { register_execute("test.none", nullptr); }),
              HasSubstr("custom_call 'test.none': handler, got none to execute"));
  EXPECT_THAT(error_of([] { register_execute("test.future", of_the_future); }),
              HasSubstr("got version 1."));
  register_execute("test.taken", fail);
  register_execute("test.taken", fail);  // the same
  EXPECT_THAT(error_of([] { register_execute("test.taken", scale); }),
              HasSubstr("got another one of that name"));
}

TEST(Ffi, RefusesAttributesThatItDoesNotHave) {
  register_execute("test.fail", fail);
  for (const char* attributes : {"{a = [1, 2]}", "{a = @f}", "{a = i32}"}) {
    EXPECT_THAT(error_of([&] { run(program("test.fail", attributes), {1}); }),
                HasSubstr("custom_call 'test.fail': attribute 'a', got "))
        << attributes;
  }
}

TEST(Ffi, TypesHaveOneIdAndOneName) {
  const int64_t id = register_ffi_type("test.type", 0, nullptr);
  EXPECT_EQ(register_ffi_type("test.type", id, nullptr), id);
  EXPECT_THAT(error_of([&] { register_ffi_type("test.other", id, nullptr); }),
              HasSubstr("got one beside 'test.type'"));
}

}  // namespace
}  // namespace systole::runtime
