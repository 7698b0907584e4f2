# cmake --install, and a Debian package by CPack (cpack -G DEB in the build directory).
install(TARGETS musterd muster-launcher muster_program muster-pod-supervisor RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The Slurm-named commands have a directory of their own, so that the user's PATH decides whether they hide a real Slurm.
install(TARGETS muster_slurm_program RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/muster/slurm)
install(CODE "
  foreach(name sbatch squeue scancel sacct sinfo scontrol)
    file(CREATE_LINK muster-slurm \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBEXECDIR}/muster/slurm/\${name}\" SYMBOLIC)
  endforeach()")
install(FILES README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES scripts/systemd/musterd.service scripts/systemd/muster-launcher.service DESTINATION lib/systemd/system)
install(FILES scripts/systemd/muster.conf DESTINATION lib/sysusers.d)
install(FILES scripts/systemd/musterd.yaml DESTINATION /etc/muster)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME muster)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Muster developers <muster@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "One batch scheduler for a fleet of clusters")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS postgresql-15)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_STRIP_FILES ON)
# The administrator's configuration outlives an upgrade.
file(WRITE ${CMAKE_BINARY_DIR}/conffiles "/etc/muster/musterd.yaml\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/conffiles ${CMAKE_SOURCE_DIR}/scripts/systemd/postinst)
include(CPack)
