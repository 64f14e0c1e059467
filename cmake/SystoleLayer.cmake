# systole_layer(<name> [PUBLIC_DEPS <layer>...] [LIBS <target>...] [TEST_LIBS <target>...]
#               [GENERATED <file>...] [PCH <header>...] [UNITY] [UNITY_TESTS] [COLD] [SANITIZE <preset>...] [CORE <preset>...])
#
# Makes a layer of the folder of the calling CMakeLists.txt:
#   systole_<name>, systole::<name>   static library of every *.cc below the folder, except tests and testing/
#   <name>_test                       executable of every *_test.cc below the folder
#   systole_<name>_testing            static library of every *.cc below a folder testing/: helpers for tests. Tests of
#                                     other layers name it in TEST_LIBS. Not installed.
# PUBLIC_DEPS are layers by name and LIBS are targets; users of the layer link both. TEST_LIBS are linked into the tests
# only. GENERATED adds sources made at configure time. PCH names headers that most sources of a large layer include; they
# are precompiled with the common ones. UNITY compiles twelve
# files as one, UNITY_TESTS eight tests. COLD is
# systole_cold() of the layer. SANITIZE and CORE are those of systole_test().
# The next build finds new files. A folder without sources makes a header-only layer; one without tests has no test target.

# The precompiled header of the standard headers, shared by all targets.
add_library(systole_pch STATIC "${PROJECT_SOURCE_DIR}/cmake/pch.cc")
target_precompile_headers(systole_pch PRIVATE "${PROJECT_SOURCE_DIR}/cmake/pch.h")
target_link_libraries(systole_pch PRIVATE systole_flags fmt::fmt)

if(SYSTOLE_TESTS)
  find_package(GTest REQUIRED CONFIG)
  # Tests have their own precompiled header, with GoogleTest, and less optimisation: their compile time halves.
  add_library(systole_test_flags INTERFACE)
  target_compile_options(systole_test_flags INTERFACE $<$<CONFIG:Release>:-O1>
                                                      $<$<CONFIG:RelWithDebInfo>:-O0>)
  target_link_libraries(systole_test_flags INTERFACE systole_flags fmt::fmt GTest::gmock GTest::gtest)
  add_library(systole_test_pch STATIC "${PROJECT_SOURCE_DIR}/cmake/pch.cc")
  target_precompile_headers(systole_test_pch PRIVATE "${PROJECT_SOURCE_DIR}/cmake/test_pch.h")
  target_link_libraries(systole_test_pch PRIVATE systole_test_flags)
  add_library(systole_test_main STATIC EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/cmake/test_main.cc")
  target_link_libraries(systole_test_main PUBLIC GTest::gmock GTest::gtest)
  add_custom_target(core_tests COMMENT "The tests that `make test` runs in sanitizer builds")
  add_custom_target(sanitized_tests COMMENT "All tests that sanitizer builds run")
endif()

# systole_configure_target(<target> [<pch>])
#
# Sets the flags and the precompiled header of a target. The header is that of the target <pch>, by default systole_pch.
function(systole_configure_target target)
  set(pch systole_pch)
  if(ARGC GREATER 1)
    set(pch ${ARGV1})
  endif()
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:systole_flags> fmt::fmt)
  target_precompile_headers(${target} REUSE_FROM ${pch})
endfunction()

# systole_cold(<target>)
#
# Compiles a target with -O1 in release builds, in three quarters of the time. For code that runs once per program or step:
# commands, training loops, optimizers that build graphs.
function(systole_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  # Part of -O2 since g++ 13. A precompiled header wants the options that it was made with.
  target_compile_options(${target} PRIVATE
    "$<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-munroll-only-small-loops;-mvzeroupper>")
endfunction()

# systole_unity(<target> <files>)
#
# Compiles <files> sources of a target as one. Names in its unnamed namespaces must be unique (tools/check_names.py).
function(systole_unity target files)
  if(SYSTOLE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # g++ warns about a class with a member whose type is in an unnamed namespace if an included file defines it. Here
      # that file is a source.
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
  endif()
endfunction()

# systole_sources(GLOB|GLOB_RECURSE)
#
# Splits the *.cc of the calling folder into the lists `tests` (*_test.cc), `testing` (below a folder testing/) and
# `sources` (all others). A subfolder with a CMakeLists.txt is not part of it.
macro(systole_sources glob)
  file(${glob} sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  file(GLOB subfolders CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt")
  foreach(subfolder IN LISTS subfolders)
    cmake_path(GET subfolder PARENT_PATH subfolder)
    list(FILTER sources EXCLUDE REGEX "^${subfolder}/")
  endforeach()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  set(testing ${sources})
  list(FILTER testing INCLUDE REGEX "/testing/")
  list(FILTER sources EXCLUDE REGEX "/testing/")
endmacro()

# Adds a test executable of a sanitizer build as one entry of ctest.
function(systole_sanitized_test name executable)
  add_test(NAME ${name} ${ARGN} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
           COMMAND "${PROJECT_SOURCE_DIR}/tools/run-sanitized.sh" "${executable}")
  set_tests_properties(${name} PROPERTIES TIMEOUT 900)
endfunction()

# systole_test(<name> SOURCES <file>... LIBS <target>... [UNITY] [SANITIZE <preset>...] [CORE <preset>...])
#
# Makes a GoogleTest executable, run in the root of the repository. Each TEST() is an entry of ctest; in sanitizer builds
# the executable is one entry. UNITY compiles eight files as one. SANITIZE lists the sanitizer presets in which
# `make sanitize` runs it, by default asan and tsan, or `none`. CORE lists those in which `make test` runs it too.
function(systole_test name)
  cmake_parse_arguments(arg "UNITY" "" "SOURCES;LIBS;SANITIZE;CORE" ${ARGN})
  if(NOT DEFINED arg_SANITIZE)
    set(arg_SANITIZE asan tsan)
  endif()
  if(NOT SYSTOLE_TESTS OR NOT arg_SOURCES)
    return()
  endif()
  if(SYSTOLE_SANITIZE)
    string(REGEX REPLACE "^(.).*" "\\1san" preset "${SYSTOLE_SANITIZE}")  # address,undefined: asan; thread: tsan
    if(NOT preset IN_LIST arg_SANITIZE)
      return()
    endif()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} systole_test_flags systole_test_main)
  target_precompile_headers(${name} REUSE_FROM systole_test_pch)
  if(arg_UNITY)
    systole_unity(${name} 8)
  endif()
  add_dependencies(sanitized_tests ${name})
  if(SYSTOLE_SANITIZE AND preset IN_LIST arg_CORE)
    add_dependencies(core_tests ${name})
  endif()
  if(SYSTOLE_SANITIZE)
    systole_sanitized_test(${name} "$<TARGET_FILE:${name}>")
    return()
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES TEST_PREFIX "${name}:"
                       WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" PROPERTIES TIMEOUT 300)
  # `ctest -C sanitize` in the release build also runs the core tests of the sanitizer builds, `ctest -C sanitize_all` all
  # of their tests, so that one summary covers all builds.
  if(PROJECT_BINARY_DIR STREQUAL "${PROJECT_SOURCE_DIR}/build/release" AND NOT arg_SANITIZE STREQUAL "none")
    foreach(preset IN LISTS arg_SANITIZE)
      set(configurations sanitize_all)
      if(preset IN_LIST arg_CORE)
        list(APPEND configurations sanitize)
      endif()
      systole_sanitized_test(${preset}:${name} "${PROJECT_SOURCE_DIR}/build/${preset}/bin/${name}"
                             CONFIGURATIONS ${configurations})
    endforeach()
  endif()
endfunction()

function(systole_layer name)
  cmake_parse_arguments(arg "UNITY;UNITY_TESTS;COLD" "" "PUBLIC_DEPS;LIBS;TEST_LIBS;GENERATED;PCH;SANITIZE;CORE" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "systole_layer(${name}): unknown argument '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  systole_sources(GLOB_RECURSE)
  list(APPEND sources ${arg_GENERATED})

  set(libs ${arg_LIBS})
  foreach(dep IN LISTS arg_PUBLIC_DEPS)
    list(APPEND libs systole_${dep})
  endforeach()
  if(sources)
    add_library(systole_${name} STATIC ${sources})
    set(visibility PUBLIC)
    target_link_libraries(systole_${name} PRIVATE $<BUILD_INTERFACE:systole_flags>)
    if(arg_PCH)
      target_precompile_headers(systole_${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/pch.h" ${arg_PCH})
    else()
      target_precompile_headers(systole_${name} REUSE_FROM systole_pch)
    endif()
    if(arg_UNITY)
      systole_unity(systole_${name} 12)
    endif()
    if(arg_COLD)
      systole_cold(systole_${name})
    endif()
  else()
    add_library(systole_${name} INTERFACE)
    set(visibility INTERFACE)
  endif()
  add_library(systole::${name} ALIAS systole_${name})
  set_target_properties(systole_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(systole_${name} ${visibility}
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_compile_features(systole_${name} ${visibility} cxx_std_20)
  target_link_libraries(systole_${name} ${visibility} ${libs})
  set_property(GLOBAL APPEND PROPERTY SYSTOLE_LAYERS systole_${name})

  set(testing_lib "")
  if(SYSTOLE_TESTS AND testing)
    set(testing_lib systole_${name}_testing)
    add_library(${testing_lib} STATIC EXCLUDE_FROM_ALL ${testing})
    systole_configure_target(${testing_lib})
    target_link_libraries(${testing_lib} PUBLIC systole_${name} GTest::gmock)
  endif()

  set(options "")
  if(DEFINED arg_SANITIZE)
    list(APPEND options SANITIZE ${arg_SANITIZE})
  endif()
  if(DEFINED arg_CORE)
    list(APPEND options CORE ${arg_CORE})
  endif()
  if(arg_UNITY_TESTS)
    list(APPEND options UNITY)
  endif()
  systole_test(${name}_test SOURCES ${tests} LIBS systole_${name} ${testing_lib} ${arg_TEST_LIBS} ${options})
endfunction()
