// Which bytes of the web page answer a request, and with which headers. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::ui {

/// What a request says of the answer that it can take, and whom else the page may ask; all may be
/// empty.
struct PageAsk {
  std::string_view accept_encoding;
  std::string_view if_none_match;
  /// Origins of the providers at which one can sign in, each after a space.
  std::string_view sign_in_origins = {};
};

struct PageAnswer {
  int status = 200;  // or 304
  std::string_view type;
  std::string_view body;  // constant; empty with 304
  std::vector<std::pair<std::string, std::string>> headers;
};

/// The page itself, for every address of a view.
PageAnswer IndexAnswer(const PageAsk& ask);
/// The file of this name; status 404 without a body if there is none.
PageAnswer FileAnswer(std::string_view name, const PageAsk& ask);

/// Whether an Accept-Encoding header takes a coding: named with a weight above 0, or by "*".
bool TakesCoding(std::string_view accept_encoding, std::string_view coding);

}  // namespace muster::ui
