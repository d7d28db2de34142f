# Moves an installed Whilst elsewhere, compiles the program of tests/consumer by what pkg-config says there, and runs it.
# Run with -DPREFIX, -DLIBRARIES (a folder below it), -DSOURCE, -DCOMPILER, -DPKG_CONFIG, -DVERSION and -DFOLDER to work in.

cmake_minimum_required(VERSION 3.25)
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE said ERROR_VARIABLE wrong RESULT_VARIABLE failed
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    message(FATAL_ERROR "${ARGN}\n${said}\n${wrong}")
  endif()
  set(said "${said}" PARENT_SCOPE)
endfunction()

set(moved "${FOLDER}/moved away")  # with a space, as users have them
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${moved})
file(COPY ${PREFIX}/ DESTINATION ${moved})
set(ENV{PKG_CONFIG_PATH} "${moved}/${LIBRARIES}/pkgconfig")
run(${PKG_CONFIG} --modversion whilst)
if(NOT said STREQUAL VERSION)
  message(FATAL_ERROR "whilst.pc is of version ${said}, and the library of ${VERSION}")
endif()
run(${PKG_CONFIG} --cflags --libs whilst)
if(said MATCHES "${PREFIX}")
  message(FATAL_ERROR "whilst.pc still leads to ${PREFIX}: ${said}")
endif()
separate_arguments(flags UNIX_COMMAND "${said}")
run(${COMPILER} -std=c++20 ${SOURCE} -o ${FOLDER}/consumer ${flags})
set(ENV{LD_LIBRARY_PATH} "${moved}/${LIBRARIES}")
run(${FOLDER}/consumer)
