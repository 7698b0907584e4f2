// The regular expressions of the YAML 1.2 core schema (section 10.3.2), written as code. A plain
// scalar is tried as null, boolean, integer, float, infinity; any other text is a string. Beyond
// the schema, integers keep 64 bits and are refused above, because JSON readers would round them.
#include "schedd/text/yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "schedd/base/names.h"

namespace muster::yaml {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// The words of the core schema, in its three spellings.
bool IsNull(std::string_view text) { return IsOneOf(text, {"", "~", "null", "Null", "NULL"}); }
bool IsTrue(std::string_view text) { return IsOneOf(text, {"true", "True", "TRUE"}); }
bool IsFalse(std::string_view text) { return IsOneOf(text, {"false", "False", "FALSE"}); }

// ".inf" with a sign or without.
bool IsInfinity(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return IsOneOf(text, {".inf", ".Inf", ".INF"});
}
bool IsNan(std::string_view text) { return IsOneOf(text, {".nan", ".NaN", ".NAN"}); }

// [-+]?[0-9]+, 0o[0-7]+ or 0x[0-9a-fA-F]+.
bool IsInteger(std::string_view text) {
  if (text.starts_with("0o")) {
    return text.size() > 2 &&
           std::all_of(text.begin() + 2, text.end(), [](char c) { return c >= '0' && c <= '7'; });
  }
  if (text.starts_with("0x")) {
    return text.size() > 2 && std::all_of(text.begin() + 2, text.end(), [](char c) {
             return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
           });
  }
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

// [-+]?(.5 | 5. | 5.5)([eE][-+]?[0-9]+)?; also whole numbers, which IsInteger takes first.
bool IsFloat(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  std::size_t at = 0;
  std::size_t digits = 0;
  while (at < text.size() && IsDigit(text[at])) ++at, ++digits;
  if (at < text.size() && text[at] == '.') {
    ++at;
    while (at < text.size() && IsDigit(text[at])) ++at, ++digits;
  }
  if (digits == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const std::size_t from = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    if (at == from) return false;
  }
  return at == text.size();
}

// nullopt if the number does not fit.
template <class Integer>
std::optional<Integer> Read(std::string_view text, int base) {
  Integer number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// int64, else uint64; std::from_chars takes no '+' and no prefix.
Result<json::value> ReadInteger(std::string_view text) {
  std::string_view digits = text;
  int base = 10;
  if (text.starts_with("0o")) base = 8, digits.remove_prefix(2);
  if (text.starts_with("0x")) base = 16, digits.remove_prefix(2);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  if (const auto number = Read<std::int64_t>(digits, base)) return json::value(*number);
  if (const auto number = Read<std::uint64_t>(digits, base)) return json::value(*number);
  return InvalidArgument("the integer " + Quoted(text) +
                         " is beyond 64 bits (quote it to keep it as a string)");
}

// std::from_chars takes no '+'.
Result<json::value> ReadFloat(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  std::string padded(digits);
  double number = 0;
  const auto [end, ec] = std::from_chars(padded.data(), padded.data() + padded.size(), number);
  if (ec != std::errc() || end != padded.data() + padded.size()) {
    return InvalidArgument("the number " + Quoted(text) + " is beyond the range of a double");
  }
  return json::value(number);
}

// The order matters only for texts that two of the expressions match.
Result<json::value> ResolvePlain(std::string_view text) {
  if (IsNull(text)) return json::value(nullptr);
  if (IsTrue(text)) return json::value(true);
  if (IsFalse(text)) return json::value(false);
  if (IsInteger(text)) return ReadInteger(text);
  if (IsFloat(text)) return ReadFloat(text);
  if (IsInfinity(text) || IsNan(text)) {
    return InvalidArgument(std::string(text) +
                           " is not a number that JSON can hold (quote it to keep it as a string)");
  }
  return json::value(json::string(text));
}

}  // namespace

// A tag that contradicts the text is refused; "!" makes any scalar a string.
Result<json::value> Resolve(std::string_view text, std::string_view tag, bool plain) {
  constexpr std::string_view kCore = "tag:yaml.org,2002:";
  if (tag.empty()) return plain ? ResolvePlain(text) : json::value(json::string(text));
  if (tag == "!") return json::value(json::string(text));
  if (!tag.starts_with(kCore))
    return InvalidArgument("the tag " + Quoted(tag) + " is not supported");
  tag.remove_prefix(kCore.size());
  const auto wrong = [&] {
    return InvalidArgument(Quoted(text) + " is not of its tag's type !!" + std::string(tag));
  };
  if (tag == "str") return json::value(json::string(text));
  if (tag == "null") return IsNull(text) ? Result<json::value>(json::value(nullptr)) : wrong();
  if (tag == "bool") {
    if (!IsTrue(text) && !IsFalse(text)) return wrong();
    return json::value(IsTrue(text));
  }
  if (tag == "int") return IsInteger(text) ? ReadInteger(text) : wrong();
  if (tag == "float") return IsInteger(text) || IsFloat(text) ? ReadFloat(text) : wrong();
  return InvalidArgument("the tag !!" + std::string(tag) + " is not supported");
}

// Stricter than YAML: text with indicators that are harmless in some places is quoted too.
bool IsPlainString(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
  constexpr std::string_view kIndicators = "-?:,[]{}#&*!|>'\"%@`=<";
  if (kIndicators.find(text.front()) != std::string_view::npos) return false;
  if (text.starts_with("...")) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c >= 0x7f) return false;
    if (c == ':' && (i + 1 == text.size() || text[i + 1] == ' ')) return false;
    if (c == '#' && text[i - 1] == ' ') return false;
    if (c == ',' || c == '[' || c == ']' || c == '{' || c == '}') return false;
  }
  if (IsNull(text) || IsTrue(text) || IsFalse(text) || IsInteger(text) || IsFloat(text) ||
      IsInfinity(text) || IsNan(text)) {
    return false;
  }
  // Words that a YAML 1.1 reader takes for booleans are quoted.
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return !IsOneOf(lower, {"y", "n", "yes", "no", "on", "off"});
}

}  // namespace muster::yaml
