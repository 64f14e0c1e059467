// What a worker allows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "systole/tracing/recording.h"
#include "systole/worker/network/connections.h"
#include "systole/worker/network/watchdog.h"

namespace systole::worker {

class SessionTemplate;

// What is beyond a limit is refused with RESOURCE_EXHAUSTED.
struct WorkerLimits {
  int64_t max_sessions = 16;
  int64_t max_bytes = 0;      // of the arrays of all sessions; 0: three quarters of the memory
  int64_t max_queued = 1024;  // operations of a session that have no reply yet
  int64_t max_program_bytes = int64_t{256} << 20;
  double max_compile_seconds = 600;
  double max_launch_seconds = 3600;  // of an operation of a session in a process of its own
  double max_profile_seconds = 600;
  int64_t max_profile_bytes = int64_t{128} << 20;
};

// Files in PEM format. They are read again when they change.
struct WorkerTls {
  std::string certificate;  // the server's, with its chain; "": no TLS
  std::string key;
  unsigned reload_seconds = 10;  // between looks at the files
  std::string client_ca;  // clients must have a certificate of this authority; "": they need none
};

struct WorkerOptions {
  std::string listen = "127.0.0.1:8470";  // port 0: a free one
  std::string token;                      // which clients must know; "": none
  WorkerTls tls;
  WorkerLimits limits;
  double lease_seconds = 30;          // that a session outlives its connection
  double max_lease_seconds = 300;     // that a client may ask for
  double unopened_seconds = 10;       // that a session without a stream lasts
  double first_message_seconds = 10;  // until a call must have sent its first message
  // The worker calls its own port. When it gets no answer, it calls `on_deaf`, which should end the
  // process: a new one can serve.
  WatchdogOptions watchdog;
  std::function<void()> on_deaf = {};
  ConnectionLimits connections;  // max_known 0: four for each session, and 32
  double stall_seconds = 30;  // without a message from a client, or with one that it does not read
  // A folder of this worker's own, where a later worker finds how this one ended; "": none.
  std::string state_folder;
  // Makes a process for each session, where its operations run. Null: they run in this process,
  // where nothing ends a launch that does not end. It must outlive the worker.
  SessionTemplate* processes = nullptr;
  // Returns the limits of this machine, for profiles; none: they are not known.
  std::function<tracing::DevicePeaks()> peaks = {};
};

}  // namespace systole::worker
