find_package(Doxygen QUIET)
if(DOXYGEN_FOUND)
  # The reference covers the headers that those directly in include/whilst include or forward to, and the types that these
  # expose.
  file(GLOB doors CONFIGURE_DEPENDS include/whilst/*.hpp)
  foreach(door IN LISTS doors)
    file(STRINGS ${door} lines REGEX "^#include \"whilst/")
    list(APPEND reference ${lines})
  endforeach()
  list(TRANSFORM reference REPLACE "^#include \"(.*)\".*" "\\1")
  list(APPEND reference whilst/whilst.hpp whilst/template_door.hpp whilst/version.hpp
    whilst/adapters/dealii.hpp whilst/adapters/eigen.hpp whilst/adapters/method_names.hpp
    whilst/adapters/petsc.hpp
    whilst/basics/held.hpp whilst/basics/index_type.hpp whilst/basics/safe_norm.hpp
    whilst/derivatives/dual_functions.hpp whilst/derivatives/dual_number.hpp
    whilst/engine/control/history_record.hpp whilst/engine/executor.hpp whilst/engine/memory/memory_table.hpp
    whilst/engine/program_profile.hpp whilst/engine/strict_check.hpp
    whilst/host/batch_outcomes.hpp whilst/host/batch_report.hpp whilst/host/lease.hpp whilst/host/replayed_solver.hpp
    whilst/host/solve_outcome.hpp whilst/nonlinear/descent/descent_report.hpp)
  list(REMOVE_DUPLICATES reference)
  list(TRANSFORM reference PREPEND ${PROJECT_SOURCE_DIR}/include/)
  list(JOIN reference " " reference)
  configure_file(docs/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
  add_custom_target(docs COMMAND Doxygen::doxygen ${PROJECT_BINARY_DIR}/Doxyfile
    COMMENT "Writing ${PROJECT_BINARY_DIR}/docs/html/index.html" VERBATIM)
else()
  add_custom_target(docs
    COMMAND ${CMAKE_COMMAND} -E echo "The target docs needs Doxygen, which was not found: install it (Debian and Ubuntu: \
apt-get install doxygen), then configure again: cmake -S ${PROJECT_SOURCE_DIR} -B ${PROJECT_BINARY_DIR}"
    COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
endif()
