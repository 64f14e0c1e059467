#include "plugin/error.h"
#include "plugin/functions.h"
#include "plugin/objects.h"

namespace systole::plugin {

PJRT_Event* make_event(runtime::Event event) {
  return new PJRT_Event{.event = std::move(event), .promise = std::nullopt};
}

PJRT_Error* event_destroy(PJRT_Event_Destroy_Args* args) {
  return run("PJRT_Event_Destroy", args, [](PJRT_Event_Destroy_Args& a) { delete a.event; });
}

PJRT_Error* event_is_ready(PJRT_Event_IsReady_Args* args) {
  return run("PJRT_Event_IsReady", args,
             [](PJRT_Event_IsReady_Args& a) { a.is_ready = a.event->event.ready(); });
}

PJRT_Error* event_error(PJRT_Event_Error_Args* args) {
  return run("PJRT_Event_Error", args, [](PJRT_Event_Error_Args& a) {
    if (const Error* const error = a.event->event.error()) throw Error(*error);
  });
}

PJRT_Error* event_await(PJRT_Event_Await_Args* args) {
  return run("PJRT_Event_Await", args, [](PJRT_Event_Await_Args& a) { a.event->event.wait(); });
}

PJRT_Error* event_on_ready(PJRT_Event_OnReady_Args* args) {
  return run("PJRT_Event_OnReady", args, [](PJRT_Event_OnReady_Args& a) {
    a.event->event.then([callback = a.callback, user_arg = a.user_arg](const Error* error) {
      callback(error == nullptr ? nullptr : to_pjrt(*error), user_arg);
    });
  });
}

PJRT_Error* event_create(PJRT_Event_Create_Args* args) {
  return run("PJRT_Event_Create", args, [](PJRT_Event_Create_Args& a) {
    auto event = std::make_unique<PJRT_Event>();
    event->promise.emplace();
    event->event = event->promise->event();
    a.event = event.release();
  });
}

PJRT_Error* event_set(PJRT_Event_Set_Args* args) {
  return run("PJRT_Event_Set", args, [](PJRT_Event_Set_Args& a) {
    if (!a.event->promise) {
      throw failed_precondition("PJRT_Event_Set: event, got one that its work sets");
    }
    if (a.error_code == PJRT_Error_Code_OK) return a.event->promise->set();
    a.event->promise->fail(
        Error(static_cast<Code>(a.error_code), std::string(a.error_message, a.error_message_size)));
  });
}

}  // namespace systole::plugin
