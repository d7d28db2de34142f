# METIS, which programs and tests may have; the library never links it. whilst_metis: what to link for it, with
# WHILST_WITH_METIS=1; empty where it is not there.

add_library(whilst_metis INTERFACE)
if(WHILST_METIS)
  find_path(WHILST_METIS_INCLUDE_DIR metis.h)
  find_library(WHILST_METIS_LIBRARY metis)
  mark_as_advanced(WHILST_METIS_INCLUDE_DIR WHILST_METIS_LIBRARY)
  if(WHILST_METIS_INCLUDE_DIR AND WHILST_METIS_LIBRARY)
    # Is it version 5, and whole? Some installations leave another library to be linked.
    include(CheckCXXSourceCompiles)
    set(CMAKE_REQUIRED_INCLUDES ${WHILST_METIS_INCLUDE_DIR})
    set(CMAKE_REQUIRED_LIBRARIES ${WHILST_METIS_LIBRARY})
    check_cxx_source_compiles("#include <metis.h>
int main() { idx_t options[METIS_NOPTIONS]; return METIS_SetDefaultOptions(options) == METIS_OK ? 0 : 1; }"
      WHILST_METIS_WORKS)
    unset(CMAKE_REQUIRED_INCLUDES)
    unset(CMAKE_REQUIRED_LIBRARIES)
  endif()
  if(WHILST_METIS_WORKS)
    if(NOT WHILST_METIS_INCLUDE_DIR IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)  # see nccl.cmake
      target_include_directories(whilst_metis SYSTEM INTERFACE ${WHILST_METIS_INCLUDE_DIR})
    endif()
    target_link_libraries(whilst_metis INTERFACE ${WHILST_METIS_LIBRARY})
    target_compile_definitions(whilst_metis INTERFACE WHILST_WITH_METIS=1)
  else()
    message(STATUS "Whilst: no METIS, so whilst divides rows among ranks without it")
  endif()
endif()
