// Locks that programs on different machines share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "systole/base/environment.h"
#include "systole/base/testing/error_of.h"
#include "systole/io/buckets/object_lock.h"
#include "tests/buckets/bucket_fixture.h"
#include "tests/end_to_end/program.h"

namespace systole::testing {
namespace {

using buckets::ObjectLock;
using buckets::ObjectLockOptions;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kDead =
    "elsewhere:17 since 2026-01-01 00:00:00 UTC\n00000000000000000000000000000000\n4\n";

class BucketLock : public ::testing::TestWithParam<Service> {
 protected:
  std::unique_ptr<ObjectLock> lock(std::chrono::milliseconds lease = kLease) {
    return std::make_unique<ObjectLock>(bucket_.files().store(),
                                        buckets::ObjectName{"bucket", "run/.systole.lock"},
                                        ObjectLockOptions{.lease = lease});
  }
  std::string contents() const {
    const auto objects = bucket_.contents();
    const auto found = objects.find("run/.systole.lock");
    return found == objects.end() ? "" : found->second;
  }

  static constexpr std::chrono::milliseconds kLease{400};
  Bucket bucket_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(All, BucketLock, ::testing::Values(Service::gs, Service::s3),
                         service_name);

TEST_P(BucketLock, TheSecondIsRefusedByTheNameOfTheFirst) {
  const std::string me = fmt::format("{}:{} since ", host_name(), ::getpid());
  const auto first = lock();
  EXPECT_THAT(contents(), StartsWith(me));
  EXPECT_THAT(error_of([&] { lock(); }),
              AllOf(StartsWith("FAILED_PRECONDITION: " + bucket_.at("run/.systole.lock") +
                               ": in use by " + me),
                    HasSubstr(" UTC")));
  EXPECT_EQ(error_of([&] { first->check(); }), "no error");
}

TEST_P(BucketLock, ItEndsWithItsHolder) {
  lock().reset();
  EXPECT_EQ(contents(), "");
  EXPECT_EQ(error_of([&] { lock(); }), "no error");
}

TEST_P(BucketLock, ADeadOneExpires) {
  bucket_.put("run/.systole.lock", kDead);
  const auto mine = lock();
  EXPECT_THAT(contents(), StartsWith(host_name()));
  bucket_.put("run/.systole.lock", "no lock of ours");
  EXPECT_EQ(error_of([&] { lock(); }), "no error");
}

TEST_P(BucketLock, OneOfSeveralTakesADeadOne) {
  bucket_.put("run/.systole.lock", kDead);
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<ObjectLock>> locks(4);
  for (auto& mine : locks) {
    threads.emplace_back([&] {
      try {
        mine = lock();
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("in use by"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::ranges::count_if(locks, [](const auto& mine) { return mine != nullptr; }), 1);
}

TEST_P(BucketLock, ALostOneIsTold) {
  const auto mine = lock();
  bucket_.put("run/.systole.lock", kDead);  // taken by another while this one stood still
  std::string error;
  for (int i = 0; i < 1000 && error.find("lost") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    error = error_of([&] { mine->check(); });
  }
  EXPECT_THAT(error, AllOf(StartsWith("FAILED_PRECONDITION"),
                           HasSubstr("the lock was lost to elsewhere:17 since 2026")));
}

TEST_P(BucketLock, AnotherHoldersObjectStaysAtTheEnd) {
  auto mine = lock(std::chrono::hours(1));
  bucket_.put("run/.systole.lock", kDead);
  mine.reset();
  EXPECT_EQ(contents(), kDead);
}

TEST_P(BucketLock, LostAnswersDoNotLoseIt) {
  const std::string write = GetParam() == Service::gs ? "uploadType=multipart" : "PUT /bucket/run";
  bucket_.http().inject({.kind = ServerFault::Kind::late_status, .match = write, .count = 1});
  const auto mine = lock();
  // All attempts of a renewal: it happened, and nobody knows.
  bucket_.http().inject({.kind = ServerFault::Kind::late_status, .match = write, .count = 5});
  const std::string before = contents();
  for (int i = 0; i < 1000 && contents() == before; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::this_thread::sleep_for(kLease);
  EXPECT_EQ(error_of([&] { mine->check(); }), "no error");
}

TEST(BucketLockS3, AServiceThatIgnoresConditionsLocksNothing) {
  BucketSettings settings;
  settings.s3.conditional_writes = false;
  Bucket bucket(Service::s3, settings);
  const auto make = [&] {
    return std::make_unique<ObjectLock>(bucket.files().store(), buckets::ObjectName{"bucket", "l"},
                                        ObjectLockOptions{.lease = std::chrono::milliseconds(50)});
  };
  const auto first = make();
  const auto second = make();
  EXPECT_EQ(error_of([&] { second->check(); }), "no error");
}

// `systole train` beside another training.
TEST_P(BucketLock, TwoTrainingsInABucket) {
  const std::string binary = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  if (!std::filesystem::exists(binary + "/systole")) GTEST_SKIP() << "`systole` is not built";
  setenv(
      GetParam() == Service::gs ? "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE" : "AWS_ENDPOINT_URL_S3",
      bucket_.http().url().c_str(), 1);
  setenv("SYSTOLE_BUCKET_LOCK_SECONDS", "2", 1);
  const std::string command =
      "systole train examples/configs/iris.yaml --steps 10 --model_dir " + bucket_.at("run");
  {
    const auto other = lock();
    const ProgramResult refused = run_program(command);
    EXPECT_NE(refused.status, 0);
    EXPECT_THAT(refused.output, AllOf(HasSubstr("model_dir '" + bucket_.at("run")),
                                      HasSubstr("in use by " + host_name())));
  }
  bucket_.put("run/.systole.lock", kDead);
  const ProgramResult trained = run_program(command);
  EXPECT_EQ(trained.status, 0) << trained.output;
  EXPECT_THAT(trained.output, HasSubstr("took over the lock of elsewhere:17"));
  EXPECT_EQ(contents(), "");
  unsetenv("SYSTOLE_BUCKET_LOCK_SECONDS");
  unsetenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE");
  unsetenv("AWS_ENDPOINT_URL_S3");
}

}  // namespace
}  // namespace systole::testing
