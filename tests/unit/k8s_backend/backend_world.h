// A Kubernetes backend over a fake member: orders of small Jobs, and their outcomes.
#pragma once

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "backends/k8s/k8s_backend.h"
#include "schedd/model/member_labels.h"
#include "schedd/text/json.h"
#include "tests/contract/backend/backend_fixture.h"
#include "tests/support/fake_member/fake_member.h"

namespace muster::k8s {

using muster::fake::FakeMember;
using muster::fake::FakeMemberOptions;
using muster::fake::Fault;
using muster::fake::FaultKind;
using muster::testing::kPatience;
using muster::testing::RecordingSink;

inline constexpr char kInstance[] = "here";
inline constexpr char kJobs[] = "/apis/batch/v1/namespaces/default/jobs";

/// A sink that counts gaps too.
class CountingSink final : public ObservationSink {
 public:
  void OnObservation(Observation seen) override { recording.OnObservation(std::move(seen)); }
  void OnFacts(ClusterFacts facts) override {
    {
      std::lock_guard lock(mutex);
      latest = facts;
      changed.notify_all();
    }
    recording.OnFacts(std::move(facts));
  }
  void OnGap(const std::string&) override {
    std::lock_guard lock(mutex);
    ++gaps;
    changed.notify_all();
  }

  /// The latest facts once `wanted` accepts them; fails the test after a minute.
  ClusterFacts AwaitFacts(const std::function<bool(const ClusterFacts&)>& wanted) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, kPatience, [&] { return wanted(latest); }))
        << "the last word was: " << latest.message;
    return latest;
  }

  int Gaps() {
    std::lock_guard lock(mutex);
    return gaps;
  }
  /// Waits for one more gap than `before`; fails the test after a minute.
  void AwaitGap(int before) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, kPatience, [&] { return gaps > before; }));
  }

  RecordingSink recording;
  std::mutex mutex;
  std::condition_variable changed;
  ClusterFacts latest = [] {
    ClusterFacts nothing;
    nothing.healthy = false;
    return nothing;
  }();
  int gaps = 0;
};

class BackendWorld : public ::testing::Test {
 protected:
  explicit BackendWorld(FakeMemberOptions options = {}) : member_(options) {
    kubeconfig_ = directory_.path() + "/kubeconfig";
    WriteKubeconfig(member_.Kubeconfig());
  }
  ~BackendWorld() override {
    member_.ClearFaults();
    backend_.reset();
  }

  void WriteKubeconfig(const std::string& text) const { std::ofstream(kubeconfig_) << text; }

  /// Creates the backend (again) and waits until the member is reachable.
  void Connect() {
    Make();
    sink_.AwaitFacts([](const ClusterFacts& facts) { return facts.healthy; });
  }
  void Make() {
    backend_.reset();
    KubernetesOptions options;
    options.members.push_back({.name = "m",
                               .kubeconfig = kubeconfig_,
                               .context = "",
                               .credentials_dir = "",
                               .fast = fast_,
                               .allow_exec = false,
                               .connections = 0,
                               .labels = {{"zone", "a"}}});
    options.instance_id = kInstance;
    options.clock = &clock_;
    options.timers = &timers_;
    options.random = &random_;
    options.lead = lead_;
    backend_ = MakeKubernetesBackend(std::move(options));
    backend_->Start(sink_);
  }

  static DispatchKey Key() { return muster::testing::NewKey("m"); }

  /// A rendered Job: `annotations` of its pod template say how long its pods run.
  static DispatchOrder JobOf(const DispatchKey& key, bool suspended,
                             json::object annotations = {{"bed.test/run", "0s"}},
                             const std::string& name = "work") {
    const json::object labels{{kInstanceLabel, kInstance},
                              {kJobUidLabel, key.job_uid.ToString()},
                              {kAttemptLabel, std::to_string(key.attempt)}};
    json::object pod_labels = labels;
    pod_labels[kPodSetLabel] = "main";
    const json::object spec{
        {"suspend", suspended},
        {"backoffLimit", 0},
        {"template",
         {{"metadata", {{"labels", pod_labels}, {"annotations", std::move(annotations)}}},
          {"spec",
           {{"restartPolicy", "Never"},
            {"containers", json::array{{{"name", "main"}, {"image", "busybox"}}}}}}}}};
    const json::object manifest{
        {"apiVersion", "batch/v1"},
        {"kind", "Job"},
        {"metadata", {{"name", name}, {"namespace", "default"}, {"labels", labels}}},
        {"spec", spec}};
    DispatchOrder order =
        muster::testing::OrderOf(key, "batch/v1", "Job", name, json::serialize(manifest));
    order.suspended = suspended;
    order.sequence = 7;
    return order;
  }
  static ManifestText ConfigMapOf(const std::string& name, const std::string& value) {
    return {"v1", "ConfigMap", "default", name,
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
                R"("},"data":{"k":")" + value + R"("}})"};
  }

  Result<RemoteRef> Ensure(const DispatchOrder& order) {
    return muster::testing::Wait<RemoteRef>(
        [&](Callback<RemoteRef> done) { backend_->Ensure(order, std::move(done)); });
  }
  /// Creates it suspended and releases it, as the protocol does.
  Result<RemoteRef> Run(const DispatchKey& key, json::object annotations,
                        const std::string& name = "work") {
    const auto made = Ensure(JobOf(key, true, annotations, name));
    if (!made.ok()) return made;
    DispatchOrder release = JobOf(key, false, std::move(annotations), name);
    release.expected_uid = made->remote_uid;
    return Ensure(release);
  }
  Result<RemovalResult> Remove(const DispatchKey& key, RemovePolicy policy = {}) {
    return muster::testing::Remove(*backend_, key, std::move(policy));
  }
  static RemovePolicy At(const std::string& name, const std::string& uid = "") {
    RemovePolicy policy;
    policy.object = {"batch/v1", "Job", "default", name};
    policy.expected_uid = uid;
    return policy;
  }
  Status Acknowledge(const DispatchKey& key, const std::string& uid,
                     const std::string& name = "work") {
    return muster::testing::Wait<Done>([&](Callback<Done> done) {
      backend_->Acknowledge(key, {"batch/v1", "Job", "default", name}, uid, std::move(done));
    });
  }
  std::vector<Observation> List() {
    auto listed = muster::testing::List(*backend_, "m");
    EXPECT_TRUE(listed.ok()) << listed.error().detail;
    return listed.ok() ? std::move(*listed) : std::vector<Observation>{};
  }
  /// A text in an object on the member, by JSON pointer.
  std::string TextAt(const std::string& path, const std::string& pointer) const {
    const json::value object(member_.Object(path));
    return std::string(object.at_pointer(pointer).as_string());
  }
  bool IsSuspended(const std::string& name = "work") const {
    return member_.Object(std::string(kJobs) + "/" + name).at("spec").at("suspend").as_bool();
  }
  int StatusOf(const std::string& path) { return member_.Call("GET", path).status; }

  muster::testing::TemporaryDirectory directory_;
  muster::testing::TestClock clock_;
  muster::testing::TestTimers timers_;
  muster::testing::TestRandom random_;
  FakeMember member_;
  std::string kubeconfig_;
  bool fast_ = false;
  std::shared_ptr<LeadTerm> lead_;  // null: no other daemon can lead
  CountingSink sink_;
  std::unique_ptr<KubernetesMembers> backend_;
};

}  // namespace muster::k8s
