// Batch scripts: the words of the #SBATCH lines, the fields that they make, and the manifest; one
// that is taken is a job, which can be rendered for a member.
#include "schedd/shapes/batch/batch_directives.h"
#include "schedd/shapes/batch/batch_manifest.h"
#include "schedd/shapes/batch/sbatch_options.h"
#include "schedd/shapes/kinds/shape.h"
#include "schedd/text/json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/taken_job.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view script = fuzz::Text(data, size);
  const auto words = shapes::DirectiveWords(script);
  if (!words.ok()) return 0;
  static_cast<void>(shapes::FieldsOfDirectives(*words));
  // A script that is no text cannot come by REST.
  const auto request = ParseJson(WriteJson(json::object{{"script", script}, {"queue", "main"}}));
  if (!request.ok()) return 0;
  // Outside the arena that it was read into: there, memory that has moved can still be used.
  const json::object outside(request->as_object(), json::storage_ptr());
  auto manifest = shapes::BatchScriptManifest(outside, "default");
  if (!manifest.ok()) return 0;
  const auto job = shapes::ParseJob(std::move(*manifest));
  fuzz::Require(job.ok() || !job.error().detail.empty() || !job.error().fields.empty(),
                "a refusal says why");
  if (job.ok()) fuzz::UseTaken(*job);
  return 0;
}
