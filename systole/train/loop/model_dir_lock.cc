#include "systole/train/loop/model_dir_lock.h"

#include <sys/file.h>
#include <unistd.h>

#include <array>

#include "systole/base/escape.h"
#include "systole/io/buckets/bucket_file_system.h"
#include "systole/io/buckets/object_lock.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/local/local_file_system.h"

namespace systole {
namespace {

constexpr std::string_view kLockName = ".systole.lock";

std::string holder(int file) {
  std::array<char, 64> text{};
  const ssize_t size = ::pread(file, text.data(), text.size() - 1, 0);
  if (size <= 0) return "unknown";
  return escaped({text.data(), static_cast<size_t>(size)}, {.ascii = true});
}

Error named(const std::string& model_dir, const Error& error) {
  return Error(error.code(), fmt::format("model_dir '{}': {}", model_dir, error.message()));
}

}  // namespace

ModelDirLock::ModelDirLock(const std::string& model_dir) {
  if (const auto local = local_path(model_dir)) {
    lock_file(model_dir, *local);
  } else {
    lock_object(model_dir);
  }
}

ModelDirLock::~ModelDirLock() = default;

void ModelDirLock::lock_file(const std::string& model_dir, const std::string& folder) {
  try {
    // The folder may be one that others write to: the file must not be a name of something else.
    file_ = open_file(join_path(folder, kLockName), {.flags = O_RDWR | O_CREAT,
                                                     .mode = 0644,
                                                     .follow_link = false,
                                                     .other_names = false,
                                                     .what = "cannot write"});
  } catch (const Error& error) {
    throw named(model_dir, error);
  }
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw failed_precondition(
        "model_dir '{}': in use by process {}, expected one process to train in it at a time",
        model_dir, holder(file_.get()));
  }
  const std::string process = fmt::format("{}", ::getpid());
  if (::ftruncate(file_.get(), 0) == 0) {
    static_cast<void>(::pwrite(file_.get(), process.data(), process.size(), 0));
  }
}

void ModelDirLock::lock_object(const std::string& model_dir) {
  auto* const files = dynamic_cast<buckets::BucketFileSystem*>(&file_system_for(model_dir));
  if (files == nullptr) return;
  try {
    object_ = std::make_unique<buckets::ObjectLock>(
        files->store(), files->parse(join_path(model_dir, kLockName)),
        buckets::ObjectLockOptions{.lease = files->options().lock_lease});
  } catch (const Error& error) {
    throw named(model_dir, error);
  }
}

void ModelDirLock::check() const {
  if (object_ != nullptr) object_->check();
}

}  // namespace systole
