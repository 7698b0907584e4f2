// Fields of the JSON columns. Writers leave out empty values; readers give the default for a
// missing field. A reader throws on a value of another type, and ParseColumn turns that into
// kDataLoss.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/model/scheduling.h"
#include "schedd/text/json.h"

namespace muster::pg {

/// "" if the field is absent.
std::string TextOf(const json::object& object, std::string_view key);
/// An empty array if the field is absent.
const json::array& ArrayOf(const json::object& object, std::string_view key);
/// Writes nothing for an empty text.
void PutText(json::object* object, std::string_view key, const std::string& text);
/// A map of strings as an object, and back; an absent field is an empty map.
json::object Strings(const std::map<std::string, std::string>& map);
std::map<std::string, std::string> StringsOf(const json::object& owner, std::string_view key);
json::array TextsJson(const std::vector<std::string>& texts);
std::vector<std::string> TextsOf(const json::object& object, std::string_view key);
json::array TolerationsJson(const std::vector<Toleration>& tolerations);
/// Reads the field `tolerations` of `object`.
std::vector<Toleration> TolerationsOf(const json::object& object);

template <class Int>
Int IntOf(const json::object& object, std::string_view key, Int fallback = 0) {
  const json::value* value = object.if_contains(key);
  return value == nullptr ? fallback : value->to_number<Int>();
}

/// The sentence "the stored COLUMN of a job cannot be read".
Error UnreadableColumn(const char* column);

/// Runs `read` on the parsed text; anything unexpected in it is kDataLoss.
template <class T, class Read>
Result<T> ParseColumn(std::string_view text, const char* column, Read read) {
  try {
    return read(json::parse(json::string_view(text.data(), text.size())));
  } catch (const std::exception&) {
    return UnreadableColumn(column);
  }
}

}  // namespace muster::pg
