// What every FileSystem does: the same tests on this machine's and on memory's.
#include "systole/base/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/io/file_systems/local_file_system.h"
#include "systole/io/file_systems/memory_file_system.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Code code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return static_cast<Code>(0);
}

class FileSystemTest : public ::testing::TestWithParam<bool> {
 protected:
  FileSystemTest() { fs_.make_directories(root_); }

  std::string at(std::string_view name) const { return join_path(root_, name); }
  void write(std::string_view name, std::string_view contents) {
    write_file_atomically(fs_, at(name), contents);
  }

  MemoryFileSystem memory_;
  FileSystem& fs_ = GetParam() ? local_file_system() : memory_;
  const TempFolder folder_;
  const std::string& root_ = folder_.path();
};

INSTANTIATE_TEST_SUITE_P(All, FileSystemTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "local" : "memory"; });

TEST_P(FileSystemTest, WriteAndRead) {
  const auto file = fs_.create(at("a"));
  file->append("one ");
  file->append("");
  file->append(std::string(200000, 'x'));
  file->append("end");
  file->sync();
  file->close();
  file->close();
  EXPECT_EQ(code_of([&] { file->append("more"); }), Code::failed_precondition);
  EXPECT_EQ(code_of([&] { file->sync(); }), Code::failed_precondition);
  EXPECT_EQ(read_file(fs_, at("a")), "one " + std::string(200000, 'x') + "end");
  EXPECT_EQ(fs_.stat(at("a")).size, 200007U);
}

TEST_P(FileSystemTest, FlushShowsTheBytes) {
  const auto file = fs_.create(at("a"));
  file->append("seen");
  file->flush();
  EXPECT_EQ(read_file(fs_, at("a")), "seen");
  file->append(" later");
  file->close();
  EXPECT_EQ(read_file(fs_, at("a")), "seen later");
}

TEST_P(FileSystemTest, DestructionCloses) {
  fs_.create(at("a"))->append("kept");
  EXPECT_EQ(read_file(fs_, at("a")), "kept");
}

TEST_P(FileSystemTest, CreateEmptiesTheFile) {
  write("a", "long contents");
  fs_.create(at("a"))->append("b");
  EXPECT_EQ(read_file(fs_, at("a")), "b");
}

TEST_P(FileSystemTest, RandomAccess) {
  write("a", "0123456789");
  const auto file = fs_.open(at("a"));
  std::string out(4, '\0');
  EXPECT_EQ(file->size(), 10U);
  EXPECT_EQ(file->path(), at("a"));
  EXPECT_EQ(file->read(3, 4, out.data()), 4U);
  EXPECT_EQ(out, "3456");
  EXPECT_EQ(file->read(8, 4, out.data()), 2U);
  EXPECT_EQ(out.substr(0, 2), "89");
  EXPECT_EQ(file->read(10, 4, out.data()), 0U);
  EXPECT_EQ(file->read(99, 4, out.data()), 0U);
  EXPECT_EQ(file->read(0, 0, nullptr), 0U);
  EXPECT_EQ(code_of([&] { read_exactly(*file, 8, 4, out.data()); }), Code::data_loss);
}

TEST_P(FileSystemTest, AnOpenFileOutlivesItsName) {
  write("a", "old");
  const auto file = fs_.open(at("a"));
  write("a", "new");
  EXPECT_EQ(read_file(*file), "old");
  fs_.remove(at("a"));
  EXPECT_EQ(read_file(*file), "old");
}

TEST_P(FileSystemTest, Directories) {
  fs_.make_directories(at("d/e/f"));
  fs_.make_directories(at("d/e/f"));
  write("d/b", "");
  write("d/a", "");
  EXPECT_THAT(fs_.list(at("d")), ElementsAre("a", "b", "e"));
  EXPECT_THAT(fs_.list(at("d/e/f")), IsEmpty());
  EXPECT_TRUE(fs_.stat(at("d")).is_directory);
  EXPECT_EQ(fs_.stat(at("d")).size, 0U);
  EXPECT_FALSE(fs_.stat(at("d/a")).is_directory);
  EXPECT_EQ(code_of([&] { fs_.remove(at("d")); }), Code::failed_precondition);
  fs_.remove(at("d/e/f"));
  EXPECT_FALSE(fs_.exists(at("d/e/f")));
  remove_tree(fs_, at("d"));
  EXPECT_FALSE(fs_.exists(at("d")));
  remove_tree(fs_, at("d"));
}

TEST_P(FileSystemTest, Rename) {
  write("a", "A");
  write("b", "B");
  fs_.rename(at("a"), at("b"));
  EXPECT_FALSE(fs_.exists(at("a")));
  EXPECT_EQ(read_file(fs_, at("b")), "A");
  fs_.make_directories(at("d/e"));
  write("d/e/x", "X");
  fs_.rename(at("d"), at("moved"));
  EXPECT_EQ(read_file(fs_, at("moved/e/x")), "X");
  EXPECT_FALSE(fs_.exists(at("d")));
  EXPECT_EQ(code_of([&] { fs_.rename(at("b"), at("moved")); }), Code::failed_precondition);
  EXPECT_EQ(code_of([&] { fs_.rename(at("moved"), at("moved/inside")); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { fs_.rename(at("none"), at("x")); }), Code::not_found);
}

TEST_P(FileSystemTest, PathsAreNormalized) {
  fs_.make_directories(at("d"));
  write("d/a", "A");
  EXPECT_EQ(read_file(fs_, at("./d//a")), "A");
  EXPECT_THAT(fs_.list(at("d/")), ElementsAre("a"));
}

TEST_P(FileSystemTest, ErrorCodes) {
  write("file", "");
  EXPECT_EQ(code_of([&] { fs_.open(at("none")); }), Code::not_found);
  EXPECT_EQ(code_of([&] { fs_.stat(at("none")); }), Code::not_found);
  EXPECT_EQ(code_of([&] { fs_.list(at("none")); }), Code::not_found);
  EXPECT_EQ(code_of([&] { fs_.remove(at("none")); }), Code::not_found);
  EXPECT_EQ(code_of([&] { fs_.create(at("none/a")); }), Code::not_found);
  EXPECT_EQ(code_of([&] { fs_.open(root_); }), Code::failed_precondition);
  EXPECT_EQ(code_of([&] { fs_.create(root_); }), Code::failed_precondition);
  EXPECT_EQ(code_of([&] { fs_.list(at("file")); }), Code::failed_precondition);
  EXPECT_EQ(code_of([&] { fs_.create(at("file/a")); }), Code::failed_precondition);
  EXPECT_EQ(code_of([&] { fs_.make_directories(at("file")); }), Code::failed_precondition);
  EXPECT_EQ(code_of([&] { fs_.make_directories(at("file/a")); }), Code::failed_precondition);
  EXPECT_FALSE(fs_.exists(at("file/a")));
  try {
    fs_.open(at("none"));
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), at("none") + ": cannot open, got 'No such file or directory'");
  }
}

TEST_P(FileSystemTest, AtomicFileAppearsOnCommit) {
  write("a", "old");
  {
    AtomicFile file(fs_, at("a"));
    file.file().append("new");
    EXPECT_EQ(read_file(fs_, at("a")), "old");
    file.commit();
    EXPECT_EQ(read_file(fs_, at("a")), "new");
  }
  EXPECT_THAT(fs_.list(root_), ElementsAre("a"));
}

TEST_P(FileSystemTest, AtomicFileWithoutCommitLeavesNothing) {
  write("a", "old");
  EXPECT_THROW(write_file_atomically(fs_, at("a"),
                                     [](WritableFile& file) {
                                       file.append("half");
                                       throw internal_error("stopped");
                                     }),
               Error);
  EXPECT_EQ(read_file(fs_, at("a")), "old");
  EXPECT_THAT(fs_.list(root_), ElementsAre("a"));
}

TEST_P(FileSystemTest, ErrorsOfAnAtomicFileHaveTheNameThatItIsToHave) {
  EXPECT_THAT(error_of([&] { AtomicFile(fs_, at("none/a")); }),
              StartsWith("NOT_FOUND: " + at("none/a") + ": "));
  memory_.inject({.path_contains = "/a", .at_byte = 0, .code = Code::resource_exhausted});
  if (GetParam()) return;  // a disk does not fail when it is told to
  EXPECT_THAT(error_of([&] { write("a", "bytes"); }),
              StartsWith("RESOURCE_EXHAUSTED: " + at("a") + ": "));
}

TEST(LocalFileSystemTest, ADiskThatIsFull) {
  FileSystem& fs = local_file_system();
  if (!fs.exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const auto file = fs.create("/dev/full");
  file->append("x");
  EXPECT_EQ(code_of([&] { file->flush(); }), Code::resource_exhausted);
  EXPECT_EQ(code_of([&] { file->append("y"); }), Code::failed_precondition);
}

}  // namespace
}  // namespace systole
