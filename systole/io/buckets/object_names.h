// The names that Amazon S3 and Google Cloud Storage allow. Paths come from lists, configurations
// and models: a name of another form could change the host or the meaning of a request.
#pragma once

#include <string>
#include <string_view>

#include "systole/io/buckets/object_store.h"

namespace systole::buckets {

// Errors start with `path`: INVALID_ARGUMENT for a bucket or a key that the service of `scheme`
// ("s3" or "gs") does not allow.
//   bucket := 3 to 63 lower-case letters, digits, '-' and '.' (gs also '_'; 222 with dots, of which
//             each part has at most 63), a letter or a digit at both ends, no two dots side by
//             side, no IPv4 address
//             https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
//             https://cloud.google.com/storage/docs/buckets#naming
//   key    := 0 to 1024 bytes of UTF-8 without CR, LF and NUL. (S3 allows the three and advises
//             against them.)
void check_object_name(std::string_view scheme, const std::string& path, const ObjectName& name);

// Returns an ETag that can be sent back in a header. Errors: DATA_LOSS for control characters;
// `what` starts the message.
std::string checked_etag(const std::string& what, std::string etag);

}  // namespace systole::buckets
