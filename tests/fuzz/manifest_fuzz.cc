// Manifests of jobs and of configuration, in YAML and JSON: what is taken is taken again after it
// was written as JSON, with the same pod sets, can be rendered for a member, and reads back the
// same from the YAML that Muster writes.
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/shapes/kinds/member_pod_sets.h"
#include "schedd/shapes/kinds/preparation.h"
#include "schedd/shapes/kinds/shape.h"
#include "schedd/shapes/kinds/workload_status.h"
#include "schedd/text/documents.h"
#include "schedd/text/json.h"
#include "schedd/text/yaml.h"
#include "schedd/text/yaml_write.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/taken_job.h"

namespace {

using namespace muster;

void ReadJob(const json::value& document, const ConfigView& config) {
  // External controllers write a part of this, and members show jobs that somebody else has made.
  shapes::Problems problems;
  static_cast<void>(shapes::ReadWorkloadStatus(shapes::Field(document, &problems)["status"]));
  static_cast<void>(shapes::MemberPodSetsOf(document));
  auto job = shapes::ParseJob(document);
  if (!job.ok()) return;
  const auto text = ParseJson(WriteJson(document));
  fuzz::Require(text.ok(), "a manifest that was taken can be written");
  const auto again = shapes::ParseJob(*text);
  fuzz::Require(again.ok() && again->pod_sets.size() == job->pod_sets.size(),
                "a manifest that was taken is taken again");
  const auto yaml = ParseYaml(WriteYaml(document));
  fuzz::Require(yaml.ok() && yaml->size() == 1 && yaml->front() == document,
                "the YAML of a manifest reads back as the manifest");
  fuzz::UseTaken(*job);
  static_cast<void>(shapes::PrepareRequests(config, AdmissionSettings{}, "default", &*job));
}

// Into what the objects before it have made, so that a second one of a name is a change.
void ReadObject(const json::value& document, ConfigView* config) {
  const auto object = shapes::ParseObject(document);
  if (!object.ok()) return;
  static_cast<void>(shapes::ApplyTo(config, object->kind, object->manifest));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto documents = ParseDocuments(fuzz::Text(data, size));
  if (!documents.ok()) return 0;
  ConfigView config;
  for (const json::value& read : *documents) {
    // Outside the arena that it was read into: there, memory that has moved can still be used.
    const json::value document(read, json::storage_ptr());
    if (shapes::IsJobShape(document)) ReadJob(document, config);
    if (shapes::IsConfigObject(document)) ReadObject(document, &config);
  }
  return 0;
}
