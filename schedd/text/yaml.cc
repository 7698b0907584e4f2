// YAML to JSON values, by recursive descent over libyaml's events. libyaml checks the syntax; this
// file resolves types (yaml_scalar.h), copies what aliases name, merges `<<`, and refuses keys that
// are given twice, tags of other types and NUL.
//
// Memory is bounded before it is used: every node, every copy that an alias makes and every copy
// that an anchor keeps is taken from the budget first, so a small text of nested aliases cannot
// grow without limit. The depth limit bounds the recursion, also through aliases (Fits).
#include "schedd/text/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/text/parse_budget.h"
#include "schedd/text/yaml_scalar.h"

namespace muster {
namespace {

// An event of libyaml, deleted when it goes out of scope.
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

// libyaml's text is UTF-8 in unsigned bytes.
std::string_view Text(const yaml_char_t* text, std::size_t size) {
  return {reinterpret_cast<const char*>(text), size};
}
std::string_view Text(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

// The value that an anchor names, and what a copy of it costs.
struct AnchoredValue {
  json::value value;
  std::size_t nodes = 0, bytes = 0;
};

// Reads one stream. The first error wins, and ends the reading.
class Reader {
 public:
  Reader(std::string_view text, ParseBudget* budget) : budget_(*budget) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { yaml_parser_delete(&parser_); }

  // All documents of the stream. A document that is null (empty, or comments only) is left out.
  Result<std::vector<json::value>> Read() {
    std::vector<json::value> documents;
    Event event;
    while (Next(&event) && event.raw.type != YAML_STREAM_END_EVENT) {
      if (event.raw.type != YAML_DOCUMENT_START_EVENT) continue;
      ++document_;
      anchors_.clear();
      nodes_ = 0;
      if (!budget_.TakeDocument()) {
        Refused(event);
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
  // Always false, so that a caller can return it.
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

  // The next event; false at an error of the syntax, or after any error.
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
      // For bytes that cannot be decoded libyaml gives an offset instead of a mark.
      return Fail(", byte " + std::to_string(parser_.problem_offset), what);
    }
    return Fail(Where(mark), what);
  }

  // The budget is used up: its error, at this place.
  bool Refused(const Event& event) {
    const bool first = !error_;
    const Error refusal = budget_.Refusal();
    Fail(event, refusal.detail);
    if (first) {
      error_->code = refusal.code;
      error_->retry_after_ms = refusal.retry_after_ms;
    }
    return false;
  }

  // Counts one node.
  bool Count(const Event& event) {
    ++nodes_;
    return budget_.TakeValues(1) || Refused(event);
  }

  // Counts the copy that an alias makes.
  bool CountCopy(const Event& event, const AnchoredValue& anchored) {
    nodes_ += anchored.nodes;
    return budget_.TakeCopy(anchored.nodes, anchored.bytes) || Refused(event);
  }

  // Keeps a copy of an anchored value for aliases that follow; it costs as much as theirs.
  bool Keep(const Event& event, const std::string& name, const json::value& value,
            std::size_t nodes) {
    AnchoredValue anchored{nullptr, nodes, TextBytes(value)};
    if (!budget_.TakeCopy(anchored.nodes, anchored.bytes)) return Refused(event);
    anchored.value = value;
    anchors_[name] = std::move(anchored);
    return true;
  }

  // Any value. The anchor is kept after the value is complete, so an alias inside it finds nothing.
  bool Node(const Event& event, int depth, json::value* out) {
    if (depth > limits::kJsonDepth) {
      return Fail(event, "nested deeper than " + std::to_string(limits::kJsonDepth) + " levels");
    }
    if (event.raw.type == YAML_ALIAS_EVENT) return Alias(event, out);
    if (!Count(event)) return false;
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
    return read && (anchor.empty() || Keep(event, anchor, *out, nodes_ - nodes_before));
  }

  // The bytes of keys and strings that a copy would make.
  static std::size_t TextBytes(const json::value& value) {
    if (const auto* text = value.if_string()) return text->size();
    std::size_t bytes = 0;
    if (const auto* array = value.if_array()) {
      for (const auto& item : *array) bytes += TextBytes(item);
    } else if (const auto* object = value.if_object()) {
      for (const auto& member : *object) bytes += member.key().size() + TextBytes(member.value());
    }
    return bytes;
  }

  // The levels of collections in a value.
  static int Depth(const json::value& value) {
    int deepest = 0;
    if (const auto* array = value.if_array()) {
      for (const auto& item : *array) deepest = std::max(deepest, Depth(item) + 1);
    } else if (const auto* object = value.if_object()) {
      for (const auto& member : *object) deepest = std::max(deepest, Depth(member.value()) + 1);
    }
    return deepest;
  }

  // Anchors of earlier documents do not count: Read clears them.
  bool Alias(const Event& event, json::value* out) {
    const std::string name(Text(event.raw.data.alias.anchor));
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) {
      return Fail(event, "the alias *" + name + " names no anchor that ended before it");
    }
    if (!CountCopy(event, found->second)) return false;
    *out = found->second.value;
    return true;
  }

  // A collection may have no tag but its own.
  bool Tag(const Event& event, std::string_view tag, std::string_view wanted) {
    if (tag.empty() || tag == "!" || tag == wanted) return true;
    return Fail(event, "the tag " + Quoted(tag) + " is not supported");
  }

  // Quoted and block scalars are strings; a plain one is resolved.
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

  // Reads items up to the end of the sequence.
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
  // An alias brings a whole tree, so its depth is checked afterwards.
  bool Fits(const Event& event, int depth, const json::value& value) {
    if (depth + Depth(value) <= limits::kJsonDepth) return true;
    return Fail(event, "nested deeper than " + std::to_string(limits::kJsonDepth) + " levels");
  }

  // Reads a key as text: a number or boolean as it was written. Sets *merge for a plain `<<`.
  bool Key(const Event& event, std::string* key, bool* merge) {
    json::value value;
    if (event.raw.type == YAML_ALIAS_EVENT) {
      if (!Alias(event, &value)) return false;
    } else if (event.raw.type == YAML_SCALAR_EVENT) {
      if (!Count(event) || !Scalar(event, &value)) return false;
      const auto& scalar = event.raw.data.scalar;
      *merge = scalar.style == YAML_PLAIN_SCALAR_STYLE && Text(scalar.value, scalar.length) == "<<";
      if (scalar.anchor != nullptr && !Keep(event, std::string(Text(scalar.anchor)), value, 1))
        return false;
      if (!value.is_string() && !value.is_null())
        value = json::string(Text(scalar.value, scalar.length));
    }
    if (!value.is_string()) return Fail(event, "a key must be a string");
    key->assign(value.get_string().data(), value.get_string().size());
    return true;
  }

  // Merged members are added at the end, and only where the mapping has no member of that key.
  bool Mapping(int depth, json::value* out) {
    auto& object = out->emplace_object();
    std::vector<json::object> merges;
    Event event;
    while (Next(&event)) {
      if (event.raw.type == YAML_MAPPING_END_EVENT) {
        for (auto& merged : merges) {
          for (auto& member : merged) object.emplace(member.key(), std::move(member.value()));
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
        if (!Merge(where, &value, &merges)) return false;
      } else if (object.contains(key)) {
        return Fail(where, "the key " + Quoted(key) + " is given twice");
      } else {
        object.emplace(key, std::move(value));
      }
    }
    return false;
  }

  // Takes one mapping or a list of mappings. `value` is a copy already, so it is moved.
  bool Merge(const std::string& where, json::value* value, std::vector<json::object>* merges) {
    if (json::object* one = value->if_object()) {
      merges->push_back(std::move(*one));
      return true;
    }
    if (json::array* list = value->if_array()) {
      for (json::value& item : *list) {
        if (!item.is_object()) return Fail(where, "`<<` merges mappings only");
        merges->push_back(std::move(item.get_object()));
      }
      return true;
    }
    return Fail(where, "`<<` merges mappings only");
  }

  yaml_parser_t parser_{};
  int document_ = 0;
  // Of this document so far, copies included.
  std::size_t nodes_ = 0;
  ParseBudget& budget_;
  std::map<std::string, AnchoredValue> anchors_;
  std::optional<Error> error_;
};

}  // namespace

// A byte order mark at the beginning is skipped.
Result<std::vector<json::value>> ParseYaml(std::string_view text, ParseBudget* budget) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return Reader(text, budget).Read();
}

Result<std::vector<json::value>> ParseYaml(std::string_view text) {
  ParseBudget budget;
  return ParseYaml(text, &budget);
}

}  // namespace muster
