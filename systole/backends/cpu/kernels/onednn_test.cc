#include "systole/backends/cpu/kernels/onednn.h"

#include <gtest/gtest.h>

namespace systole::cpu {
namespace {

TEST(Onednn, ItsErrorsSayWhetherMemoryWasMissing) {
  const Error memory = error_of_onednn({dnnl_out_of_memory, "could not create a memory object"});
  EXPECT_EQ(memory.code(), Code::resource_exhausted);
  EXPECT_NE(std::string(memory.what()).find("could not create a memory object"), std::string::npos);
  EXPECT_EQ(error_of_onednn({dnnl_invalid_arguments, "x"}).code(), Code::internal);
}

}  // namespace
}  // namespace systole::cpu
