// Manifests of jobs and of configuration, in YAML and JSON: what is taken is taken again after it
// was written as JSON, with the same pod sets.
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/shapes/kinds/shape.h"
#include "schedd/text/documents.h"
#include "schedd/text/json.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace muster;

void ReadJob(const json::value& document) {
  const auto job = shapes::ParseJob(document);
  if (!job.ok()) return;
  const auto text = ParseJson(WriteJson(document));
  fuzz::Require(text.ok(), "a manifest that was taken can be written");
  const auto again = shapes::ParseJob(*text);
  fuzz::Require(again.ok() && again->pod_sets.size() == job->pod_sets.size(),
                "a manifest that was taken is taken again");
}

void ReadObject(const json::value& document) {
  const auto object = shapes::ParseObject(document);
  if (!object.ok()) return;
  ConfigView config;
  static_cast<void>(shapes::ApplyTo(&config, object->kind, object->manifest));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto documents = ParseDocuments(fuzz::Text(data, size));
  if (!documents.ok()) return 0;
  for (const json::value& document : *documents) {
    if (shapes::IsJobShape(document)) ReadJob(document);
    if (shapes::IsConfigObject(document)) ReadObject(document);
  }
  return 0;
}
