// Buffers whose elements, or whose errors, the caller gives later.
#include "plugin/elements.h"
#include "plugin/error.h"
#include "plugin/functions.h"

// NOLINTNEXTLINE(readability-identifier-naming): the API's name
struct PJRT_FulfillAliasBufferCallback {
  systole::TensorType type;
  std::shared_ptr<systole::plugin::PendingArray> array;
};

namespace systole::plugin {
namespace {

// A buffer that was donated, and the one that has its elements when the dependency is ready.
struct Donation {
  std::unique_ptr<PJRT_Buffer> source;
  std::shared_ptr<PendingArray> array;
};

void end_donation(PJRT_Buffer_DonateWithControlDependency_Callback_Args* args) {
  const std::unique_ptr<Donation> donation(static_cast<Donation*>(args->callback_data));
  if (args->error_code != PJRT_Error_Code_OK) {
    return donation->array->fail(
        error_of(args->error_code, args->error_message, args->error_message_size));
  }
  give_copy(*donation->source, donation->source->type, donation->array);
}

// The buffer that has the array of `buffer` from now on: a donation of it.
std::unique_ptr<PJRT_Buffer> take_array(PJRT_Buffer& buffer) {
  std::unique_ptr<PJRT_Buffer> taken(
      make_buffer(buffer.client, buffer.device, buffer.type, array_of(buffer), buffer.slice));
  const MutexLock lock(buffer.mutex);
  buffer.array.reset();
  return taken;
}

DeviceMemory& memory_of(const PJRT_Buffer& buffer) {
  return buffer.device->memories[buffer.memory_kind];
}

}  // namespace

PJRT_Error* client_create_error_buffer(PJRT_Client_CreateErrorBuffer_Args* args) {
  return run("PJRT_Client_CreateErrorBuffer", args, [](PJRT_Client_CreateErrorBuffer_Args& a) {
    constexpr std::string_view kFunction = "PJRT_Client_CreateErrorBuffer";
    check_error_code(kFunction, a.error_code);
    const TensorType type = type_of(a.shape_element_type, a.shape_dims, a.shape_num_dims);
    auto [buffer, array] = put_pending(place_of(a.client, nullptr, a.memory), type,
                                       layout_of(kFunction, a.shape_layout, type));
    array->fail(error_of(a.error_code, a.error_message, a.error_message_size));
    a.buffer = buffer.release();
  });
}

PJRT_Error* client_create_alias_buffer(PJRT_Client_CreateAliasBuffer_Args* args) {
  return run("PJRT_Client_CreateAliasBuffer", args, [](PJRT_Client_CreateAliasBuffer_Args& a) {
    const TensorType type = type_of(a.shape_element_type, a.shape_dims, a.shape_num_dims);
    auto [buffer, array] =
        put_pending(place_of(a.client, nullptr, a.memory), type,
                    layout_of("PJRT_Client_CreateAliasBuffer", a.shape_layout, type));
    a.fulfill_alias_buffer_cb =
        new PJRT_FulfillAliasBufferCallback{.type = type, .array = std::move(array)};
    a.alias_buffer = buffer.release();
  });
}

// Ends the callback, unless there is an error.
PJRT_Error* client_fulfill_alias_buffer(PJRT_Client_FulfillAliasBuffer_Args* args) {
  return run("PJRT_Client_FulfillAliasBuffer", args, [](PJRT_Client_FulfillAliasBuffer_Args& a) {
    constexpr std::string_view kFunction = "PJRT_Client_FulfillAliasBuffer";
    const PJRT_FulfillAliasBufferCallback& alias = *a.fulfill_alias_buffer_cb;
    if (a.status_code != PJRT_Error_Code_OK) {
      alias.array->fail(error_of(a.status_code, a.error_message, a.error_message_size));
    } else {
      if (a.buffer == nullptr || a.buffer->type != alias.type) {
        throw invalid_argument("{}: buffer, got {}, expected {}", kFunction,
                               a.buffer == nullptr ? "none" : a.buffer->type.to_string(),
                               alias.type);
      }
      give_copy(*a.buffer, alias.type, alias.array);
    }
    delete a.fulfill_alias_buffer_cb;
  });
}

PJRT_Error* buffer_donate_with_control_dependency(
    PJRT_Buffer_DonateWithControlDependency_Args* args) {
  return run("PJRT_Buffer_DonateWithControlDependency", args,
             [](PJRT_Buffer_DonateWithControlDependency_Args& a) {
               auto donation = std::make_unique<Donation>();
               auto [buffer, array] =
                   put_pending(memory_of(*a.buffer), a.buffer->type, a.buffer->layout);
               donation->array = std::move(array);
               donation->source = take_array(*a.buffer);
               a.callback_data = donation.release();
               a.dependency_ready_callback = end_donation;
               a.out_buffer = buffer.release();
             });
}

// The result is a copy, which changes and ends alone.
PJRT_Error* buffer_bitcast(PJRT_Buffer_Bitcast_Args* args) {
  return run("PJRT_Buffer_Bitcast", args, [](PJRT_Buffer_Bitcast_Args& a) {
    const TensorType type = type_of(a.element_type, a.dims, a.num_dims);
    if (type.byte_size() != a.buffer->type.byte_size()) {
      throw invalid_argument("PJRT_Buffer_Bitcast: {} of {} bytes, expected {} as {} has", type,
                             type.byte_size(), a.buffer->type.byte_size(), a.buffer->type);
    }
    auto [buffer, array] = put_pending(memory_of(*a.buffer), type,
                                       layout_of("PJRT_Buffer_Bitcast", a.device_layout, type));
    give_copy(*a.buffer, type, std::move(array));
    a.out_buffer = buffer.release();
  });
}

}  // namespace systole::plugin
