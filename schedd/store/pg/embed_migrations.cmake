# Writes OUTPUT, a C++ file with every migration below DIR as string literals.
#   cmake -DDIR=... -DOUTPUT=... -P embed_migrations.cmake
file(GLOB ups "${DIR}/*.up.sql")
list(SORT ups)
set(body "")
foreach(up ${ups})
  get_filename_component(base "${up}" NAME)
  string(REGEX REPLACE "\\.up\\.sql$" "" base "${base}")
  if(NOT base MATCHES "^([0-9][0-9][0-9][0-9])_([a-z_]+)$")
    message(FATAL_ERROR "${up}: a migration is named NNNN_name.up.sql")
  endif()
  set(name "${CMAKE_MATCH_2}")
  string(REGEX REPLACE "^0+" "" number "${CMAKE_MATCH_1}")
  file(READ "${up}" up_text)
  file(READ "${DIR}/${base}.down.sql" down_text)
  string(APPEND body "      {${number}, \"${name}\", R\"muster_sql(${up_text})muster_sql\", R\"muster_sql(${down_text})muster_sql\"},\n")
endforeach()
file(WRITE "${OUTPUT}.new" "#include \"schedd/store/pg/migrator.h\"

namespace muster::pg {

const std::vector<Migration>& EmbeddedMigrations() {
  static const std::vector<Migration> migrations = {
${body}  };
  return migrations;
}

}  // namespace muster::pg
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
