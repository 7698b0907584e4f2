// The files of the web page, as clients/web/dist has them, compiled into the program.
#pragma once

#include <span>
#include <string_view>

namespace muster::ui {

struct PageFile {
  std::string_view name;  // "app-0123456789ab.js", "index.html"
  std::string_view type;  // its media type
  std::string_view hash;  // of its plain content, hexadecimal
  std::string_view plain, gzip, brotli;
};

/// All files. Constant; thread-safe.
std::span<const PageFile> PageFiles();

}  // namespace muster::ui
