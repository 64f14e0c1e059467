// Attacks a worker with one program after the other, measures it meanwhile and judges.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "systole/worker/testing/proxy.h"
#include "tests/hostile/attacks.h"
#include "tests/hostile/measure.h"

namespace systole::hostile {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";
constexpr int kAttackSeconds = 60;
constexpr int64_t kMiB = int64_t{1} << 20;

// What an attack may cause.
struct Bounds {
  int64_t memory = 0;       // beyond what the worker had before
  double p99 = 0;           // seconds, of the status of others
  double full_service = 0;  // seconds after the attack
};

constexpr Bounds kOfStrangers{.memory = 64 * kMiB, .p99 = 0.1, .full_service = 1};
// Sessions that were left have a lease of 2 s.
constexpr Bounds kOfClients{.memory = kMaxBytes + 512 * kMiB, .p99 = 1, .full_service = 5};

struct Arguments {
  std::string filter;
  double scale = 1;
  int step = 1;  // runs each step-th attack
  bool list = false;
  std::string attack;  // runs this one alone, against `address`
  std::string address;
};

std::vector<Attack> all_attacks() {
  std::vector<Attack> all = stranger_attacks();
  for (const auto& more : {client_attacks(), session_attacks(), program_attacks()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

Target target_of(const std::string& address, double scale) {
  return {.address = address,
          .port = worker::testing::port_of(address),
          .token = kToken,
          .scale = scale};
}

void raise_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Runs an attack in this process.
int attack(const Attack& attack, const Target& target) {
  raise_descriptors();
  ::alarm(kAttackSeconds);
  try {
    attack.run(target);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", attack.name, error.what());
  }
  std::fflush(nullptr);
  ::_exit(0);  // with all connections open
}

// Runs it in another one, and waits for its end.
void run_attack(const Attack& attack, const Target& target) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string scale = std::to_string(target.scale);
  const pid_t process = ::fork();
  if (process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const rlimit memory{rlim_t{4} << 30, rlim_t{4} << 30};
    ::setrlimit(RLIMIT_AS, &memory);
    ::nice(5);  // the machine is no other one
    ::execl(self.c_str(), "worker_attack", "--attack", attack.name, "--address",
            target.address.c_str(), "--scale", scale.c_str(), static_cast<const char*>(nullptr));
    ::_exit(127);
  }
  ::waitpid(process, nullptr, 0);
}

// Seconds until a new client can work; nullopt if that takes too long.
std::optional<double> time_to_serve(const Target& target, double limit) {
  const auto begin = Clock::now();
  while (true) {
    const bool serves = serves_fully(target.address, target.token);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (serves) return seconds;
    if (seconds > limit + 5) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

class Judge {
 public:
  explicit Judge(double scale) : scale_(scale) {
    fmt::print("{:<44} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "attack", "memory", "status", "p99",
               "calls", "serves");
  }
  // Returns whether the worker can be used for the next attack.
  bool judge(const Attack& attack, const WorkerProcess& worker) {
    const Target target = target_of(worker.address(), scale_);
    const Bounds bounds = attack.has_token ? kOfClients : kOfStrangers;
    serves_fully(target.address, target.token);
    const int64_t before = worker.resident_bytes();
    Bystander bystander(target.address, target.token);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    bystander.take();
    const MemoryWatch memory(worker);
    run_attack(attack, target);
    const Latency latency = bystander.take();
    const auto serves = time_to_serve(target, bounds.full_service);
    const int64_t most = memory.most() - before;
    std::vector<std::string> passed;
    if (most > bounds.memory) passed.emplace_back("memory");
    // A sample has few calls, beside other tests: its times say nothing.
    const bool timed = scale_ >= 1;
    if (timed && latency.p99 > bounds.p99) passed.emplace_back("p99");
    if (latency.failed > 0) passed.emplace_back(fmt::format("{} calls failed", latency.failed));
    if (!serves || (timed && *serves > bounds.full_service)) passed.emplace_back("time to serve");
    if (!worker.alive()) passed.emplace_back("the worker has ended");
    std::string verdict;
    for (const std::string& what : passed) verdict += (verdict.empty() ? " FAILED: " : ", ") + what;
    fmt::print("{:<44} {:>5} MiB {:>6.1f} ms {:>6.1f} ms {:>9} {:>7}{}\n", attack.name, most / kMiB,
               1e3 * latency.median, 1e3 * latency.p99, latency.calls,
               serves ? fmt::format("{:.2f} s", *serves) : "never", verdict);
    std::fflush(stdout);
    if (!passed.empty()) failed_ = true;
    return serves && worker.alive() && most < bounds.memory;
  }
  bool failed() const { return failed_; }

 private:
  double scale_;
  bool failed_ = false;
};

int run_all(const Arguments& arguments) {
  raise_descriptors();
  Judge judge(arguments.scale);
  std::unique_ptr<WorkerProcess> shared;
  int64_t count = 0;
  for (const Attack& attack : all_attacks()) {
    if (std::string(attack.name).find(arguments.filter) == std::string::npos) continue;
    if (count++ % arguments.step != 0) continue;
    if (attack.descriptors != 0) {
      const WorkerProcess own(kToken, attack.descriptors);
      judge.judge(attack, own);
      continue;
    }
    if (shared == nullptr) shared = std::make_unique<WorkerProcess>(kToken, 0);
    if (!judge.judge(attack, *shared)) shared.reset();
  }
  fmt::print("{} attacks{}\n", (count + arguments.step - 1) / arguments.step,
             judge.failed() ? ", FAILED" : "");
  return judge.failed() || count == 0 ? 1 : 0;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--list") {
      arguments.list = true;
    } else if (name == "--sample") {
      arguments.scale = 0.02;
      arguments.step = 4;
    } else if (name == "--filter") {
      arguments.filter = value, ++i;
    } else if (name == "--scale") {
      arguments.scale = std::stod(value), ++i;
    } else if (name == "--attack") {
      arguments.attack = value, ++i;
    } else if (name == "--address") {
      arguments.address = value, ++i;
    } else {
      fmt::print(stderr,
                 "usage: worker_attack [--list] [--filter TEXT] [--sample] [--scale NUMBER]\n");
      std::exit(2);
    }
  }
  return arguments;
}

int run(const Arguments& arguments) {
  for (const Attack& one : all_attacks()) {
    if (arguments.list) fmt::print("{}{}\n", one.name, one.has_token ? " (token)" : "");
    if (one.name == arguments.attack) {
      return attack(one, target_of(arguments.address, arguments.scale));
    }
  }
  return arguments.list ? 0 : run_all(arguments);
}

}  // namespace
}  // namespace systole::hostile

int main(int argc, char** argv) {
  return systole::hostile::run(systole::hostile::parse(argc, argv));
}
