#include "systole/hlo/semantics/process.h"

#include <algorithm>

#include "systole/base/mutex.h"

namespace systole::hlo {

std::vector<std::vector<Tensor>> Rendezvous::exchange(const Instruction& instruction,
                                                      std::span<const int64_t> group,
                                                      int64_t process,
                                                      std::vector<Tensor> tensors) {
  const std::vector<int64_t> key(group.begin(), group.end());
  MutexLock lock(mutex_);
  if (failure_) throw Error(*failure_);
  std::shared_ptr<Meeting>& slot = meetings_[key];
  if (slot == nullptr) {
    slot = std::make_shared<Meeting>();
    slot->instruction = &instruction;
    slot->given.resize(key.size());
  }
  const std::shared_ptr<Meeting> meeting = slot;
  if (meeting->instruction != &instruction) {
    const Error error = failed_precondition(
        "{}: processes of a group, got others at '{}', expected all at one op, {}",
        instruction.opcode(), meeting->instruction->opcode(), instruction.describe());
    fail_locked(error);
    throw Error(error);
  }
  const auto place = static_cast<size_t>(std::ranges::find(key, process) - key.begin());
  meeting->given[place] = std::move(tensors);
  if (++meeting->arrived == key.size()) {
    // The others may continue; the group's next exchange is a new meeting.
    num_waiting_ -= static_cast<int64_t>(key.size()) - 1;
    meetings_.erase(key);
    changed_.notify_all();
    return meeting->given;
  }
  ++num_waiting_;
  check_progress();
  changed_.wait(
      lock, [&]() SYSTOLE_REQUIRES(mutex_) { return meeting->arrived == key.size() || failure_; });
  if (meeting->arrived < key.size()) throw Error(*failure_);
  return meeting->given;
}

void Rendezvous::finish() {
  const MutexLock lock(mutex_);
  ++num_finished_;
  check_progress();
}

void Rendezvous::fail(const Error& error) {
  const MutexLock lock(mutex_);
  ++num_finished_;
  fail_locked(error);
}

void Rendezvous::fail_locked(const Error& error) {
  if (!failure_) failure_ = error;
  changed_.notify_all();
}

// If no process runs, the waiting ones would wait forever.
void Rendezvous::check_progress() {
  if (num_waiting_ == 0 || num_waiting_ + num_finished_ < num_processes_) return;
  const Instruction& instruction = *meetings_.begin()->second->instruction;
  fail_locked(
      failed_precondition("{}: processes of a group, got {} of {}, expected all: the others ended "
                          "or wait elsewhere, {}",
                          instruction.opcode(), meetings_.begin()->second->arrived,
                          meetings_.begin()->first.size(), instruction.describe()));
}

std::vector<std::vector<Tensor>> Process::exchange(const Instruction& instruction,
                                                   std::span<const int64_t> group,
                                                   std::vector<Tensor> tensors) {
  if (rendezvous_ == nullptr) return {std::move(tensors)};
  return rendezvous_->exchange(instruction, group, number_, std::move(tensors));
}

}  // namespace systole::hlo
