// Arrays in the memory of a plugin's devices.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "systole/backends/pjrt/interface.h"
#include "systole/backends/pjrt/plugin.h"
#include "systole/base/mutex.h"
#include "systole/runtime/client.h"

namespace systole::pjrt {

// A client of a plugin and its devices. Buffers keep it alive.
struct Session {
  std::shared_ptr<const Plugin> plugin;
  PJRT_Client* client = nullptr;
  std::string platform;
  std::vector<runtime::Device> devices;
  std::vector<PJRT_Device*> handles;  // by index in `devices`

  Session() = default;
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Errors: INVALID_ARGUMENT for a device that this process does not have.
  PJRT_Device* device(int id) const;
  void destroy_buffer(PJRT_Buffer* buffer) const noexcept;
};

// One value of a buffer: a PJRT_Buffer on each device. Immutable.
class DeviceArray {
 public:
  // Takes the buffers over. `stacked`: each has a slice of the first axis of the array of `type`;
  // else each has all of it.
  DeviceArray(std::shared_ptr<const Session> session, TensorType type, bool stacked,
              DeviceIds device_ids, std::vector<PJRT_Buffer*> buffers, runtime::Event ready);
  ~DeviceArray();
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  const Session& session() const { return *session_; }
  const TensorType& type() const { return type_; }
  bool stacked() const { return stacked_; }
  const std::vector<int>& device_ids() const { return *device_ids_; }
  const std::vector<PJRT_Buffer*>& buffers() const { return buffers_; }  // by device
  const runtime::Event& ready() const { return ready_; }

  // Copies the elements to `target`, with the contract of Buffer::copy_to_host(). Keeps `self`
  // alive until the copy has ended.
  static runtime::Event copy_to_host(const std::shared_ptr<const DeviceArray>& self,
                                     Tensor& target);

 private:
  std::shared_ptr<const Session> session_;
  TensorType type_;
  bool stacked_;
  DeviceIds device_ids_;
  std::vector<PJRT_Buffer*> buffers_;
  runtime::Event ready_;
};

// Copies `tensor` to the devices with these ids. With `stacked`, device r gets slice r of the first
// axis. Reads the memory before it returns unless `host_memory_free` is given.
std::shared_ptr<const DeviceArray> upload(const std::shared_ptr<const Session>& session,
                                          const Tensor& tensor, const DeviceIds& device_ids,
                                          bool stacked, runtime::Event* host_memory_free = nullptr);

// A buffer of the client. Its value is replaced when it is donated.
class PjrtBuffer final : public runtime::Buffer {
 public:
  explicit PjrtBuffer(std::shared_ptr<const DeviceArray> array)
      : type_(array->type()), device_id_(array->device_ids().front()), array_(std::move(array)) {}
  // A buffer whose launch failed.
  PjrtBuffer(const Session& session, TensorType type, int device_id, runtime::Event failure)
      : session_(&session),
        type_(std::move(type)),
        device_id_(device_id),
        failure_(std::move(failure)) {}

  const TensorType& type() const override { return type_; }
  int device_id() const override { return device_id_; }
  runtime::Event ready() const override;
  runtime::Event copy_to_host(Tensor& target) const override;

  bool belongs_to(const Session& session) const;
  // Null after a launch that failed: then the error is that of ready().
  std::shared_ptr<const DeviceArray> array() const;
  void replace(std::shared_ptr<const DeviceArray> array);
  void fail(const Session& session, runtime::Event failure);
  // Whether this buffer alone has its array, of which the caller holds one copy.
  bool is_only_owner(const std::shared_ptr<const DeviceArray>& array) const {
    return array.use_count() == 2;
  }

 private:
  const Session* session_ = nullptr;  // of a failed buffer
  TensorType type_;
  int device_id_;
  mutable Mutex mutex_;
  std::shared_ptr<const DeviceArray> array_ SYSTOLE_GUARDED_BY(mutex_);
  runtime::Event failure_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace systole::pjrt
