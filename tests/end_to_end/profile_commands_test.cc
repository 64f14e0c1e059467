// systole profile, the environment variable, the signal, and the profile of an example.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "systole/base/testing/temp_folder.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/wire/compression.h"
#include "systole/profile/report.h"
#include "systole/profile/trace_json.h"
#include "tests/end_to_end/program.h"

namespace systole::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kIrisConfig = "examples/configs/iris.yaml";

// The text of the trace of the only run in a folder.
std::string trace_of(const std::string& logdir) {
  FileSystem& files = default_file_system();
  const std::string runs = join_path(logdir, "plugins/profile");
  const std::string run = join_path(runs, files.list(runs).at(0));
  for (const std::string& name : files.list(run)) {
    if (!name.ends_with(".trace.json.gz")) continue;
    const auto source = open_source(files.open(join_path(run, name)), Compression::gzip);
    std::string text;
    std::string piece(1 << 20, '\0');
    while (const size_t n = source->read(piece.size(), piece.data())) text.append(piece, 0, n);
    return text;
  }
  return "no trace";
}

double sum_of(const json& parts) {
  double sum = 0;
  for (const auto& [name, seconds] : parts.items()) sum += seconds.get<double>();
  return sum;
}

TEST(ProfileCommand, trains_a_configuration_and_reports) {
  const TempFolder folder;
  const ProgramResult profile = run_program(std::string("systole profile ") + kIrisConfig +
                                            " --steps 100 --logdir " + (folder / "runs"));
  EXPECT_EQ(profile.status, 0) << profile.output;
  EXPECT_THAT(profile.output,
              AllOf(HasSubstr("profile of 100 steps"), HasSubstr("where the step time goes"),
                    HasSubstr("profile: " + (folder / "runs"))));
  EXPECT_FALSE(std::filesystem::exists(folder / "runs/checkpoint"));
  EXPECT_THAT(profile::check_trace_json(trace_of(folder / "runs")), IsEmpty());

  const std::string report = "systole profile report " + (folder / "runs");
  EXPECT_THAT(run_program(report).output, HasSubstr("profile of 100 steps"));
  EXPECT_EQ(json::parse(run_program(report + " --json").output)["steps"], 100);
  EXPECT_THAT(run_program(report + " --against " + (folder / "runs")).output, HasSubstr("compute"));
}

TEST(ProfileCommand, says_what_is_wrong) {
  EXPECT_THAT(run_program("systole profile").output, HasSubstr("got none, expected one of"));
  EXPECT_THAT(run_program(std::string("systole profile --pid 1 ") + kIrisConfig).output,
              HasSubstr("got both"));
  EXPECT_THAT(run_program(std::string("systole profile --seconds 1 ") + kIrisConfig).output,
              HasSubstr("--seconds, got it without --worker"));
  EXPECT_THAT(run_program("systole profile report /nowhere").output,
              HasSubstr("/nowhere: profile, got no *.systole.json"));
  EXPECT_THAT(run_program("systole profile report a --against b --json").output,
              HasSubstr("got --against and --json, expected one of them"));
  EXPECT_THAT(run_program("systole profile .").output,
              HasSubstr("got a folder; `systole profile report .` prints the profile in one"));
  EXPECT_THAT(run_program("systole profile --pid $$").output,  // the shell
              HasSubstr("that does not handle SIGUSR2"));
  EXPECT_THAT(run_program("systole profile --pid 2000000000").output,
              HasSubstr("got none of this number"));
}

TEST(ProfileCommand, the_variable_profiles_a_training_from_its_start) {
  const TempFolder folder;
  ::setenv("SYSTOLE_PROFILE", (folder / "runs").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  ::setenv("SYSTOLE_PROFILE_SECONDS", "100", 1);              // NOLINT(concurrency-mt-unsafe)
  const ProgramResult train = run_program(std::string("systole train ") + kIrisConfig +
                                          " --model_dir " + (folder / "model"));
  ::unsetenv("SYSTOLE_PROFILE");          // NOLINT(concurrency-mt-unsafe)
  ::unsetenv("SYSTOLE_PROFILE_SECONDS");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(train.status, 0) << train.output;
  const json figures = profile::read_profile(default_file_system(), folder / "runs");
  EXPECT_EQ(figures["steps"], 400);
  EXPECT_GT(figures["parts"]["compile"].get<double>(), 0);
}

TEST(ProfileCommand, a_signal_profiles_a_training_in_progress) {
  const TempFolder folder;
  const std::string model_dir = folder / "model";
  ::setenv("SYSTOLE_PROFILE_SECONDS", "0.5", 1);  // NOLINT(concurrency-mt-unsafe)
  std::thread training([&] {
    run_program(std::string("systole train ") + kIrisConfig + " --steps 100000000 --model_dir " +
                model_dir);
  });
  FileSystem& files = default_file_system();
  const std::string lock = model_dir + "/.systole.lock";
  const auto pid = [&] { return files.exists(lock) ? read_file(files, lock) : ""; };
  ProgramResult profile;
  // The first captures may come before the first step.
  for (int i = 0; i < 100 && profile.output.find("where the step time goes") == std::string::npos;
       ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (!pid().empty()) profile = run_program("systole profile --pid " + pid());
  }
  ::unsetenv("SYSTOLE_PROFILE_SECONDS");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_THAT(profile.output, AllOf(HasSubstr("where the step time goes"), HasSubstr(model_dir)));
  if (!pid().empty()) ::kill(std::stoi(pid()), SIGTERM);
  training.join();
}

TEST(Profile, of_the_mnist_example_adds_up_to_the_wall_time) {
  if (!std::filesystem::exists("../shared/data/mnist"))
    GTEST_SKIP() << "../shared/data/mnist is not there";
  const TempFolder folder;
  ::setenv("SYSTOLE_PROFILE", (folder / "runs").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  ::setenv("SYSTOLE_PROFILE_SECONDS", "100", 1);              // NOLINT(concurrency-mt-unsafe)
  const ProgramResult train = run_program(
      "mnist_tpuestimator --train_steps=20 --iterations=5 --batch_size=128 "
      "--data_dir=../shared/data "
      "--records_dir=" +
      (folder / "records"));
  ::unsetenv("SYSTOLE_PROFILE");          // NOLINT(concurrency-mt-unsafe)
  ::unsetenv("SYSTOLE_PROFILE_SECONDS");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(train.status, 0) << train.output;
  const json figures = profile::read_profile(default_file_system(), folder / "runs");
  EXPECT_EQ(figures["steps"], 20);
  EXPECT_EQ(figures["replicas"], 8);
  const double seconds = figures["seconds"];
  EXPECT_NEAR(sum_of(figures["parts"]) / seconds, 1, 0.02);
  const json& times = figures["step_times"];
  const double steps = times["mean"].get<double>() * 20;
  EXPECT_NEAR(sum_of(figures["step_parts"]) / steps, 1, 0.02);
  EXPECT_THAT(profile::check_trace_json(trace_of(folder / "runs")), IsEmpty());
}

}  // namespace
}  // namespace systole::testing
