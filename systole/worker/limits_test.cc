// What requests may ask for, and what counts for it.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "systole/base/testing/error_of.h"
#include "systole/worker/compile_service.h"
#include "systole/worker/memory_account.h"
#include "systole/worker/protocol/chunks.h"
#include "systole/worker/protocol/convert.h"

namespace systole::worker {
namespace {

using systole::testing::error_of;

TEST(MemoryAccountTest, ChargesOutliveTheSessionThatMadeThem) {
  const auto total = std::make_shared<ByteCounter>(0);
  Charge charge;
  {
    const auto account = MemoryAccount::make(10'000, total, std::make_shared<ByteCounter>(0));
    charge = account->charge(1000, "download");
  }
  EXPECT_GE(*total, 1000);
  charge = Charge();
  EXPECT_EQ(*total, 0);
}

TEST(MemoryAccountTest, CountsForAllSessionsTogether) {
  const auto server = MemoryAccount::make(10'000, std::make_shared<ByteCounter>(0),
                                          std::make_shared<ByteCounter>(0));
  const auto a = server->for_session();
  const auto b = server->for_session();
  const Charge first = a->charge(6000, "buffer");
  EXPECT_EQ(error_of([&] { b->charge(5000, "buffer"); }),
            "RESOURCE_EXHAUSTED: worker: buffer, got 5000 bytes with 6256 in use, expected at most "
            "10000 together");
  EXPECT_EQ(b->in_use(), 0);
  const Charge second = b->charge(3000, "buffer");
  EXPECT_EQ(a->in_use(), 6256);
}

TEST(MemoryAccountTest, MovesBytesBetweenProcesses) {
  const auto total = std::make_shared<ByteCounter>(0);
  const auto here = MemoryAccount::make(10'000, total, std::make_shared<ByteCounter>(0));
  const auto there = MemoryAccount::make(10'000, total, std::make_shared<ByteCounter>(0));
  Charge charge = here->charge(1000, "upload");
  const int64_t bytes = *total;
  Charge taken = there->take_over(charge.give_up());
  EXPECT_EQ(here->in_use(), 0);
  EXPECT_EQ(there->in_use(), bytes);
  EXPECT_EQ(*total, bytes);
  taken = Charge();
  EXPECT_EQ(*total, 0);
}

TEST(WireLimits, BoundsTheNumbersOfCompilations) {
  v1::CompileOptions good;
  good.set_num_replicas(1);
  good.set_num_partitions(1);
  EXPECT_EQ(error_of([&] { from_wire(good); }), "no error");
  const auto refused = [&](const auto& change, const std::string& text) {
    v1::CompileOptions options = good;
    change(options);
    EXPECT_EQ(error_of([&] { from_wire(options); }), "INVALID_ARGUMENT: worker: " + text);
  };
  refused([](auto& o) { o.set_num_threads(100'000); },
          "num_threads, got 100000, expected 0 to 4096");
  refused([](auto& o) { o.set_num_threads(-1); }, "num_threads, got -1, expected 0 to 4096");
  refused([](auto& o) { o.set_num_replicas(INT32_MAX); },
          "num_replicas, got 2147483647, expected 1 to 65536");
  refused([](auto& o) { o.set_num_partitions(0); }, "num_partitions, got 0, expected 1 to 65536");
  refused(
      [](auto& o) {
        o.set_num_replicas(60'000);
        o.set_num_partitions(60'000);
      },
      "num_replicas x num_partitions, got 3600000000, expected 1 to 65536");
  refused([](auto& o) { o.add_device_assignment(-3); }, "device id, got -3, expected 0 to 65536");
  refused([](auto& o) { o.set_memory_limit(-1); },
          "memory_limit, got -1, expected 0 to 9223372036854775807");
}

TEST(WireLimits, RefusesMessagesThatTakeAMultipleOfTheirBytes) {
  v1::Request request;
  for (int i = 0; i < 200'000; ++i) request.mutable_execute()->add_arguments();
  grpc::ByteBuffer fits = to_buffer(request);
  v1::Request read;
  EXPECT_TRUE(from_buffer(fits, read));
  EXPECT_EQ(read.execute().arguments_size(), 200'000);
  for (int i = 0; i < 200'000; ++i) request.mutable_execute()->add_arguments();
  grpc::ByteBuffer large = to_buffer(request);
  EXPECT_FALSE(from_buffer(large, read));
}

TEST(CompileServiceTest, TakesAnyLimitAndAnyException) {
  CompileService compiler(1e300);
  EXPECT_EQ(compiler.run([] { return nullptr; }), nullptr);
  const auto throws = [&] {
    compiler.run([]() -> std::unique_ptr<runtime::Executable> { throw std::length_error("long"); });
  };
  EXPECT_THROW(throws(), std::length_error);
}

}  // namespace
}  // namespace systole::worker
