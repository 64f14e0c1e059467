#include "systole/io/local/local_file_system.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/file_kinds.h"
#include "systole/base/testing/sanitized.h"
#include "systole/base/testing/temp_folder.h"

namespace {

std::set<ino_t>* synced_directories = nullptr;  // null: not counted

}  // namespace

// Takes the place of the C library's, to tell what was synced.
extern "C" int fsync(int file) {
  struct stat info {};
  if (synced_directories != nullptr && ::fstat(file, &info) == 0 && S_ISDIR(info.st_mode)) {
    synced_directories->insert(info.st_ino);
  }
  static const auto real = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "fsync"));
  return real(file);
}

namespace systole {
namespace {

using systole::testing::all_file_kinds;
using systole::testing::error_of;
using systole::testing::FileKind;
using systole::testing::make_file_of_kind;
using systole::testing::TempFolder;
using ::testing::HasSubstr;
using ::testing::StartsWith;

ino_t inode_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

TEST(LocalFileSystemTest, ADirectoryIsSyncedWithItsNewParents) {
  const TempFolder folder;
  std::set<ino_t> synced;
  synced_directories = &synced;
  local_file_system().make_directories(folder / "a/b/c");
  synced_directories = nullptr;
  EXPECT_TRUE(synced.contains(inode_of(folder.path())));
  EXPECT_TRUE(synced.contains(inode_of(folder / "a")));
  EXPECT_TRUE(synced.contains(inode_of(folder / "a/b")));
}

TEST(LocalFileSystemTest, WritesThroughNoLinkAndToNoDevice) {
  const TempFolder folder;
  const std::string victim = folder / "victim";
  std::ofstream(victim) << "outside";
  FileSystem& fs = local_file_system();
  for (const FileKind kind : {FileKind::pipe, FileKind::device, FileKind::socket, FileKind::link,
                              FileKind::dangling_link, FileKind::directory}) {
    const std::string path = folder / name_of(kind);
    make_file_of_kind(kind, path, victim);
    EXPECT_THAT(error_of([&] { fs.create(path); }),
                StartsWith("FAILED_PRECONDITION: " + path + ": cannot create, got"));
    EXPECT_THAT(error_of([&] { fs.create("file://" + path); }),
                StartsWith("FAILED_PRECONDITION: file://" + path + ": cannot create, got"));
  }
  EXPECT_THAT(error_of([&] { write_file_atomically(fs, folder / "pipe", "x"); }),
              HasSubstr("got a pipe, a socket or a device there"));
  write_file_atomically(fs, folder / "link", "x");  // takes the place of the link
  EXPECT_EQ(read_file(fs, folder / "link"), "x");
  EXPECT_EQ(read_file(fs, victim), "outside");
  EXPECT_FALSE(fs.exists(victim + ".none"));
}

TEST(LocalFileSystemTest, RemovesLinksAndNotWhatTheyPointTo) {
  const TempFolder folder;
  FileSystem& fs = local_file_system();
  fs.make_directories(folder / "outside/deep");
  write_file_atomically(fs, folder / "outside/deep/file", "kept");
  fs.make_directories(folder / "tree/sub");
  std::filesystem::create_symlink(folder / "outside", folder / "tree/sub/link");
  std::filesystem::create_symlink(folder / "none", folder / "tree/dangling");
  std::filesystem::create_symlink(folder / "tree", folder / "top");
  make_file_of_kind(FileKind::pipe, folder / "tree/pipe", "");
  remove_tree(fs, folder / "top");
  EXPECT_TRUE(fs.exists(folder / "tree/sub"));
  remove_tree(fs, folder / "tree");
  EXPECT_FALSE(fs.exists(folder / "tree"));
  EXPECT_EQ(read_file(fs, folder / "outside/deep/file"), "kept");
}

TEST(LocalFileSystemTest, AFileWithHolesIsTooLargeToRead) {
  const TempFolder folder;
  make_file_of_kind(FileKind::sparse, folder / "sparse", "");
  EXPECT_EQ(error_of([&] { read_file(local_file_system(), folder / "sparse"); }),
            "DATA_LOSS: " + (folder / "sparse") +
                ": size, got 322122547200 bytes, expected at most 2147483647");
  // Sanitizers end the process instead of throwing.
  if (systole::testing::kSanitized) return;
  EXPECT_THAT(
      error_of([&] { read_file(local_file_system(), folder / "sparse", uint64_t{1} << 62U); }),
      StartsWith("RESOURCE_EXHAUSTED"));
}

TEST(LocalFileSystemTest, AWriteBeyondTheLimitOfFileSizeIsReported) {
  const TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{4096, 4096};
    const auto file = local_file_system().create(folder / "limited");
    ::setrlimit(RLIMIT_FSIZE, &limit);
    file->append(std::string(8192, 'x'));
    const std::string error = error_of([&] { file->flush(); });
    ::_exit(error.starts_with("RESOURCE_EXHAUSTED") ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(PrivateFileSystemTest, MakesAndReadsOwnFilesOnly) {
  const TempFolder folder;
  FileSystem& fs = private_file_system();
  const mode_t before = ::umask(0);
  fs.make_directories(folder / "new");
  write_file_atomically(fs, folder / "new/file", "code");
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat((folder / "new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
  ASSERT_EQ(::stat((folder / "new/file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  EXPECT_EQ(read_file(fs, folder / "new/file"), "code");
  std::filesystem::create_symlink(folder / "new/file", folder / "link");
  EXPECT_THAT(error_of([&] { fs.open(folder / "link"); }), HasSubstr("got a symbolic link"));
  ASSERT_EQ(::chmod((folder / "new/file").c_str(), 0666), 0);
  EXPECT_THAT(error_of([&] { fs.open(folder / "new/file"); }), StartsWith("PERMISSION_DENIED"));
}

}  // namespace
}  // namespace systole
