#include "systole/io/buckets/bucket_file_systems.h"

#include "systole/io/buckets/bucket_file_system.h"
#include "systole/io/buckets/gcs_store.h"
#include "systole/io/buckets/s3_store.h"

namespace systole::buckets {

// Never destroyed: files may be open until the process ends.
FileSystem& gcs_file_system() {
  static BucketFileSystem* const instance = [] {
    const BucketOptions options = bucket_options_from_environment();
    return new BucketFileSystem(make_gcs_store(gcs_options_from_environment()), options);
  }();
  return *instance;
}

FileSystem& s3_file_system() {
  static BucketFileSystem* const instance = [] {
    const BucketOptions options = bucket_options_from_environment();
    return new BucketFileSystem(make_s3_store(s3_options_from_environment()), options);
  }();
  return *instance;
}

}  // namespace systole::buckets
