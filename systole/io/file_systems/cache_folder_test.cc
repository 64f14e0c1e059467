#include "systole/io/file_systems/cache_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "systole/base/log.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"

namespace systole {
namespace {

// Sets an environment variable, or removes it, while it lives.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;  // NOLINT(concurrency-mt-unsafe)
    set(value);
  }
  ~ScopedVariable() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) {
    if (value == nullptr) {
      unsetenv(name_);  // NOLINT(concurrency-mt-unsafe)
    } else {
      setenv(name_, value, 1);  // NOLINT(concurrency-mt-unsafe)
    }
  }
  const char* name_;
  std::optional<std::string> before_;
};

std::string folder_for(const char* own, const char* xdg, const char* home) {
  const ScopedVariable a("SYSTOLE_CACHE_DIR", own);
  const ScopedVariable b("XDG_CACHE_HOME", xdg);
  const ScopedVariable c("HOME", home);
  return default_cache_folder();
}

TEST(CacheFolder, IsChosenByTheEnvironment) {
  EXPECT_EQ(folder_for("/mine", "/xdg", "/home/me"), "/mine");
  EXPECT_EQ(folder_for("", "/xdg", "/home/me"), "");
  EXPECT_EQ(folder_for(nullptr, "/xdg", "/home/me"), "/xdg/systole");
  EXPECT_EQ(folder_for(nullptr, "relative", "/home/me"), "/home/me/.cache/systole");
  EXPECT_EQ(folder_for(nullptr, nullptr, "/home/me"), "/home/me/.cache/systole");
  EXPECT_EQ(folder_for(nullptr, nullptr, nullptr), "");
}

TEST(CacheFolder, LimitIsInMegabytes) {
  {
    const ScopedVariable limit("SYSTOLE_CACHE_MB", "3");
    EXPECT_EQ(cache_size_limit(), 3 << 20);
  }
  for (const char* wrong : {"", "0", "-1", "1GB"}) {
    const LogCapture log;
    const ScopedVariable limit("SYSTOLE_CACHE_MB", wrong);
    EXPECT_EQ(cache_size_limit(), 1 << 30);
    ASSERT_EQ(log.messages().size(), 1U);
    EXPECT_EQ(log.messages()[0],
              fmt::format("warning: SYSTOLE_CACHE_MB: got '{}', expected a positive integer; 1024 "
                          "is used",
                          wrong));
  }
}

TEST(CacheFolder, IsMadeForItsOwnerAlone) {
  const testing::TempFolder temporary;
  const std::string folder = join_path(temporary.path(), "a/b");
  EXPECT_EQ(make_private_folder(folder), "");
  struct stat info {};
  ASSERT_EQ(::stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  EXPECT_EQ(make_private_folder(folder), "");
}

TEST(CacheFolder, OfOthersIsRefused) {
  const testing::TempFolder temporary;
  const std::string folder = join_path(temporary.path(), "cache");
  ASSERT_EQ(make_private_folder(folder), "");
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_EQ(make_private_folder(folder), "writable by others, got mode 777, expected 700");
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(make_private_folder(folder), "");
  if (::chown(folder.c_str(), 12345, static_cast<gid_t>(-1)) == 0) {
    EXPECT_EQ(make_private_folder(folder),
              fmt::format("owned by user 12345, expected {}", ::geteuid()));
  }
}

TEST(CacheFolder, ListsItsOwnFilesAlone) {
  const std::string a = cache_entry_name(std::string(64, 'a'));
  const std::string b = cache_entry_name(std::string(64, 'b'));
  MemoryFileSystem files({{"/cache/" + a, "12"},
                          {"/cache/main.o", "theirs"},
                          {"/cache/" + std::string(64, 'A') + ".o", "theirs"},
                          {"/cache/" + b + ".tmp.1.2.3", "345"},
                          {"/cache/" + b + ".bak", "theirs"},
                          {"/cache/" + std::string(65, 'a') + ".o", "theirs"}});
  files.touch("/cache/" + a);
  const auto entries = cache_entries(files, "/cache");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].path, "/cache/" + b + ".tmp.1.2.3");
  EXPECT_EQ(entries[0].bytes, 3);
  EXPECT_EQ(entries[1].path, "/cache/" + a);
}

}  // namespace
}  // namespace systole
