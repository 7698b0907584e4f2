// BatchScriptManifest: from the REST form {"script": ...} to a BatchScript manifest, in these
// steps: read the script's directives as fields of the form; let an explicit field win over a
// directive of the same group; move queue, priority class and cluster into metadata; check the
// result as a manifest is checked, and report problems at the fields of the form.
//
// ParseArraySpec: the text of --array.
#include "schedd/shapes/batch/batch_manifest.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "schedd/base/limits.h"
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

// A decimal number without sign.
std::optional<std::int32_t> ReadIndex(std::string_view text) {
  std::int32_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return text[0] == '-' ? std::nullopt : std::optional(number);
}

constexpr std::int32_t kArrayIndexMax = 4'000'000;  // Slurm's hard cap

// Adds one "3", "0-15" or "0-15:4"; false if it is malformed. It stops after limits::kBatchJobs
// ids, so that "0-4000000" costs nothing.
bool AddRange(std::string_view text, std::set<std::int32_t>* ids) {
  std::int32_t step = 1;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto read = ReadIndex(text.substr(colon + 1));
    if (!read || *read == 0 || text.find('-') == std::string_view::npos) return false;
    step = *read;
    text = text.substr(0, colon);
  }
  const std::size_t dash = text.find('-');
  const auto first = ReadIndex(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : ReadIndex(text.substr(dash + 1));
  if (!first || !last || *last < *first || *last > kArrayIndexMax) return false;
  for (std::int64_t id = *first; id <= *last; id += step) {
    ids->insert(static_cast<std::int32_t>(id));
    if (ids->size() > limits::kBatchJobs) return true;
  }
  return true;
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

Result<json::value> BatchScriptManifest(const json::object& request, std::string_view ns,
                                        WallTime now) {
  json::object fields = request;
  auto directives = DirectivesOf(fields);
  if (!directives.ok()) return directives.error();
  if (auto* qos = fields.if_contains("qos")) {  // another name for priorityClass
    if (fields.contains("priorityClass"))
      return InvalidField("qos", "is another word for priorityClass; give one of them");
    fields["priorityClass"] = std::move(*qos);
    fields.erase("qos");
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

// A set, because ranges may overlap.
Result<std::vector<std::int32_t>> ParseArraySpec(std::string_view spec) {
  const auto malformed = [] { return InvalidField("array", "Invalid job array specification"); };
  const std::size_t percent = spec.find('%');
  if (percent != std::string_view::npos) {
    const auto throttle = ReadIndex(spec.substr(percent + 1));
    if (!throttle || *throttle == 0) return malformed();
    return InvalidField("array",
                        "a limit on the tasks that run at once (%" + std::to_string(*throttle) +
                            ") is not supported by this version: leave it out, or bound them by "
                            "the quota of their queue");
  }
  std::set<std::int32_t> ids;
  while (true) {
    const std::size_t comma = spec.find(',');
    const std::string_view range = spec.substr(0, comma);
    if (range.empty() || !AddRange(range, &ids)) return malformed();
    if (ids.size() > limits::kBatchJobs) {
      return InvalidField("array",
                          "has more than " + std::to_string(limits::kBatchJobs) + " tasks");
    }
    if (comma == std::string_view::npos) break;
    spec.remove_prefix(comma + 1);
  }
  return std::vector<std::int32_t>(ids.begin(), ids.end());
}

}  // namespace muster::shapes
