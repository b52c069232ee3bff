# The bill of materials of bf-aot itself, in SPDX 2.3: docs/reference/sbom.md.

# bf_sbom_part(NAME VERSION LICENCE RELATION): a library that bf-aot is built with.
set(bf_sbom_packages "")
set(bf_sbom_relations "")
function(bf_sbom_part name version licence relation)
  string(APPEND bf_sbom_packages ",
    {
      \"SPDXID\": \"SPDXRef-${name}\",
      \"name\": \"${name}\",
      \"versionInfo\": \"${version}\",
      \"downloadLocation\": \"NOASSERTION\",
      \"filesAnalyzed\": false,
      \"licenseConcluded\": \"NOASSERTION\",
      \"licenseDeclared\": \"${licence}\",
      \"copyrightText\": \"NOASSERTION\"
    }")
  string(APPEND bf_sbom_relations ",
    {
      \"spdxElementId\": \"SPDXRef-bf-aot\",
      \"relationshipType\": \"${relation}\",
      \"relatedSpdxElement\": \"SPDXRef-${name}\"
    }")
  set(bf_sbom_packages "${bf_sbom_packages}" PARENT_SCOPE)
  set(bf_sbom_relations "${bf_sbom_relations}" PARENT_SCOPE)
endfunction()

bf_sbom_part(protobuf "${Protobuf_VERSION}" BSD-3-Clause DEPENDS_ON)
bf_sbom_part(fmt "${fmt_VERSION}" MIT DEPENDS_ON)
bf_sbom_part(zlib "${ZLIB_VERSION_STRING}" Zlib DEPENDS_ON)
bf_sbom_part(gmp "${GMP_gmp_VERSION}" "LGPL-3.0-or-later OR GPL-2.0-or-later" DEPENDS_ON)
bf_sbom_part(mpfr "${MPFR_VERSION}" LGPL-3.0-or-later DEPENDS_ON)
bf_sbom_part(libzip "${ZIP_VERSION}" BSD-3-Clause DEPENDS_ON)
bf_sbom_part(libpng "${PNG_VERSION}" Libpng-2.0 DEPENDS_ON)
bf_sbom_part(nettle "${NETTLE_VERSION}" "LGPL-3.0-or-later OR GPL-2.0-or-later" DEPENDS_ON)
bf_sbom_part(eigen "${Eigen3_VERSION}" MPL-2.0 STATIC_LINK)
bf_sbom_part(CLI11 "${CLI11_VERSION}" BSD-3-Clause STATIC_LINK)
bf_sbom_part(nlohmann-json "${nlohmann_json_VERSION}" MIT STATIC_LINK)

# The time of SOURCE_DATE_EPOCH where that is set.
string(TIMESTAMP bf_sbom_created "%Y-%m-%dT%H:%M:%SZ" UTC)
string(SHA256 bf_sbom_digest "${PROJECT_VERSION}${bf_sbom_packages}${bf_sbom_relations}")
configure_file(cmake/bf-aot.spdx.json.in ${PROJECT_BINARY_DIR}/bf-aot.spdx.json @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/bf-aot.spdx.json LICENSE
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/bf-aot)
