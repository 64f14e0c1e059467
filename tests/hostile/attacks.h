// The attacks on a worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace systole::hostile {

// A worker that is attacked.
struct Target {
  std::string address;  // "127.0.0.1:8470"
  int port = 0;
  std::string token;
  double scale = 1;  // of the number of turns
  // Returns `count` turns at full scale.
  int64_t turns(int64_t count) const {
    const auto scaled = static_cast<int64_t>(static_cast<double>(count) * scale);
    return scaled < 1 ? 1 : scaled;
  }
};

struct Attack {
  const char* name;
  bool has_token;
  // Runs in a process of its own. What it throws or leaves open is of no interest.
  void (*run)(const Target& target);
  // Starts a worker for this attack alone, with so many descriptors; 0: uses that of the others.
  int descriptors = 0;
};

std::vector<Attack> stranger_attacks();
std::vector<Attack> client_attacks();
std::vector<Attack> session_attacks();
std::vector<Attack> program_attacks();

}  // namespace systole::hostile
