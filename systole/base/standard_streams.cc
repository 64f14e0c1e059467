#include "systole/base/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

namespace systole {
namespace {

// Blocks SIGPIPE on this thread while it lives, and discards one that is raised meanwhile.
class PipeSignalBlock {
 public:
  PipeSignalBlock() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalBlock() {
    const timespec no_wait{};
    if (!was_pending_) {
      while (sigtimedwait(&pipe_, nullptr, &no_wait) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipeSignalBlock(const PipeSignalBlock&) = delete;
  PipeSignalBlock& operator=(const PipeSignalBlock&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace

void open_missing_standard_streams() {
  // Standard output is opened for reading, so that writes fail.
  constexpr std::array<int, 3> kFlags = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (int descriptor = 0; descriptor < 3; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns the lowest free descriptor: this one, as those below are open.
    static_cast<void>(::open("/dev/null", kFlags.at(static_cast<size_t>(descriptor))));
  }
}

namespace {

// Before main, since the program may open files of its own before it calls this library.
[[gnu::constructor]] void open_at_start() { open_missing_standard_streams(); }

}  // namespace

void write_ignoring_errors(std::FILE* file, std::string_view text) noexcept {
  const int error = errno;
  {
    const PipeSignalBlock block;
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), file));
    static_cast<void>(std::fflush(file));
    std::clearerr(file);
  }
  errno = error;
}

}  // namespace systole
