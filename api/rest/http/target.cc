// The path is split before it is decoded, so %2F in a segment never makes two segments. Segments
// that two servers could read differently ("", ".", "..") are refused and not resolved.
#include "api/rest/http/target.h"

#include <algorithm>

namespace muster::rest {
namespace {

// -1 for a character that is no hexadecimal digit.
int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// "a=1&b" into name and value pairs; a name without '=' has the value "".
bool ParseQuery(std::string_view text, Request* request) {
  while (!text.empty()) {
    const std::size_t end = text.find('&');
    const std::string_view pair = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    std::string name, value;
    if (!PercentDecode(pair.substr(0, equals), true, &name)) return false;
    if (equals != std::string_view::npos && !PercentDecode(pair.substr(equals + 1), true, &value))
      return false;
    request->query.emplace_back(std::move(name), std::move(value));
  }
  return true;
}

}  // namespace

bool PercentDecode(std::string_view text, bool plus_is_space, std::string* out) {
  out->clear();
  out->reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return false;
      const int high = HexValue(text[i + 1]), low = HexValue(text[i + 2]);
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') return false;
    out->push_back(c);
  }
  return true;
}

bool ParseTarget(std::string_view target, Request* request) {
  if (target.empty() || target[0] != '/' || target.find('#') != std::string_view::npos)
    return false;
  const std::size_t question = target.find('?');
  std::string_view path =
      target.substr(1, question == std::string_view::npos ? question : question - 1);
  if (question != std::string_view::npos && !ParseQuery(target.substr(question + 1), request))
    return false;
  // "/v1/jobs/" is "/v1/jobs".
  if (!path.empty() && path.back() == '/') path.remove_suffix(1);
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    std::string segment;
    if (!PercentDecode(path.substr(0, slash), false, &segment)) return false;
    if (segment.empty() || segment == "." || segment == "..") return false;
    request->segments.push_back(std::move(segment));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
    // One slash at the end was dropped above; this is a second one.
    if (path.empty()) return false;
  }
  return true;
}

}  // namespace muster::rest
