// BatchScriptManifest: from the REST form {"script": ...} to a BatchScript manifest, in these
// steps: read the script's directives as fields of the form; let an explicit field win over a
// directive of the same group; move queue, priority class and cluster into metadata; check the
// result as a manifest is checked, and report problems at the fields of the form.
#include "schedd/shapes/batch/batch_manifest.h"

#include <algorithm>

#include "schedd/base/names.h"
#include "schedd/shapes/batch/batch_directives.h"
#include "schedd/shapes/batch/batch_spec.h"
#include "schedd/shapes/batch/sbatch_options.h"
#include "schedd/shapes/parts/job_placement.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

// Groups of fields: an explicit field of a group removes all of the script's directives of that
// group, because two fields of one group contradict each other.
constexpr std::string_view kMemory[] = {"memoryPerNode", "memoryPerCpu"};
constexpr std::string_view kGpus[] = {"gres", "gpus", "gpusPerNode", "gpusPerTask"};
constexpr std::string_view kCpus[] = {"tasks", "tasksPerNode", "cpusPerTask"};

template <std::size_t N>
bool HasAny(const json::object& object, const std::string_view (&names)[N]) {
  return std::any_of(std::begin(names), std::end(names),
                     [&](std::string_view name) { return object.contains(name); });
}
template <std::size_t N>
void EraseAll(json::object* object, const std::string_view (&names)[N]) {
  for (const auto name : names) object->erase(name);
}

// Adds the directives to the fields that the caller gave.
void ApplyDirectives(json::object directives, json::object* fields) {
  const auto* own = fields->if_contains("resources");
  const bool amounts = own != nullptr && own->is_object();
  const auto in_resources = [&](std::string_view name) {
    return amounts && own->get_object().contains(name);
  };
  if (HasAny(*fields, kMemory) || in_resources("memory")) EraseAll(&directives, kMemory);
  if (HasAny(*fields, kGpus) || in_resources("nvidia.com/gpu")) EraseAll(&directives, kGpus);
  if (in_resources("cpu")) EraseAll(&directives, kCpus);
  for (auto& directive : directives) {
    if (directive.key() == "environment" && fields->contains("environment")) continue;
    fields->emplace(directive.key(), std::move(directive.value()));  // an explicit field stays
  }
}

// "queue" or "namespace/queue". A name that is too long for a label value becomes an annotation.
Status SetQueue(std::string_view text, std::string_view ns, json::object* metadata) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    if (text.substr(0, slash) != ns) {
      return InvalidField("queue",
                          Quoted(text) + " is a queue of another namespace than " + Quoted(ns));
    }
    text.remove_prefix(slash + 1);
  }
  if (text.find(',') != std::string_view::npos) {
    return InvalidField(
        "queue", "a choice of several partitions is not supported by this version; name one");
  }
  if (!IsDnsSubdomain(text))
    return InvalidField("queue", "invalid partition specified: " + Quoted(text));
  const bool label = IsLabelValue(text);
  json::object holder = {{kQueueKey, text}};
  if (label) {
    MakeObjectAt(*metadata, "labels")[kQueueKey] = text;
  } else {
    (*metadata)["annotations"] = std::move(holder);
  }
  return Done{};
}

// The one member cluster that the job may run on.
Status SetCluster(std::string_view text, json::object* metadata) {
  if (text.find(',') != std::string_view::npos) {
    return InvalidField("cluster",
                        "a choice of several clusters is not supported by this version; name one, "
                        "or a placement");
  }
  if (!IsMemberName(text)) return InvalidField("cluster", kMemberNameRule);
  MakeObjectAt(*metadata, "annotations")[kClusterKey] = text;
  return Done{};
}

// --qos names a priority class.
Status SetPriority(std::string_view text, json::object* metadata) {
  if (text.empty() || !IsDnsSubdomain(text) || !IsLabelValue(text)) {
    return InvalidField("priorityClass", "Invalid qos specification: " + Quoted(text));
  }
  MakeObjectAt(*metadata, "labels")[kPriorityKey] = text;
  return Done{};
}

// Removes a text from the fields, because it becomes metadata; "" if it is absent.
Result<std::string> TakeText(json::object* fields, std::string_view name) {
  const auto* value = fields->if_contains(name);
  if (value == nullptr || value->is_null()) return std::string();
  if (!value->is_string()) return InvalidField(std::string(name), "must be a string");
  std::string text(value->get_string().data(), value->get_string().size());
  fields->erase(name);
  return text;
}

// The paths as the caller wrote them: spec.tasks is `tasks` of the form, spec.jobName is `name`.
Error WithRequestPaths(Error error) {
  for (auto& field : error.fields) {
    if (field.field.starts_with("spec.")) field.field.erase(0, 5);
    if (field.field == "jobName") field.field = "name";
  }
  error.detail.clear();
  for (const auto& field : error.fields) {
    error.detail += (error.detail.empty() ? "" : "; ") + field.field + ": " + field.message;
  }
  return error;
}

}  // namespace

Result<json::value> BatchScriptManifest(const json::object& request, std::string_view ns) {
  json::object fields = request;
  const auto* script = fields.if_contains("script");
  if (script == nullptr || script->is_null()) return InvalidField("script", "is required");
  if (!script->is_string()) return InvalidField("script", "must be a string");
  const auto words = DirectiveWords(script->get_string());
  if (!words.ok()) return words.error();
  auto directives = FieldsOfDirectives(*words);
  if (!directives.ok()) return directives.error();
  if (auto* qos = fields.if_contains("qos")) {  // another name for priorityClass
    if (fields.contains("priorityClass"))
      return InvalidField("qos", "is another word for priorityClass; give one of them");
    fields["priorityClass"] = std::move(*qos);
    fields.erase("qos");
  }
  ApplyDirectives(std::move(directives).value(), &fields);

  json::object metadata = {{"namespace", ns}};
  const auto queue = TakeText(&fields, "queue");
  if (!queue.ok()) return queue.error();
  if (!queue->empty()) {
    if (auto status = SetQueue(*queue, ns, &metadata); !status.ok()) return status.error();
  }
  const auto priority = TakeText(&fields, "priorityClass");
  if (!priority.ok()) return priority.error();
  if (!priority->empty()) {
    if (auto status = SetPriority(*priority, &metadata); !status.ok()) return status.error();
  }
  const auto cluster = TakeText(&fields, "cluster");
  if (!cluster.ok()) return cluster.error();
  if (!cluster->empty()) {
    if (auto status = SetCluster(*cluster, &metadata); !status.ok()) return status.error();
  }
  if (fields.contains("jobName"))
    return InvalidField("jobName", "unknown field; the job's name is given as `name`");
  if (auto* name = fields.if_contains("name")) {
    json::value text = std::move(*name);
    fields.erase("name");
    fields["jobName"] = std::move(text);
  }
  const ShapeInfo& info = ShapeInfoOf(ShapeKind::kBatchScript);
  json::value manifest = json::object{{"apiVersion", info.api_version},
                                      {"kind", info.name},
                                      {"metadata", std::move(metadata)},
                                      {"spec", std::move(fields)}};
  Problems problems;
  (void)ReadBatchSpec(Field(manifest, &problems)["spec"]);
  if (!problems.empty()) return WithRequestPaths(problems.ToError());
  return manifest;
}

}  // namespace muster::shapes
