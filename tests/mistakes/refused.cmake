# A program that makes a mistake is refused by the compiler, in at most 20 lines, in words that name the member.
# Run with -DCOMPILER, -DSOURCE and -DINCLUDE; the source's first line has the words after "// refused: ".
file(STRINGS ${SOURCE} words LIMIT_COUNT 1)
string(REPLACE "// refused: " "" words "${words}")
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -I${INCLUDE} ${SOURCE}
  RESULT_VARIABLE status ERROR_VARIABLE said OUTPUT_VARIABLE said)
string(REGEX MATCHALL "\n" lines "${said}")
list(LENGTH lines count)
message("${said}${count} lines")
if(status EQUAL 0)
  message(FATAL_ERROR "the compiler takes it")
endif()
string(FIND "${said}" "${words}" found)
if(found EQUAL -1)
  message(FATAL_ERROR "it is not refused by: ${words}")
endif()
if(count GREATER 20)
  message(FATAL_ERROR "it takes more than 20 lines to say so")
endif()
