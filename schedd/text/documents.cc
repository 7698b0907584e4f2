// Documents of JSON and YAML in one text. If the text begins as JSON it is cut at lines that are
// "---", and each part is parsed by the language in which it begins; else the whole text goes to
// the YAML parser, which cuts documents itself and counts lines from the beginning of the text.
#include "schedd/text/documents.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "schedd/text/parse_budget.h"
#include "schedd/text/yaml.h"

namespace muster {
namespace {

// JSON of the daemon is an object or a list; a bare JSON scalar is YAML too.
bool LooksLikeJson(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

// The documents between lines that are "---". Such a line cannot be inside a JSON document, because
// JSON strings hold no line ends.
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

// One part; a part in YAML may hold several documents.
Result<std::vector<json::value>> ParsePart(std::string_view text, ParseBudget* budget) {
  if (!LooksLikeJson(text)) return ParseYaml(text, budget);
  if (!budget->TakeDocument()) return budget->Refusal();
  Result<json::value> value = ParseJson(text, budget);
  if (!value.ok()) return value.error();
  std::vector<json::value> one;
  one.push_back(std::move(value).value());
  return one;
}

}  // namespace

Result<std::vector<json::value>> ParseDocuments(std::string_view text, ParseBudget* budget) {
  if (!LooksLikeJson(text)) return ParseYaml(text, budget);
  const std::vector<std::string_view> parts = CutAtSeparators(text);
  std::vector<json::value> out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].find_first_not_of(" \t\r\n") == std::string_view::npos) continue;
    Result<std::vector<json::value>> read = ParsePart(parts[i], budget);
    if (!read.ok()) {
      // The number counts parts, as the author sees them between the separators.
      Error error = read.error();
      if (parts.size() > 1)
        error.detail = "document " + std::to_string(i + 1) + ": " + error.detail;
      return error;
    }
    std::move(read->begin(), read->end(), std::back_inserter(out));
  }
  return out;
}

Result<std::vector<json::value>> ParseDocuments(std::string_view text) {
  ParseBudget budget;
  return ParseDocuments(text, &budget);
}

}  // namespace muster
