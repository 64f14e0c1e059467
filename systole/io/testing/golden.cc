#include "systole/io/testing/golden.h"

#include <cmath>
#include <complex>
#include <map>

#include "systole/base/mutex.h"
#include "systole/io/local/local_file_system.h"

namespace systole::testing {

const GoldenFolder& GoldenFolder::own() {
  static const GoldenFolder folder("tests/golden");
  return folder;
}

const GoldenFolder& GoldenFolder::shared() {
  static const GoldenFolder folder("../shared/golden");
  return folder;
}

bool GoldenFolder::exists() const { return local_file_system().exists(path("expected.json")); }

const nlohmann::json& GoldenFolder::expected(const std::string& kind) const {
  static Mutex mutex;
  static std::map<std::string, nlohmann::json> files;
  static const nlohmann::json none = nlohmann::json::object();
  const MutexLock lock(mutex);
  auto found = files.find(folder_);
  if (found == files.end()) {
    const std::string text = read_file(local_file_system(), path("expected.json"));
    found = files.emplace(folder_, nlohmann::json::parse(text)).first;
  }
  const auto contents = found->second.find(kind);
  return contents == found->second.end() ? none : *contents;
}

void GoldenTest::SetUp() {
  if (!is_own() && !golden().exists()) GTEST_SKIP() << kNoGoldenFiles;
  ASSERT_TRUE(golden().exists()) << golden().path("expected.json") << " is missing";
}

std::string golden_name(const ::testing::TestParamInfo<const GoldenFolder*>& info) {
  return info.param == &GoldenFolder::own() ? "own" : "shared";
}

namespace {

void expect_complex(const Tensor& tensor, const nlohmann::json& expected) {
  const Tensor values = tensor.cast(DType::c128);
  for (size_t i = 0; i < expected["real"].size(); ++i) {
    EXPECT_EQ(values.data<std::complex<double>>()[i],
              std::complex(expected["real"][i].get<double>(), expected["imag"][i].get<double>()));
  }
}

void expect_sums(const Tensor& tensor, const nlohmann::json& expected) {
  double sum = 0;
  double abs_sum = 0;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    sum += tensor.as_double(i);
    abs_sum += std::abs(tensor.as_double(i));
  }
  const double tolerance = 1e-6 * (abs_sum + 1e-30);
  EXPECT_NEAR(sum, expected["sum"].get<double>(), tolerance);
  if (!expected.contains("abs_sum")) return;
  EXPECT_NEAR(abs_sum, expected["abs_sum"].get<double>(), tolerance);
}

}  // namespace

void expect_golden_array(const Tensor& tensor, const nlohmann::json& expected) {
  const auto shape = expected["shape"].get<std::vector<int64_t>>();
  ASSERT_EQ(tensor.shape(), Shape(Dims(shape.begin(), shape.end())));
  if (expected.contains("string_len")) {
    for (size_t i = 0; i < expected["string_len"].size(); ++i) {
      EXPECT_EQ(tensor.data<std::string>()[i].size(), expected["string_len"][i]);
    }
  }
  if (expected.contains("real")) expect_complex(tensor, expected);
  if (expected.contains("sum")) expect_sums(tensor, expected);
  if (expected.contains("first")) {
    for (size_t i = 0; i < expected["first"].size(); ++i) {
      EXPECT_EQ(tensor.as_double(static_cast<int64_t>(i)), expected["first"][i].get<double>());
    }
  }
  if (expected.contains("last") && tensor.num_elements() > 0) {
    EXPECT_EQ(tensor.as_double(tensor.num_elements() - 1), expected["last"].get<double>());
  }
}

bool have_golden_files() { return GoldenFolder::shared().exists(); }

std::string golden_path(const std::string& name) { return GoldenFolder::shared().path(name); }

const nlohmann::json& golden_expected(const std::string& kind) {
  return GoldenFolder::shared().expected(kind);
}

bool have_data_sets() { return local_file_system().exists(data_set_path("README.md")); }

std::string data_set_path(const std::string& name) { return "../shared/data/" + name; }

}  // namespace systole::testing
