// Files that other programs wrote, and what these programs find in them. For tests.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "systole/base/tensor.h"

namespace systole::testing {

// A folder of such files, with their contents in expected.json.
//
// tests/golden is a part of the repository: small files that TensorFlow, Keras, h5py, NumPy and JAX
// made (tests/golden/README.md). ../shared/golden has larger files and those of third parties; it
// may be absent.
class GoldenFolder {
 public:
  static const GoldenFolder& own();
  static const GoldenFolder& shared();

  // Whether the folder exists.
  bool exists() const;
  // Returns the path of a file: "tests/golden/<name>".
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // Returns a section of expected.json: what the program that made the files of one kind
  // ("tfrecord", "tfevents", ...) reads in them, keyed by file name. An empty object if there are
  // no files of the kind. Errors: NOT_FOUND if the folder is absent.
  const nlohmann::json& expected(const std::string& kind) const;

 private:
  explicit GoldenFolder(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
};

// Tests that run once for each folder. Those of the shared folder are skipped if it is absent;
// those of our own fail. Usage:
//   class MyGoldenTest : public testing::GoldenTest {};
//   TEST_P(MyGoldenTest, Reads) { for (... : golden().expected("kind").items()) ... }
//   INSTANTIATE_TEST_SUITE_P(Golden, MyGoldenTest, testing::golden_folders(),
//   testing::golden_name);
class GoldenTest : public ::testing::TestWithParam<const GoldenFolder*> {
 protected:
  void SetUp() override;
  const GoldenFolder& golden() const { return *GetParam(); }
  bool is_own() const { return GetParam() == &GoldenFolder::own(); }
};
inline auto golden_folders() {
  return ::testing::Values(&GoldenFolder::own(), &GoldenFolder::shared());
}
std::string golden_name(const ::testing::TestParamInfo<const GoldenFolder*>& info);

// Checks shape, sums, and the first and last elements; of strings their lengths; all elements of
// complex numbers.
void expect_golden_array(const Tensor& tensor, const nlohmann::json& expected);

// For tests of files in ../shared/golden alone:
//   if (!have_golden_files()) GTEST_SKIP() << kNoGoldenFiles;
bool have_golden_files();
inline constexpr const char* kNoGoldenFiles = "no folder ../shared/golden beside the checkout";
std::string golden_path(const std::string& name);
const nlohmann::json& golden_expected(const std::string& kind);

// The same for the data sets in "../shared/data/<name>".
bool have_data_sets();
inline constexpr const char* kNoDataSets = "no folder ../shared/data beside the checkout";
std::string data_set_path(const std::string& name);

}  // namespace systole::testing
