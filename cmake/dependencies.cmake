# What Whilst needs from others: the installed package where there is one, else a pinned commit, fetched and built. A
# tag can be moved, a commit cannot; nor can it be cloned shallowly.

include(FetchContent)

find_package(Threads REQUIRED)
find_package(OpenMP COMPONENTS CXX)
if(NOT OpenMP_CXX_FOUND)
  message(STATUS "Whilst: no OpenMP, the host executor uses one thread a processor")
endif()

# zlib, for compressed input, is the one dependency of the library itself. A fetched one is compiled into the library,
# which then needs nothing of it to be installed.
find_package(ZLIB)
if(NOT ZLIB_FOUND)
  enable_language(C)
  FetchContent_Declare(zlib GIT_REPOSITORY https://github.com/madler/zlib
    GIT_TAG 51b7f2abdade71cd9bb0e7a373ef2610ec6f9daf)  # 1.3.1
  FetchContent_GetProperties(zlib)
  if(NOT zlib_POPULATED)
    FetchContent_Populate(zlib)
  endif()
  file(GLOB zlib_sources ${zlib_SOURCE_DIR}/*.c)
  add_library(whilst_zlib OBJECT ${zlib_sources})
  target_include_directories(whilst_zlib SYSTEM PUBLIC ${zlib_SOURCE_DIR})
  target_compile_definitions(whilst_zlib PRIVATE HAVE_UNISTD_H)
  target_compile_options(whilst_zlib PRIVATE -w)
  set_target_properties(whilst_zlib PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()

function(whilst_link_zlib target)
  if(ZLIB_FOUND)
    target_link_libraries(${target} PRIVATE ZLIB::ZLIB)
  else()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:whilst_zlib>)
    target_include_directories(${target} SYSTEM PRIVATE ${zlib_SOURCE_DIR})
  endif()
endfunction()

# For whilst_require(fmt CLI11 ...), which makes these packages' targets available. They are declared here and not
# before: the first declaration of a name holds for the whole build, and may be an including project's own.
# A macro, so that the caller sees what the packages set.
macro(whilst_require)
  foreach(package ${ARGN})
    FetchContent_Declare(${package} SYSTEM ${whilst_source_${package}})
    FetchContent_MakeAvailable(${package})
  endforeach()
endmacro()

set(whilst_source_Eigen3 GIT_REPOSITORY https://gitlab.com/libeigen/eigen
  GIT_TAG 3147391d946bb4b6c68edd901f2add6ac1f31f8c  # 3.4.0
  FIND_PACKAGE_ARGS 3.4 NO_MODULE)
set(whilst_source_CLI11 GIT_REPOSITORY https://github.com/CLIUtils/CLI11
  GIT_TAG 6c7b07a878ad834957b98d0f9ce1dbe0cb204fc9  # 2.4.2
  FIND_PACKAGE_ARGS 2.1)
set(whilst_source_fmt GIT_REPOSITORY https://github.com/fmtlib/fmt
  GIT_TAG e69e5f977d458f2650bb346dadf2ad30c5320281  # 10.2.1
  FIND_PACKAGE_ARGS)
set(whilst_source_nlohmann_json GIT_REPOSITORY https://github.com/nlohmann/json
  GIT_TAG 9cca280a4d0ccf0c08f47a99aa71d1b0e52f8d03  # 3.11.3
  FIND_PACKAGE_ARGS 3.10)
set(whilst_source_Catch2 GIT_REPOSITORY https://github.com/catchorg/Catch2
  GIT_TAG b5373dadca40b7edc8570cf9470b9b1cb1934d40  # 3.5.4
  FIND_PACKAGE_ARGS)

set(BUILD_TESTING OFF)  # theirs, not ours
set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # older packages' options heed the variables set here
set(EIGEN_BUILD_DOC OFF)
set(EIGEN_BUILD_PKGCONFIG OFF)
set(CLI11_BUILD_EXAMPLES OFF)
set(CLI11_BUILD_TESTS OFF)
set(JSON_BuildTests OFF)
