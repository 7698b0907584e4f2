// Comparing manifests of one job. A submission keeps its manifest as it came; later changes are in
// the job's record. So a new manifest is compared with the submitted one after the changes on
// record have been written into it (ShowChanges), and quantities are brought into one form first,
// so that `cpu: 1` and `cpu: "1000m"` are no difference.
#include "schedd/shapes/kinds/job_change.h"

#include <algorithm>
#include <vector>

#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/scale_lifecycle.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/shapes/parts/canonical.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

constexpr const char* kImmutable =
    "cannot change after the submission: delete the job first, or choose another name";
constexpr const char* kSizeKeys[] = {"parallelism", "completions"};

std::optional<std::int32_t> CountAt(const json::value& manifest, std::string_view key) {
  const auto count = IntegerAt(manifest, {"spec", key});
  if (!count) return std::nullopt;
  return static_cast<std::int32_t>(*count);
}

// The spec with every quantity in its canonical form.
json::object CanonicalSpec(const json::value& manifest) {
  json::value spec = ObjectOrEmpty(manifest, "spec");
  CanonicaliseQuantities(&spec);
  return std::move(spec.get_object());
}

// The path of the first place where two values differ; "" if they are equal.
std::string FirstDifference(const json::value& a, const json::value& b, const std::string& path) {
  if (a == b) return "";
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : a.get_object()) {
      const std::string at = path + "." + std::string(std::string_view(key));
      const json::value* other = b.get_object().if_contains(key);
      if (other == nullptr) return at;
      if (std::string inner = FirstDifference(value, *other, at); !inner.empty()) return inner;
    }
    for (const auto& [key, value] : b.get_object()) {
      if (!a.get_object().contains(key)) return path + "." + std::string(std::string_view(key));
    }
  }
  if (a.is_array() && b.is_array() && a.get_array().size() == b.get_array().size()) {
    for (std::size_t i = 0; i < a.get_array().size(); ++i) {
      const std::string at = path + "[" + std::to_string(i) + "]";
      if (std::string inner = FirstDifference(a.at(i), b.at(i), at); !inner.empty()) return inner;
    }
  }
  return path;
}

// The names in a list with commas between them.
std::vector<std::string_view> Names(std::string_view list) {
  std::vector<std::string_view> names;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    names.push_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

// The new list of gates may only leave out names of the old one.
Status CheckGates(const std::string& before, const std::string& after) {
  const auto known = Names(before);
  for (const std::string_view gate : Names(after)) {
    if (std::find(known.begin(), known.end(), gate) != known.end()) continue;
    return InvalidField(
        "metadata.annotations[" + std::string(kAdmissionGatedByKey) + "]",
        "gates can be taken away after the submission, not added: " + std::string(gate));
  }
  return Done{};
}

// Only an elastic job may change its size. Its completions may change as Kubernetes lets them: in
// an Indexed Job that has as many completions as parallelism before and after.
Status CheckSize(const JobRecord& job, const ParsedJob& wanted, const JobSize& before,
                 const JobSize& after) {
  if (!job.elastic) {
    return InvalidField(
        before.parallelism != after.parallelism ? "spec.parallelism" : "spec.completions",
        "may change only if the job was submitted with annotation " + std::string(kElasticJobKey) +
            ": \"true\": delete it and submit another");
  }
  if (before.completions == after.completions) return Done{};
  const bool indexed = ViewAt(wanted.manifest, {"spec", "completionMode"}) == "Indexed";
  if (indexed && before.completions && after.completions &&
      *before.completions == before.parallelism && *after.completions == after.parallelism) {
    return Done{};
  }
  return InvalidField("spec.completions",
                      "may change only with completionMode Indexed, from as many as parallelism "
                      "to as many as parallelism");
}

}  // namespace

JobSize SizeOfJob(const json::value& manifest) {
  return {CountAt(manifest, "parallelism").value_or(1), CountAt(manifest, "completions")};
}

void SetSize(const JobSize& size, json::object& manifest) {
  json::object& spec = MakeObjectAt(manifest, "spec");
  spec["parallelism"] = size.parallelism;
  if (size.completions) spec["completions"] = *size.completions;
}

std::string GatesOf(const json::value& manifest) {
  return TextAt(manifest, {"metadata", "annotations", kAdmissionGatedByKey});
}

void CopyChangeable(const JobRecord& job, const json::value& now, json::value* wanted) {
  json::object& root = wanted->as_object();
  const auto copy = [](const json::object& from, json::object& to, std::string_view key) {
    const json::value* value = from.if_contains(key);
    if (value != nullptr) {
      to[key] = *value;
    } else {
      to.erase(key);
    }
  };
  if (job.shape == ShapeKind::kJob) {
    for (const char* key : kSizeKeys)
      copy(ObjectOrEmpty(now, "spec"), MakeObjectAt(root, "spec"), key);
  }
  json::object& metadata = MakeObjectAt(root, "metadata");
  const json::object& annotations = ObjectOrEmpty(now, {"metadata", "annotations"});
  const bool had = annotations.contains(kAdmissionGatedByKey);
  if (!had && !metadata.contains("annotations")) return;
  copy(annotations, MakeObjectAt(metadata, "annotations"), kAdmissionGatedByKey);
}

void ShowChanges(const JobRecord& job, json::value* manifest) {
  if (!manifest->is_object()) return;
  if (const JobSize* wanted = WantedSize(job)) SetSize(*wanted, manifest->get_object());
  json::object* metadata = MutableObject(&manifest->get_object(), "metadata");
  json::object* annotations = MutableObject(metadata, "annotations");
  if (annotations == nullptr || !annotations->contains(kAdmissionGatedByKey)) return;
  const std::string& left = StateOf(job).admission_gated_by;
  if (left.empty()) {
    annotations->erase(kAdmissionGatedByKey);
  } else {
    (*annotations)[kAdmissionGatedByKey] = left;
  }
}

Result<JobChange> ReadChange(const JobRecord& job, const json::value& now,
                             const ParsedJob& wanted) {
  JobChange change;
  if (job.shape == ShapeKind::kJob) {
    const JobSize before = SizeOfJob(now);
    const JobSize after = SizeOfJob(wanted.manifest);
    change.submitted = before;
    if (before != after) {
      const Status allowed = CheckSize(job, wanted, before, after);
      if (!allowed.ok()) return allowed.error();
      change.size = after;
    }
  }
  const std::string& gates = StateOf(job).admission_gated_by;
  if (wanted.admission_gated_by != gates) {
    const Status allowed = CheckGates(gates, wanted.admission_gated_by);
    if (!allowed.ok()) return allowed.error();
    change.admission_gated_by = wanted.admission_gated_by;
  }
  return change;
}

Result<JobChange> ChangeOf(const JobRecord& job, const json::value& submitted,
                           const ParsedJob& wanted) {
  json::value now = submitted;
  ShowChanges(job, &now);
  Result<JobChange> change = ReadChange(job, now, wanted);
  if (!change.ok()) return change;
  if (job.shape == ShapeKind::kJob) change->submitted = SizeOfJob(submitted);
  json::object spec = CanonicalSpec(now);
  json::object wanted_spec = CanonicalSpec(wanted.manifest);
  json::object annotations = ObjectOrEmpty(now, {"metadata", "annotations"});
  json::object wanted_annotations = ObjectOrEmpty(wanted.manifest, {"metadata", "annotations"});
  for (json::object* one : {&spec, &wanted_spec}) {
    one->erase("suspend");
    if (job.shape != ShapeKind::kJob) continue;
    for (const char* key : kSizeKeys) one->erase(key);
  }
  for (json::object* one : {&annotations, &wanted_annotations}) one->erase(kAdmissionGatedByKey);
  std::string other = FirstDifference(spec, wanted_spec, "spec");
  if (other.empty())
    other = FirstDifference(annotations, wanted_annotations, "metadata.annotations");
  if (other.empty()) {
    other =
        FirstDifference(ObjectOrEmpty(now, {"metadata", "labels"}),
                        ObjectOrEmpty(wanted.manifest, {"metadata", "labels"}), "metadata.labels");
  }
  if (!other.empty()) return InvalidField(other, kImmutable);
  return change;
}

}  // namespace muster::shapes
