// Readers and writers of single fields, shared by all files here that handle a JSON column. The
// columns hold texts that this program wrote, so a field of another type is a damaged row: the
// accessors throw, and ParseColumn answers kDataLoss.
#include "schedd/store/pg/json_fields.h"

namespace muster::pg {

std::string TextOf(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr ? std::string() : std::string(value->as_string());
}

// The empty array is static, so that a reference can be returned.
const json::array& ArrayOf(const json::object& object, std::string_view key) {
  static const json::array empty;
  const json::value* value = object.if_contains(key);
  return value == nullptr ? empty : value->as_array();
}

void PutText(json::object* object, std::string_view key, const std::string& text) {
  if (!text.empty()) (*object)[key] = text;
}

json::object Strings(const std::map<std::string, std::string>& map) {
  json::object object;
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

std::map<std::string, std::string> StringsOf(const json::object& owner, std::string_view key) {
  std::map<std::string, std::string> map;
  const json::value* value = owner.if_contains(key);
  if (value == nullptr) return map;
  for (const auto& [name, text] : value->as_object())
    map[std::string(name)] = std::string(text.as_string());
  return map;
}

json::array TextsJson(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

std::vector<std::string> TextsOf(const json::object& object, std::string_view key) {
  std::vector<std::string> texts;
  for (const json::value& value : ArrayOf(object, key)) texts.emplace_back(value.as_string());
  return texts;
}

json::array TolerationsJson(const std::vector<Toleration>& tolerations) {
  json::array list;
  for (const Toleration& toleration : tolerations) {
    json::object entry;
    PutText(&entry, "key", toleration.key);
    PutText(&entry, "op", toleration.op);
    PutText(&entry, "value", toleration.value);
    PutText(&entry, "effect", toleration.effect);
    if (toleration.seconds.has_value()) entry["seconds"] = *toleration.seconds;
    list.emplace_back(std::move(entry));
  }
  return list;
}

std::vector<Toleration> TolerationsOf(const json::object& object) {
  std::vector<Toleration> list;
  for (const json::value& value : ArrayOf(object, "tolerations")) {
    const json::object& entry = value.as_object();
    Toleration toleration{TextOf(entry, "key"), TextOf(entry, "op"), TextOf(entry, "value"),
                          TextOf(entry, "effect"), std::nullopt};
    if (entry.contains("seconds")) toleration.seconds = IntOf<std::int64_t>(entry, "seconds");
    list.push_back(std::move(toleration));
  }
  return list;
}

Error UnreadableColumn(const char* column) {
  return {Code::kDataLoss, std::string("the stored ") + column + " of a job cannot be read"};
}

}  // namespace muster::pg
