#include "schedd/shapes/parts/changed_spec.h"

#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

json::object ChangedFields(const std::string& text) {
  if (text.empty()) return {};
  Result<json::value> read = ParseJson(text);
  return read.ok() && read->is_object() ? std::move(read->get_object()) : json::object();
}

}  // namespace

std::string AddChanges(const std::string& before, const json::object& fields) {
  json::object all = ChangedFields(before);
  for (const auto& entry : fields) all[entry.key()] = entry.value();
  return all.empty() ? "" : json::serialize(all);
}

void ShowChangedSpec(const std::string& changed_spec, json::value* manifest) {
  if (changed_spec.empty() || !manifest->is_object()) return;
  json::object& spec = MakeObjectAt(manifest->get_object(), "spec");
  for (const auto& entry : ChangedFields(changed_spec)) {
    if (entry.value().is_null()) {
      spec.erase(entry.key());
    } else {
      spec[entry.key()] = entry.value();
    }
  }
}

}  // namespace muster::shapes
