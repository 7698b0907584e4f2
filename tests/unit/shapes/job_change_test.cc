// The parts of a job's manifest that may change after submission, and the refusals of the others.
#include "schedd/shapes/kinds/job_change.h"

#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/scale_lifecycle.h"
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

using testing::HasSubstr;

constexpr const char* kElastic = "kueue.x-k8s.io/elastic-job: \"true\"";

json::value Manifest(const std::string& spec, const std::string& annotations = kElastic,
                     const std::string& command = "work") {
  return Yaml("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: n, annotations: {" +
              annotations + "}}\nspec:\n  suspend: true\n" + spec +
              "  template:\n    spec:\n      restartPolicy: Never\n      containers:\n"
              "      - {name: main, image: i, command: [" +
              command + "]}\n");
}

JobRecord RecordOf(const json::value& manifest) {
  const ParsedJob parsed = Job(manifest);
  JobRecord job;
  job.shape = parsed.shape;
  job.elastic = parsed.elastic;
  job.pod_sets = std::make_shared<PodSets>(parsed.pod_sets);
  if (!parsed.admission_gated_by.empty()) {
    ChangeState(&job, [&](AdmissionState* state) {
      state->admission_gated_by = parsed.admission_gated_by;
    });
  }
  return job;
}

TEST(JobChange, TakesWhatMayChange) {
  const json::value submitted = Manifest("  parallelism: 2\n");
  const JobRecord job = RecordOf(submitted);
  EXPECT_TRUE(ChangeOf(job, submitted, Job(submitted))->empty());
  json::value resumed = Manifest("  parallelism: 2\n");
  resumed.at("spec").as_object()["suspend"] = false;
  EXPECT_TRUE(ChangeOf(job, submitted, Job(resumed))->empty()) << "the scheduler's, not the user's";
  const auto larger = ChangeOf(job, submitted, Job(Manifest("  parallelism: 5\n")));
  ASSERT_TRUE(larger.ok());
  EXPECT_EQ(larger->size, (JobSize{5, std::nullopt}));
  EXPECT_EQ(larger->submitted, (JobSize{2, std::nullopt}));
  const auto default_one = ChangeOf(job, submitted, Job(Manifest("")));
  EXPECT_EQ(default_one->size, (JobSize{1, std::nullopt}));
}

TEST(JobChange, IndexedCompletionsFollowTheParallelism) {
  const std::string indexed = "  completionMode: Indexed\n";
  const json::value submitted = Manifest(indexed + "  parallelism: 2\n  completions: 2\n");
  const auto change = ChangeOf(RecordOf(submitted), submitted,
                               Job(Manifest(indexed + "  parallelism: 3\n  completions: 3\n")));
  ASSERT_TRUE(change.ok()) << change.error().detail;
  EXPECT_EQ(change->size, (JobSize{3, 3}));
}

TEST(JobChange, IsMeasuredAgainstWhatWasWantedLast) {
  const json::value submitted = Manifest("  parallelism: 2\n");
  JobRecord job = RecordOf(submitted);
  ChangeSize(&job, {2, std::nullopt}, {4, std::nullopt});
  EXPECT_TRUE(ChangeOf(job, submitted, Job(Manifest("  parallelism: 4\n")))->empty());
  EXPECT_EQ(ChangeOf(job, submitted, Job(submitted))->size, (JobSize{2, std::nullopt}));
  json::value shown = submitted;
  ShowChanges(job, &shown);
  EXPECT_EQ(shown.at("spec").at("parallelism"), 4);
}

TEST(JobChange, RefusesTheRestByItsField) {
  const std::string two = "  parallelism: 2\n";
  const std::string gate = "kueue.x-k8s.io/admission-gated-by: ";
  const struct {
    const char* name;
    json::value before, after;
    const char* problem;
  } cases[] = {
      {"a job that is not elastic", Manifest(two, "x: y"), Manifest("  parallelism: 3\n", "x: y"),
       "spec.parallelism: may change only if the job was submitted with annotation "
       "kueue.x-k8s.io/elastic-job"},
      {"another command", Manifest(two), Manifest(two, kElastic, "play"),
       "spec.template.spec.containers[0].command[0]: cannot change"},
      {"a further field", Manifest(two), Manifest(two + "  backoffLimit: 1\n"),
       "spec.backoffLimit: cannot change"},
      {"elastic from now on", Manifest(two, "x: y"),
       Manifest(two, std::string("x: y, ") + kElastic),
       "metadata.annotations.kueue.x-k8s.io/elastic-job: cannot change"},
      {"completions on their own", Manifest(two + "  completions: 4\n"),
       Manifest(two + "  completions: 5\n"), "spec.completions: may change only with"},
      {"a further gate", Manifest(two, gate + "a"), Manifest(two, gate + "\"a,b\""),
       "admission-gated-by]: gates can be taken away after the submission, not added: b"},
  };
  for (const auto& one : cases) {
    EXPECT_THAT(ProblemsOf(ChangeOf(RecordOf(one.before), one.before, Job(one.after))),
                HasSubstr(one.problem))
        << one.name;
  }
}

TEST(JobChange, GatesAreTakenAway_OneByOne) {
  const std::string gate = "kueue.x-k8s.io/admission-gated-by: ";
  const json::value submitted = Manifest("", gate + "\"a,b\"");
  JobRecord job = RecordOf(submitted);
  const auto fewer = ChangeOf(job, submitted, Job(Manifest("", gate + "b")));
  ASSERT_TRUE(fewer.ok()) << fewer.error().detail;
  EXPECT_EQ(fewer->admission_gated_by, "b");
  EXPECT_FALSE(fewer->size.has_value());
  json::value none = Manifest("", "");
  EXPECT_EQ(ChangeOf(job, submitted, Job(none))->admission_gated_by, "");
  ChangeState(&job, [](AdmissionState* state) { state->admission_gated_by = ""; });
  json::value shown = submitted;
  ShowChanges(job, &shown);
  EXPECT_TRUE(shown.at("metadata").at("annotations").as_object().empty());
}

TEST(ElasticJob, RunsWithTheSizeThatHoldsQuota_AndShowsTheOneThatIsWanted) {
  const json::value submitted = Manifest("  parallelism: 2\n  completions: 9\n");
  JobRecord job = RecordOf(submitted);
  job.name = "a";
  PendingSlice slice;
  slice.size = {6, 9};
  WantSlice(&job, {2, 9}, slice);
  const auto rendered = Render(job, submitted, {}, {"i", false});
  ASSERT_TRUE(rendered.ok());
  EXPECT_EQ(rendered->object.manifest.at("spec").at("parallelism"), 2);
  json::value shown = submitted;
  ShowChanges(job, &shown);
  EXPECT_EQ(shown.at("spec").at("parallelism"), 6);
}

TEST(ElasticJob, IsNoPartialOne_AndNoOtherKind) {
  EXPECT_THAT(ProblemsOf(ParseJob(
                  Manifest("  parallelism: 2\n",
                           std::string(kElastic) + ", kueue.x-k8s.io/job-min-parallelism: \"1\""))),
              HasSubstr("elastic-job]: partial admission and elastic job cannot be used together"));
  json::value other = Yaml(
      "apiVersion: kueue.x-k8s.io/v1beta1\nkind: Workload\nmetadata: {name: a, annotations: "
      "{kueue.x-k8s.io/elastic-job: \"true\"}}\nspec:\n  podSets:\n  - name: main\n    count: 1\n"
      "    template: {spec: {containers: [{name: c, image: i}]}}\n");
  EXPECT_THAT(ProblemsOf(ParseJob(other)), HasSubstr("elastic-job]: elastic jobs are Jobs"));
}

}  // namespace
}  // namespace muster::shapes
