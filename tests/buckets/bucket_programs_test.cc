// `systole` with its configuration, data, model_dir and exports in a bucket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "systole/io/events/event_reader.h"
#include "systole/io/local/local_file_system.h"
#include "tests/buckets/bucket_fixture.h"
#include "tests/end_to_end/program.h"

namespace systole::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

bool have_programs() {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return std::filesystem::exists(folder / "systole");
}
constexpr const char* kNoPrograms = "the program `systole` is not built";

std::string local_contents(const std::string& path) { return read_file(local_file_system(), path); }

// The scalars of an event file: tag, step and value.
std::vector<std::tuple<std::string, int64_t, float>> scalars_of(FileSystem& fs,
                                                                const std::string& path) {
  std::vector<std::tuple<std::string, int64_t, float>> result;
  EventReader reader(fs, path);
  while (const auto event = reader.next()) {
    for (const SummaryValue& value : event->values) {
      // Times differ.
      if (value.tag.find("sec") != std::string::npos || value.tag == "input_wait") continue;
      result.emplace_back(value.tag, event->step, value.scalar);
    }
  }
  return result;
}

std::string event_file(FileSystem& fs, const std::string& folder) {
  for (const std::string& name : fs.list(folder)) {
    if (name.find("tfevents") != std::string::npos) return join_path(folder, name);
  }
  return "";
}

class BucketPrograms : public ::testing::TestWithParam<Service> {
 protected:
  BucketPrograms() {
    if (GetParam() == Service::gs) {
      setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", bucket_.http().url().c_str(), 1);
    } else {
      setenv("AWS_ENDPOINT_URL_S3", bucket_.http().url().c_str(), 1);
    }
  }
  ~BucketPrograms() override {
    unsetenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE");
    unsetenv("AWS_ENDPOINT_URL_S3");
  }

  Bucket bucket_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(All, BucketPrograms, ::testing::Values(Service::gs, Service::s3),
                         service_name);

TEST_P(BucketPrograms, TrainingEqualsThatOnTheDiskBitForBit) {
  if (!have_programs()) GTEST_SKIP() << kNoPrograms;
  bucket_.put("configs/iris.yaml", local_contents("examples/configs/iris.yaml"));
  bucket_.put("data/iris.csv", local_contents("examples/data/iris.csv"));
  const std::string here = bucket_.folder() / "run";
  const ProgramResult local =
      run_program("systole train examples/configs/iris.yaml --model_dir " + here);
  ASSERT_EQ(local.status, 0) << local.output;
  const ProgramResult remote = run_program("systole train " + bucket_.at("configs/iris.yaml") +
                                           " --model_dir " + bucket_.at("run"));
  ASSERT_EQ(remote.status, 0) << remote.output;
  EXPECT_THAT(remote.output, HasSubstr("accuracy = 0.96\n"));

  const auto objects = bucket_.contents();
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(here)) {
    const std::string name = entry.path().filename().string();
    // The state of the input pipeline names the files that it reads.
    if (!name.starts_with("model.ckpt-") || name.ends_with(".systole")) continue;
    ASSERT_TRUE(objects.contains("run/" + name)) << name;
    EXPECT_EQ(objects.at("run/" + name), local_contents(entry.path().string())) << name;
    ++compared;
  }
  EXPECT_GE(compared, 3);
  EXPECT_THAT(objects.at("run/checkpoint"), HasSubstr("model_checkpoint_path: \"model.ckpt-400\""));
  EXPECT_EQ(scalars_of(bucket_.files(), event_file(bucket_.files(), bucket_.at("run"))),
            scalars_of(local_file_system(), event_file(local_file_system(), here)));
  for (const auto& [key, contents] : objects) {
    EXPECT_THAT(key, AllOf(Not(HasSubstr(".tmp.")), Not(HasSubstr(".systole.part."))));
  }

  const ProgramResult more = run_program("systole train " + bucket_.at("configs/iris.yaml") +
                                         " --steps 50 --model_dir " + bucket_.at("run"));
  EXPECT_THAT(more.output, HasSubstr("450 of 450"));
  const ProgramResult exported = run_program("systole export " + bucket_.at("configs/iris.yaml") +
                                             " --model_dir " + bucket_.at("run") + " 2>/dev/null");
  ASSERT_EQ(exported.status, 0) << exported.output;
  const std::string saved_model = exported.output.substr(0, exported.output.find('\n'));
  EXPECT_THAT(saved_model, HasSubstr(bucket_.at("run/export")));
  EXPECT_THAT(run_program("systole inspect " + saved_model).output, HasSubstr("serving_default"));
}

TEST_P(BucketPrograms, Files) {
  if (!have_programs()) GTEST_SKIP() << kNoPrograms;
  const std::string here = bucket_.folder() / "here";
  std::filesystem::create_directories(here + "/sub");
  std::ofstream(here + "/a.txt") << "alpha\n";
  std::ofstream(here + "/sub/b c.txt") << pattern_bytes(10'000'000);
  const ProgramResult up =
      run_program("systole files cp -r " + here + " " + bucket_.at("up/") + " 2>/dev/null");
  EXPECT_EQ(up.output, "copied 2 files, 9.5 MiB\n");
  EXPECT_EQ(bucket_.contents().at("up/here/sub/b c.txt"), pattern_bytes(10'000'000));
  EXPECT_EQ(run_program("systole files ls " + bucket_.at("up/here")).output, "a.txt\nsub\n");
  EXPECT_THAT(run_program("systole files ls -lr " + bucket_.at("up")).output,
              AllOf(HasSubstr("             6  20"), HasSubstr(bucket_.at("up/here/sub/b c.txt"))));
  EXPECT_EQ(run_program("systole files cat '" + bucket_.at("up/here/*.txt'")).output, "alpha\n");
  const ProgramResult down = run_program("systole files cp '" + bucket_.at("up/here/sub/b c.txt") +
                                         "' " + here + "/back 2>/dev/null");
  EXPECT_EQ(down.status, 0) << down.output;
  EXPECT_EQ(local_contents(here + "/back"), pattern_bytes(10'000'000));
  EXPECT_THAT(run_program("systole files cp " + bucket_.at("up") + " " + here + "/no").output,
              HasSubstr("expected a file or --recursive"));
  EXPECT_THAT(run_program("systole files rm " + bucket_.at("up")).output,
              HasSubstr("Directory not empty"));
  EXPECT_THAT(run_program("systole files rm -r " + bucket_.at("")).output,
              HasSubstr("expected a path below it"));
  EXPECT_EQ(run_program("systole files rm -r " + bucket_.at("up")).status, 0);
  EXPECT_TRUE(bucket_.contents().empty());
  EXPECT_THAT(run_program("systole files cat " + bucket_.at("none")).output,
              HasSubstr("NOT_FOUND: " + bucket_.at("none")));
  EXPECT_EQ(run_program("systole files rm -f " + bucket_.at("none")).status, 0);
}

}  // namespace
}  // namespace systole::testing
