vcpkg_download_distfile(archive
  URLS "@URL@"
  FILENAME "whilst-@VERSION@.tar.gz"
  SHA512 @SHA512@)
vcpkg_extract_source_archive(source ARCHIVE "${archive}")

set(with_cuda OFF)
if("cuda" IN_LIST FEATURES)
  set(with_cuda ON)
endif()
set(with_c OFF)
if("c" IN_LIST FEATURES)
  set(with_c ON)
endif()
vcpkg_cmake_configure(
  SOURCE_PATH "${source}"
  OPTIONS
    -DWHILST_CUDA=${with_cuda}
    -DWHILST_BUILD_C=${with_c}
    -DWHILST_BUILD_APPS=OFF
    -DWHILST_BUILD_BENCHMARKS=OFF
    -DWHILST_BUILD_TESTS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/whilst)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE")
