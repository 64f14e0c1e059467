#include "systole/train/loop/model_dir_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "systole/base/error.h"
#include "systole/io/file_systems/local_file_system.h"

namespace systole {
namespace {

std::string holder(int file) {
  std::array<char, 64> text{};
  const ssize_t size = ::pread(file, text.data(), text.size() - 1, 0);
  return size > 0 ? std::string(text.data(), static_cast<size_t>(size)) : "unknown";
}

}  // namespace

ModelDirLock::ModelDirLock(const std::string& model_dir) {
  const std::optional<std::string> local = local_path(model_dir);
  if (!local) return;
  path_ = join_path(*local, ".systole.lock");
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) {
    throw make_error(errno == ENOENT ? Code::not_found : Code::permission_denied,
                     "model_dir '{}': cannot write: {}", model_dir, std::strerror(errno));
  }
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const std::string process = holder(file_);
    ::close(file_);
    throw failed_precondition(
        "model_dir '{}': in use by process {}, expected one process to train in it at a time",
        model_dir, process);
  }
  const std::string process = fmt::format("{}", ::getpid());
  if (::ftruncate(file_, 0) == 0) {
    static_cast<void>(::pwrite(file_, process.data(), process.size(), 0));
  }
}

ModelDirLock::~ModelDirLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace systole
