#include "systole/tpu_check/published_steps.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "systole/base/testing/error_of.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/file_systems/memory_file_system.h"

namespace systole::tpu_check {
namespace {

using systole::testing::error_of;

constexpr const char* kPath = "tests/published/steps.tsv";

const std::vector<PublishedStep>& all_steps() {
  static const std::vector<PublishedStep> steps = published_steps(default_file_system(), kPath);
  return steps;
}

double ratio_of(const std::string& program, const std::string& system) {
  const auto found = std::ranges::find_if(all_steps(), [&](const PublishedStep& step) {
    return step.program == program && step.system == system;
  });
  EXPECT_NE(found, all_steps().end()) << program << " on " << system;
  return found == all_steps().end() ? 0 : found->ratio();
}

// Google's entries in MLPerf 0.5, from their programs.
TEST(PublishedSteps, are_predicted_on_v2_and_v3) {
  EXPECT_NEAR(ratio_of("resnet50", "v2-8"), 1, 0.15);
  EXPECT_NEAR(ratio_of("resnet50", "v3-8"), 1, 0.15);
  EXPECT_NEAR(ratio_of("ssd", "v2-8"), 1, 0.2);
  EXPECT_NEAR(ratio_of("ssd", "v3-8"), 1, 0.4);
  EXPECT_NEAR(ratio_of("product", "v2-8"), 1, 0.15);
  // The loops of GNMT run 48 times at most, and most run less often.
  for (const char* system : {"v2-8", "v3-8"}) {
    EXPECT_LT(ratio_of("gnmt_32", system), 1) << system;
    EXPECT_GT(ratio_of("gnmt_48", system), 0.8) << system;
  }
}

// Decoders on v4, v5e, v5p, v6e and 7x, sharded over up to 512 cores.
TEST(PublishedSteps, are_predicted_on_later_generations) {
  std::map<std::string, int> of_generation;
  std::vector<double> errors;
  for (const PublishedStep& step : all_steps()) {
    const std::string generation = step.system.substr(0, step.system.find('-'));
    if (generation == "v2" || generation == "v3") continue;
    ++of_generation[generation];
    errors.push_back(std::abs(step.ratio() - 1));
    fmt::print("{:42} {:9} {:8.0f} ms, predicted {:8.0f} ms\n", step.name, step.system,
               1e3 * step.measured_seconds, 1e3 * step.predicted_seconds);
  }
  EXPECT_EQ(of_generation.size(), 5U);
  ASSERT_GE(errors.size(), 15U);
  std::ranges::sort(errors);
  EXPECT_LE(errors[errors.size() / 2], 0.25);
  EXPECT_LE(errors.back(), 0.6);
}

TEST(PublishedSteps, name_the_line_of_an_error) {
  const std::string header = "name\tprogram\tsystem\tmeasured_ms\tpart\tinput_bytes\tsource\n";
  struct Case {
    std::string text;
    const char* error;
  };
  const Case cases[] = {
      {"name,program\n", "INVALID_ARGUMENT: s.tsv:1: columns, got no 'system', expected it"},
      {header + "a\tb\tv2-8\t0\tstep\t\t\n",
       "INVALID_ARGUMENT: s.tsv:2: measured_ms, got '0', expected a positive number"},
      {header + "a\tb\tv2-8\t1\thalf\t\t\n",
       "INVALID_ARGUMENT: s.tsv:2: part, got 'half', expected step, compute or links"},
      {header + "a\tb\tv2-8\t1\tstep\tx\t\n",
       "INVALID_ARGUMENT: s.tsv:2: input_bytes, got 'x', expected a positive number"},
  };
  for (const Case& c : cases) {
    MemoryFileSystem files;
    write_file_atomically(files, "s.tsv", c.text);
    EXPECT_EQ(error_of([&] { published_steps(files, "s.tsv"); }), c.error);
  }
  MemoryFileSystem files;
  write_file_atomically(files, "s.tsv", header + "a\tb\tv2-8\t1\tstep\t\t\n");
  write_file_atomically(files, "s_programs.tar.xz",
                        read_file(default_file_system(), "tests/published/steps_programs.tar.xz"));
  EXPECT_EQ(error_of([&] { published_steps(files, "s.tsv"); }),
            "NOT_FOUND: s_programs.tar.xz: program, got none named 'b.mlir', which s.tsv has");
}

}  // namespace
}  // namespace systole::tpu_check
