// The contract of FileSystem, tested on each implementation and through its scheme.
#include "systole/base/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/io/file_systems/file_pattern.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"

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

enum class Kind { local, memory, file_scheme, mem_scheme };

class FileSystemTest : public ::testing::TestWithParam<Kind> {
 protected:
  FileSystemTest() { fs_.make_directories(root_); }
  ~FileSystemTest() override {
    memory().clear_fault();
    remove_tree(fs_, root_);
  }

  std::string at(std::string_view name) const { return join_path(root_, name); }
  void write(std::string_view name, std::string_view contents) {
    write_file_atomically(fs_, at(name), contents);
  }
  // The file system that fails on demand.
  MemoryFileSystem& memory() {
    return GetParam() == Kind::mem_scheme ? memory_file_system() : memory_;
  }
  FileSystem& tested() {
    if (GetParam() == Kind::local) return local_file_system();
    if (GetParam() == Kind::memory) return memory_;
    return default_file_system();
  }
  std::string root_path() const {
    if (GetParam() == Kind::file_scheme) return "file://" + folder_.path();
    return GetParam() == Kind::mem_scheme ? "mem:/" + folder_.path() : folder_.path();
  }

  MemoryFileSystem memory_;
  FileSystem& fs_ = tested();
  const TempFolder folder_;
  const std::string root_ = root_path();
};

std::string name_of(const ::testing::TestParamInfo<Kind>& info) {
  constexpr const char* kNames[] = {"local", "memory", "file", "mem"};
  return kNames[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(All, FileSystemTest,
                         ::testing::Values(Kind::local, Kind::memory, Kind::file_scheme,
                                           Kind::mem_scheme),
                         name_of);

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
  if (&memory() == &memory_ && &fs_ != &memory_) return;  // a disk does not fail on demand
  memory().inject({.path_contains = "/a", .at_byte = 0, .code = Code::resource_exhausted});
  EXPECT_THAT(error_of([&] { write("a", "bytes"); }),
              StartsWith("RESOURCE_EXHAUSTED: " + at("a") + ": "));
}

TEST_P(FileSystemTest, PatternsKeepTheScheme) {
  fs_.make_directories(at("d"));
  write("a-1", "");
  write("a-2", "");
  write("d/b-1", "");
  EXPECT_THAT(files_matching(fs_, at("a-?")), ElementsAre(at("a-1"), at("a-2")));
  EXPECT_THAT(files_matching(fs_, at("*/b*")), ElementsAre(at("d/b-1")));
  EXPECT_THAT(files_matching(fs_, at("a-1")), ElementsAre(at("a-1")));
  EXPECT_THAT(files_matching(fs_, at("none*")), IsEmpty());
}

TEST(FileSystemsTest, FindsAFileSystemByScheme) {
  EXPECT_EQ(&file_system_for("/a"), &local_file_system());
  EXPECT_EQ(&file_system_for("a/b"), &local_file_system());
  EXPECT_EQ(&file_system_for(""), &local_file_system());
  EXPECT_EQ(&file_system_for("file:///a"), &local_file_system());
  EXPECT_EQ(&file_system_for("mem://a"), &memory_file_system());
  EXPECT_EQ(error_of([] { default_file_system().open("az://a/b"); }),
            "UNIMPLEMENTED: az://a/b: scheme, got 'az://', expected a path without one, file://, "
            "gs://, mem://, s3://");
  EXPECT_EQ(error_of([] { local_file_system().open("file://host/a"); }),
            "INVALID_ARGUMENT: file://host/a: path, got a host after 'file://', expected an "
            "absolute path");
  EXPECT_EQ(local_path("mem://a"), std::nullopt);
  EXPECT_EQ(local_path("file:///a/b"), "/a/b");
  EXPECT_EQ(local_path("a/b"), "a/b");
}

TEST(FileSystemsTest, OneRegistrationAddsAScheme) {
  static MemoryFileSystem files;
  files.make_directories("test+1://");
  register_file_system("test+1", files);
  write_file_atomically(default_file_system(), "test+1://a", "A");
  EXPECT_EQ(read_file(files, "test+1://a"), "A");
  EXPECT_THAT(error_of([] { register_file_system("test+1", files); }),
              StartsWith("ALREADY_EXISTS: file system: scheme, got 'test+1'"));
  EXPECT_THAT(error_of([] { register_file_system("No", files); }),
              StartsWith("INVALID_ARGUMENT: file system: scheme, got 'No'"));
  EXPECT_THAT(error_of([] { default_file_system().rename("mem://a", "test+1://b"); }),
              StartsWith("FAILED_PRECONDITION: mem://a: rename, got 'test+1://b'"));
}

}  // namespace
}  // namespace systole
