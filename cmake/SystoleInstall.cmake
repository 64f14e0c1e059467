# `cmake --install` installs the libraries, headers and the command line for find_package(systole).
include(CMakePackageConfigHelpers)

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
get_property(layers GLOBAL PROPERTY SYSTOLE_LAYERS)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/systole")

install(TARGETS systole ${layers} EXPORT systoleTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT systoleTargets NAMESPACE systole:: DESTINATION "${package_dir}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/systole" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "testing" EXCLUDE)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/systoleConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/systoleConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/systoleConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/systoleConfig.cmake"
              "${PROJECT_BINARY_DIR}/systoleConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/SystoleDependencies.cmake"
        DESTINATION "${package_dir}")
if(TARGET systole_app)
  install(TARGETS systole_app RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
if(TARGET systole_pjrt)
  install(TARGETS systole_pjrt LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET systole_mpi)
  install(TARGETS systole_mpi LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
