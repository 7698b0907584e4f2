// Reads metadata in one pass (ReadJobMetadata at the end of the file calls the others). Names are
// checked against the rule of the kind; keys of labels and annotations against Kubernetes' rules
// for qualified names. A queue may be named by a label or, for names that are no label value, by an
// annotation; the label wins.
#include "schedd/shapes/parts/metadata.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "schedd/base/names.h"
#include "schedd/shapes/parts/job_placement.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

// Kubernetes' limit for all annotations of one object together.
constexpr std::size_t kAnnotationBytes = 256 << 10;
// Characters that the service appends to generateName.
constexpr std::size_t kGeneratedSuffixBytes = 5;

// Members of metadata that only an API server writes.
constexpr std::string_view kServerFields[] = {
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
    "deletionTimestamp",
    "ownerReferences",
    "deletionGracePeriodSeconds",
    "finalizers",
};

// A label or annotation of Kueue that would be misleading to ignore, and what to tell the user.
struct RefusedKey {
  std::string_view key, message;
};
constexpr RefusedKey kRefusedOnJobs[] = {
    {"kueue.x-k8s.io/prebuilt-workload-name",
     "prebuilt workloads are not supported by this version"},
    {"kueue.x-k8s.io/workload-slice-replacement-for",
     "slices are made by Muster: change the size of the elastic job itself"},
};
// metadata.name, or generateName if there is no name.
void ReadName(const Field& metadata, const NameRule& rule, ParsedJob* job) {
  const Field name = metadata["name"];
  const Field generate = metadata["generateName"];
  const auto check = [&](const Field& field, std::string_view text, std::size_t max_bytes) {
    if (text.size() > max_bytes) {
      field.Fail("must be at most " + std::to_string(max_bytes) +
                 " bytes: the names and labels of its pods are made from it");
    } else if (rule.dns1035 ? !IsDns1035Label(text) : !IsDnsSubdomain(text)) {
      field.Fail(rule.dns1035 ? kDns1035LabelRule : kDnsSubdomainRule);
    }
  };
  if (const auto text = name.String()) {
    check(name, *text, rule.max_bytes);
    job->name = *text;
    return;
  }
  if (const auto prefix = generate.String()) {
    // Checked with a character of the suffix: "train-" alone would be refused for its last '-'.
    check(generate, std::string(*prefix) + "x", rule.max_bytes - kGeneratedSuffixBytes + 1);
    job->generate_name = *prefix;
    return;
  }
  if (!rule.may_be_absent && !name.present()) name.Fail("is required (or metadata.generateName)");
}

// The first of label and annotation that is not empty.
void ReadQueueLabel(const Field& metadata, ParsedJob* job) {
  for (const auto holder : {"labels", "annotations"}) {
    const Field queue = metadata[holder].Named(kQueueKey);
    const auto text = queue.String();
    if (!text || text->empty()) continue;
    if (!IsDnsSubdomain(*text)) queue.Fail(std::string("a queue's name ") + kDnsSubdomainRule);
    job->queue = *text;
    return;
  }
}

// Decimal digits only; a number that is too large is refused before it can overflow.
void ReadMaxExecTime(const Field& labels, ParsedJob* job) {
  const Field field = labels.Named(kMaxExecTimeKey);
  const auto text = field.String();
  if (!text) return;
  std::int64_t seconds = 0;
  for (const char c : *text) {
    if (c < '0' || c > '9' || seconds > 1'000'000'000) {
      field.Fail("must be a number of seconds greater than zero");
      return;
    }
    seconds = seconds * 10 + (c - '0');
  }
  if (seconds == 0) field.Fail("must be a number of seconds greater than zero");
  job->time_limit_s = seconds;
  job->max_execution_s = seconds;
}

// Kueue reads the annotation as a 32-bit integer; a bad value is refused instead of ignored.
void ReadBoost(const Field& annotation, ParsedJob* job) {
  const auto text = annotation.String();
  if (!text) return;
  std::int32_t boost = 0;
  const auto [end, ec] = std::from_chars(text->data(), text->data() + text->size(), boost);
  if (text->empty() || ec != std::errc() || end != text->data() + text->size())
    annotation.Fail("must be a whole number of 32 bits");
  job->priority_boost = boost;
}

// A comma-separated list of names that keep the job out of its queue until they are removed
// (KEP-6915).
void ReadAdmissionGates(const Field& annotation, ParsedJob* job) {
  const auto text = annotation.String();
  if (!text || text->empty()) return;
  std::set<std::string_view> seen;
  std::string_view rest = *text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view gate = rest.substr(0, comma);
    if (!IsQualifiedName(gate)) annotation.Fail(std::string("each name ") + kQualifiedNameRule);
    if (!seen.insert(gate).second) annotation.Fail("names must be unique: " + Quoted(gate));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  job->admission_gated_by = *text;
}

// stable_erase keeps the other members in the order in which the user wrote them.
void EraseMember(json::object* object, std::string_view key) {
  const auto it = object->find(key);
  if (it != object->end()) object->stable_erase(it);
}

void RefuseKeys(const Field& metadata, std::string_view key, std::string_view message) {
  metadata["annotations"].Named(key).Refuse(message);
  metadata["labels"].Named(key).Refuse(message);
}

}  // namespace

void CheckLabels(const Field& labels) {
  for (const auto& [key, field] : labels.Members()) {
    if (!IsQualifiedName(key)) field.Fail(std::string("a label's key ") + kQualifiedNameRule);
    const auto value = field.String();
    if (value && !IsLabelValue(*value))
      field.Fail(std::string("a label's value ") + kLabelValueRule);
    if (!field.present()) field.Fail("must be a string, not null");
  }
}

void CheckAnnotations(const Field& annotations) {
  std::size_t bytes = 0;
  for (const auto& [key, field] : annotations.Members()) {
    if (!IsQualifiedName(key)) field.Fail(std::string("an annotation's key ") + kQualifiedNameRule);
    bytes += key.size() + field.StringOr("").size();
    if (!field.present()) field.Fail("must be a string, not null");
  }
  if (bytes > kAnnotationBytes) {
    annotations.Fail("must be at most " + std::to_string(kAnnotationBytes) + " bytes together");
  }
}

std::vector<std::string> ReadNameList(const Field& annotation, bool (*good)(std::string_view),
                                      const char* rule) {
  std::vector<std::string> names;
  const auto text = annotation.String();
  if (!text) return names;
  for (std::string_view rest = *text;;) {
    const std::size_t comma = rest.find(',');
    std::string_view name = rest.substr(0, comma);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!good(name)) {
      annotation.Fail(rule);
      return {};
    }
    names.emplace_back(name);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string ReadObjectName(const Field& metadata, bool path_segment) {
  const Field name = metadata["name"];
  if (!name.Require()) return "";
  const auto text = name.String();
  if (!text) return "";
  if (path_segment) {
    if (!IsPathSegment(*text)) name.Fail(kPathSegmentRule);
  } else if (!IsDnsSubdomain(*text)) {
    name.Fail(kDnsSubdomainRule);
  }
  return std::string(*text);
}

void CheckMetadataMembers(const Field& metadata) {
  metadata.OnlyMembers({"name", "generateName", "namespace", "labels", "annotations", "uid",
                        "resourceVersion", "generation", "creationTimestamp", "managedFields",
                        "selfLink", "deletionTimestamp", "ownerReferences",
                        "deletionGracePeriodSeconds", "finalizers"});
}

void ReadJobMetadata(const Field& root, const NameRule& rule, ParsedJob* job) {
  const Field metadata = root["metadata"];
  if (!metadata.Require() || metadata.Object() == nullptr) return;
  CheckMetadataMembers(metadata);
  ReadName(metadata, rule, job);
  const Field ns = metadata["namespace"];
  if (const auto text = ns.String(); text && !text->empty()) {
    if (!IsDnsLabel(*text)) ns.Fail(kDnsLabelRule);
    job->ns = *text;
  }
  CheckLabels(metadata["labels"]);
  CheckAnnotations(metadata["annotations"]);
  ReadQueueLabel(metadata, job);
  const Field priority = metadata["labels"].Named(kPriorityKey);
  if (const auto text = priority.String(); text && !text->empty()) job->priority_class = *text;
  ReadMaxExecTime(metadata["labels"], job);
  ReadBoost(metadata["annotations"].Named(kPriorityBoostKey), job);
  ReadAdmissionGates(metadata["annotations"].Named(kAdmissionGatedByKey), job);
  job->placement = ReadJobPlacement(metadata);
  for (const auto& refused : kRefusedOnJobs) RefuseKeys(metadata, refused.key, refused.message);
}

json::value WithoutServerFields(json::value manifest) {
  if (auto* root = manifest.if_object()) {
    EraseMember(root, "status");
    if (json::object* metadata = MutableObject(root, "metadata")) {
      for (const auto key : kServerFields) EraseMember(metadata, key);
    }
  }
  return manifest;
}

}  // namespace muster::shapes
