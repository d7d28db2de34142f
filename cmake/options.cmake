# Every option, and what follows from it for the whole build. Nothing here reaches an including project.

option(WHILST_BUILD_APPS "Build the programs under apps/" ${PROJECT_IS_TOP_LEVEL})
option(WHILST_BUILD_BENCHMARKS "Build the programs under benchmarks/" ${PROJECT_IS_TOP_LEVEL})
option(WHILST_BUILD_TESTS "Have a target whilst_tests, which the default target leaves out" ${PROJECT_IS_TOP_LEVEL})
set(WHILST_TEST_FILES "" CACHE STRING "A regular expression: build only the test files whose paths match it")
option(WHILST_INSTALL "Have install rules" ${PROJECT_IS_TOP_LEVEL})
option(WHILST_INSTALL_SAMPLES "Install the sample programs, too, as whilst-fit, whilst-elastic and so on" OFF)
option(WHILST_WARNINGS_AS_ERRORS "Let warnings in Whilst's own code stop the build" ${PROJECT_IS_TOP_LEVEL})
option(WHILST_JOIN_SOURCES "Compile several sources of the library and the programs together: a third less to do, for few cores" OFF)
option(WHILST_PROBLEMS_FOR_GPUS "Compile the published functions of programs and tests for GPUs, too, where CUDA is on" ON)
option(WHILST_FLOAT_FOR_GPUS "Compile the library's sources for float for GPUs, too, where CUDA is on" ON)
mark_as_advanced(WHILST_PROBLEMS_FOR_GPUS WHILST_FLOAT_FOR_GPUS)
option(WHILST_SANITIZE "Build with sanitizers" OFF)
set(WHILST_SANITIZERS "address,undefined" CACHE STRING "Which ones: a list for the compiler's -fsanitize=")
mark_as_advanced(WHILST_SANITIZERS)
option(WHILST_FUZZ "Build the fuzz targets (clang only; implies WHILST_SANITIZE)" OFF)

if(PROJECT_IS_TOP_LEVEL)
  option(BUILD_SHARED_LIBS "Build the library as a shared one" OFF)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
  endif()
endif()

if(WHILST_INSTALL AND BUILD_SHARED_LIBS)
  # Where an installed program finds the library.
  include(GNUInstallDirs)
  set(whilst_library_from_program $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
  set(CMAKE_INSTALL_RPATH ${whilst_library_from_program})
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ${PROJECT_IS_TOP_LEVEL})

if(WHILST_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "WHILST_FUZZ needs clang's libFuzzer. Configure with -DCMAKE_CXX_COMPILER=clang++ "
                        "-DCMAKE_C_COMPILER=clang, or leave WHILST_FUZZ off.")
  endif()
  set(WHILST_SANITIZE ON)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(WHILST_SANITIZE)
  # Everything linked together must agree, fetched dependencies included: hence for the directory, not by target.
  add_compile_options(-fsanitize=${WHILST_SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${WHILST_SANITIZERS})
endif()
