#include "clients/slurm/json_document.h"

#include "clients/slurm/slurm_time.h"
#include "schedd/text/yaml_write.h"

namespace muster::slurm {

json::object SlurmNumber(bool set, std::int64_t number, bool infinite) {
  return {{"set", set}, {"infinite", infinite}, {"number", set ? number : 0}};
}

json::object SlurmTime(std::string_view stamp) {
  return SlurmNumber(!stamp.empty(), ParseStamp(stamp));
}

json::object SlurmMeta(const char* command) {
  return {
      {"plugin",
       {{"type", "openapi/slurmctld"}, {"name", "muster"}, {"data_parser", "data_parser/v0.0.42"}}},
      {"client", {{"source", "muster"}, {"user", ""}, {"group", ""}}},
      {"command", json::array{command}},
      {"slurm",
       {{"version", {{"major", "25"}, {"minor", "05"}, {"micro", "0"}}},
        {"release", "25.05.0"},
        {"cluster", "muster"}}}};
}

std::string YamlOf(const std::string& document) { return WriteYaml(json::parse(document)); }

}  // namespace muster::slurm
