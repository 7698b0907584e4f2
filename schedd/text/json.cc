// Strict JSON on Boost.JSON's event parser, and writers of our own.
//
// Reading: StrictHandler builds the value on Boost's stack and refuses what Boost lets pass: NUL in
// a string, integers beyond 64 bits, numbers beyond a double. Boost lets the last of two equal keys
// win; the handler only counts keys, and if the value has fewer, a second parse (DuplicateFinder)
// finds the repeated key and its path. So documents without duplicates pay nothing for the check.
//
// Writing: strings are copied in runs; eight bytes at a time are checked for characters that need
// an escape. Doubles are written by std::to_chars, the shortest text that reads back as the same
// number.
#include "schedd/text/json.h"

#include <algorithm>
#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <set>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/text/parse_budget.h"

namespace muster {
namespace {

using boost::json::error_code;
using boost::json::string_view;

// Builds the value, refuses what Boost lets pass, and counts keys and values. One use per document.
struct StrictHandler {
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  // The stack's first block, before it allocates.
  unsigned char first_values[8192];
  boost::json::value_stack stack{{}, first_values, sizeof first_values};
  std::size_t keys = 0;
  const char* refusal = nullptr;
  // Null: no bound.
  ParseBudget* budget = nullptr;
  bool over_budget = false;

  // Takes values from the budget. A false return of any handler function ends the parse.
  bool Count(std::size_t values, error_code& ec) {
    if (budget == nullptr || budget->TakeValues(values)) return true;
    over_budget = true;
    ec = boost::json::error::syntax;
    return false;
  }
  // Ends the parse with a reason of our own.
  bool Refuse(const char* why, error_code& ec) {
    refusal = why;
    ec = boost::json::error::syntax;
    return false;
  }
  bool Text(string_view text, error_code& ec) {
    if (text.find('\0') != string_view::npos) return Refuse("a string contains NUL", ec);
    return true;
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(std::size_t n, error_code& ec) {
    keys += n;
    stack.push_object(n);
    return Count(1, ec);
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t n, error_code& ec) {
    stack.push_array(n);
    return Count(1, ec);
  }
  bool on_key_part(string_view s, std::size_t, error_code& ec) {
    if (!Text(s, ec)) return false;
    stack.push_chars(s);
    return true;
  }
  bool on_key(string_view s, std::size_t, error_code& ec) {
    if (!Text(s, ec)) return false;
    stack.push_key(s);
    return Count(1, ec);
  }
  bool on_string_part(string_view s, std::size_t, error_code& ec) {
    if (!Text(s, ec)) return false;
    stack.push_chars(s);
    return true;
  }
  bool on_string(string_view s, std::size_t, error_code& ec) {
    if (!Text(s, ec)) return false;
    stack.push_string(s);
    return Count(1, ec);
  }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(std::int64_t i, string_view, error_code& ec) {
    stack.push_int64(i);
    return Count(1, ec);
  }
  bool on_uint64(std::uint64_t u, string_view, error_code& ec) {
    stack.push_uint64(u);
    return Count(1, ec);
  }
  // Boost calls it also for integers that do not fit in 64 bits.
  bool on_double(double, string_view text, error_code& ec) {
    if (text.find_first_of(".eE") == string_view::npos) {
      return Refuse("an integer is beyond 64 bits (quote it to keep it as a string)", ec);
    }
    // The number that Boost has computed may be off by the last bit.
    double exact = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), exact).ec != std::errc()) {
      return Refuse("a number is beyond the range of a double", ec);
    }
    stack.push_double(exact);
    return Count(1, ec);
  }
  bool on_bool(bool b, error_code& ec) {
    stack.push_bool(b);
    return Count(1, ec);
  }
  bool on_null(error_code& ec) {
    stack.push_null();
    return Count(1, ec);
  }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }
};

// Line and column, both from 1; the column is in bytes.
std::string Position(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start =
      before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return "line " + std::to_string(lines + 1) + ", column " +
         std::to_string(before.size() - line_start + 1);
}

// All keys of a value; fewer than were read if a key was given twice.
std::size_t CountKeys(const json::value& value) {
  std::size_t n = 0;
  if (const auto* object = value.if_object()) {
    n = object->size();
    for (const auto& member : *object) n += CountKeys(member.value());
  } else if (const auto* array = value.if_array()) {
    for (const auto& item : *array) n += CountKeys(item);
  }
  return n;
}

// Second parse of a text that is good JSON with a repeated key somewhere: finds the path of the
// first one.
struct DuplicateFinder : StrictHandler {
  // An object or array that is open.
  struct Frame {
    std::set<std::string> keys;
    std::string key;
    // Of an array: the item that comes next; -1 for an object.
    std::int64_t index = -1;
  };
  std::vector<Frame> frames;
  std::string partial, found;

  // A value has ended: in an array the next one follows.
  void Advance() {
    if (!frames.empty() && frames.back().index >= 0) ++frames.back().index;
  }
  // The path of a key of the innermost object: "spec.containers[0].name".
  std::string PathTo(const std::string& key) const {
    std::string path;
    for (std::size_t i = 0; i + 1 < frames.size(); ++i) {
      if (frames[i].index >= 0) {
        path += "[" + std::to_string(frames[i].index) + "]";
      } else {
        path += (path.empty() ? "" : ".") + frames[i].key;
      }
    }
    return path + (path.empty() ? "" : ".") + key;
  }
  bool on_object_begin(error_code&) {
    frames.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, error_code&) {
    frames.pop_back();
    Advance();
    return true;
  }
  bool on_array_begin(error_code&) {
    frames.emplace_back().index = 0;
    return true;
  }
  bool on_array_end(std::size_t, error_code&) {
    frames.pop_back();
    Advance();
    return true;
  }
  bool on_key_part(string_view s, std::size_t, error_code&) {
    partial.append(s.data(), s.size());
    return true;
  }
  bool on_key(string_view s, std::size_t, error_code& ec) {
    partial.append(s.data(), s.size());
    frames.back().key = std::move(partial);
    partial.clear();
    if (!frames.back().keys.insert(frames.back().key).second) {
      found = PathTo(frames.back().key);
      return Refuse("duplicate", ec);
    }
    return true;
  }
  bool Scalar() {
    Advance();
    return true;
  }
  bool on_string_part(string_view, std::size_t, error_code&) { return true; }
  bool on_string(string_view, std::size_t, error_code&) { return Scalar(); }
  bool on_int64(std::int64_t, string_view, error_code&) { return Scalar(); }
  bool on_uint64(std::uint64_t, string_view, error_code&) { return Scalar(); }
  bool on_double(double, string_view, error_code&) { return Scalar(); }
  bool on_bool(bool, error_code&) { return Scalar(); }
  bool on_null(error_code&) { return Scalar(); }
};

// All other options keep Boost's strict defaults.
boost::json::parse_options Options() {
  boost::json::parse_options options;
  options.max_depth = limits::kJsonDepth;
  return options;
}

// The error with the path of the repeated key.
Error DuplicateKey(std::string_view text) {
  boost::json::basic_parser<DuplicateFinder> parser(Options());
  error_code ec;
  const std::size_t at = parser.write_some(false, text.data(), text.size(), ec);
  Error error = InvalidArgument("JSON: the key " + Quoted(parser.handler().found) +
                                " is given twice, at " + Position(text, at));
  error.fields.push_back({parser.handler().found, "is given twice"});
  return error;
}

// What is wrong, without the place.
std::string Message(const StrictHandler& handler, const error_code& ec) {
  if (handler.refusal != nullptr) return handler.refusal;
  if (ec == boost::json::error::too_deep) {
    return "nested deeper than " + std::to_string(limits::kJsonDepth) + " levels";
  }
  if (ec == boost::json::error::incomplete) return "the text ends too early";
  return ec.message();
}

constexpr char kHex[] = "0123456789abcdef";

bool NeedsEscape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

// Short escapes where JSON has them, else \u00XX.
void AppendEscaped(char c, std::string* out) {
  switch (c) {
    case '"':
      out->append("\\\"");
      return;
    case '\\':
      out->append("\\\\");
      return;
    case '\n':
      out->append("\\n");
      return;
    case '\r':
      out->append("\\r");
      return;
    case '\t':
      out->append("\\t");
      return;
    case '\b':
      out->append("\\b");
      return;
    case '\f':
      out->append("\\f");
      return;
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  out->append("\\u00");
  out->push_back(kHex[byte >> 4]);
  out->push_back(kHex[byte & 15]);
}

// A one, and the top bit, in each of eight bytes.
constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
constexpr std::uint64_t kTops = 0x8080808080808080ULL;

// True if one of eight bytes may need an escape: below 0x20, a quote or a backslash. May be true
// without need, never false wrongly: (x - 1) & ~x has the top bit set where the byte x is 0.
bool EightMayNeedEscape(std::uint64_t bytes) {
  const std::uint64_t quote = bytes ^ (kOnes * '"');
  const std::uint64_t backslash = bytes ^ (kOnes * '\\');
  return (((bytes - kOnes * 0x20) & ~bytes) | ((quote - kOnes) & ~quote) |
          ((backslash - kOnes) & ~backslash)) &
         kTops;
}

// The first position from `at` on whose character needs an escape; the size of the text if there is
// none.
std::size_t NextEscape(std::string_view text, std::size_t at) {
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, 8);
    if (EightMayNeedEscape(bytes)) break;
  }
  while (at < text.size() && !NeedsEscape(text[at])) ++at;
  return at;
}

// 40 bytes are enough for any 64-bit number and any double.
template <class Number>
void AppendNumber(std::string* out, Number number) {
  std::array<char, 40> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  out->append(buffer.data(), end);
}

// The shortest text that reads back as the same number.
void AppendDouble(std::string* out, double number) {
  const std::size_t from = out->size();
  AppendNumber(out, number);
  // A whole number gets ".0", so that it reads back as a double.
  if (out->find_first_of(".en", from) == std::string::npos) out->append(".0");
}

// `indent` is the level of the value; below 0 the text is compact.
void Append(std::string* out, const json::value& value, int indent) {
  const auto line = [&](int level) {
    if (indent < 0) return;
    out->push_back('\n');
    out->append(static_cast<std::size_t>(level) * 2, ' ');
  };
  const int inner = indent < 0 ? -1 : indent + 1;
  switch (value.kind()) {
    case json::kind::null:
      out->append("null");
      return;
    case json::kind::bool_:
      out->append(value.get_bool() ? "true" : "false");
      return;
    case json::kind::int64:
      AppendNumber(out, value.get_int64());
      return;
    case json::kind::uint64:
      AppendNumber(out, value.get_uint64());
      return;
    case json::kind::double_:
      AppendDouble(out, value.get_double());
      return;
    case json::kind::string:
      AppendJsonString(value.get_string(), out);
      return;
    case json::kind::array: {
      const auto& array = value.get_array();
      out->push_back('[');
      for (std::size_t i = 0; i < array.size(); ++i) {
        if (i > 0) out->push_back(',');
        line(inner);
        Append(out, array[i], inner);
      }
      if (!array.empty()) line(indent);
      out->push_back(']');
      return;
    }
    case json::kind::object: {
      out->push_back('{');
      bool first = true;
      for (const auto& member : value.get_object()) {
        if (!first) out->push_back(',');
        first = false;
        line(inner);
        AppendJsonString(member.key(), out);
        out->append(indent < 0 ? ":" : ": ");
        Append(out, member.value(), inner);
      }
      if (!first) line(indent);
      out->push_back('}');
      return;
    }
  }
}

}  // namespace

Result<json::value> ParseJson(std::string_view text, ParseBudget* budget) {
  boost::json::basic_parser<StrictHandler> parser(Options());
  auto& handler = parser.handler();
  handler.budget = budget;
  error_code ec;
  // All values of a document are freed together, so they share blocks instead of an allocation
  // each.
  handler.stack.reset(boost::json::make_shared_resource<boost::json::monotonic_resource>(
      std::clamp<std::size_t>(text.size() * 4, 1 << 10, 64 << 10)));
  // write_some stops behind the first value, so that trailing text can be reported with its place.
  std::size_t used = parser.write_some(false, text.data(), text.size(), ec);
  if (!ec && used < text.size()) {
    return InvalidArgument("JSON: text after the end of the document at " + Position(text, used));
  }
  if (handler.over_budget) {
    Error refusal = budget->Refusal();
    refusal.detail = "JSON: " + refusal.detail;
    return refusal;
  }
  if (ec) return InvalidArgument("JSON: " + Message(handler, ec) + " at " + Position(text, used));
  json::value value = handler.stack.release();
  if (CountKeys(value) != handler.keys) return DuplicateKey(text);
  return value;
}

Result<json::value> ParseJson(std::string_view text) { return ParseJson(text, nullptr); }

void AppendJsonString(std::string_view text, std::string* out) {
  out->push_back('"');
  std::size_t clean = 0;
  for (std::size_t at = NextEscape(text, 0); at < text.size(); at = NextEscape(text, clean)) {
    out->append(text.substr(clean, at - clean));
    AppendEscaped(text[at], out);
    clean = at + 1;
  }
  out->append(text.substr(clean));
  out->push_back('"');
}

std::string WriteJson(const json::value& value) {
  std::string out;
  out.reserve(256);
  Append(&out, value, -1);
  return out;
}

std::string WriteJsonPretty(const json::value& value) {
  std::string out;
  Append(&out, value, 0);
  return out;
}

}  // namespace muster
