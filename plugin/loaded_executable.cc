#include "plugin/error.h"
#include "plugin/functions.h"
#include "plugin/objects.h"

namespace systole::plugin {

PJRT_Error* loaded_executable_destroy(PJRT_LoadedExecutable_Destroy_Args* args) {
  return run("PJRT_LoadedExecutable_Destroy", args,
             [](PJRT_LoadedExecutable_Destroy_Args& a) { delete a.executable; });
}

PJRT_Error* loaded_executable_get_executable(PJRT_LoadedExecutable_GetExecutable_Args* args) {
  return run("PJRT_LoadedExecutable_GetExecutable", args,
             [](PJRT_LoadedExecutable_GetExecutable_Args& a) {
               a.executable = new PJRT_Executable(a.loaded_executable->program);
             });
}

PJRT_Error* loaded_executable_addressable_devices(
    PJRT_LoadedExecutable_AddressableDevices_Args* args) {
  return run("PJRT_LoadedExecutable_AddressableDevices", args,
             [](PJRT_LoadedExecutable_AddressableDevices_Args& a) {
               a.addressable_devices = a.executable->devices.data();
               a.num_addressable_devices =
                   is_portable(*a.executable) ? 0 : a.executable->devices.size();
             });
}

PJRT_Error* loaded_executable_addressable_device_logical_ids(
    PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args* args) {
  return run("PJRT_LoadedExecutable_AddressableDeviceLogicalIds", args,
             [](PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args& a) {
               a.addressable_device_logical_ids = a.executable->logical_ids.data();
               a.num_addressable_device_logical_ids =
                   is_portable(*a.executable) ? 0 : a.executable->logical_ids.size();
             });
}

PJRT_Error* loaded_executable_delete(PJRT_LoadedExecutable_Delete_Args* args) {
  return run("PJRT_LoadedExecutable_Delete", args, [](PJRT_LoadedExecutable_Delete_Args& a) {
    std::shared_ptr<runtime::Executable> last[2];  // destroyed without the lock
    const systole::MutexLock lock(a.executable->mutex);
    last[0].swap(a.executable->executable);
    last[1].swap(a.executable->for_unlike_values);
  });
}

PJRT_Error* loaded_executable_is_deleted(PJRT_LoadedExecutable_IsDeleted_Args* args) {
  return run("PJRT_LoadedExecutable_IsDeleted", args, [](PJRT_LoadedExecutable_IsDeleted_Args& a) {
    const systole::MutexLock lock(a.executable->mutex);
    a.is_deleted = a.executable->executable == nullptr;
  });
}

PJRT_Error* loaded_executable_fingerprint(PJRT_LoadedExecutable_Fingerprint_Args* args) {
  return run("PJRT_LoadedExecutable_Fingerprint", args,
             [](PJRT_LoadedExecutable_Fingerprint_Args& a) {
               a.executable_fingerprint = a.executable->program->fingerprint.c_str();
               a.executable_fingerprint_size = a.executable->program->fingerprint.size();
             });
}

PJRT_Error* loaded_executable_get_device_assignment(
    PJRT_LoadedExecutable_GetDeviceAssignment_Args* args) {
  return run("PJRT_LoadedExecutable_GetDeviceAssignment", args,
             [](PJRT_LoadedExecutable_GetDeviceAssignment_Args& a) {
               pjrt_abi::CompileOptions options = a.executable->program->options;
               options.device_assignment.clear();
               for (const PJRT_Device* device : a.executable->devices) {
                 options.device_assignment.push_back(device->description.device->id);
               }
               auto* const kept =
                   new PJRT_DeviceAssignmentSerialized{encode_device_assignment(options)};
               a.serialized_bytes = kept->bytes.data();
               a.serialized_bytes_size = kept->bytes.size();
               a.serialized_device_assignment = kept;
               a.serialized_device_assignment_deleter = [](PJRT_DeviceAssignmentSerialized* d) {
                 delete d;
               };
             });
}

}  // namespace systole::plugin

#include "systole/base/mutex.h"
