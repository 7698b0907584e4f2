// Parameters are read by name from the decoded query. A value that cannot be read is an error that
// names the parameter; nothing falls back to a default except an absent parameter.
#include "api/rest/query_reader.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace muster::rest {
namespace {

// The parts between commas that are not empty.
std::vector<std::string> PartsOf(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    if (comma > begin) parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

}  // namespace

Status QueryReader::Only(std::initializer_list<std::string_view> known,
                         std::string_view repeated) const {
  std::set<std::string_view> seen;
  for (const auto& [name, value] : request_.query) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return InvalidField(name, "this path has no such query parameter");
    }
    if (!seen.insert(name).second && name != repeated)
      return InvalidField(name, "the query parameter is given twice");
  }
  return Done{};
}

std::string QueryReader::Text(std::string_view name) const {
  const std::string* value = request_.Query(name);
  return value ? *value : "";
}

std::vector<std::string> QueryReader::List(std::string_view name) const {
  return PartsOf(Text(name));
}

Result<std::vector<JobId>> QueryReader::Ids(std::string_view name, std::size_t most) const {
  std::vector<JobId> ids;
  for (const auto& [key, value] : request_.query) {
    if (key != name) continue;
    for (const std::string& part : PartsOf(value)) {
      JobId id;
      const char* end = part.data() + part.size();
      const auto parsed = std::from_chars(part.data(), end, id.value);
      if (parsed.ec != std::errc() || parsed.ptr != end || id.value <= 0) {
        return InvalidField(std::string(name), "\"" + part + "\" is no number of a job");
      }
      ids.push_back(id);
    }
  }
  if (ids.size() > most) {
    return InvalidField(std::string(name),
                        "at most " + std::to_string(most) + " ids fit one request");
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
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
