#include "systole/train/async_saver.h"

#include <utility>

#include "systole/base/log.h"
#include "systole/base/trace.h"

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
  writer_ = std::thread([this, snapshot = saver_.snapshot(session), save_path, options] {
    tracing::name_thread("checkpoint");
    const tracing::Span span("write a checkpoint", tracing::Kind::checkpoint);
    try {
      prefix_ = saver_.write(snapshot, save_path, options);
    } catch (...) {
      error_ = std::current_exception();
    }
  });
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
