// systole worker: serves the devices of this machine.
#include <fmt/core.h>
#include <pthread.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "apps/systole/base/command.h"
#include "systole/base/environment.h"
#include "systole/base/error.h"
#include "systole/profile/analysis.h"
#include "systole/session/targets/target.h"
#include "systole/worker/protocol/channel.h"
#include "systole/worker/protocol/credential_file.h"
#include "systole/worker/server/worker_server.h"
#include "systole/worker/session_main.h"
#include "systole/worker/session_template.h"
#include "systole/worker/worker_status.h"

namespace systole::app {
namespace {

// From the end of the grace time to that of the process.
constexpr auto kEndWithin = std::chrono::milliseconds(1500);
// The exit code that asks for another start (docs/deploying.md).
constexpr int kTryAgain = 75;

struct WorkerFlags {
  worker::WorkerOptions options;
  std::string device;
  std::string token_file;
  std::string state = "auto";
  double grace_seconds = 30;
  std::string isolation = "auto";
  std::string status_address;
  bool status_shown = false;
  bool status_json = false;
};

// ~/.local/state/systole/worker-8470, or below XDG_STATE_HOME; "" without a home or a port.
std::string default_state_folder(const std::string& listen) {
  const std::string port = listen.substr(listen.rfind(':') + 1);
  std::string folder = environment_value("XDG_STATE_HOME");
  if (folder.empty() && !environment_value("HOME").empty())
    folder = environment_value("HOME") + "/.local/state";
  if (folder.empty() || port == "0") return "";
  return folder + "/systole/worker-" + port;
}

std::string read_token(const std::string& path) {
  if (path.empty()) return "";
  std::string token = worker::read_token_file("token file", path);
  worker::check_token_text(token, fmt::format("the token file '{}'", path));
  return token;
}

// Blocks the signals that end a worker, in this thread and those that it starts.
sigset_t block_stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// Whether the target's devices may be opened by several processes: this CPU's may, those of a
// plugin belong to one.
bool can_isolate(const std::string& device) {
  return device.empty() || device == "local" || device.starts_with("local:");
}

// Makes the template of the processes of sessions, or none. REQUIRES: no thread was started.
std::unique_ptr<worker::SessionTemplate> make_template(const WorkerFlags& flags) {
  if (flags.isolation != "auto" && flags.isolation != "on" && flags.isolation != "off") {
    throw invalid_argument("--isolation, got '{}', expected auto, on or off", flags.isolation);
  }
  const bool possible = can_isolate(flags.device);
  if (flags.isolation == "on" && !possible) {
    throw invalid_argument("--isolation, got 'on' for '{}', whose devices one process owns",
                           flags.device);
  }
  if (flags.isolation == "off" || !possible) return nullptr;
  return std::make_unique<worker::SessionTemplate>(
      [device = flags.device](const worker::SessionSeat& seat,
                              const std::shared_ptr<worker::SharedCounters>& counters) {
        worker::run_session(*resolve_target(device, "").client, seat, counters, true);
      });
}

void serve(WorkerFlags& flags) {
  flags.options.token = read_token(flags.token_file);
  flags.options.state_folder =
      flags.state == "auto" ? default_state_folder(flags.options.listen) : flags.state;
  flags.options.on_deaf = [] { std::_Exit(kTryAgain); };
  flags.options.peaks = profile::machine_peaks;
  const sigset_t signals = block_stop_signals();
  const auto processes = make_template(flags);  // first: it forks
  flags.options.processes = processes.get();
  const Target target = resolve_target(flags.device, "");
  worker::WorkerServer server(*target.client, flags.options);
  if (!server.note().empty()) fmt::print("note: {}\n", server.note());
  fmt::print("serving {} at {}\n", target.client->devices().front().name, server.address());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  const char* const name = signal == SIGTERM ? "SIGTERM" : signal == SIGINT ? "SIGINT" : "SIGHUP";
  fmt::print("{}: {} s for programs to save and to go; again to end at once\n", name,
             flags.grace_seconds);
  std::fflush(stdout);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // a second signal ends the process
  server.preempt(name, flags.grace_seconds);
  // A launch in this process that does not end must not keep it.
  std::thread([] {
    std::this_thread::sleep_for(kEndWithin);
    std::_Exit(0);
  }).detach();
}

void add_options(CommandLine& line, WorkerFlags& flags) {
  worker::WorkerOptions& options = flags.options;
  line.option("--listen", options.listen, "Address; port 0: a free one")
      .show_default()
      .value_name("HOST:PORT");
  line.option("--device", flags.device,
              "Session target to serve: local:v3-8; default: this machine")
      .value_name("TARGET");
  line.option("--token-file", flags.token_file, "File with the token that clients must know")
      .value_name("FILE");
  line.option("--certificate", options.tls.certificate, "Certificate for TLS, PEM")
      .value_name("FILE");
  line.option("--key", options.tls.key, "Its key, PEM").value_name("FILE");
  line.option("--client-ca", options.tls.client_ca,
              "Authority that the certificates of clients must have, PEM")
      .value_name("FILE");
  line.option("--max-sessions", options.limits.max_sessions, "Programs at a time")
      .show_default()
      .positive();
  line.option("--max-bytes", options.limits.max_bytes,
              "Memory for arrays; default: three quarters of the machine's")
      .as_bytes();
  line.option("--max-program-bytes", options.limits.max_program_bytes, "Size of a program")
      .as_bytes();
  line.option("--max-queue", options.limits.max_queued, "Operations of a program that wait")
      .show_default()
      .positive();
  line.option("--max-compile-seconds", options.limits.max_compile_seconds, "Time for a compilation")
      .show_default();
  line.option("--max-launch-seconds", options.limits.max_launch_seconds,
              "Time for a launch; its session ends then (with --isolation)")
      .show_default();
  line.option("--max-profile-seconds", options.limits.max_profile_seconds,
              "Time of a recording for `systole profile`")
      .show_default();
  line.option("--max-profile-bytes", options.limits.max_profile_bytes, "Size of a recording")
      .as_bytes();
  line.option("--isolation", flags.isolation,
              "A process for each program, so that none can harm another: auto (where the devices "
              "can be shared), on, off")
      .value_name("MODE")
      .show_default();
  line.option("--lease-seconds", options.lease_seconds,
              "Time that a program's arrays outlive its connection")
      .show_default();
  line.option("--max-lease-seconds", options.max_lease_seconds,
              "The longest such time that a program may ask for")
      .show_default();
  line.option("--grace-seconds", flags.grace_seconds,
              "Time for programs to save their work after SIGTERM")
      .show_default();
  line.option("--state", flags.state,
              "Folder where the next worker finds how this one ended; \"\": none")
      .value_name("FOLDER");
}

}  // namespace

const Command kWorkerCommand{
    .name = "worker",
    .summary = "Serves this machine's devices to programs elsewhere (grpc://host:port)",
    .add =
        [](CommandLine& line) {
          const auto flags = std::make_shared<WorkerFlags>();
          add_options(line, *flags);
          CommandLine& status = line.command("status", "Shows how a worker is");
          status.option("address", flags->status_address, "host:port").required();
          status.flag("--json", flags->status_json, "Prints JSON");
          status.example("127.0.0.1:8470");
          status.on_run([flags] {
            flags->status_shown = true;
            fmt::print("{}", flags->status_json ? worker::worker_status_json(flags->status_address)
                                                : worker::worker_status(flags->status_address));
          });
          // Actions of subcommands run first.
          line.on_run([flags] {
            if (!flags->status_shown) serve(*flags);
          });
        },
    .examples = {"--listen 127.0.0.1:8470", "--device local:v3-8",
                 "--listen 0.0.0.0:8470 --certificate w.pem --key w.key --token-file token",
                 "status 127.0.0.1:8470"},
};

}  // namespace systole::app
