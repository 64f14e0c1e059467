// What the reactors of all calls share.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "systole/base/mutex.h"
#include "systole/worker/network/connections.h"

namespace systole::worker {

class Call;

// All calls that are under way. Thread-safe.
class CallList {
 public:
  // Calls that wait for their first message, each of which may take the memory of a message. When
  // there are more, the oldest one of the connection with most of them ends.
  static constexpr size_t kMaxFirstReads = 32;

  // Ends calls that are late. Called every 0.1 s or so.
  void check(std::chrono::steady_clock::time_point now);

 private:
  friend class Call;
  // REQUIRES: the lock, and a call that waits for its first message.
  Call& first_read_to_end() const SYSTOLE_REQUIRES(mutex_);

  Mutex mutex_;
  std::list<Call*> calls_ SYSTOLE_GUARDED_BY(mutex_);
  std::list<Call*> first_reads_ SYSTOLE_GUARDED_BY(mutex_);  // oldest first
};

// Ends a call from any thread, as long as it lives. Thread-safe.
class Canceller {
 public:
  explicit Canceller(grpc::ServerContextBase& context) : context_(&context) {}
  void cancel();

 private:
  friend class Call;
  Mutex mutex_;
  grpc::ServerContextBase* context_ SYSTOLE_GUARDED_BY(mutex_);  // null after the call
};

// What a call needs of its surroundings. All but the connection outlive it.
struct CallContext {
  grpc::GenericCallbackServerContext& grpc;
  CallList& calls;
  Connections& connections;
  std::shared_ptr<Connection> connection;
};

// A reactor, which deletes itself when the call has ended.
class Call : public grpc::ServerGenericBidiReactor {
 public:
  explicit Call(const CallContext& context);
  ~Call() override;
  void OnDone() override;
  void OnCancel() override;

 protected:
  // Reads the first message into `message`; one that does not arrive within `seconds` ends the
  // call. Whoever wants to answer calls claim() first.
  void read_first(grpc::ByteBuffer* message, double seconds);
  // The caller goes on with the call. Returns false if it has ended meanwhile.
  bool claim();
  // The call ends by cancellation after `seconds`; 0: it does not.
  void set_deadline(double seconds);
  // The connection has shown that its client speaks the protocol. Errors: RESOURCE_EXHAUSTED if
  // there are too many such connections.
  void admit_connection();
  const std::shared_ptr<Canceller>& canceller() const { return canceller_; }

 private:
  friend class CallList;
  enum class State { waits, claimed, ended };
  // REQUIRES: the lock of the list.
  void check(std::chrono::steady_clock::time_point now);
  // Ends a call that waits for its first message.
  void give_up(const grpc::Status& status);

  CallList& calls_;
  Connections& connections_;
  const std::shared_ptr<Connection> connection_;
  const std::shared_ptr<Canceller> canceller_;
  const std::string method_;
  std::atomic<State> state_ = State::waits;
  std::atomic<int64_t> deadline_{0};  // steady nanoseconds; 0: none
  std::list<Call*>::iterator place_;
  std::list<Call*>::iterator first_read_place_;  // guarded by the list's mutex
  bool in_first_reads_ = false;                  // guarded by the list's mutex
};

}  // namespace systole::worker
