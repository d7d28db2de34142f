# The C interface. Its functions are part of the library, so that static programs have them. whilst_c is a shared library of its
# own, which exports them and nothing else and holds all it needs of the C++ library, unless that is shared, too.

file(GLOB c_sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} solvers/c/*.cpp)
add_library(whilst_c_functions OBJECT ${c_sources})
target_include_directories(whilst_c_functions PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
set_target_properties(whilst_c_functions PROPERTIES POSITION_INDEPENDENT_CODE ON)
whilst_link_runtime(whilst_c_functions PRIVATE)
whilst_own_code(whilst_c_functions ${c_sources})
target_sources(whilst PRIVATE $<TARGET_OBJECTS:whilst_c_functions>)

if(WHILST_BUILD_C)
  add_library(whilst_c SHARED $<TARGET_OBJECTS:whilst_c_functions>)
  add_library(whilst::c ALIAS whilst_c)
  target_include_directories(whilst_c
    INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(whilst_c PRIVATE whilst)
  set(exported ${PROJECT_SOURCE_DIR}/cmake/c_exports.map)
  target_link_options(whilst_c PRIVATE LINKER:--version-script=${exported})
  set_target_properties(whilst_c PROPERTIES
    EXPORT_NAME c LINKER_LANGUAGE CXX LINK_DEPENDS ${exported}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()
