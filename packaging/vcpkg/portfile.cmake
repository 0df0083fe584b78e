# An overlay port of the tree it lies in:  vcpkg install gangsched --overlay-ports=packaging/vcpkg
# In a registry the source path comes from vcpkg_from_github() instead.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../.." ABSOLUTE)

vcpkg_check_linkage(ONLY_STATIC_LIBRARY)
vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options FEATURES kube GANGSCHED_BUILD_KUBE kube GANGSCHED_BUILD_C)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DGANGSCHED_BUILD_TESTING=OFF
    -DGANGSCHED_BUILD_EXAMPLES=OFF
    -DGANGSCHED_BUILD_BENCH=OFF
    -DGANGSCHED_WERROR=OFF
    ${feature_options})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/gangsched)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/share/doc")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
