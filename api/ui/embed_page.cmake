# Writes OUT: the files of the folder DIST as constants, with their forms in gzip and brotli. Run as a script:
# cmake -DDIST=... -DOUT=... -P embed_page.cmake
file(STRINGS ${DIST}/manifest.txt lines)
set(bytes)
set(rows)
set(at 0)
foreach(line IN LISTS lines)
  string(REPLACE "|" ";" parts "${line}")
  # The media type may have a ';' of its own: it is all between the first and the last part.
  list(POP_FRONT parts name)
  list(POP_BACK parts hash)
  list(JOIN parts ";" type)
  set(forms)
  foreach(ending "" .gz .br)
    file(READ ${DIST}/${name}${ending} hex HEX)
    string(LENGTH "${hex}" length)
    math(EXPR length "${length} / 2")
    string(REGEX REPLACE "(..)" "'\\\\x\\1'," hex "${hex}")
    string(APPEND bytes "constexpr char kBytes${at}[] = {${hex}0};\n")
    list(APPEND forms "{kBytes${at}, ${length}}")
    math(EXPR at "${at} + 1")
  endforeach()
  list(JOIN forms ", " forms)
  string(APPEND rows "    {\"${name}\", \"${type}\", \"${hash}\", ${forms}},\n")
endforeach()
file(WRITE ${OUT}.tmp "// Made from clients/web/dist by api/ui/embed_page.cmake.
#include \"api/ui/page_files.h\"
namespace muster::ui {
namespace {
${bytes}
constexpr PageFile kFiles[] = {
${rows}};
}  // namespace
std::span<const PageFile> PageFiles() { return kFiles; }
}  // namespace muster::ui
")
file(RENAME ${OUT}.tmp ${OUT})
