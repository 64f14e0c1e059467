// Attacks `systole board` on this machine and prints what its other clients and its memory see:
//
//   board_attack [SYSTOLE [SECONDS]]
//
// SYSTOLE is the program to attack, by default the one beside this one. Each line is a figure with
// its bound; the exit status is 1 if one is exceeded. Connects to the loopback address only, and
// removes what it wrote. SECONDS is the length of each attack, 10 by default.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "systole/io/events/event_writer.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/wire/compression.h"

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using systole::EventWriter;
using systole::local_file_system;

constexpr double kMiB = 1024.0 * 1024.0;
constexpr int kMemoryMiB = 64;    // --memory
constexpr int kAllowedMiB = 256;  // beyond it
constexpr int kHalfOpen = 1000;
constexpr int kCostly = 24;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Prints a figure. Remembers whether a bound was exceeded.
bool exceeded = false;
void report(const std::string& what, double value, const char* unit, double most) {
  const bool good = value <= most;
  exceeded = exceeded || !good;
  fmt::print("{:<62} {:9.3f} {:<4} at most {:g}{}\n", what, value, unit, most,
             good ? "" : "  EXCEEDED");
  std::fflush(stdout);
}

// -- A board

class BoardProcess {
 public:
  BoardProcess(const std::string& program, const fs::path& logdir) {
    std::array<int, 2> out{};
    if (::pipe(out.data()) != 0) std::abort();
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(out[1], STDOUT_FILENO);
      ::close(out[0]);
      ::close(out[1]);
      const rlimit usual{.rlim_cur = 1024, .rlim_max = 1024};
      ::setrlimit(RLIMIT_NOFILE, &usual);
      const std::string memory = fmt::format("{}MiB", kMemoryMiB);
      ::execl(program.c_str(), program.c_str(), "board", logdir.c_str(), "--port", "0", "--memory",
              memory.c_str(), "--reload-seconds", "0.2", nullptr);
      std::_Exit(127);
    }
    ::close(out[1]);
    std::string text;
    std::array<char, 1024> buffer{};
    while (text.find("Ctrl-C") == std::string::npos) {
      const ssize_t got = ::read(out[0], buffer.data(), buffer.size());
      if (got <= 0) break;
      text.append(buffer.data(), static_cast<size_t>(got));
    }
    ::close(out[0]);
    const size_t colon = text.find("127.0.0.1:");
    if (colon != std::string::npos) port_ = std::atoi(text.c_str() + colon + 10);
    if (port_ == 0) {
      fmt::print("cannot start {} board: {}\n", program, text);
      std::exit(2);
    }
  }
  ~BoardProcess() { stop(); }
  BoardProcess(const BoardProcess&) = delete;
  BoardProcess& operator=(const BoardProcess&) = delete;

  int port() const { return port_; }

  // Returns the largest resident memory so far.
  double peak_mib() const {
    std::ifstream status(fmt::format("/proc/{}/status", process_));
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmHWM:")) return std::atof(line.c_str() + 6) / 1024;
    }
    return 0;
  }

  // Sends SIGTERM. Returns the seconds until the process has ended; kills it after 20.
  double stop() {
    if (process_ <= 0) return 0;
    const auto begin = Clock::now();
    ::kill(process_, SIGTERM);
    while (::waitpid(process_, nullptr, WNOHANG) == 0) {
      if (seconds_since(begin) > 20) ::kill(process_, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    process_ = 0;
    return seconds_since(begin);
  }

 private:
  pid_t process_ = 0;
  int port_ = 0;
};

// -- Clients

// Returns -1 if there is no connection.
int connect_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return socket;
  ::close(socket);
  return -1;
}

// Asks for a path in a connection of its own. Returns the size of the answer; 0 without one.
size_t get(int port, const std::string& path) {
  const int socket = connect_to(port);
  if (socket < 0) return 0;
  const std::string request =
      fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
  size_t size = 0;
  if (::send(socket, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    std::array<char, 65536> buffer;
    pollfd entry{.fd = socket, .events = POLLIN, .revents = 0};
    while (::poll(&entry, 1, 60'000) > 0) {
      const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      size += static_cast<size_t>(got);
    }
  }
  ::close(socket);
  return size;
}

// Keeps connections open that never finish a request: each closed one is replaced.
class HalfOpenClients {
 public:
  explicit HalfOpenClients(int port) : thread_([this, port] { run(port); }) {}
  ~HalfOpenClients() {
    stop_ = true;
    thread_.join();
  }
  HalfOpenClients(const HalfOpenClients&) = delete;
  HalfOpenClients& operator=(const HalfOpenClients&) = delete;

 private:
  void run(int port) {
    constexpr std::string_view kPart = "GET /api/status HTTP/1.1\r\nHost: localho";
    std::vector<pollfd> open;
    while (!stop_) {
      while (open.size() < kHalfOpen && !stop_) {
        const int socket = connect_to(port);
        if (socket < 0) break;
        static_cast<void>(::send(socket, kPart.data(), kPart.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
        open.push_back({.fd = socket, .events = POLLIN, .revents = 0});
      }
      ::poll(open.data(), open.size(), 10);
      std::erase_if(open, [](const pollfd& entry) {
        if (entry.revents != 0) ::close(entry.fd);
        return entry.revents != 0;
      });
    }
    for (const pollfd& entry : open) ::close(entry.fd);
  }

  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// Asks many at once. Returns how many had an answer.
int get_at_once(int port, const std::string& path, int times) {
  std::atomic<int> answered = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < times; ++i) {
    threads.emplace_back([&] { answered += get(port, path) > 0 ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  return answered;
}

// Waits until the board has read its directory.
void wait_until_read(int port) {
  for (int i = 0; i < 600; ++i) {
    const int socket = connect_to(port);
    constexpr std::string_view kStatus =
        "GET /api/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    std::string text;
    if (socket >= 0) {
      static_cast<void>(::send(socket, kStatus.data(), kStatus.size(), MSG_NOSIGNAL));
      std::array<char, 4096> buffer;
      for (ssize_t got = 1; (got = ::recv(socket, buffer.data(), buffer.size(), 0)) > 0;)
        text.append(buffer.data(), static_cast<size_t>(got));
      ::close(socket);
    }
    if (text.find("\"ready\":true") != std::string::npos) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

// -- Directories

void write_scalars(const fs::path& directory, int tags, int steps) {
  EventWriter writer(local_file_system(), directory.string());
  for (int step = 1; step <= steps; ++step) {
    for (int tag = 0; tag < tags; ++tag) writer.add_scalar(fmt::format("tag{}", tag), step, tag);
  }
  writer.close();
}

// A trace of `bytes` bytes whose file has a thousandth of them. `part` is repeated inside the list.
void write_bomb(const fs::path& path, const std::string& part, size_t bytes) {
  const auto file = local_file_system().create(path.string());
  const auto packed = systole::compress_into(*file, systole::Compression::gzip, path.string());
  packed->append("{\"traceEvents\":[");
  std::string many;
  while (many.size() < (1U << 20U)) many += part;
  for (size_t written = 0; written < bytes; written += many.size()) packed->append(many);
  packed->append("{}]}");
  packed->close();
  file->close();
}

// -- Attacks

void attack_with_half_open_connections(const std::string& program, const fs::path& root,
                                       int seconds) {
  write_scalars(root, 10, 100);
  BoardProcess board(program, root);
  wait_until_read(board.port());
  std::vector<double> times;
  int lost = 0;
  {
    const HalfOpenClients clients(board.port());
    std::this_thread::sleep_for(std::chrono::seconds(1));
    for (const auto begin = Clock::now(); seconds_since(begin) < seconds;) {
      const auto asked = Clock::now();
      if (get(board.port(), "/api/status") == 0) ++lost;
      times.push_back(seconds_since(asked));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    report(fmt::format("{} half-open connections: memory", kHalfOpen), board.peak_mib(), "MiB",
           kMemoryMiB + kAllowedMiB);
    report("  SIGTERM meanwhile", board.stop(), "s", 2);
  }
  std::ranges::sort(times);
  report(fmt::format("  p99 of {} requests of others", times.size()),
         times[times.size() * 99 / 100], "s", 1);
  report("  requests without an answer", lost, "", 0);
}

void attack_with_tags(const std::string& program, const fs::path& root) {
  constexpr int kTags = 500'000;
  {
    EventWriter writer(local_file_system(), root.string());
    const std::string name(100, 'n');
    for (int tag = 0; tag < kTags; ++tag) writer.add_scalar(fmt::format("{}{}", name, tag), 1, 1);
    writer.close();
  }
  BoardProcess board(program, root);
  wait_until_read(board.port());
  report(fmt::format("{} tags: memory when they are read", kTags), board.peak_mib(), "MiB",
         kMemoryMiB + kAllowedMiB);
  for (const char* path : {"/api/index", "/data/plugin/scalars/tags", "/data/plugins_listing"}) {
    const int answered = get_at_once(board.port(), path, kCostly);
    report(fmt::format("  and after {} x {}, {} answered", kCostly, path, answered),
           board.peak_mib(), "MiB", kMemoryMiB + kAllowedMiB);
  }
  report("  SIGTERM", board.stop(), "s", 2);
}

void attack_with_bombs(const std::string& program, const fs::path& root) {
  write_scalars(root, 1, 1);
  const fs::path folder = root / "plugins" / "profile" / "p";
  fs::create_directories(folder);
  write_bomb(folder / "spaces.trace.json.gz", "  ", size_t{1} << 30U);
  write_bomb(folder / "events.trace.json.gz", R"({"ph":"X","ts":1,"dur":1,"name":"n"},)",
             size_t{1} << 30U);
  write_bomb(folder / "lists.trace.json.gz",
             R"({"ph":"X","args":{"a":[[],[],[],[],[],[],[],[]]}},)", size_t{400} << 20U);
  write_bomb(folder / "one.trace.json.gz", "[],[],[],", size_t{400} << 20U);
  BoardProcess board(program, root);
  wait_until_read(board.port());
  for (const char* name : {"spaces", "events", "lists", "one"}) {
    const auto begin = Clock::now();
    const int answered = get_at_once(
        board.port(), fmt::format("/api/profile_trace?profile=p&file={}.trace.json.gz", name),
        kCostly);
    report(fmt::format("{} gzip bombs of {}: memory, {} answered in {:.1f} s", kCostly, name,
                       answered, seconds_since(begin)),
           board.peak_mib(), "MiB", kMemoryMiB + kAllowedMiB);
  }
  std::thread asks([&] {
    get_at_once(board.port(), "/api/profile_trace?profile=p&file=lists.trace.json.gz", kCostly);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto begin = Clock::now();
  get(board.port(), "/api/status");
  report("  status of another client meanwhile", seconds_since(begin), "s", 1);
  report("  SIGTERM meanwhile", board.stop(), "s", 2);
  asks.join();
}

void attack_with_points(const std::string& program, const fs::path& root) {
  write_scalars(root / "long", 1, 3'000'000);
  {
    EventWriter writer(local_file_system(), (root / "back").string());
    for (int i = 0; i < 1'500'000; ++i) writer.add_scalar("tag0", i % 2, i);
    writer.close();
  }
  BoardProcess board(program, root);
  wait_until_read(board.port());
  report("4,500,000 points: memory when they are read", board.peak_mib(), "MiB",
         kMemoryMiB + kAllowedMiB);
  for (const char* path :
       {"/api/scalars.csv?tag=tag0&runs=0,1", "/data/plugin/scalars/scalars?run=long&tag=tag0"}) {
    const int answered = get_at_once(board.port(), path, kCostly);
    report(fmt::format("  and after {} x {}, {} answered", kCostly, path, answered),
           board.peak_mib(), "MiB", kMemoryMiB + kAllowedMiB);
  }
  report("  SIGTERM", board.stop(), "s", 2);
}

void attack_with_kinds_of_files(const std::string& program, const fs::path& root) {
  write_scalars(root / "a", 1, 1);
  const fs::path folder = root / "plugins" / "profile" / "p";
  fs::create_directories(folder);
  for (const fs::path& path : {root / "a" / "config.yaml", root / "a" / "events.out.tfevents.9.p",
                               folder / "h.overview_page.json", folder / "h.trace.json.gz"}) {
    ::mkfifo(path.c_str(), 0600);
  }
  fs::create_symlink("/dev/zero", root / "a" / "hparams.json");
  fs::create_symlink("/dev/tty", folder / "t.trace.json.gz");
  BoardProcess board(program, root);
  wait_until_read(board.port());
  const auto begin = Clock::now();
  get_at_once(board.port(), "/api/profile_page?profile=p&file=h.overview_page.json", kCostly);
  get_at_once(board.port(), "/api/profile_trace?profile=p&file=h.trace.json.gz", kCostly);
  get_at_once(board.port(), "/api/profile_trace?profile=p&file=t.trace.json.gz", kCostly);
  report("pipes and devices: 72 requests for them", seconds_since(begin), "s", 2);
  report("  SIGTERM", board.stop(), "s", 2);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string program =
      count > 1 ? arguments[1] : (fs::path(arguments[0]).parent_path() / "systole").string();
  const int seconds = count > 2 ? std::atoi(arguments[2]) : 10;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 4096);
  ::setrlimit(RLIMIT_NOFILE, &files);
  const fs::path root = fs::temp_directory_path() / fmt::format("board_attack.{}", ::getpid());
  attack_with_half_open_connections(program, root / "half_open", seconds);
  attack_with_tags(program, root / "tags");
  attack_with_bombs(program, root / "bombs");
  attack_with_points(program, root / "points");
  attack_with_kinds_of_files(program, root / "kinds");
  fs::remove_all(root);
  return exceeded ? 1 : 0;
}
