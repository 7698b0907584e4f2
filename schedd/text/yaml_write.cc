// Writes YAML in block style, as kubectl does: lists are not indented below their key. A string is
// written plain if it reads back as the same string, as a literal block (`|`) if it has several
// lines and needs no escape, else in double quotes with escapes.
#include "schedd/text/yaml_write.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "schedd/text/yaml_scalar.h"

namespace muster {
namespace {

// YAML 1.2.2, 7.4.2: an implicit key has at most 1024 characters, with its quotes.
constexpr std::size_t kImplicitKeyBytes = 1000;

// Reads one UTF-8 sequence at *at and moves *at behind it. Text that came through a parser is
// valid.
std::uint32_t CodePoint(std::string_view text, std::size_t* at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])) : 0U;
  };
  const std::uint32_t first = byte(*at);
  const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
  constexpr std::array<std::uint32_t, 4> kMask = {0x7f, 0x1f, 0x0f, 0x07};
  std::uint32_t point = first & kMask[static_cast<std::size_t>(more)];
  for (int i = 1; i <= more; ++i)
    point = (point << 6) | (byte(*at + static_cast<std::size_t>(i)) & 0x3f);
  *at += static_cast<std::size_t>(more) + 1;
  return point;
}

// The characters that YAML calls printable, without the line separators that fold inside quotes.
bool IsPrintable(std::uint32_t point) {
  if (point < 0x20 || point == 0x7f) return false;
  if (point >= 0x80 && point < 0xa0) return false;
  return point != 0xfeff && point != 0x2028 && point != 0x2029 && point != 0xfffe &&
         point != 0xffff;
}

// Double quotes, the only style with escapes.
void AppendQuoted(std::string* out, std::string_view text) {
  constexpr char kHexDigits[] = "0123456789abcdef";
  out->push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    const std::uint32_t point = CodePoint(text, &at);
    if (point == '"' || point == '\\') {
      out->push_back('\\');
      out->push_back(static_cast<char>(point));
    } else if (point == '\n') {
      out->append("\\n");
    } else if (point == '\t') {
      out->append("\\t");
    } else if (IsPrintable(point)) {
      out->append(text.substr(from, at - from));
    } else {
      out->append("\\u");
      for (int shift = 12; shift >= 0; shift -= 4)
        out->push_back(kHexDigits[(point >> shift) & 15]);
    }
  }
  out->push_back('"');
}

// True if a literal block can hold the text. A first line that begins with a blank would need an
// indentation indicator, so such a text is quoted.
bool IsBlock(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.front() == ' ' || text.front() == '\n')
    return false;
  if (text.front() == '\t') return false;
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t point = CodePoint(text, &at);
    if (point != '\n' && point != '\t' && !IsPrintable(point)) return false;
  }
  return true;
}

// "|-" drops the last line end, "|+" keeps all of several, "|" keeps one.
void AppendBlock(std::string* out, std::string_view text, std::size_t indent) {
  out->push_back('|');
  if (!text.ends_with('\n')) {
    out->push_back('-');
  } else if (text.ends_with("\n\n")) {
    out->push_back('+');
  }
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out->push_back('\n');
    const std::string_view line = text.substr(0, end);
    if (!line.empty()) out->append(indent, ' ').append(line);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// A key is never written as a block.
void AppendText(std::string* out, std::string_view text, std::size_t indent, bool is_key) {
  if (yaml::IsPlainString(text)) {
    out->append(text);
  } else if (!is_key && !text.empty() && IsBlock(text)) {
    AppendBlock(out, text, indent);
  } else {
    AppendQuoted(out, text);
  }
}

// A key and its colon. A long key is written as an explicit one: "? key", and the colon below.
void AppendKey(std::string* out, std::string_view key, std::size_t indent) {
  const std::size_t from = out->size();
  AppendText(out, key, 0, true);
  if (out->size() - from > kImplicitKeyBytes) {
    out->insert(from, "? ");
    out->push_back('\n');
    out->append(indent, ' ');
  }
  out->push_back(':');
}

// A whole number gets ".0", so that it reads back as a double.
void AppendYamlDouble(std::string* out, double number) {
  std::array<char, 40> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  out->append(text);
  if (text.find_first_of(".e") == std::string_view::npos) out->append(".0");
}

// Written as {} or [] on the line of its key.
bool IsEmptyCollection(const json::value& value) {
  return (value.is_object() && value.get_object().empty()) ||
         (value.is_array() && value.get_array().empty());
}

// Scalars and empty collections.
void AppendScalar(std::string* out, const json::value& value, std::size_t indent) {
  switch (value.kind()) {
    case json::kind::null:
      out->append("null");
      return;
    case json::kind::bool_:
      out->append(value.get_bool() ? "true" : "false");
      return;
    case json::kind::int64:
      out->append(std::to_string(value.get_int64()));
      return;
    case json::kind::uint64:
      out->append(std::to_string(value.get_uint64()));
      return;
    case json::kind::double_:
      AppendYamlDouble(out, value.get_double());
      return;
    case json::kind::string:
      AppendText(out, value.get_string(), indent, false);
      return;
    case json::kind::array:
      out->append("[]");
      return;
    case json::kind::object:
      out->append("{}");
      return;
  }
}

// Writes `value` at `indent`; the cursor already stands at that column of a fresh line.
void AppendNode(std::string* out, const json::value& value, std::size_t indent);

// The value behind "key:" or "-": a scalar on the same line, a collection below, but inside a list
// it begins on the same line: "- key: ..." and "- - item".
void AppendValue(std::string* out, const json::value& value, std::size_t indent, bool in_sequence) {
  const bool collection = (value.is_object() || value.is_array()) && !IsEmptyCollection(value);
  if (!collection) {
    out->push_back(' ');
    AppendScalar(out, value, indent + 2);
    out->push_back('\n');
    return;
  }
  if (in_sequence) {
    out->push_back(' ');
    AppendNode(out, value, indent + 2);
    return;
  }
  out->push_back('\n');
  const std::size_t inner = value.is_array() ? indent : indent + 2;
  out->append(inner, ' ');
  AppendNode(out, value, inner);
}

void AppendNode(std::string* out, const json::value& value, std::size_t indent) {
  bool first = true;
  const auto begin_line = [&] {
    if (!first) out->append(indent, ' ');
    first = false;
  };
  if (const auto* object = value.if_object(); object != nullptr && !object->empty()) {
    for (const auto& member : *object) {
      begin_line();
      AppendKey(out, member.key(), indent);
      AppendValue(out, member.value(), indent, false);
    }
  } else if (const auto* array = value.if_array(); array != nullptr && !array->empty()) {
    for (const auto& item : *array) {
      begin_line();
      out->push_back('-');
      AppendValue(out, item, indent, true);
    }
  } else {
    AppendScalar(out, value, indent + 2);
    out->push_back('\n');
  }
}

}  // namespace

std::string WriteYaml(const json::value& value) {
  std::string out;
  AppendNode(&out, value, 0);
  return out;
}

}  // namespace muster
