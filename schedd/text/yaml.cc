#include "schedd/text/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/text/yaml_scalar.h"

namespace muster {
namespace {

struct Event {
  yaml_event_t raw{};
  bool set = false;
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { Clear(); }
  void Clear() {
    if (set) yaml_event_delete(&raw);
    set = false;
  }
};

std::string_view Text(const yaml_char_t* text, std::size_t size) {
  return {reinterpret_cast<const char*>(text), size};
}
std::string_view Text(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

// What an anchor stands for, and what a copy of it costs.
struct Anchored {
  json::value value;
  std::size_t nodes = 0, bytes = 0;
};

// One stream. Recursive over nodes; the depth limit bounds the recursion. The first error wins.
class Reader {
 public:
  explicit Reader(std::string_view text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { yaml_parser_delete(&parser_); }

  Result<std::vector<json::value>> Read() {
    std::vector<json::value> documents;
    Event event;
    while (Next(&event) && event.raw.type != YAML_STREAM_END_EVENT) {
      if (event.raw.type != YAML_DOCUMENT_START_EVENT) continue;
      ++document_;
      anchors_.clear();
      nodes_ = alias_bytes_ = 0;
      if (static_cast<std::size_t>(document_) > limits::kYamlDocuments) {
        Fail(event, "more than " + std::to_string(limits::kYamlDocuments) + " documents");
        break;
      }
      json::value value;
      if (!Next(&event) || !Node(event, 0, &value)) break;
      if (!value.is_null()) documents.push_back(std::move(value));
    }
    if (error_) return *error_;
    return documents;
  }

 private:
  bool Fail(std::string where, std::string what) {
    if (!error_) {
      const int number = std::max(document_, 1);
      error_ = InvalidArgument("YAML document " + std::to_string(number) + where + ": " + what);
    }
    return false;
  }
  bool Fail(const Event& event, std::string what) {
    return Fail(Where(event.raw.start_mark), std::move(what));
  }
  static std::string Where(const yaml_mark_t& mark) {
    return ", line " + std::to_string(mark.line + 1) + ", column " +
           std::to_string(mark.column + 1);
  }

  bool Next(Event* event) {
    event->Clear();
    if (error_) return false;
    if (yaml_parser_parse(&parser_, &event->raw) != 0) {
      event->set = true;
      return true;
    }
    const auto& mark = parser_.problem_mark;
    std::string what = parser_.problem == nullptr ? "cannot be read" : parser_.problem;
    if (parser_.context != nullptr) what = std::string(parser_.context) + ", " + what;
    if (parser_.error == YAML_MEMORY_ERROR) what = "out of memory";
    if (parser_.error == YAML_READER_ERROR) {
      // Outside a document the reader has no mark, only an offset.
      return Fail(", byte " + std::to_string(parser_.problem_offset), what);
    }
    return Fail(Where(mark), what);
  }

  bool Count(const Event& event, std::size_t more) {
    nodes_ += more;
    if (nodes_ <= limits::kYamlNodes) return true;
    return Fail(event,
                "more than " + std::to_string(limits::kYamlNodes) + " values, aliases expanded");
  }

  bool Node(const Event& event, int depth, json::value* out) {
    if (depth > limits::kJsonDepth) {
      return Fail(event, "nested deeper than " + std::to_string(limits::kJsonDepth) + " levels");
    }
    if (event.raw.type == YAML_ALIAS_EVENT) return Alias(event, out);
    if (!Count(event, 1)) return false;
    std::string anchor;
    const std::size_t nodes_before = nodes_ - 1;
    bool read = false;
    switch (event.raw.type) {
      case YAML_SCALAR_EVENT:
        anchor = Text(event.raw.data.scalar.anchor);
        read = Scalar(event, out);
        break;
      case YAML_SEQUENCE_START_EVENT:
        anchor = Text(event.raw.data.sequence_start.anchor);
        read = Tag(event, Text(event.raw.data.sequence_start.tag), "tag:yaml.org,2002:seq") &&
               Sequence(depth, out);
        break;
      case YAML_MAPPING_START_EVENT:
        anchor = Text(event.raw.data.mapping_start.anchor);
        read = Tag(event, Text(event.raw.data.mapping_start.tag), "tag:yaml.org,2002:map") &&
               Mapping(depth, out);
        break;
      default:
        return Fail(event, "a value was expected");
    }
    if (!read) return false;
    if (!anchor.empty()) {
      anchors_[anchor] = {*out, nodes_ - nodes_before, event_bytes(*out)};
    }
    return true;
  }

  // The bytes of strings a copy would make.
  static std::size_t event_bytes(const json::value& value) {
    if (const auto* text = value.if_string()) return text->size();
    std::size_t bytes = 0;
    if (const auto* array = value.if_array()) {
      for (const auto& item : *array) bytes += event_bytes(item);
    } else if (const auto* object = value.if_object()) {
      for (const auto& member : *object) bytes += member.key().size() + event_bytes(member.value());
    }
    return bytes;
  }

  static int Depth(const json::value& value) {
    int deepest = 0;
    if (const auto* array = value.if_array()) {
      for (const auto& item : *array) deepest = std::max(deepest, Depth(item) + 1);
    } else if (const auto* object = value.if_object()) {
      for (const auto& member : *object) deepest = std::max(deepest, Depth(member.value()) + 1);
    }
    return deepest;
  }

  bool Alias(const Event& event, json::value* out) {
    const std::string name(Text(event.raw.data.alias.anchor));
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) {
      return Fail(event, "the alias *" + name + " names no anchor that ended before it");
    }
    if (!Count(event, found->second.nodes)) return false;
    alias_bytes_ += found->second.bytes;
    if (alias_bytes_ > limits::kRequestBytes) {
      return Fail(
          event, "aliases expand to more than " + std::to_string(limits::kRequestBytes) + " bytes");
    }
    *out = found->second.value;
    return true;
  }

  bool Tag(const Event& event, std::string_view tag, std::string_view wanted) {
    if (tag.empty() || tag == "!" || tag == wanted) return true;
    return Fail(event, "the tag " + Quoted(tag) + " is not supported");
  }

  bool Scalar(const Event& event, json::value* out) {
    const auto& scalar = event.raw.data.scalar;
    const std::string_view text = Text(scalar.value, scalar.length);
    if (text.find('\0') != std::string_view::npos) return Fail(event, "a string contains NUL");
    const bool plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
    auto value = yaml::Resolve(text, Text(scalar.tag), plain);
    if (!value.ok()) return Fail(event, value.error().detail);
    *out = std::move(value).value();
    return true;
  }

  bool Sequence(int depth, json::value* out) {
    auto& array = out->emplace_array();
    Event event;
    while (Next(&event)) {
      if (event.raw.type == YAML_SEQUENCE_END_EVENT) return true;
      json::value item;
      if (!Node(event, depth + 1, &item)) return false;
      if (event_is_alias(event) && !Fits(event, depth + 1, item)) return false;
      array.push_back(std::move(item));
    }
    return false;
  }

  static bool event_is_alias(const Event& event) { return event.raw.type == YAML_ALIAS_EVENT; }
  bool Fits(const Event& event, int depth, const json::value& value) {
    if (depth + Depth(value) <= limits::kJsonDepth) return true;
    return Fail(event, "nested deeper than " + std::to_string(limits::kJsonDepth) + " levels");
  }

  // A key's text; a plain `<<` is the merge key.
  bool Key(const Event& event, std::string* key, bool* merge) {
    json::value value;
    if (event.raw.type == YAML_ALIAS_EVENT) {
      if (!Alias(event, &value)) return false;
    } else if (event.raw.type == YAML_SCALAR_EVENT) {
      if (!Count(event, 1) || !Scalar(event, &value)) return false;
      const auto& scalar = event.raw.data.scalar;
      *merge = scalar.style == YAML_PLAIN_SCALAR_STYLE && Text(scalar.value, scalar.length) == "<<";
      if (scalar.anchor != nullptr)
        anchors_[std::string(Text(scalar.anchor))] = {value, 1, scalar.length};
      if (!value.is_string() && !value.is_null())
        value = json::string(Text(scalar.value, scalar.length));
    }
    if (!value.is_string()) return Fail(event, "a key must be a string");
    key->assign(value.get_string().data(), value.get_string().size());
    return true;
  }

  bool Mapping(int depth, json::value* out) {
    auto& object = out->emplace_object();
    std::vector<json::object> merges;
    Event event;
    while (Next(&event)) {
      if (event.raw.type == YAML_MAPPING_END_EVENT) {
        for (const auto& merged : merges) {
          for (const auto& member : merged) object.insert(member);  // keeps what is there
        }
        return true;
      }
      std::string key;
      bool merge = false;
      if (!Key(event, &key, &merge)) return false;
      const std::string where = Where(event.raw.start_mark);
      if (!Next(&event)) return false;
      json::value value;
      if (!Node(event, depth + 1, &value)) return false;
      if (event_is_alias(event) && !Fits(event, depth + 1, value)) return false;
      if (merge) {
        if (!Merge(where, value, &merges)) return false;
      } else if (object.contains(key)) {
        return Fail(where, "the key " + Quoted(key) + " is given twice");
      } else {
        object.emplace(key, std::move(value));
      }
    }
    return false;
  }

  bool Merge(const std::string& where, const json::value& value,
             std::vector<json::object>* merges) {
    const auto* list = value.if_array();
    if (const auto* one = value.if_object()) {
      merges->push_back(*one);
      return true;
    }
    if (list != nullptr) {
      for (const auto& item : *list) {
        if (!item.is_object()) return Fail(where, "`<<` merges mappings only");
        merges->push_back(item.get_object());
      }
      return true;
    }
    return Fail(where, "`<<` merges mappings only");
  }

  yaml_parser_t parser_{};
  int document_ = 0;
  std::size_t nodes_ = 0;
  std::size_t alias_bytes_ = 0;
  std::map<std::string, Anchored> anchors_;
  std::optional<Error> error_;
};

}  // namespace

Result<std::vector<json::value>> ParseYaml(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return Reader(text).Read();
}

namespace {

bool LooksLikeJson(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

/// The documents between lines that are "---". No such line can be inside of JSON, whose strings
/// hold no line ends.
std::vector<std::string_view> CutAtSeparators(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t line = 0; line < text.size();) {
    std::size_t end = text.find('\n', line);
    if (end == std::string_view::npos) end = text.size();
    std::string_view words = text.substr(line, end - line);
    const std::size_t last = words.find_last_not_of(" \t\r");
    if (words.substr(0, last == std::string_view::npos ? 0 : last + 1) == "---") {
      parts.push_back(text.substr(begin, line - begin));
      begin = std::min(end + 1, text.size());
    }
    line = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

}  // namespace

Result<std::vector<json::value>> ParseDocuments(std::string_view text) {
  if (!LooksLikeJson(text)) return ParseYaml(text);
  const std::vector<std::string_view> parts = CutAtSeparators(text);
  if (parts.size() > limits::kYamlDocuments) {
    return InvalidArgument("there are more than " + std::to_string(limits::kYamlDocuments) +
                           " documents");
  }
  std::vector<json::value> out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].find_first_not_of(" \t\r\n") == std::string_view::npos) continue;
    // JSON and YAML may follow each other in one file.
    Result<std::vector<json::value>> read = std::vector<json::value>();
    if (LooksLikeJson(parts[i])) {
      Result<json::value> value = ParseJson(parts[i]);
      if (value.ok())
        read->push_back(std::move(*value));
      else
        read = value.error();
    } else {
      read = ParseYaml(parts[i]);
    }
    if (!read.ok()) {
      Error error = read.error();
      if (parts.size() > 1)
        error.detail = "document " + std::to_string(i + 1) + ": " + error.detail;
      return error;
    }
    std::move(read->begin(), read->end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace muster
