# What the targets of this project have in common.

# Whether a source says that nvcc compiles it where CUDA is on.
function(whilst_is_for_nvcc source result)
  file(STRINGS ${source} first_lines LIMIT_COUNT 5)
  if("${first_lines}" MATCHES "// compiled by nvcc where CUDA is on")
    set(${result} ON PARENT_SCOPE)
    return()
  elseif("${first_lines}" MATCHES "// compiled")
    message(FATAL_ERROR "${source}: a file for nvcc says \"// compiled by nvcc where CUDA is on\", or, in its first \
line, \"// compiled for each number type, by nvcc where CUDA is on\", in these words")
  endif()
  set(${result} OFF PARENT_SCOPE)
endfunction()

# Has the host's compiler optimize a program of these sources less in Release, unless the user changed CMake's flags: programs
# parse, print and draw, and compile in 60 % of the time. Sources that may be nvcc's and those in whilst_sources_with_loops
# stay as they are. Source properties belong to a directory: call it in the one that adds the target.
function(whilst_optimize_less target)
  if(WHILST_SANITIZE OR NOT CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")
    return()
  endif()
  set(in_release "$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>")
  target_compile_options(${target} PRIVATE $<${in_release}:-O1>)
  foreach(source IN LISTS ARGN)
    whilst_is_for_nvcc(${source} for_nvcc)
    if((for_nvcc AND NOT whilst_with_cuda) OR source IN_LIST whilst_sources_with_loops)
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS $<${in_release}:-O3>)
    endif()
  endforeach()
endfunction()

# Of a template that a program and the library both compile, the linker takes the copy that it sees first. Under sanitizers
# that was the program's, at -O0, and tests took three times as long. So there all of the library comes first.
function(whilst_takes_templates_of_the_library program)
  get_target_property(type whilst TYPE)
  if(WHILST_SANITIZE AND NOT whilst_with_cuda AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND type STREQUAL "STATIC_LIBRARY")
    target_link_options(${program} PRIVATE LINKER:--whole-archive,$<TARGET_FILE:whilst>,--no-whole-archive)
  endif()
endfunction()

# Links what step loops need: OpenMP on the host and, where CUDA is on, its runtime and the flags of the template door.
# Exported targets name the dependencies that cmake/whilstConfig.cmake.in finds again.
function(whilst_link_runtime target scope)
  target_link_libraries(${target} ${scope} Threads::Threads)
  if(OpenMP_CXX_FOUND)
    target_link_libraries(${target} ${scope} OpenMP::OpenMP_CXX)
  endif()
  if(NOT whilst_with_cuda)
    return()
  endif()
  target_link_libraries(${target} ${scope} ${whilst_cudart} ${CMAKE_DL_LIBS})  # NVTX looks for a profiler by dlopen
  target_compile_definitions(${target} ${scope} WHILST_WITH_CUDA=1)
  set(nvcc_flags --extended-lambda --expt-relaxed-constexpr
    # A __host__ __device__ method that is recorded calls the host's recorder from text that could also run in a kernel.
    # No pragma reaches the lambdas within, so the two warnings are off for every user of the template door.
    -diag-suppress=20011,20014)
  if(OpenMP_CXX_FOUND AND OpenMP_CXX_FLAGS)
    list(APPEND nvcc_flags "-Xcompiler=${OpenMP_CXX_FLAGS}")
  endif()
  target_compile_options(${target} ${scope} "$<$<COMPILE_LANGUAGE:CUDA>:${nvcc_flags}>")
endfunction()

# Replaces each source in the list variable that says so in its first line by two in the build folder, which include it
# with WHILST_NUMBER defined as float and as double. A CUDA process loads all the kernels of a source at once: with float
# and double in one, it would wait for both, and the build would wait twice as long for its slowest sources. Configure
# again after adding the line. Without WHILST_FLOAT_FOR_GPUS those for float are left to the host's compiler.
function(whilst_for_each_number sources)
  set(result "")
  foreach(source IN LISTS ${sources})
    file(STRINGS ${source} first_line LIMIT_COUNT 1)
    if(NOT first_line STREQUAL "// compiled for each number type, by nvcc where CUDA is on")
      list(APPEND result ${source})
      continue()
    endif()
    string(REGEX REPLACE "\\.cpp$" "" stem ${source})
    foreach(number IN ITEMS float double)
      set(made ${CMAKE_CURRENT_BINARY_DIR}/${stem}_${number}.cpp)
      set(mark "// compiled by nvcc where CUDA is on\n")
      if(number STREQUAL "float" AND NOT WHILST_FLOAT_FOR_GPUS)
        set(mark "")
      endif()
      file(CONFIGURE OUTPUT ${made} @ONLY CONTENT
        "${mark}#define WHILST_NUMBER ${number}\n#include \"${source}\"\n")
      set_source_files_properties(${made} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      list(APPEND result ${made})
    endforeach()
  endforeach()
  set(${sources} ${result} PARENT_SCOPE)
endfunction()

# The language in which a source may be compiled together with others; nothing if it has settings of its own.
function(whilst_joins_as source result)
  get_source_file_property(language ${source} LANGUAGE)
  get_source_file_property(options ${source} COMPILE_OPTIONS)
  get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
  if(options OR definitions)
    set(language "")
  elseif(NOT language STREQUAL "CUDA")
    set(language CXX)
  endif()
  set(${result} ${language} PARENT_SCOPE)
endfunction()

# With WHILST_JOIN_SOURCES, has the sources of a target that nvcc compiles, and those for each number type, compiled twelve
# at a time: reading headers and instantiating what they share is half of nvcc's time for four, and that of twelve is two
# thirds of that of three times four. CMake's own unity build has no CUDA before 3.31, and would put float and double
# together, which define the same templates. Not more at a time: all but one core would wait for the last, and a compiler
# would want more than the 1.3 GB that it takes.
function(whilst_join_sources target)
  if(NOT WHILST_JOIN_SOURCES)
    return()
  endif()
  foreach(source IN LISTS ARGN)
    whilst_joins_as(${source} language)
    if(NOT language)
      continue()
    elseif(source MATCHES "_(float|double)\\.cpp$" AND IS_ABSOLUTE ${source})
      list(APPEND of_${CMAKE_MATCH_1} ${source})
    elseif(language STREQUAL "CUDA")
      list(APPEND of_any ${source})
    endif()
  endforeach()
  foreach(kind IN ITEMS any float double)
    set(part 0)
    list(LENGTH of_${kind} left)
    while(left GREATER 1)
      list(SUBLIST of_${kind} 0 12 together)
      list(REMOVE_ITEM of_${kind} ${together})
      list(LENGTH of_${kind} left)
      list(GET together 0 first)
      whilst_joins_as(${first} language)
      set(text "")
      foreach(source IN LISTS together)
        cmake_path(ABSOLUTE_PATH source)
        string(APPEND text "#include \"${source}\"\n")
      endforeach()
      set(made ${CMAKE_CURRENT_BINARY_DIR}/joined/${target}_${kind}_${part}.cpp)
      file(CONFIGURE OUTPUT ${made} CONTENT "${text}" @ONLY)
      set_source_files_properties(${together} PROPERTIES HEADER_FILE_ONLY ON)
      set_source_files_properties(${made} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON LANGUAGE ${language})
      target_sources(${target} PRIVATE ${made})
      math(EXPR part "${part} + 1")
    endwhile()
  endforeach()
endfunction()

# What holds for Whilst's own targets and not for its users: warnings, the standard, which sources nvcc compiles.
# Source properties belong to a directory: call it in the one that adds the target.
function(whilst_own_code target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set(warnings -Wall -Wextra)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    list(APPEND warnings -Wno-restrict)  # GCC 12 sees overlaps in "text" + string that are not there: its bug 105651
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND WHILST_SANITIZE)
    list(APPEND warnings -Wno-maybe-uninitialized)  # by GCC's manual, the sanitizers make it see what is not there
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 17)
    list(APPEND warnings -Wno-deprecated-declarations)  # GCC 12's std::stable_sort uses what it calls deprecated
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # To GCC, all but the file that it was given are headers: also sources that are joined, or compiled for each number type.
    list(APPEND warnings -Wno-subobject-linkage)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")
  if(WHILST_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
  endif()
  if(NOT whilst_with_cuda)
    whilst_join_sources(${target} ${ARGN})
    return()
  endif()
  set_target_properties(${target} PROPERTIES
    CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF CUDA_SEPARABLE_COMPILATION OFF)
  list(JOIN warnings "," host_warnings)
  # nvcc calls constants of a functor unused that only a requires expression asks for (#177); the host compiler finds the
  # ones that are.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${host_warnings};-diag-suppress=177>")
  if(WHILST_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings -Xcompiler=-Werror>")
  endif()
  # One source for both builds: a file says itself that it holds kernels. Configure again after adding the line.
  foreach(source IN LISTS ARGN)
    whilst_is_for_nvcc(${source} for_nvcc)
    if(for_nvcc)
      set_source_files_properties(${source} PROPERTIES LANGUAGE CUDA)
    endif()
  endforeach()
  whilst_join_sources(${target} ${ARGN})
endfunction()
