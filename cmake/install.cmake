include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/whilst)

install(TARGETS whilst whilst_template_door EXPORT whilst)
if(WHILST_BUILD_C)
  install(TARGETS whilst_c EXPORT whilst_c)
  install(EXPORT whilst_c NAMESPACE whilst:: FILE whilst_cTargets.cmake DESTINATION ${package_directory})
endif()
install(DIRECTORY include/whilst TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.f90")
install(EXPORT whilst NAMESPACE whilst:: FILE whilstTargets.cmake DESTINATION ${package_directory})

configure_package_config_file(cmake/whilstConfig.cmake.in ${PROJECT_BINARY_DIR}/whilstConfig.cmake
  INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/whilstConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/whilstConfig.cmake ${PROJECT_BINARY_DIR}/whilstConfigVersion.cmake
  DESTINATION ${package_directory})

install(FILES LICENSE README.md CHANGELOG.md TYPE DOC)
install(DIRECTORY examples TYPE DOC)
