// Failures and pending work, as a remote device has them.
#include "systole/runtime/testing/fake_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/hlo/ir/builder.h"
#include "systole/runtime/registry.h"

namespace systole::runtime {
namespace {

using systole::testing::error_of;
using testing::FakeCall;
using testing::FakeClient;
using ::testing::HasSubstr;

const TensorType kPair{DType::f32, {2}};

// main(x, y) -> x + y, which may be written over x.
std::unique_ptr<hlo::Module> addition() {
  auto module = std::make_unique<hlo::Module>("sum");
  hlo::Computation& main = module->add_function("main");
  const hlo::Value x = main.add_parameter(kPair);
  const hlo::Value y = main.add_parameter(kPair);
  main.set_results({hlo::Builder(main).add(x, y)});
  module->aliases = {{0, 0}};
  return module;
}

// Fails the `at`-th call of a kind.
auto fail_at(FakeCall wanted, int64_t at) {
  return [=](FakeCall call, int64_t count) -> std::optional<Error> {
    if (call != wanted || count != at) return std::nullopt;
    return make_error(Code::unavailable, "the wire broke");
  };
}

TEST(FakeClient, EnqueuesLaunchesWhileOneRuns) {
  FakeClient client(runtime::client("reference"));
  const auto program = client.compile(*addition(), {});
  const auto x = client.buffer_from_host(Tensor::of<float>({2}, {1, 2}), {});
  x->ready().wait();
  const Tensor one = Tensor::full(DType::f32, {2}, 1);
  client.hold();
  std::vector<Event> events;
  for (int i = 0; i < 3; ++i) {
    events.push_back(
        program->execute({{{.buffer = x.get(), .donate = true}, {.host = &one}}}, {{{}}}));
  }
  Tensor value;
  const Event copied = x->copy_to_host(value);
  for (const Event& event : events) EXPECT_FALSE(event.ready());
  EXPECT_FALSE(copied.ready());
  client.release();
  copied.wait();
  EXPECT_TRUE(value.identical(Tensor::of<float>({2}, {4, 5})));
}

// The error of a launch comes to all who read its results, however far away.
TEST(FakeClient, CarriesAFailureToEveryReader) {
  FakeClient client(runtime::client("reference"), {.fail = fail_at(FakeCall::run, 1)});
  const auto program = client.compile(*addition(), {});
  const auto x = client.buffer_from_host(Tensor::of<float>({2}, {1, 2}), {});
  const Tensor one = Tensor::full(DType::f32, {2}, 1);
  const auto launch = [&](Buffer& from, std::unique_ptr<Buffer>& to) {
    return program->execute({{{.buffer = &from}, {.host = &one}}}, {{{.device = &to}}});
  };
  std::unique_ptr<Buffer> good;
  launch(*x, good).wait();
  std::unique_ptr<Buffer> bad;
  std::unique_ptr<Buffer> worse;
  const Event failed = launch(*good, bad);
  const Event after = launch(*bad, worse);
  EXPECT_THAT(error_of([&] { after.wait(); }), HasSubstr("UNAVAILABLE: the wire broke"));
  EXPECT_THAT(error_of([&] { worse->to_host(); }), HasSubstr("the wire broke"));
  EXPECT_THAT(error_of([&] { bad->to_host(); }), HasSubstr("the wire broke"));
  ASSERT_NE(failed.error(), nullptr);
  EXPECT_TRUE(good->to_host().identical(Tensor::of<float>({2}, {2, 3})));
  std::unique_ptr<Buffer> other;
  launch(*good, other).wait();
  EXPECT_TRUE(other->to_host().identical(Tensor::of<float>({2}, {3, 4}))) << "the client lives on";
}

TEST(FakeClient, LeavesADonatedBufferWithTheErrorOfItsLaunch) {
  FakeClient client(runtime::client("reference"), {.fail = fail_at(FakeCall::run, 0)});
  const auto program = client.compile(*addition(), {});
  const auto x = client.buffer_from_host(Tensor::of<float>({2}, {1, 2}), {});
  const Tensor one = Tensor::full(DType::f32, {2}, 1);
  const Event event =
      program->execute({{{.buffer = x.get(), .donate = true}, {.host = &one}}}, {{{}}});
  EXPECT_THAT(error_of([&] { x->to_host(); }), HasSubstr("the wire broke"));
  EXPECT_THAT(error_of([&] { event.wait(); }), HasSubstr("the wire broke"));
}

// Whichever call fails: an error of that call or of what reads its result, and no hang.
TEST(FakeClient, FailsAtAnyCall) {
  for (const FakeCall call : {FakeCall::compile, FakeCall::launch, FakeCall::run, FakeCall::upload,
                              FakeCall::upload_later, FakeCall::download}) {
    FakeClient client(runtime::client("reference"), {.fail = fail_at(call, 0)});
    const auto all = [&] {
      const auto program = client.compile(*addition(), {});
      const auto x = client.buffer_from_host(Tensor::of<float>({2}, {1, 2}), {});
      const Tensor one = Tensor::full(DType::f32, {2}, 1);
      const Event event =
          program->execute({{{.buffer = x.get(), .donate = true}, {.host = &one}}}, {{{}}});
      return x->to_host();
    };
    EXPECT_EQ(error_of([&] { all(); }), "UNAVAILABLE: the wire broke") << static_cast<int>(call);
    EXPECT_TRUE(all().identical(Tensor::of<float>({2}, {2, 3})));
  }
}

}  // namespace
}  // namespace systole::runtime
