// Directives are read like a command line. `hetjob` between them ends a component.
#include "schedd/shapes/batch/sbatch_options.h"

namespace muster::shapes {
namespace {

// Takes VAR=x out of --export. ALL, NONE, NIL and plain names refer to the environment of the
// submitting command, which the server does not know; that command has added those variables
// itself.
void SetExportedVariables(std::string_view list, json::object* fields) {
  json::object environment;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    const std::size_t equals = item.find('=');
    if (equals != std::string_view::npos && equals > 0)
      environment[item.substr(0, equals)] = item.substr(equals + 1);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  if (!environment.empty()) (*fields)["environment"] = std::move(environment);
}

}  // namespace

std::optional<SbatchProblem> ReadDirectiveWords(const std::vector<std::string>& words,
                                                SbatchRequest* out) {
  std::size_t at = 0;
  if (auto problem = ReadSbatchWords(words, &at, out)) return problem;
  while (at < words.size()) {
    if (words[at] != "hetjob" && words[at] != "packjob") {
      return SbatchProblem{"Invalid directive found in batch script: " + words[at].substr(0, 128)};
    }
    ++at;
    SbatchRequest component;
    if (auto problem = ReadSbatchWords(words, &at, &component)) return problem;
    if (auto problem = AddSbatchComponent(std::move(component.fields), &out->fields))
      return problem;
  }
  return std::nullopt;
}

Result<json::object> FieldsOfDirectives(const std::vector<std::string>& words) {
  SbatchRequest request;
  if (const auto problem = ReadDirectiveWords(words, &request))
    return InvalidField("script", problem->message);
  const auto exported = request.client.find("export");
  if (exported != request.client.end()) SetExportedVariables(exported->second, &request.fields);
  return std::move(request.fields);
}

}  // namespace muster::shapes
