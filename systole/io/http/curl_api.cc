#include "systole/io/http/curl_api.h"

#include <dlfcn.h>

#include "systole/base/error.h"
#include "systole/io/wire/openssl.h"

namespace systole::http {
namespace {

constexpr const char* kCurlLibrary = "libcurl.so.4";

template <class Function>
void bind_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) {
    throw failed_precondition("{}: function, got no {}, expected libcurl 7.68 or later",
                              kCurlLibrary, name);
  }
}

CurlApi load_curl() {
  void* const library = ::dlopen(kCurlLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = ::dlerror();  // NOLINT(concurrency-mt-unsafe): of this thread
    throw failed_precondition(
        "{}: cannot load, got '{}', expected the library of Debian's package libcurl4",
        kCurlLibrary, reason == nullptr ? "no reason" : reason);
  }
  CurlApi api{};
  bind_function(library, "curl_global_init", api.global_init);
  bind_function(library, "curl_easy_init", api.easy_init);
  bind_function(library, "curl_easy_reset", api.easy_reset);
  bind_function(library, "curl_easy_cleanup", api.easy_cleanup);
  bind_function(library, "curl_easy_setopt", api.easy_setopt);
  bind_function(library, "curl_easy_getinfo", api.easy_getinfo);
  bind_function(library, "curl_easy_strerror", api.easy_strerror);
  bind_function(library, "curl_slist_append", api.slist_append);
  bind_function(library, "curl_slist_free_all", api.slist_free_all);
  bind_function(library, "curl_multi_init", api.multi_init);
  bind_function(library, "curl_multi_cleanup", api.multi_cleanup);
  bind_function(library, "curl_multi_setopt", api.multi_setopt);
  bind_function(library, "curl_multi_add_handle", api.multi_add_handle);
  bind_function(library, "curl_multi_remove_handle", api.multi_remove_handle);
  bind_function(library, "curl_multi_perform", api.multi_perform);
  bind_function(library, "curl_multi_poll", api.multi_poll);
  bind_function(library, "curl_multi_wakeup", api.multi_wakeup);
  bind_function(library, "curl_multi_info_read", api.multi_info_read);
  crypto::init_openssl();
  if (api.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    throw failed_precondition("{}: cannot initialise, expected a working TLS library",
                              kCurlLibrary);
  }
  return api;
}

}  // namespace

const CurlApi& curl_api() {
  static const CurlApi api = load_curl();
  return api;
}

}  // namespace systole::http
