// The file systems of paths that start with "gs://" and "s3://".
#pragma once

#include "systole/base/file_system.h"

namespace systole::buckets {

// Made at the first call, with the options of the environment (bucket_file_system.h, gcs_store.h,
// s3_store.h). They live until the process ends. Errors: INVALID_ARGUMENT for a setting that cannot
// be read.
FileSystem& gcs_file_system();
FileSystem& s3_file_system();

}  // namespace systole::buckets
