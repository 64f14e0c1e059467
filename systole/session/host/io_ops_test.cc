// Whole files in graphs.
#include "systole/graph/api/io_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/string_ops.h"
#include "systole/graph/ops/control_flow/control_flow.h"
#include "systole/io/local/local_file_system.h"
#include "systole/session/host/host_function.h"
#include "systole/session/session.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> texts_of(const Tensor& tensor) {
  const auto data = tensor.data<std::string>();
  return {data.begin(), data.end()};
}

class IoOpsTest : public ::testing::Test {
 protected:
  const TempFolder folder_;
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(IoOpsTest, AFileIsReadAnewInEachRun) {
  const std::string bytes("one\0two\n", 8);
  write_file_atomically(local_file_system(), folder_ / "a", bytes);
  const Output name = placeholder(DType::string, {});
  const Output length = string_length(read_file(name));
  Session session("", {.graph = &graph_});
  EXPECT_EQ(session.run(read_file(name), {{name, folder_ / "a"}}).item<std::string>(), bytes);
  EXPECT_EQ(session.run(length, {{name, folder_ / "a"}}).item<int32_t>(), 8);
  write_file_atomically(local_file_system(), folder_ / "a", "x");
  EXPECT_EQ(session.run(length, {{name, folder_ / "a"}}).item<int32_t>(), 1);
}

TEST_F(IoOpsTest, ErrorsNameTheFileAndTheLine) {
  const Output name = placeholder(DType::string, {});
  const Output contents = read_file(name);
  Session session("", {.graph = &graph_});
  EXPECT_THAT(error_of([&] {
                session.run(contents, {{name, folder_ / "none"}});
              }),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("ReadFile: "), HasSubstr(folder_ / "none"),
                    HasSubstr("io_ops_test.cc:")));
  EXPECT_THAT(error_of([&] {
                session.run(contents, {{name, folder_.path()}});
              }),
              AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr(folder_.path())));
  EXPECT_THAT(error_of([&] { read_file(placeholder(DType::string, {2})); }),
              HasSubstr("ReadFile: filename, got string[2], expected a scalar"));
  EXPECT_THAT(error_of([&] { write_file(name, 1.0F); }),
              HasSubstr("WriteFile: contents, got f32[], expected strings"));
  EXPECT_THAT(error_of([&] {
                matching_files(placeholder(DType::string, {2, 2}));
              }),
              HasSubstr("MatchingFiles: pattern, got string[2,2], expected a scalar or a vector"));
}

TEST_F(IoOpsTest, WriteFileMakesItsFolders) {
  const Output name = placeholder(DType::string, {});
  const Output contents = placeholder(DType::string, {});
  const Operation write = write_file(name, string_join({contents, "!"}));
  Session session("", {.graph = &graph_});
  const std::string path = folder_ / "b/c/d.txt";
  for (const char* const text : {"first", "second"}) {
    session.run(write, {{name, path}, {contents, text}});
    EXPECT_EQ(read_file(local_file_system(), path), std::string(text) + "!");
  }
}

TEST_F(IoOpsTest, WriteFileInAFunction) {
  const HostFunction f = HostFunction::trace(
      TensorType{DType::string, {}}, [&](const Nest<Output>& x) -> Nest<Output> {
        const ControlDependencies written({write_file(folder_ / "out", x.leaf())});
        return string_length(x.leaf());
      });
  EXPECT_FALSE(f.vectorized().has_value());
  EXPECT_EQ(f(std::vector<Tensor>{Tensor("abc")})[0].item<int32_t>(), 3);
  EXPECT_EQ(read_file(local_file_system(), folder_ / "out"), "abc");
}

TEST_F(IoOpsTest, MatchingFilesAreSorted) {
  for (const char* const name : {"b.txt", "a.txt", "c.bin", ".h.txt"}) {
    write_file_atomically(local_file_system(), folder_ / name, "");
  }
  const Output pattern = placeholder(DType::string, {kUnknown});
  const Output files = matching_files(pattern);
  const Output one = matching_files(folder_ / "?.bin");
  Session session("", {.graph = &graph_});
  const auto matches = [&](const std::vector<std::string>& patterns) {
    const Shape shape{static_cast<int64_t>(patterns.size())};
    return texts_of(session.run(files, {{pattern, Tensor::of<std::string>(shape, patterns)}}));
  };
  EXPECT_THAT(matches({folder_ / "*.txt"}), ElementsAre(folder_ / "a.txt", folder_ / "b.txt"));
  EXPECT_THAT(matches({folder_ / "[bc].*", folder_ / "a*"}),
              ElementsAre(folder_ / "a.txt", folder_ / "b.txt", folder_ / "c.bin"));
  EXPECT_THAT(matches({folder_ / "none*"}), IsEmpty());
  EXPECT_THAT(texts_of(session.run(one)), ElementsAre(folder_ / "c.bin"));
}

TEST_F(IoOpsTest, AFunctionReadsTheFileThatItIsGiven) {
  write_file_atomically(local_file_system(), folder_ / "a", "text");
  const HostFunction f = HostFunction::trace(
      TensorType{DType::string, {}},
      [](const Nest<Output>& x) -> Nest<Output> { return read_file(x.leaf()); });
  EXPECT_FALSE(f.vectorized().has_value());
  EXPECT_EQ(f(std::vector<Tensor>{Tensor(folder_ / "a")})[0].item<std::string>(), "text");
}

}  // namespace
}  // namespace systole
