// Kinds that are removed from a member and installed again: the other kinds are still followed, a
// kind that is back is followed again, and no list waits for a kind that does not come back.
#include <thread>

#include "backends/k8s/session.h"
#include "backends/k8s/status/kinds.h"
#include "tests/unit/k8s_backend/backend_world.h"

namespace muster::k8s {
namespace {

constexpr auto kOnTheWay = std::chrono::milliseconds(200);  // for bytes to reach the member

// One session, so that the test can occupy its strand.
class KindTest : public BackendWorld {
 protected:
  KindTest() {
    auto access = LoadKubeconfig(kubeconfig_, {});
    MUSTER_CHECK(access.ok());
    SessionOptions options;
    options.member = "m";
    options.instance_id = kInstance;
    session_ = Session::Make({clock_, timers_, random_, io_}, std::move(*access), options, sink_,
                             [](Renewal) {});
    sink_.AwaitFacts([](const ClusterFacts& facts) { return facts.healthy; });
  }
  ~KindTest() override {
    member_.Resume();
    session_->Close();
  }

  // Returns when `work` has run on the strand.
  void OnStrand(const std::function<void()>& work) {
    std::promise<void> done;
    session_->client().Post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  // Returns when all posted work, and the work that it posted, has run.
  void LetRun() {
    for (int i = 0; i < 5; ++i) OnStrand([] {});
  }
  std::future<bool> StartList() {
    auto listed = std::make_shared<std::promise<bool>>();
    session_->List([listed](const Result<std::vector<Observation>>& answer) {
      listed->set_value(answer.ok());
    });
    return listed->get_future();
  }
  static bool IsAnswered(std::future<bool>& list) {
    return list.wait_for(kPatience) == std::future_status::ready && list.get();
  }
  bool Has(const KindInfo& kind) {
    bool has = false;
    OnStrand([&] { has = !session_->Lacks(kind).has_value(); });
    return has;
  }
  void Seek(const KindInfo& kind) {
    std::promise<void> sought;
    OnStrand([&] { session_->Seek(kind, [&sought] { sought.set_value(); }); });
    sought.get_future().wait();
  }

  const KindInfo& job_set_ = *KindByApi("jobset.x-k8s.io/v1alpha2", "JobSet");
  IoThreads io_;
  std::shared_ptr<Session> session_;
};

TEST_F(KindTest, AKindThatIsTakenAway_IsShown_AndIsFollowedAgainWhenItIsBack) {
  member_.SetInstalled("jobsets", false);
  member_.CloseWatches();
  sink_.AwaitFacts([](const ClusterFacts& facts) {
    return facts.healthy && facts.message.find("without JobSet") != std::string::npos;
  });
  EXPECT_FALSE(Has(job_set_));
  OnStrand([&] { session_->NoteDoubt(); });
  std::future<bool> without = StartList();
  EXPECT_TRUE(IsAnswered(without));
  member_.SetInstalled("jobsets", true);
  Seek(job_set_);
  EXPECT_TRUE(Has(job_set_));
  OnStrand([&] { session_->NoteDoubt(); });
  std::future<bool> with = StartList();
  EXPECT_TRUE(IsAnswered(with));
}

TEST_F(KindTest, AKindThatIsBackBeforeItsLossWasDigested_KeepsNoListWaiting) {
  member_.Pause();
  OnStrand([&] { session_->NoteDoubt(); });
  // Asks the member for every kind.
  std::future<bool> list = StartList();
  LetRun();
  OnStrand([&] { session_->Seek(job_set_, [] {}); });
  std::this_thread::sleep_for(kOnTheWay);
  // The strand gets both answers at the same time: that the kind does not exist, and then that it
  // does.
  std::promise<void> answered;
  session_->client().Post([come = answered.get_future().share()] { come.wait(); });
  member_.Inject({.kind = FaultKind::kAnswer,
                  .verb = "list",
                  .path = "/jobsets",
                  .status = 404,
                  .reason = "NotFound",
                  .message = "the server could not find the requested resource"});
  member_.Resume();
  std::this_thread::sleep_for(kOnTheWay);
  answered.set_value();
  EXPECT_TRUE(IsAnswered(list));
  EXPECT_TRUE(Has(job_set_));
}

}  // namespace
}  // namespace muster::k8s
