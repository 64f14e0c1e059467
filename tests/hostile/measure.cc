#include "tests/hostile/measure.h"

#include <fmt/core.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <utility>

#include "systole/worker/protocol/channel.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/worker.grpc.pb.h"

namespace systole::hostile {
namespace {

using Clock = std::chrono::steady_clock;
namespace v1 = worker::v1;

constexpr double kCallSeconds = 10;
constexpr auto kStatusEvery = std::chrono::milliseconds(5);
constexpr auto kMemoryEvery = std::chrono::milliseconds(10);

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The parent of each process.
std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> found;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    const auto end = text.rfind(')');
    if (end == std::string::npos) continue;
    char state = 0;
    int parent = 0;
    if (std::sscanf(text.c_str() + end + 1, " %c %d", &state, &parent) != 2) continue;
    found[std::stoi(name)] = parent;
  }
  return found;
}

bool is_below(pid_t process, pid_t root, const std::map<pid_t, pid_t>& parents) {
  while (process > 1) {
    if (process == root) return true;
    const auto it = parents.find(process);
    if (it == parents.end()) return false;
    process = it->second;
  }
  return false;
}

// Resident pages of a process, and those of them that it does not share.
std::pair<int64_t, int64_t> pages_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/statm", process));
  int64_t size = 0;
  int64_t resident = 0;
  int64_t shared = 0;
  file >> size >> resident >> shared;
  return {resident, resident - shared};
}

}  // namespace

WorkerProcess::WorkerProcess(const std::string& token, int descriptors) {
  const auto programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string program = (programs / "systole").string();
  char folder[] = "/tmp/systole-hostile-XXXXXX";
  if (::mkdtemp(folder) == nullptr) throw std::runtime_error("mkdtemp failed");
  folder_ = folder;
  const std::string token_file = folder_ + "/token";
  std::ofstream(token_file) << token << "\n";
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("pipe failed");
  process_ = ::fork();
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (descriptors > 0) {
      const rlimit limit{static_cast<rlim_t>(descriptors), static_cast<rlim_t>(descriptors)};
      ::setrlimit(RLIMIT_NOFILE, &limit);
    }
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    const std::string bytes = std::to_string(kMaxBytes);
    ::execl(program.c_str(), "systole", "worker", "--listen", "127.0.0.1:0", "--token-file",
            token_file.c_str(), "--max-bytes", bytes.c_str(), "--state", "", "--grace-seconds", "1",
            "--lease-seconds", "1", "--max-lease-seconds", "2", static_cast<const char*>(nullptr));
    ::_exit(127);
  }
  ::close(ends[1]);
  output_ = ::fdopen(ends[0], "r");
  char line[256] = "";
  while (std::fgets(line, sizeof line, output_) != nullptr) {
    const std::string text = line;
    const auto at = text.find(" at ");
    if (!text.starts_with("serving") || at == std::string::npos) continue;
    address_ = text.substr(at + 4, text.size() - at - 5);
    return;
  }
  throw std::runtime_error(program + " worker does not serve");
}

WorkerProcess::~WorkerProcess() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  std::fclose(output_);
  std::error_code failure;
  std::filesystem::remove_all(folder_, failure);
}

int64_t WorkerProcess::resident_bytes() const {
  const auto all = parents();
  int64_t pages = pages_of(process_).first;
  for (const auto& [process, parent] : all) {
    if (process != process_ && is_below(process, process_, all)) pages += pages_of(process).second;
  }
  return pages * ::sysconf(_SC_PAGESIZE);
}

bool WorkerProcess::alive() const {
  siginfo_t ended{};
  return ::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0;
}

Bystander::Bystander(const std::string& address, const std::string& token)
    : thread_([this, address, token] { run(address, token); }) {}

Bystander::~Bystander() {
  ending_ = true;
  thread_.join();
}

void Bystander::run(const std::string& address, const std::string& token) {
  const worker::Credentials credentials{.token = token};
  const auto stub = v1::Worker::NewStub(worker::make_channel(address, credentials));
  while (!ending_) {
    const auto begin = Clock::now();
    grpc::ClientContext context;
    worker::prepare(context, credentials, kCallSeconds);
    v1::StatusReply reply;
    const bool ok = stub->Status(&context, {}, &reply).ok();
    {
      const std::lock_guard lock(mutex_);
      seconds_.push_back(seconds_since(begin));
      if (!ok) ++failed_;
    }
    std::this_thread::sleep_for(kStatusEvery);
  }
}

Latency Bystander::take() {
  std::vector<double> seconds;
  Latency latency;
  {
    const std::lock_guard lock(mutex_);
    seconds.swap(seconds_);
    latency.failed = std::exchange(failed_, 0);
  }
  if (seconds.empty()) return latency;
  std::ranges::sort(seconds);
  latency.calls = static_cast<int64_t>(seconds.size());
  latency.median = seconds[seconds.size() / 2];
  latency.p99 = seconds[seconds.size() * 99 / 100];
  return latency;
}

bool serves_fully(const std::string& address, const std::string& token) {
  const worker::Credentials credentials{.token = token};
  const auto stub = v1::Worker::NewStub(worker::make_channel(address, credentials));
  v1::HelloRequest hello;
  hello.set_min_version(worker::kNewestVersion);
  hello.set_max_version(worker::kNewestVersion);
  hello.set_client("full service");
  v1::HelloReply made;
  {
    grpc::ClientContext context;
    worker::prepare(context, credentials, 1);
    if (!stub->Hello(&context, hello, &made).ok()) return false;
  }
  grpc::ClientContext context;
  worker::prepare(context, credentials, 2);
  const auto stream = stub->Session(&context);
  v1::Request request;
  *request.mutable_open()->mutable_session() = made.session();
  v1::Reply reply;
  bool served = stream->Write(request) && stream->Read(&reply);
  request.Clear();
  request.set_op_id(1);
  request.mutable_nothing();
  served = served && stream->Write(request) && stream->Read(&reply) && reply.op_id() == 1;
  grpc::ClientContext close_context;
  worker::prepare(close_context, credentials, 1);
  v1::CloseReply closed;
  const bool gone = stub->Close(&close_context, made.session(), &closed).ok();
  context.TryCancel();
  static_cast<void>(stream->Finish());
  return served && gone;
}

MemoryWatch::MemoryWatch(const WorkerProcess& worker)
    : most_(worker.resident_bytes()), thread_([this, &worker] {
        while (!ending_) {
          most_ = std::max<int64_t>(most_, worker.resident_bytes());
          std::this_thread::sleep_for(kMemoryEvery);
        }
      }) {}

MemoryWatch::~MemoryWatch() {
  ending_ = true;
  thread_.join();
}

}  // namespace systole::hostile
