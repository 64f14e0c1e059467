#include "apps/systole/manual/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

namespace systole::app {
namespace {

bool is_source(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const bool test =
      name.ends_with("_test.cc") || path.string().find("/testing/") != std::string::npos;
  return (name.ends_with(".cc") || name.ends_with(".h")) && !test;
}

// The names that the sources below a folder read: arguments of getenv, and our own in any literal.
void add_names(const std::string& folder, std::set<std::string>& names) {
  static const std::regex read(R"re((?:getenv|environment_value)\("([A-Za-z0-9_]+)"\))re");
  static const std::regex own(R"re("((?:SYSTOLE|TPU|AWS|SLURM|KUBE)_[A-Z0-9_]+)")re");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!is_source(entry.path()) || entry.path().string().find("manual/") != std::string::npos) {
      continue;
    }
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      if (line.find("setenv(") != std::string::npos) continue;  // for a library that reads it
      for (const std::regex* pattern : {&read, &own}) {
        for (std::sregex_iterator match(line.begin(), line.end(), *pattern), end; match != end;
             ++match) {
          names.insert((*match)[1]);
        }
      }
    }
  }
}

TEST(Environment, HelpHasAllThatTheSourcesRead) {
  std::set<std::string> names;
  for (const char* folder : {"systole", "apps", "plugin"}) add_names(folder, names);
  EXPECT_GT(names.size(), 40U);
  names.erase("SYSTOLE_VERSION");  // a macro of the build
  std::set<std::string> known;
  for (const EnvironmentVariable& variable : environment_variables()) {
    EXPECT_TRUE(known.insert(variable.name).second) << variable.name << " twice";
  }
  std::vector<std::string> missing;
  std::ranges::set_difference(names, known, std::back_inserter(missing));
  EXPECT_THAT(missing, ::testing::IsEmpty()) << "apps/systole/manual/environment.cc lists all";
}

TEST(Environment, HelpIsATable) {
  EXPECT_THAT(environment_help(), ::testing::HasSubstr("  TPU_NAME"));
  EXPECT_THAT(environment_help(), ::testing::StartsWith("Variables of the environment:\n"));
}

}  // namespace
}  // namespace systole::app
