// BatchScriptManifest: from the REST form {"script": ...} to a BatchScript manifest, in these
// steps: read the script's directives as fields of the form; let an explicit field win over a
// directive of the same group; move queue, priority class and cluster into metadata; check the
// result as a manifest is checked, and report problems at the fields of the form.
#include "schedd/shapes/batch/batch_manifest.h"

#include <algorithm>

#include "schedd/base/limits_slurm_gates.h"
#include "schedd/base/names.h"
#include "schedd/shapes/batch/batch_directives.h"
#include "schedd/shapes/batch/batch_spec.h"
#include "schedd/shapes/batch/batch_times.h"
#include "schedd/shapes/batch/sbatch_options.h"
#include "schedd/shapes/parts/job_placement.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

// One partition: "queue" or "namespace/queue".
Result<std::string> PartitionName(std::string_view text, std::string_view ns) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    if (text.substr(0, slash) != ns) {
      return InvalidField("queue",
                          Quoted(text) + " is a queue of another namespace than " + Quoted(ns));
    }
    text.remove_prefix(slash + 1);
  }
  if (!IsDnsSubdomain(text))
    return InvalidField("queue", "invalid partition specified: " + Quoted(text));
  return std::string(text);
}

// "a" or "a,b". A name that is too long for a label value becomes an annotation; of several the
// first one is the queue, and the service chooses among those of the annotation.
Status SetQueue(std::string_view text, std::string_view ns, json::object* metadata) {
  std::string first, all;
  std::size_t names = 0;
  for (std::size_t from = 0; from <= text.size(); ++names) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const auto name = PartitionName(text.substr(from, comma - from), ns);
    if (!name.ok()) return name.error();
    if (names == 0) first = *name;
    all += (names == 0 ? "" : ",") + *name;
    from = comma + 1;
  }
  if (names > limits::kPartitionsOfJob) {
    return InvalidField("queue", "names " + std::to_string(names) + " partitions; at most " +
                                     std::to_string(limits::kPartitionsOfJob) + " are tried");
  }
  json::object annotations;
  if (IsLabelValue(first)) {
    MakeObjectAt(*metadata, "labels")[kQueueKey] = first;
  } else {
    annotations[kQueueKey] = first;
  }
  if (names > 1) annotations[kPartitionsKey] = all;
  if (!annotations.empty()) (*metadata)["annotations"] = std::move(annotations);
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

// The fields of the script's directives. An allocation has no script.
Result<json::object> DirectivesOf(const json::object& fields) {
  const auto* script = fields.if_contains("script");
  const auto* allocation = fields.if_contains("allocationOnly");
  const bool absent = script == nullptr || script->is_null();
  if (absent && allocation != nullptr && *allocation == json::value(true)) return json::object();
  if (absent) return InvalidField("script", "is required");
  if (!script->is_string()) return InvalidField("script", "must be a string");
  const auto words = DirectiveWords(script->get_string());
  if (!words.ok()) return words.error();
  return FieldsOfDirectives(*words);
}

// Slurm's notation of a point in time becomes RFC 3339; what is malformed is left for the reader.
void ResolvePoint(std::string_view name, WallTime now, json::object* fields) {
  auto* field = fields->if_contains(name);
  if (field == nullptr || !field->is_string()) return;
  if (const auto point = ParseSlurmPoint(field->get_string(), now)) *field = FormatRfc3339(*point);
}

}  // namespace

bool IsBatchForm(const json::value& body) {
  const json::object* object = body.if_object();
  return object != nullptr && !object->contains("kind") &&
         (object->contains("script") || object->contains("allocationOnly"));
}

Result<json::value> BatchScriptManifest(const json::object& request, std::string_view ns,
                                        WallTime now) {
  json::object fields = request;
  auto directives = DirectivesOf(fields);
  if (!directives.ok()) return directives.error();
  if (auto* qos = fields.if_contains("qos")) {  // another name for priorityClass
    if (fields.contains("priorityClass"))
      return InvalidField("qos", "is another word for priorityClass; give one of them");
    json::value text = std::move(*qos);
    fields.erase("qos");
    fields["priorityClass"] = std::move(text);
  }
  OverlaySbatchFields(std::move(directives).value(), &fields);
  for (const char* point : {"begin", "deadline"}) ResolvePoint(point, now, &fields);
  if (fields.contains("wholeNode"))
    return InvalidField("wholeNode", "unknown field; ask for whole nodes by `exclusive`");

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
