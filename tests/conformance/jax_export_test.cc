// Programs of jax.export, with inputs and the outputs of the platform that they were exported for
// (jax_export in tests/golden and ../shared/golden).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "systole/base/error.h"
#include "systole/hlo/testing/random_module.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/npy.h"
#include "systole/io/testing/golden.h"
#include "systole/runtime/client.h"
#include "systole/runtime/registry.h"
#include "systole/stablehlo/bytecode/bytecode.h"

namespace systole::conformance {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The arrays <stem>.<kind>0.npy, <stem>.<kind>1.npy...
std::vector<Tensor> arrays(const fs::path& program, std::string_view kind) {
  std::vector<Tensor> result;
  for (int i = 0;; ++i) {
    fs::path path = program;
    path.replace_extension(fmt::format("{}{}.npy", kind, i));
    if (!fs::exists(path)) return result;
    result.push_back(read_npy(default_file_system(), path.string()));
  }
}

std::vector<std::string> targets(const fs::path& program) {
  fs::path path = program;
  path.replace_extension("json");
  return nlohmann::json::parse(contents(path)).at("custom_call_targets");
}

using Complex = std::complex<double>;

Complex element(const Tensor& tensor, int64_t i) {
  const auto at = static_cast<size_t>(i);
  if (tensor.dtype() == DType::c64) return Complex(tensor.data<std::complex<float>>()[at]);
  if (tensor.dtype() == DType::c128) return tensor.data<Complex>()[at];
  return tensor.as_double(i);
}

std::vector<Complex> elements(const Tensor& tensor) {
  std::vector<Complex> values;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) values.push_back(element(tensor, i));
  return values;
}

// What linear algebra may lose, relative to the largest element.
double tolerance(DType dtype) { return real_dtype(dtype) == DType::f64 ? 1e-13 : 2e-6; }

void expect_near(const std::vector<Complex>& got, const std::vector<Complex>& expected,
                 double relative) {
  ASSERT_EQ(got.size(), expected.size());
  double largest = 1;
  for (const Complex value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_LE(std::abs(got[i] - expected[i]), relative * largest) << "element " << i;
  }
}

// V M V^H of square matrices, where M is a matrix, or the diagonal of one.
std::vector<Complex> conjugated(const Tensor& v, const Tensor& m) {
  const int64_t n = v.dim(0);
  std::vector<Complex> product(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n * n * n * n; ++i) {
    const int64_t row = i / (n * n * n);
    const int64_t column = i / (n * n) % n;
    const int64_t j = i / n % n;
    const int64_t k = i % n;
    const bool diagonal = m.rank() == 1;
    if (diagonal && j != k) continue;
    const Complex middle = element(m, diagonal ? j : j * n + k);
    product[row * n + column] +=
        element(v, row * n + j) * middle * std::conj(element(v, column * n + k));
  }
  return product;
}

// Columns of a and b, which have unit length, are equal up to a phase where the eigenvalue is not 0
// (to which several eigenvectors belong).
void expect_same_directions(const Tensor& a, const Tensor& b, const Tensor& eigenvalues) {
  const int64_t n = a.dim(0);
  for (int64_t column = 0; column < n; ++column) {
    if (std::abs(element(eigenvalues, column)) < 1e-3) continue;
    Complex product = 0;
    for (int64_t row = 0; row < n; ++row) {
      product += std::conj(element(a, row * n + column)) * element(b, row * n + column);
    }
    EXPECT_NEAR(std::abs(product), 1, 100 * tolerance(a.dtype())) << "column " << column;
  }
}

// Vectors of equal eigenvalues are any base of their space, so that decompositions are compared by
// what they decompose.
void compare_decompositions(std::string_view routine, const std::vector<Tensor>& got,
                            const std::vector<Tensor>& expected) {
  const double relative = 10 * tolerance(expected[0].dtype());
  if (routine == "eig") {
    expect_near(elements(got[0]), elements(expected[0]), relative);
    expect_same_directions(got[1], expected[1], expected[0]);
    expect_same_directions(got[2], expected[2], expected[0]);
  } else if (routine == "eigh") {
    expect_near(elements(got[1]), elements(expected[1]), relative);
    expect_near(conjugated(got[0], got[1]), conjugated(expected[0], expected[1]), relative);
  } else if (routine == "schur") {
    expect_near(conjugated(got[1], got[0]), conjugated(expected[1], expected[0]), relative);
  } else {
    for (size_t i = 0; i < got.size(); ++i) {
      SCOPED_TRACE(fmt::format("result {}", i));
      expect_near(elements(got[i]), elements(expected[i]), relative);
    }
  }
}

std::vector<Tensor> run_on_cpu(const fs::path& program) {
  const auto module = hlo::read_bytecode(contents(program), program.string());
  const auto executable = runtime::client("cpu").compile(*module);
  return runtime::run(*executable, arrays(program, "in"));
}

void run_and_compare(const fs::path& program) {
  const std::vector<Tensor> results = run_on_cpu(program);
  const std::vector<Tensor> expected = arrays(program, "out");
  ASSERT_EQ(results.size(), expected.size());
  for (size_t i = 0; i < results.size(); ++i) ASSERT_EQ(results[i].type(), expected[i].type());
  const std::string name = program.filename().string();
  if (name.starts_with("cpu_")) {
    // cpu_<routine>_...
    return compare_decompositions(name.substr(4, name.find('_', 4) - 4), results, expected);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(hlo::testing::difference(results[i], expected[i], 0), "") << "result " << i;
  }
}

// The programs for CPUs run, whose custom calls LAPACK computes, and those whose custom calls only
// place values. The others are refused by the name of a target, or as those of unknown shapes or of
// several devices.
TEST(JaxExport, RunsOnTheCpu) {
  const fs::path folder = "../shared/golden/jax_export";
  if (!fs::exists(folder)) GTEST_SKIP() << "the folder " << folder << " is absent";
  int ran = 0;
  int refused = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".mlirbc") continue;
    SCOPED_TRACE(entry.path());
    try {
      run_and_compare(entry.path());
      ++ran;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::unimplemented);
      const std::string& message = error.message();
      const auto is_named = [&](const std::string& target) {
        return message.find(fmt::format("'{}'", target)) != std::string::npos;
      };
      EXPECT_TRUE(std::ranges::any_of(targets(entry.path()), is_named) ||
                  message.find("got a dynamic size") != std::string::npos ||
                  message.find("exported for several devices") != std::string::npos)
          << message;
      ++refused;
    }
  }
  EXPECT_EQ(ran, 26);
  EXPECT_EQ(refused, 22);
}

// Programs of our own, with the tolerance of each.
TEST(JaxExport, OurProgramsGiveTheResultsOfXla) {
  const testing::GoldenFolder& golden = testing::GoldenFolder::own();
  const nlohmann::json& programs = golden.expected("jax_export");
  EXPECT_GT(programs.size(), 5U);
  for (const auto& [name, contents] : programs.items()) {
    SCOPED_TRACE(name);
    const fs::path program = golden.path(name);
    const std::vector<Tensor> results = run_on_cpu(program);
    const std::vector<Tensor> expected = arrays(program, "out");
    ASSERT_EQ(results.size(), contents["outputs"].get<size_t>());
    ASSERT_EQ(expected.size(), results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      SCOPED_TRACE(fmt::format("result {}", i));
      ASSERT_EQ(results[i].type(), expected[i].type());
      expect_near(elements(results[i]), elements(expected[i]), contents["tolerance"]);
    }
  }
}

}  // namespace
}  // namespace systole::conformance
