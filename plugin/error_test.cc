#include "plugin/error.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <system_error>

#include "plugin/functions.h"

namespace {

bool no_memory = false;  // new fails while it is set

}  // namespace

// g++ takes the new that it inlines for another one than this.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(size_t size) {
  void* const memory = no_memory ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace systole::plugin {
namespace {

// The error of a function whose body throws, and what the API says of it.
template <class Body>
std::string error_of_call(Body body, bool without_memory) {
  PJRT_Plugin_Initialize_Args args{.struct_size = sizeof(PJRT_Plugin_Initialize_Args)};
  PJRT_Error* const error = run("PJRT_Test", &args, [&](PJRT_Plugin_Initialize_Args&) {
    no_memory = without_memory;
    body();
  });
  PJRT_Error_Message_Args message{.struct_size = sizeof(PJRT_Error_Message_Args), .error = error};
  error_message(&message);
  PJRT_Error_GetCode_Args code{.struct_size = sizeof(PJRT_Error_GetCode_Args), .error = error};
  PJRT_Error* const failed = error_get_code(&code);
  no_memory = false;
  EXPECT_EQ(failed, nullptr);
  std::string text = fmt::format("{} {}", static_cast<int>(code.code),
                                 std::string_view(message.message, message.message_size));
  PJRT_Error_Destroy_Args destroyed{.struct_size = sizeof(PJRT_Error_Destroy_Args), .error = error};
  error_destroy(&destroyed);
  return text;
}

TEST(PluginErrors, NeedNoMemory) {
  const Error large = internal_error("{}", std::string(1000, 'x'));
  for (int i = 0; i < 3; ++i) {  // what was destroyed is there again
    EXPECT_EQ(error_of_call([&] { throw large; }, true), "8 systole: out of memory on the host");
    EXPECT_EQ(error_of_call([] { operator delete(operator new(64)); }, true),
              "8 systole: out of memory on the host");
  }
  EXPECT_EQ(error_of_call([&] { throw large; }, false), "13 " + std::string(1000, 'x'));
}

TEST(PluginErrors, AreMadeOfEveryException) {
  EXPECT_EQ(error_of_call([] { throw std::bad_alloc(); }, false),
            "8 systole: out of memory on the host");
  EXPECT_EQ(error_of_call([] { std::string().at(1); }, false).substr(0, 3), "13 ");
  EXPECT_EQ(error_of_call([] { throw 1; }, false), "13 systole: an unknown exception");
  EXPECT_EQ(error_of_call(
                [] { throw std::system_error(EAGAIN, std::generic_category(), "thread"); }, false)
                .substr(0, 9),
            "8 thread:");
}

}  // namespace
}  // namespace systole::plugin
