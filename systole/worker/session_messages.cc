#include "systole/worker/session_messages.h"

#include "systole/worker/protocol/convert.h"

namespace systole::worker {

void to_wire(const MovedArray& array, v1::SharedArray& message) {
  message.set_id(array.id);
  to_wire(array.type, *message.mutable_type());
  message.set_index(array.place.index);
  message.set_offset(array.place.offset);
  message.set_bytes(array.place.bytes);
  message.set_charged(array.charged);
}

MovedArray from_wire(const v1::SharedArray& message) {
  return {.id = message.id(),
          .type = from_wire(message.type()),
          .place = {.index = message.index(), .offset = message.offset(), .bytes = message.bytes()},
          .charged = message.charged()};
}

}  // namespace systole::worker
