#include "systole/backends/pjrt/device_array.h"

#include <algorithm>

#include "systole/backends/pjrt/transfer.h"
#include "systole/base/mutex.h"

namespace systole::pjrt {

using runtime::Event;

Session::~Session() {
  if (client == nullptr) return;
  auto args = pjrt_abi::make<PJRT_Client_Destroy_Args>();
  args.client = client;
  plugin->call_quietly(&PJRT_Api::PJRT_Client_Destroy, "PJRT_Client_Destroy", args);
}

PJRT_Device* Session::device(int id) const {
  const auto found = std::ranges::find(devices, id, &runtime::Device::id);
  if (found == devices.end()) {
    throw invalid_argument("{}: device, got {}, expected one of the {} of plugin '{}'", platform,
                           id, devices.size(), plugin->path());
  }
  return handles[found - devices.begin()];
}

void Session::destroy_buffer(PJRT_Buffer* buffer) const noexcept {
  auto args = pjrt_abi::make<PJRT_Buffer_Destroy_Args>();
  args.buffer = buffer;
  plugin->call_quietly(&PJRT_Api::PJRT_Buffer_Destroy, "PJRT_Buffer_Destroy", args);
}

DeviceArray::DeviceArray(std::shared_ptr<const Session> session, TensorType type, bool stacked,
                         DeviceIds device_ids, std::vector<PJRT_Buffer*> buffers, Event ready)
    : session_(std::move(session)),
      type_(std::move(type)),
      stacked_(stacked),
      device_ids_(std::move(device_ids)),
      buffers_(std::move(buffers)),
      ready_(std::move(ready)) {}

DeviceArray::~DeviceArray() {
  for (PJRT_Buffer* const buffer : buffers_) session_->destroy_buffer(buffer);
}

Event DeviceArray::copy_to_host(const std::shared_ptr<const DeviceArray>& self, Tensor& target) {
  const bool fits =
      target.unique() && target.dtype() == self->type_.dtype && target.shape() == self->type_.shape;
  if (!fits) target = Tensor(self->type_);
  if (self->type_.byte_size() == 0) return self->ready_;
  const size_t parts = self->stacked_ ? self->buffers_.size() : 1;
  auto* place = static_cast<std::byte*>(target.raw());
  const auto part_size = static_cast<size_t>(self->type_.byte_size()) / parts;
  std::vector<Event> events;
  for (size_t i = 0; i < parts; ++i) {
    events.push_back(
        download(*self->session_, self->buffers_[i], place + i * part_size, part_size));
  }
  Event done = runtime::all_of(events);
  // (Keeps the buffers until they are read.)
  if (!done.ready()) done.then([self](const Error*) {});
  return done;
}

std::shared_ptr<const DeviceArray> upload(const std::shared_ptr<const Session>& session,
                                          const Tensor& tensor, const DeviceIds& device_ids,
                                          bool stacked, Event* host_memory_free) {
  const size_t count = device_ids->size();
  if (stacked && (tensor.rank() == 0 || tensor.dim(0) != static_cast<int64_t>(count))) {
    throw invalid_argument("{}: stacked array, got {}, expected a first axis of {}",
                           session->platform, tensor.type(), count);
  }
  TensorType part = tensor.type();
  if (stacked) {
    const auto& dims = tensor.shape().dims();
    part.shape = Shape(Dims(dims.begin() + 1, dims.end()));
  }
  std::vector<PJRT_Device*> devices;
  for (const int id : *device_ids) devices.push_back(session->device(id));
  std::vector<PJRT_Buffer*> buffers;
  // Destroys what was made if a later part fails.
  const auto array_of = [&](Event ready) {
    return std::make_shared<const DeviceArray>(session, tensor.type(), stacked, device_ids,
                                               std::move(buffers), std::move(ready));
  };
  std::vector<Event> ready;
  std::vector<Event> free;
  try {
    for (size_t i = 0; i < count; ++i) {
      const auto offset = stacked ? i * static_cast<size_t>(part.byte_size()) : 0;
      Upload made = upload_part(*session, devices[i], part,
                                static_cast<const std::byte*>(tensor.raw()) + offset,
                                host_memory_free != nullptr);
      buffers.push_back(made.buffer);
      ready.push_back(std::move(made.ready));
      free.push_back(std::move(made.host_memory_free));
    }
  } catch (...) {
    array_of({});
    throw;
  }
  if (host_memory_free != nullptr) {
    *host_memory_free = runtime::all_of(free);
    // (Keeps the memory until it is read.)
    if (!host_memory_free->ready()) host_memory_free->then([tensor](const Error*) {});
  }
  return array_of(runtime::all_of(ready));
}

Event PjrtBuffer::ready() const {
  const MutexLock lock(mutex_);
  return array_ == nullptr ? failure_ : array_->ready();
}

Event PjrtBuffer::copy_to_host(Tensor& target) const {
  const auto value = array();
  if (value == nullptr) return ready();
  return DeviceArray::copy_to_host(value, target);
}

std::shared_ptr<const DeviceArray> PjrtBuffer::array() const {
  const MutexLock lock(mutex_);
  return array_;
}

bool PjrtBuffer::belongs_to(const Session& session) const {
  const MutexLock lock(mutex_);
  return (array_ == nullptr ? session_ : &array_->session()) == &session;
}

void PjrtBuffer::replace(std::shared_ptr<const DeviceArray> array) {
  const MutexLock lock(mutex_);
  array_.swap(array);
}

void PjrtBuffer::fail(const Session& session, Event failure) {
  std::shared_ptr<const DeviceArray> lost;
  const MutexLock lock(mutex_);
  session_ = &session;
  failure_ = std::move(failure);
  array_.swap(lost);
}

}  // namespace systole::pjrt
