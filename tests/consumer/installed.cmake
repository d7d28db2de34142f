# What lies below a prefix after an install: these programs, headers, documents and package files, and no others.
# Run with -DPREFIX and -DSOURCE; -DLIBRARIES and -DDOCUMENTS, folders below the prefix; -DPROGRAMS, their names;
# -DFOR_C=ON if the library for C is installed, -DSAMPLES=ON if sample programs are; -DFETCHED=ON if fetched packages may
# install headers beside ours.

cmake_minimum_required(VERSION 3.25)

# Fails unless `found`, what lies in a folder, is what is `expected`, in any order.
function(require_same folder found expected)
  set(missing ${expected})
  list(REMOVE_ITEM missing "" ${found})
  set(surplus ${found})
  list(REMOVE_ITEM surplus "" ${expected})
  if(missing OR surplus)
    message(SEND_ERROR "${PREFIX}/${folder} lacks: ${missing}; and should not have: ${surplus}")
  endif()
endfunction()

# The same of a folder's own entries.
function(require_entries folder)
  file(GLOB found LIST_DIRECTORIES ON RELATIVE ${PREFIX}/${folder} ${PREFIX}/${folder}/*)
  require_same(${folder} "${found}" "${ARGN}")
endfunction()

# The same of the files in and below a folder, which are those of the source's folder that match.
function(require_files_of_source folder source_folder pattern)
  file(GLOB_RECURSE found RELATIVE ${PREFIX}/${folder} ${PREFIX}/${folder}/*)
  file(GLOB_RECURSE expected RELATIVE ${SOURCE}/${source_folder} ${SOURCE}/${source_folder}/${pattern})
  require_same(${folder} "${found}" "${expected}")
endfunction()

if(NOT SAMPLES)
  require_entries(bin ${PROGRAMS})
endif()

if(NOT FETCHED)
  require_entries(include whilst)
endif()
require_files_of_source(include/whilst include/whilst *)

require_entries(${DOCUMENTS} CHANGELOG.md LICENSE README.md examples)
require_files_of_source(${DOCUMENTS}/examples examples *)
# The program writes these when it is built.
set(written "")
if("whilst" IN_LIST PROGRAMS)
  set(written man/man1/whilst.1 bash-completion/completions/whilst zsh/site-functions/_whilst
    fish/vendor_completions.d/whilst.fish)
endif()
foreach(file IN LISTS written)
  if(NOT EXISTS ${PREFIX}/share/${file})
    message(SEND_ERROR "there is no ${PREFIX}/share/${file}")
    continue()
  endif()
  file(SIZE ${PREFIX}/share/${file} size)
  if(size EQUAL 0)
    message(SEND_ERROR "${PREFIX}/share/${file} is empty")
  endif()
endforeach()

# A static library, or a shared one under three names; the one for C under three.
file(GLOB libraries RELATIVE ${PREFIX}/${LIBRARIES} ${PREFIX}/${LIBRARIES}/*whilst*)
set(for_c ${libraries})
list(FILTER for_c INCLUDE REGEX "^libwhilst_c")
if(FOR_C AND NOT "${for_c}" MATCHES "^libwhilst_c\\.so;libwhilst_c\\.so\\.[0-9.]+;libwhilst_c\\.so\\.[0-9.]+$")
  message(SEND_ERROR "${PREFIX}/${LIBRARIES} has these for C: ${for_c}")
endif()
list(REMOVE_ITEM libraries "" ${for_c})
if(NOT "${libraries}" MATCHES "^libwhilst\\.(a|so;libwhilst\\.so\\.[0-9.]+;libwhilst\\.so\\.[0-9.]+)$")
  message(SEND_ERROR "${PREFIX}/${LIBRARIES} has these of whilst: ${libraries}")
endif()
file(GLOB configurations RELATIVE ${PREFIX}/${LIBRARIES}/cmake/whilst
  ${PREFIX}/${LIBRARIES}/cmake/whilst/whilst*Targets-*.cmake)
if(NOT configurations)
  message(SEND_ERROR "${PREFIX}/${LIBRARIES}/cmake/whilst has no whilstTargets-CONFIGURATION.cmake")
endif()
set(targets_for_c "")
set(module_for_c "")
if(FOR_C)
  set(targets_for_c whilst_cTargets.cmake)
  set(module_for_c whilst_c.pc)
endif()
require_entries(${LIBRARIES}/pkgconfig whilst.pc ${module_for_c})
require_entries(${LIBRARIES}/cmake/whilst
  whilstConfig.cmake whilstConfigVersion.cmake whilstTargets.cmake ${targets_for_c} ${configurations})
