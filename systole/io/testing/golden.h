// Files that other programs wrote, kept beside the checkout: ../shared/golden. For tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace systole::testing {

// Whether the folder is there; tests that need it are skipped otherwise:
//   if (!have_golden_files()) GTEST_SKIP() << kNoGoldenFiles;
bool have_golden_files();
inline constexpr const char* kNoGoldenFiles = "no folder ../shared/golden beside the checkout";

// "../shared/golden/<name>".
std::string golden_path(const std::string& name);
// What another reader found in the files of one kind ("tfrecord", "tfevents", ...), by file.
const nlohmann::json& golden_expected(const std::string& kind);

// "../shared/data/<name>": data sets; the same words hold for them.
bool have_data_sets();
inline constexpr const char* kNoDataSets = "no folder ../shared/data beside the checkout";
std::string data_set_path(const std::string& name);

}  // namespace systole::testing
