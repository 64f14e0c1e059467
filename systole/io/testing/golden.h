// Files written by other programs, kept beside the checkout in ../shared/golden. For tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace systole::testing {

// Returns whether the folder exists. Tests that need it skip otherwise:
//   if (!have_golden_files()) GTEST_SKIP() << kNoGoldenFiles;
bool have_golden_files();
inline constexpr const char* kNoGoldenFiles = "no folder ../shared/golden beside the checkout";

// Returns "../shared/golden/<name>".
std::string golden_path(const std::string& name);
// Returns the contents that another reader found in the files of one kind ("tfrecord", "tfevents",
// ...), by file.
const nlohmann::json& golden_expected(const std::string& kind);

// The same for the data sets in "../shared/data/<name>".
bool have_data_sets();
inline constexpr const char* kNoDataSets = "no folder ../shared/data beside the checkout";
std::string data_set_path(const std::string& name);

}  // namespace systole::testing
