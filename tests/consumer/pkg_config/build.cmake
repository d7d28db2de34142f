# Moves an installed Whilst elsewhere, compiles a program by what pkg-config says there of a module, and runs it. Run with
# -DPREFIX, -DLIBRARIES (a folder below it), -DMODULE, -DSOURCE, -DCOMPILER, -DSTANDARD, -DPKG_CONFIG, -DVERSION and -DFOLDER to
# work in.

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
run(${PKG_CONFIG} --modversion ${MODULE})
if(NOT said STREQUAL VERSION)
  message(FATAL_ERROR "${MODULE}.pc is of version ${said}, and the library of ${VERSION}")
endif()
run(${PKG_CONFIG} --cflags --libs ${MODULE})
if(said MATCHES "${PREFIX}")
  message(FATAL_ERROR "${MODULE}.pc still leads to ${PREFIX}: ${said}")
endif()
separate_arguments(flags UNIX_COMMAND "${said}")
run(${COMPILER} -std=${STANDARD} ${SOURCE} -o ${FOLDER}/consumer ${flags})
set(ENV{LD_LIBRARY_PATH} "${moved}/${LIBRARIES}")
run(${FOLDER}/consumer)
