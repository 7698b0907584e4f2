// Parameters are read by name from the decoded query. A value that cannot be read is an error that
// names the parameter; nothing falls back to a default except an absent parameter.
#include "api/rest/query_reader.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace muster::rest {

Status QueryReader::Only(std::initializer_list<std::string_view> known) const {
  std::set<std::string_view> seen;
  for (const auto& [name, value] : request_.query) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return InvalidField(name, "this path has no such query parameter");
    }
    if (!seen.insert(name).second) return InvalidField(name, "the query parameter is given twice");
  }
  return Done{};
}

std::string QueryReader::Text(std::string_view name) const {
  const std::string* value = request_.Query(name);
  return value ? *value : "";
}

std::vector<std::string> QueryReader::List(std::string_view name) const {
  std::vector<std::string> parts;
  const std::string text = Text(name);
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    if (comma > begin) parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

Result<bool> QueryReader::Flag(std::string_view name) const {
  const std::string* value = request_.Query(name);
  if (value == nullptr || *value == "false" || *value == "0") return false;
  if (value->empty() || *value == "true" || *value == "1" || *value == "All") return true;
  return InvalidField(std::string(name), "must be true or false");
}

// The whole text must be a number: "10x" is refused and not read as 10.
Result<std::int64_t> QueryReader::Number(std::string_view name, std::int64_t absent,
                                         std::int64_t low, std::int64_t high) const {
  const std::string* value = request_.Query(name);
  if (value == nullptr) return absent;
  std::int64_t number = 0;
  const char* end = value->data() + value->size();
  const auto parsed = std::from_chars(value->data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < low || number > high) {
    return InvalidField(std::string(name), "must be a number from " + std::to_string(low) + " to " +
                                               std::to_string(high));
  }
  return number;
}

}  // namespace muster::rest
