# Has the tests of a target compiled twelve at a time: reading headers is half the time of a test, and instantiating the
# templates of a method much of the rest. Call it once the sources have all their properties.
#
# Each test keeps its names to itself, in a namespace around its text. What the tests share is outside: so the headers of
# all of them come first, and what a test includes later is there already. A changed test may include another header: then
# the build configures itself again. A test in another namespace than whilst_test, or that specializes a template of
# Eigen's, defines a macro other than Eigen's, or includes a source or what only some builds can, whilst/metis.hpp, is compiled
# alone.
function(whilst_join_tests target)
  foreach(source IN LISTS ARGN)
    whilst_joins_as(${source} language)
    file(STRINGS ${source} its_own LIMIT_COUNT 1 REGEX "^namespace whilst {|^namespace std {|^struct Eigen::|^#define [^E]|^#include .*(\\.cpp|/metis\\.hpp)")
    if(source MATCHES "_test\\.cpp$" AND language AND NOT its_own)
      list(APPEND of_${language} ${source})
    endif()
  endforeach()
  foreach(language IN ITEMS CUDA CXX)
    set(part 0)
    list(LENGTH of_${language} left)
    while(left GREATER 1)
      list(SUBLIST of_${language} 0 12 together)
      list(REMOVE_ITEM of_${language} ${together})
      list(LENGTH of_${language} left)
      set(headers "")
      set(tests "")
      foreach(source IN LISTS together)
        cmake_path(GET source STEM name)
        file(STRINGS ${source} without_cuda LIMIT_COUNT 1 REGEX "^#define EIGEN_NO_CUDA")
        file(STRINGS ${source} includes REGEX "^#include ")
        if(without_cuda)
          list(PREPEND headers "#define EIGEN_NO_CUDA")
        endif()
        list(APPEND headers ${includes})
        string(APPEND tests "namespace of_${name} {\nnamespace whilst_test {\nusing namespace ::whilst_test;\n}\n"
          "#include \"${source}\"\n}\n")
      endforeach()
      list(REMOVE_DUPLICATES headers)
      list(JOIN headers "\n" headers)
      set(made ${CMAKE_CURRENT_BINARY_DIR}/joined/${target}_${language}_${part}.cpp)
      file(CONFIGURE OUTPUT ${made} CONTENT "${headers}\nnamespace whilst_test {}\n${tests}" @ONLY)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${together})
      set_source_files_properties(${together} PROPERTIES HEADER_FILE_ONLY ON)
      set_source_files_properties(${made} PROPERTIES LANGUAGE ${language})
      target_sources(${target} PRIVATE ${made})
      math(EXPR part "${part} + 1")
    endwhile()
  endforeach()
endfunction()
