# Run at each build, as cmake -DSOURCE=... -DGIT=... -DOUTPUT=... -P commit.cmake: writes a header with the commit that
# is built, and leaves it alone where it is the same as before.

cmake_minimum_required(VERSION 3.25)
set(commit "$ENV{WHILST_COMMIT}")
if(commit STREQUAL "" AND GIT AND EXISTS ${SOURCE}/.git)  # not of a repository that this one was copied into
  set(git ${GIT} --no-optional-locks -C ${SOURCE})
  execute_process(COMMAND ${git} rev-parse HEAD
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  execute_process(COMMAND ${git} status --porcelain OUTPUT_VARIABLE changes ERROR_QUIET)
  if(failed)
    set(commit "")
  elseif(NOT changes STREQUAL "")
    string(APPEND commit ", changed")
  endif()
endif()
if(commit STREQUAL "")
  set(commit unknown)
endif()
string(REGEX REPLACE "[^0-9A-Za-z ,._+-]" "_" commit "${commit}")  # it becomes a literal
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#pragma once\n#define WHILST_COMMIT \"@commit@\"\n" @ONLY)
