#include "plugin/profiler.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "plugin/error.h"
#include "plugin/functions.h"
#include "plugin/shardings.h"
#include "plugin/xspace.h"
#include "systole/pjrt_abi/struct_size.h"
#include "systole/tracing/recorder.h"

// NOLINTBEGIN(readability-identifier-naming): the API's names
struct PLUGIN_Profiler {
  bool recording = false;
  std::optional<systole::tracing::Recording> recorded;
  std::string message;  // of `recorded`

  ~PLUGIN_Profiler() {
    if (recording) systole::tracing::stop();
  }
};
struct PJRT_AsyncTrackingEvent {
  const char* description;  // of tracing::intern()
  int64_t begin;            // in ticks
};
// NOLINTEND(readability-identifier-naming)

namespace systole::plugin {
namespace {

constexpr std::string_view kCollectData = "PLUGIN_Profiler_CollectData";

// The profiler's errors are the plugin's, under another name.
PJRT_Error* plain(const PLUGIN_Profiler_Error* error) {
  return reinterpret_cast<PJRT_Error*>(const_cast<PLUGIN_Profiler_Error*>(error));
}

// Does not look at struct_size: XLA's profiler does not set it in all of its calls.
template <class Args, class Body>
PLUGIN_Profiler_Error* run_profiler(Args* args, const Body& body) noexcept {
  try {
    body(*args);
    return nullptr;
  } catch (...) {
    return reinterpret_cast<PLUGIN_Profiler_Error*>(current_error());
  }
}

void destroy_error(PLUGIN_Profiler_Error_Destroy_Args* args) {
  auto plain_args = pjrt_abi::make<PJRT_Error_Destroy_Args>();
  plain_args.error = plain(args->error);
  if (plain_args.error != nullptr) error_destroy(&plain_args);
}

void give_message(PLUGIN_Profiler_Error_Message_Args* args) {
  auto plain_args = pjrt_abi::make<PJRT_Error_Message_Args>();
  plain_args.error = plain(args->error);
  error_message(&plain_args);
  args->message = plain_args.message;
  args->message_size = plain_args.message_size;
}

PLUGIN_Profiler_Error* give_code(PLUGIN_Profiler_Error_GetCode_Args* args) {
  auto plain_args = pjrt_abi::make<PJRT_Error_GetCode_Args>();
  plain_args.error = plain(args->error);
  PJRT_Error* const error = error_get_code(&plain_args);
  args->code = plain_args.code;
  return reinterpret_cast<PLUGIN_Profiler_Error*>(error);
}

// Options of XLA's profilers are taken and change nothing.
PLUGIN_Profiler_Error* create(PLUGIN_Profiler_Create_Args* args) {
  return run_profiler(args,
                      [](PLUGIN_Profiler_Create_Args& a) { a.profiler = new PLUGIN_Profiler(); });
}

PLUGIN_Profiler_Error* destroy(PLUGIN_Profiler_Destroy_Args* args) {
  return run_profiler(args, [](PLUGIN_Profiler_Destroy_Args& a) { delete a.profiler; });
}

PLUGIN_Profiler_Error* start(PLUGIN_Profiler_Start_Args* args) {
  return run_profiler(args, [](PLUGIN_Profiler_Start_Args& a) {
    if (a.profiler->recording || !tracing::start()) {
      throw failed_precondition("PLUGIN_Profiler_Start: a recording is in progress");
    }
    a.profiler->recording = true;
  });
}

PLUGIN_Profiler_Error* stop(PLUGIN_Profiler_Stop_Args* args) {
  return run_profiler(args, [](PLUGIN_Profiler_Stop_Args& a) {
    if (!a.profiler->recording) {
      throw failed_precondition("PLUGIN_Profiler_Stop: no recording is in progress");
    }
    a.profiler->recording = false;
    a.profiler->recorded = tracing::stop();
    a.profiler->message.clear();
  });
}

PLUGIN_Profiler_Error* collect_data(PLUGIN_Profiler_CollectData_Args* args) {
  return run_profiler(args, [](PLUGIN_Profiler_CollectData_Args& a) {
    PLUGIN_Profiler& profiler = *a.profiler;
    if (!profiler.recorded) {
      throw failed_precondition("{}: got no recording, expected one that ended", kCollectData);
    }
    if (profiler.message.empty()) profiler.message = xspace_bytes(*profiler.recorded);
    const size_t size = profiler.message.size();
    if (a.buffer == nullptr) {
      // XLA reads the data there, and does not call again.
      a.buffer = reinterpret_cast<uint8_t*>(profiler.message.data());
    } else {
      if (a.buffer_size_in_bytes < size) {
        throw invalid_argument("{}: buffer_size_in_bytes, got {}, expected {}", kCollectData,
                               a.buffer_size_in_bytes, size);
      }
      std::memcpy(a.buffer, profiler.message.data(), size);
    }
    a.buffer_size_in_bytes = size;
  });
}

constexpr PLUGIN_Profiler_Api kProfiler = {.struct_size = PLUGIN_Profiler_Api_STRUCT_SIZE,
                                           .priv = nullptr,
                                           .error_destroy = destroy_error,
                                           .error_message = give_message,
                                           .error_get_code = give_code,
                                           .create = create,
                                           .destroy = destroy,
                                           .start = start,
                                           .stop = stop,
                                           .collect_data = collect_data};

}  // namespace

// A span of the recording from the event's creation to its end.
PJRT_Error* device_create_async_tracking_event(PJRT_Device_CreateAsyncTrackingEvent_Args* args) {
  return run("PJRT_Device_CreateAsyncTrackingEvent", args,
             [](PJRT_Device_CreateAsyncTrackingEvent_Args& a) {
               const bool on = tracing::active();
               const std::string_view description(a.description, a.description_size);
               a.event = new PJRT_AsyncTrackingEvent{
                   .description = on ? tracing::intern(description) : nullptr,
                   .begin = on ? tracing::ticks() : 0};
             });
}

PJRT_Error* async_tracking_event_destroy(PJRT_AsyncTrackingEvent_Destroy_Args* args) {
  return run("PJRT_AsyncTrackingEvent_Destroy", args, [](PJRT_AsyncTrackingEvent_Destroy_Args& a) {
    const std::unique_ptr<PJRT_AsyncTrackingEvent> event(a.event);
    if (event == nullptr || event->description == nullptr) return;
    tracing::record({.begin = event->begin, .end = tracing::ticks(), .name = event->description});
  });
}

constinit PJRT_Profiler_Extension profiler_extension = {
    .base = {.struct_size = PJRT_Profiler_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_Profiler,
             .next = &shardings_extension.base},
    .profiler_api = &kProfiler,
    .traceme_context_id = 0};

}  // namespace systole::plugin
