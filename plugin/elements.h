// Elements of arrays between the host's memory and buffers, now or when they are there.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/objects.h"

namespace systole::plugin {

// Errors: INVALID_ARGUMENT for a type that does not exist or dimensions that no array has.
TensorType type_of(PJRT_Buffer_Type type, const int64_t* dims, size_t num_dims);
std::vector<int64_t> row_major_strides(const TensorType& type);  // in bytes
// Returns the strides in bytes of a layout that lists axes from the fastest to the slowest. Errors:
// UNIMPLEMENTED for strides and tiles; INVALID_ARGUMENT for axes that are missing or twice there.
std::vector<int64_t> strides_of(std::string_view function, const PJRT_Buffer_MemoryLayout& layout,
                                const TensorType& type);
// Returns the layout that the caller asks for, row-major if it is null. Errors: as strides_of().
Layout layout_of(std::string_view function, const PJRT_Buffer_MemoryLayout* layout,
                 const TensorType& type);

// Copies an array of the host, whose axes lie as `strides` say.
Tensor read_elements(const TensorType& type, const void* data, std::vector<int64_t> strides);
void write_elements(const Tensor& elements, void* target, std::vector<int64_t> strides);

// Where a buffer is to be made: in the given memory, else in the default one of the given device,
// else of the first device.
DeviceMemory& place_of(PJRT_Client* client, PJRT_Device* device, PJRT_Memory* memory);
// Makes a buffer. The memory of `tensor` becomes the buffer's. The layout is row-major if it is
// null.
PJRT_Buffer* put(const DeviceMemory& place, Tensor tensor, const Layout* layout = nullptr);
// Makes a buffer whose elements come later.
std::pair<std::unique_ptr<PJRT_Buffer>, std::shared_ptr<PendingArray>> put_pending(
    const DeviceMemory& place, const TensorType& type, Layout layout);

// Calls `use` with the elements of a buffer when they are there: in the call, or later, on the
// thread that makes them. The event is ready when `use` has returned. Errors, thrown:
// FAILED_PRECONDITION for a deleted buffer, and what `use` throws in the call. Errors of the event:
// the buffer's, and what `use` throws later.
runtime::Event with_elements(const PJRT_Buffer& buffer, std::function<void(const Tensor&)> use);
// Gives the elements of a buffer, or its error, to a pending array of the same size, whose type may
// be another one. Errors: FAILED_PRECONDITION for a deleted buffer.
void give_copy(const PJRT_Buffer& buffer, const TensorType& type,
               std::shared_ptr<PendingArray> array);
// Errors: INVALID_ARGUMENT, naming `function`, if a caller's code is not that of an error.
void check_error_code(std::string_view function, PJRT_Error_Code code);
// Returns the error that a caller describes. A code that is none becomes UNKNOWN.
Error error_of(PJRT_Error_Code code, const char* message, size_t size);

}  // namespace systole::plugin
