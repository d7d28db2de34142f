find_package(Doxygen QUIET)
if(DOXYGEN_FOUND)
  configure_file(docs/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
  add_custom_target(docs COMMAND Doxygen::doxygen ${PROJECT_BINARY_DIR}/Doxyfile
    COMMENT "Writing ${PROJECT_BINARY_DIR}/docs/html/index.html" VERBATIM)
else()
  add_custom_target(docs
    COMMAND ${CMAKE_COMMAND} -E echo "The target docs needs Doxygen, which was not found: install it (Debian and Ubuntu: \
apt-get install doxygen), then configure again: cmake -S ${PROJECT_SOURCE_DIR} -B ${PROJECT_BINARY_DIR}"
    COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
endif()
