// The audit trail and gRPC: every method that may change something notes its failure. The methods
// come from the descriptors, so that a new one is a case too (rule U30).
#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "tests/e2e/grpc/grpc_world.h"

namespace muster::test {
namespace {

class NoteKeeper final : public auth::AuditSink {
 public:
  void Refused(const auth::Principal&, std::string_view, const auth::ResourceRef&,
               const Error&) override {}
  void Failed(const auth::Principal&, std::string_view verb, std::string_view object,
              const Error& error) override {
    std::lock_guard lock(mutex_);
    notes_.push_back(std::string(verb) + " " + std::string(object) + " " + CodeName(error.code));
  }
  Status Read(const auth::Principal&, auth::Verb, const auth::ResourceRef&) override {
    return Done{};
  }
  std::vector<std::string> Take() {
    std::lock_guard lock(mutex_);
    return std::exchange(notes_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> notes_;
};

class GrpcAudit : public GrpcServerTest {
 protected:
  GrpcAudit() { service_.SetAudit(&notes_); }

  NoteKeeper notes_;
};

bool OnlyReads(const std::string& method) {
  for (const char* verb : {"Get", "List", "Watch", "Read", "Explain"}) {
    if (method.starts_with(verb)) return true;
  }
  return false;
}

TEST_F(GrpcAudit, EveryMethodThatMayChangeSomethingNotesItsFailure) {
  int methods = 0;
  for (const char* file : {"muster/v1/jobs.proto", "muster/v1/queues.proto",
                           "muster/v1/quota.proto", "muster/v1/clusters.proto"}) {
    const auto* descriptor =
        google::protobuf::DescriptorPool::generated_pool()->FindFileByName(file);
    ASSERT_NE(descriptor, nullptr) << file;
    for (int i = 0; i < descriptor->service_count(); ++i) {
      const auto* service = descriptor->service(i);
      for (int j = 0; j < service->method_count(); ++j) {
        const std::string name = service->method(j)->name();
        if (OnlyReads(name)) continue;
        // One empty message is wrong for all that change something.
        grpc::ClientContext context;
        const grpc::Status status =
            CallEmpty(channel_, "/" + service->full_name() + "/" + name, &context);
        const std::vector<std::string> notes = notes_.Take();
        // An empty list of jobs or documents is no failure, and changes nothing.
        if (status.ok() && (name == "BatchSubmitJobs" || name == "Apply")) continue;
        ASSERT_EQ(notes.size(), 1U) << name << ": " << status.error_message();
        EXPECT_EQ(notes[0].find("OK"), std::string::npos) << notes[0];
        ++methods;
      }
    }
  }
  EXPECT_GE(methods, 11);
}

TEST_F(GrpcAudit, ItemsThatCannotBeReadAreNoted_AndDryRunsAreNot) {
  v1::BatchSubmitJobsRequest batch;
  batch.set_namespace_("default");
  batch.add_manifests("{");
  batch.add_manifests("[1");
  v1::BatchSubmitJobsResponse outcomes;
  grpc::ClientContext first;
  ASSERT_TRUE(jobs_->BatchSubmitJobs(&first, batch, &outcomes).ok());
  EXPECT_EQ(outcomes.items_size(), 2);
  EXPECT_EQ(notes_.Take().size(), 1U) << "one row for a code";
  for (const bool dry_run : {true, false}) {
    for (const char* documents : {"{", R"({"apiVersion":"v1","kind":"Nothing"})"}) {
      v1::ApplyRequest apply;
      apply.set_documents(documents);
      apply.set_dry_run(dry_run);
      v1::ApplyResponse applied;
      grpc::ClientContext context;
      EXPECT_FALSE(queues_->Apply(&context, apply, &applied).ok());
      EXPECT_EQ(notes_.Take().size(), dry_run ? 0U : 1U) << documents;
    }
  }
}

}  // namespace
}  // namespace muster::test
