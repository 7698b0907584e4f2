// The predicates of names.h. They compare bytes, without regular expressions and without a locale:
// names come from users in every request.
#include "schedd/base/names.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::size_t kLabelBytes = 63;
constexpr std::size_t kSubdomainBytes = 253;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLowerAlnum(char c) { return IsLower(c) || IsDigit(c); }
bool IsAlnum(char c) { return IsLowerAlnum(c) || (c >= 'A' && c <= 'Z'); }
bool IsNameByte(char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; }

// One part of a DNS name (RFC 1123), without the length rule.
bool IsDnsPart(std::string_view text) {
  if (text.empty() || !IsLowerAlnum(text.front()) || !IsLowerAlnum(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return IsLowerAlnum(c) || c == '-'; });
}

// The name part of a qualified name: upper case, '_' and '.' are allowed inside it.
bool IsNamePart(std::string_view text) {
  if (text.empty() || text.size() > kLabelBytes) return false;
  if (!IsAlnum(text.front()) || !IsAlnum(text.back())) return false;
  return std::all_of(text.begin(), text.end(), IsNameByte);
}

}  // namespace

bool IsDnsLabel(std::string_view text) { return text.size() <= kLabelBytes && IsDnsPart(text); }

bool IsDns1035Label(std::string_view text) { return IsDnsLabel(text) && IsLower(text.front()); }

bool IsDnsSubdomain(std::string_view text) {
  if (text.empty() || text.size() > kSubdomainBytes) return false;
  while (true) {
    const std::size_t dot = text.find('.');
    if (!IsDnsPart(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

// A name without '/' has no prefix; with one, the prefix must not be empty.
bool IsQualifiedName(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsNamePart(text);
  return IsDnsSubdomain(text.substr(0, slash)) && IsNamePart(text.substr(slash + 1));
}

bool IsLabelValue(std::string_view text) { return text.empty() || IsNamePart(text); }

// Kubernetes 1.32 relaxed the rule to any printable ASCII but '='.
bool IsEnvName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return c > ' ' - 1 && c < 0x7f && c != '='; });
}

bool IsDataKey(std::string_view text) {
  return !text.empty() && text.size() <= kSubdomainBytes && text != "." &&
         !text.starts_with("..") && std::all_of(text.begin(), text.end(), IsNameByte);
}

bool IsPathSegment(std::string_view text) {
  return !text.empty() && text.size() <= kSubdomainBytes && text != "." && text != ".." &&
         std::none_of(text.begin(), text.end(), [](char c) {
           return c == '/' || c == '%' || c == 0x7f || static_cast<unsigned char>(c) < 0x20;
         });
}

std::string Quoted(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string out = "\"";
  for (const char c : text.substr(0, kShown)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  // The cut must not fall inside a UTF-8 sequence, because the message travels as JSON.
  if (text.size() > kShown) {
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();
    if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xc0) out.pop_back();
    out += "...";
  }
  return out + "\"";
}

}  // namespace muster
