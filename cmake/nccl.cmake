# NCCL's device interface, for the transport "nccl windows". Its headers are all that the build needs: the library is loaded
# where that transport is asked for.
if(WHILST_NCCL AND whilst_with_cuda)
  find_path(WHILST_NCCL_DEVICE_INCLUDE_DIR nccl_device.h
    HINTS ENV NCCL_HOME ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
  set(nccl_version 0)
  if(WHILST_NCCL_DEVICE_INCLUDE_DIR AND EXISTS ${WHILST_NCCL_DEVICE_INCLUDE_DIR}/nccl.h)
    file(STRINGS ${WHILST_NCCL_DEVICE_INCLUDE_DIR}/nccl.h nccl_version REGEX "define NCCL_(MAJOR|MINOR) ")
    list(TRANSFORM nccl_version REPLACE "[^0-9]+" "")
    list(JOIN nccl_version "." nccl_version)
  endif()
  if(nccl_version VERSION_GREATER_EQUAL 2.28)
    set(users_of_nccl solvers/exchange/windows/nccl_windows.cpp solvers/exchange/windows/nccl_pieces.cpp)
    set_source_files_properties(${users_of_nccl} PROPERTIES COMPILE_DEFINITIONS WHILST_WITH_NCCL_WINDOWS=1)
    # A directory that the compiler has by itself must not come earlier: its headers would no longer find the next ones.
    if(NOT WHILST_NCCL_DEVICE_INCLUDE_DIR IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
      set_source_files_properties(${users_of_nccl} PROPERTIES COMPILE_OPTIONS "-isystem;${WHILST_NCCL_DEVICE_INCLUDE_DIR}")
    endif()
  else()
    message(STATUS "Whilst: no headers of NCCL 2.28 or later, so GPUs have no transport by its windows; NCCL_HOME says where they are")
  endif()
endif()
