#include "systole/io/file_systems/file_systems.h"

#include <fmt/format.h>

#include <functional>
#include <map>

#include "systole/base/mutex.h"
#include "systole/io/buckets/bucket_file_systems.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"

namespace systole {
namespace {

class SchemeRegistry {
 public:
  static SchemeRegistry& instance() {
    static SchemeRegistry registry;
    return registry;
  }

  FileSystem& find(std::string_view path) const {
    const std::string_view scheme = path_scheme(path);
    const ReaderLock lock(mutex_);
    const auto found = by_scheme_.find(scheme);
    if (found != by_scheme_.end()) return found->second();
    throw unimplemented("{}: scheme, got '{}://', expected {}", path, scheme, known());
  }

  void add(const std::string& scheme, FileSystem& file_system) {
    if (scheme.empty() || path_scheme(scheme + "://") != scheme) {
      throw invalid_argument("file system: scheme, got '{}', expected one such as 'gs'", scheme);
    }
    const WriterLock lock(mutex_);
    if (!by_scheme_.emplace(scheme, [&file_system]() -> FileSystem& { return file_system; })
             .second) {
      throw make_error(Code::already_exists,
                       "file system: scheme, got '{}', expected another than {}", scheme, known());
    }
  }

 private:
  std::string known() const {
    std::string text = "a path without one";
    for (const auto& [scheme, file_system] : by_scheme_) {
      if (!scheme.empty()) text += fmt::format(", {}://", scheme);
    }
    return text;
  }

  mutable SharedMutex mutex_;
  // Buckets read their settings when the first path names one.
  std::map<std::string, std::function<FileSystem&()>, std::less<>> by_scheme_ = {
      {"", local_file_system},
      {"file", local_file_system},
      {"gs", buckets::gcs_file_system},
      {"mem", memory_file_system},
      {"s3", buckets::s3_file_system}};
};

class DefaultFileSystem final : public FileSystem {
 public:
  std::unique_ptr<RandomAccessFile> open(const std::string& path) override {
    return file_system_for(path).open(path);
  }
  std::unique_ptr<WritableFile> create(const std::string& path) override {
    return file_system_for(path).create(path);
  }
  bool exists(const std::string& path) override { return file_system_for(path).exists(path); }
  FileStat stat(const std::string& path) override { return file_system_for(path).stat(path); }
  std::vector<std::string> list(const std::string& directory) override {
    return file_system_for(directory).list(directory);
  }
  void make_directories(const std::string& directory) override {
    file_system_for(directory).make_directories(directory);
  }
  void rename(const std::string& from, const std::string& to) override {
    FileSystem& file_system = file_system_for(from);
    if (&file_system != &file_system_for(to)) {
      throw failed_precondition("{}: rename, got '{}', expected a path of the same file system",
                                from, to);
    }
    file_system.rename(from, to);
  }
  void remove(const std::string& path) override { file_system_for(path).remove(path); }
  void touch(const std::string& path) override { file_system_for(path).touch(path); }
};

}  // namespace

FileSystem& file_system_for(std::string_view path) { return SchemeRegistry::instance().find(path); }

FileSystem& default_file_system() {
  static DefaultFileSystem instance;
  return instance;
}

void register_file_system(const std::string& scheme, FileSystem& file_system) {
  SchemeRegistry::instance().add(scheme, file_system);
}

}  // namespace systole
