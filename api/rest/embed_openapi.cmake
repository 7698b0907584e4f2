# Writes OUT: the text of IN as a C++ string. Run as a script: cmake -DIN=... -DOUT=... -P embed_openapi.cmake
file(READ ${IN} text)
file(WRITE ${OUT}.tmp "// Made from api/openapi/muster.v1.yaml by api/rest/embed_openapi.cmake.
#include \"api/rest/openapi_text.h\"
namespace muster::rest {
const std::string_view kOpenApiText = ")
# A raw string literal may be 64 KiB long in some compilers: cut at lines.
string(LENGTH "${text}" length)
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 8000 piece)
  file(APPEND ${OUT}.tmp "R\"openapi(${piece})openapi\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
file(APPEND ${OUT}.tmp ";\n}  // namespace muster::rest\n")
file(RENAME ${OUT}.tmp ${OUT})
