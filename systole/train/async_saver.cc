#include "systole/train/async_saver.h"

#include <system_error>
#include <utility>

#include "systole/base/log.h"
#include "systole/base/thread_name.h"
#include "systole/tracing/span.h"

namespace systole {

AsyncSaver::~AsyncSaver() {
  try {
    join();
  } catch (const std::exception& error) {
    log_warning("AsyncSaver: the last checkpoint was not written: {}", error.what());
  }
}

void AsyncSaver::save(Session& session, const std::string& save_path, const SaveOptions& options) {
  join();
  auto write = [this, snapshot = saver_.snapshot(session), save_path, options] {
    name_thread("checkpoint");
    const tracing::Span span("write a checkpoint", tracing::Kind::checkpoint);
    try {
      prefix_ = saver_.write(snapshot, save_path, options);
    } catch (...) {
      error_ = std::current_exception();
    }
  };
  try {
    writer_ = std::thread(std::move(write));
  } catch (const std::system_error& error) {
    throw make_error(Code::resource_exhausted,
                     "{}: cannot start a thread to write the checkpoint, got '{}'", save_path,
                     error.code().message());
  }
}

std::string AsyncSaver::join() {
  if (writer_.joinable()) {
    const tracing::Span span("wait for the checkpoint", tracing::Kind::checkpoint);
    writer_.join();
  }
  if (const auto error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
  return prefix_;
}

bool AsyncSaver::busy() const { return writer_.joinable(); }

}  // namespace systole
