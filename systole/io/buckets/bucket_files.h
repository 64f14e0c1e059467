// Open files of a BucketFileSystem.
#pragma once

#include <memory>
#include <string>

#include "systole/io/buckets/bucket_file_system.h"

namespace systole::buckets {

// `store` and `cache` outlive the file.
std::unique_ptr<RandomAccessFile> open_object(ObjectStore& store, BlockCache& cache,
                                              const BucketOptions& options, std::string path,
                                              ObjectName name, ObjectInfo info);

// The first write requires `precondition`; later ones require that nobody else has written since.
std::unique_ptr<WritableFile> create_object(ObjectStore& store, const BucketOptions& options,
                                            std::string path, ObjectName name,
                                            Precondition precondition);

}  // namespace systole::buckets
