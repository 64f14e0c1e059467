// A worker in another process, its memory, and how it serves somebody else.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace systole::hostile {

inline constexpr int64_t kMaxBytes = int64_t{256} << 20;  // of the worker

// `systole worker`, from construction to destruction.
class WorkerProcess {
 public:
  // `descriptors`: its limit of them; 0: as this process. Errors: std::runtime_error if it does not
  // serve.
  WorkerProcess(const std::string& token, int descriptors);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  const std::string& address() const { return address_; }
  // Resident memory of it and of all processes below it, in bytes. Pages that they share with it
  // are counted once.
  int64_t resident_bytes() const;
  bool alive() const;

 private:
  pid_t process_ = -1;
  std::FILE* output_ = nullptr;
  std::string folder_;
  std::string address_;
};

struct Latency {
  double median = 0;  // seconds
  double p99 = 0;
  int64_t calls = 0;
  int64_t failed = 0;
};

// Another client: asks a worker for its status, on one connection, until it is told to stop.
class Bystander {
 public:
  Bystander(const std::string& address, const std::string& token);
  ~Bystander();
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;
  // The calls since the last one of this function.
  Latency take();

 private:
  void run(const std::string& address, const std::string& token);

  std::atomic<bool> ending_ = false;
  std::mutex mutex_;
  std::vector<double> seconds_;
  int64_t failed_ = 0;
  std::thread thread_;
};

// Whether a new client can connect, make a session, use it and close it.
bool serves_fully(const std::string& address, const std::string& token);

// Largest resident memory of a worker while it lives.
class MemoryWatch {
 public:
  explicit MemoryWatch(const WorkerProcess& worker);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;
  int64_t most() const { return most_; }

 private:
  std::atomic<bool> ending_ = false;
  std::atomic<int64_t> most_ = 0;
  std::thread thread_;
};

}  // namespace systole::hostile
