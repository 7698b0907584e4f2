// The propagator over real plans, with members that record their calls: order, pace, and the state
// that a kill at any point leaves.
#include "schedd/propagation/propagator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "schedd/base/limits.h"
#include "schedd/text/json.h"
#include "tests/support/fake_clock.h"

namespace muster::propagation {
namespace {

using test::FakeClock;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// Members with objects. Calls are answered at once, or when the test says so.
class FakeObjects final : public MemberObjects {
 public:
  // An object on a member: its hash and the placement that owns it.
  struct FakeObject {
    std::string hash, owner;
  };

  bool TakesObjects(const std::string& cluster) const override { return cluster != "local"; }
  void Apply(const ObjectOrder& order, Callback<ObjectOutcome> done) override {
    Begin("apply", order.cluster, order.ref);
    orders.push_back(order);
    waiting.push_back([this, order, done = std::move(done)] { done(Carry(order)); });
    if (!hold) AnswerAll();
  }
  void Remove(const ObjectRemoval& removal, Callback<bool> done) override {
    Begin(removal.abandon ? "abandon" : "remove", removal.cluster, removal.ref);
    waiting.push_back([this, removal, done = std::move(done)] { done(Carry(removal)); });
    if (!hold) AnswerAll();
  }
  void Listen(std::function<void(const std::string&)> changed) override {
    listener = std::move(changed);
  }

  void AnswerAll() {
    while (!waiting.empty()) AnswerOne();
  }
  void AnswerOne() {
    const auto answer = std::move(waiting.front());
    waiting.pop_front();
    answer();
  }
  std::vector<std::string> TakeLog() { return std::exchange(log, {}); }
  std::size_t Count(const std::string& line) const {
    return static_cast<std::size_t>(std::count(log.begin(), log.end(), line));
  }

  std::map<std::string, FakeObject> there;         // by "east Namespace ml"
  std::map<std::string, Error> errors;             // by the same key: the call fails
  std::map<std::string, ManifestStatus> outcomes;  // by the same key: the status that is answered
  std::set<std::string> finalizers;                // by the same key: a deletion does not complete
  std::vector<std::string> log;
  std::vector<ObjectOrder> orders;
  std::deque<std::function<void()>> waiting;
  bool hold = false;
  std::function<void(const std::string&)> listener;
  std::function<void(const std::string& cluster, const ResourceRef& ref)> before_call;

 private:
  static std::string Key(const std::string& cluster, const ResourceRef& ref) {
    return cluster + " " + MentionOf(ref);
  }
  void Begin(const char* verb, const std::string& cluster, const ResourceRef& ref) {
    log.push_back(std::string(verb) + " " + Key(cluster, ref));
    if (before_call != nullptr) before_call(cluster, ref);
  }
  Result<ObjectOutcome> Carry(const ObjectOrder& order) {
    const std::string key = Key(order.cluster, order.ref);
    if (const auto error = errors.find(key); error != errors.end()) return error->second;
    ObjectOutcome outcome;
    outcome.status = order.before;
    outcome.status.differences.clear();
    outcome.status.message.clear();
    if (const auto says = outcomes.find(key); says != outcomes.end()) {
      outcome.status.result = says->second.result;
      outcome.status.message = says->second.message;
      outcome.status.differences = says->second.differences;
      outcome.status.availability = says->second.availability;
      return outcome;
    }
    FakeObject& object = there[key];
    if (!object.owner.empty() && object.owner != order.owner.placement) {
      outcome.status.result = ManifestResult::kNotTakenOver;
      outcome.status.message = "it is of " + object.owner;
      return outcome;
    }
    outcome.wrote = object.hash != order.hash;
    object = {order.hash, order.owner.placement};
    outcome.status.result = ManifestResult::kApplied;
    outcome.status.applied = order.hash;
    outcome.status.remote_uid = "uid of " + key;
    outcome.status.availability = ManifestAvailability::kAvailable;
    return outcome;
  }
  Result<bool> Carry(const ObjectRemoval& removal) {
    const std::string key = Key(removal.cluster, removal.ref);
    if (const auto error = errors.find(key); error != errors.end()) return error->second;
    const auto object = there.find(key);
    if (object == there.end() || object->second.owner != removal.owner.placement) return true;
    if (removal.abandon) {
      object->second.owner.clear();
      return true;
    }
    if (finalizers.contains(key)) return false;
    there.erase(object);
    return true;
  }
};

// A world in which the test records plans, and a propagator that the test steps.
class PropagatorWorld {
 public:
  PropagatorWorld() {
    auto table = std::make_shared<ObjectTable>();
    world_.config = std::make_shared<const ConfigView>();
    world_.objects = table;
    world_.ready = true;
    members.before_call = [this](const std::string& cluster, const ResourceRef& ref) {
      CheckOnRecord(cluster, ref);
    };
    Put(ObjectKind::kNamespace, "v1", "Namespace", "", "ml");
    Put(ObjectKind::kClusterQueue, "kueue.x-k8s.io/v1beta1", "ClusterQueue", "", "gpu");
    Put(ObjectKind::kLocalQueue, "kueue.x-k8s.io/v1beta1", "LocalQueue", "ml", "train");
    SetMember("east", true);
    Start();
  }

  void Start(PropagatorOptions options = {}) {
    propagator =
        std::make_unique<Propagator>([this] { return std::make_shared<const WorldView>(world_); },
                                     [this](Command command) { return Take(std::move(command)); },
                                     members, clock, metrics, std::move(options));
  }
  // Kills the daemon: everything that is not recorded is forgotten, and so are pending answers.
  void Kill() {
    propagator.reset();
    members.waiting.clear();
    held.clear();
    Start();
  }

  void Put(ObjectKind kind, const std::string& version, const std::string& kind_name,
           const std::string& ns, const std::string& name, const std::string& spec = "{}") {
    json::object metadata{{"name", name}};
    if (!ns.empty()) metadata["namespace"] = ns;
    auto object = std::make_shared<StoredObject>();
    object->kind = kind;
    object->ns = ns;
    object->name = name;
    object->manifest = WriteJson(json::object{{"apiVersion", version},
                                              {"kind", kind_name},
                                              {"metadata", metadata},
                                              {"spec", *ParseJson(spec)}});
    auto table = std::make_shared<ObjectTable>(*world_.objects);
    table->insert_or_assign({kind, ns, name}, object);
    world_.objects = table;
    if (kind == ObjectKind::kNamespace)
      Edit([&](ConfigView* config) { config->namespaces[name] = {name, {}, ""}; });
  }
  void ChangeQueue(const std::string& spec) {
    Put(ObjectKind::kClusterQueue, "kueue.x-k8s.io/v1beta1", "ClusterQueue", "", "gpu", spec);
  }
  void Delete(ObjectKind kind, const std::string& ns, const std::string& name) {
    auto table = std::make_shared<ObjectTable>(*world_.objects);
    table->erase({kind, ns, name});
    world_.objects = table;
  }
  void SetMember(const std::string& name, bool healthy, bool observed = true) {
    auto& clusters = world_.clusters;
    std::erase_if(clusters, [&](const auto& one) { return one.member.name == name; });
    core::ClusterView view;
    view.member.name = name;
    view.member.healthy = healthy;
    if (observed) view.member.observed_at = {1};
    Edit([&](ConfigView* config) { config->member_clusters[name] = view.member; });
    clusters.push_back(std::move(view));
    std::sort(clusters.begin(), clusters.end(),
              [](const auto& a, const auto& b) { return a.member.name < b.member.name; });
  }
  void RemoveMember(const std::string& name) {
    std::erase_if(world_.clusters, [&](const auto& one) { return one.member.name == name; });
  }
  // A placement of Namespace ml with its objects, and of all ClusterQueues, on all members.
  static Placement Queues(const std::string& name = "queues") {
    Placement placement;
    placement.name = name;
    placement.selectors.resize(2);
    placement.selectors[0].version = "v1";
    placement.selectors[0].kind = "Namespace";
    placement.selectors[0].name = "ml";
    placement.selectors[1].group = "kueue.x-k8s.io";
    placement.selectors[1].version = "v1beta1";
    placement.selectors[1].kind = "ClusterQueue";
    return placement;
  }
  void Place(const Placement& placement) {
    EditPlacements(
        [&](PlacementTable* table) { table->Put(std::make_shared<const Placement>(placement)); });
  }
  void Unplace(const std::string& name) {
    EditPlacements([&](PlacementTable* table) { table->Erase("", name); });
  }
  void Edit(const std::function<void(ConfigView*)>& edit) {
    auto config = std::make_shared<ConfigView>(*world_.config);
    edit(config.get());
    world_.config = std::move(config);
  }
  void SetReady(bool ready) { world_.ready = ready; }

  // Commits the held commands, the oldest first, or refuses them.
  void Commit(bool accept = true) {
    while (!held.empty()) {
      RecordWorksCommand command = std::move(held.front());
      held.pop_front();
      if (!accept) {
        command.done(Unavailable("the database is away"));
        continue;
      }
      auto table = std::make_shared<WorkTable>(*world_.works);
      for (const auto& key : command.ended_works) table->works.erase(key);
      for (const auto& key : command.ended_snapshots) table->snapshots.erase(key);
      for (const auto& work : command.works) table->works.insert_or_assign(KeyOf(*work), work);
      for (const auto& one : command.snapshots) table->snapshots.insert_or_assign(KeyOf(*one), one);
      world_.works = table;
      ++commits;
      command.done(Done{});
    }
  }
  void Run(std::int64_t ms) {
    for (std::int64_t passed = 0; passed <= ms; passed += 50) {
      propagator->Step();
      clock.Advance(50);
    }
  }

  WorkPtr Row(const std::string& cluster, const std::string& placement = "queues") const {
    const auto found = world_.works->works.find({"", placement, cluster});
    return found == world_.works->works.end() ? nullptr : found->second;
  }
  ManifestStatus StatusOf(const std::string& kind, const std::string& placement = "queues") const {
    const WorkPtr row = Row("east", placement);
    if (row == nullptr) return {};
    for (const auto& one : row->manifests) {
      if (one.ref.kind == kind) return one;
    }
    return {};
  }

  FakeClock clock;
  Metrics metrics;
  FakeObjects members;
  std::deque<RecordWorksCommand> held;
  bool hold = false;  // commands wait for Commit
  bool full = false;  // the inbox refuses commands
  int commits = 0;
  std::unique_ptr<Propagator> propagator;

 private:
  bool Take(Command command) {
    if (full) return false;
    held.push_back(std::move(std::get<RecordWorksCommand>(command)));
    EXPECT_EQ(held.size(), 1U) << "one command at a time";
    if (!hold) Commit();
    return true;
  }
  void EditPlacements(const std::function<void(PlacementTable*)>& edit) {
    Edit([&](ConfigView* config) {
      auto table = std::make_shared<PlacementTable>(*config->placements);
      edit(table.get());
      config->placements = std::move(table);
    });
  }
  void CheckOnRecord(const std::string& cluster, const ResourceRef& ref) const {
    bool found = false;
    for (const auto& [key, work] : world_.works->works) {
      if (work->cluster != cluster) continue;
      for (const auto& one : work->manifests) found = found || one.ref == ref;
    }
    EXPECT_TRUE(found) << MentionOf(ref) << " is touched on " << cluster << " without a record";
  }

  WorldView world_;
};

TEST(Propagator, WritesNothingOnAMemberBeforeItIsOnRecord) {
  PropagatorWorld desk;
  desk.hold = true;
  desk.Place(PropagatorWorld::Queues());
  desk.Run(2000);
  ASSERT_EQ(desk.held.size(), 1U);
  EXPECT_THAT(desk.members.log, IsEmpty());
  desk.hold = false;
  desk.Commit();
  desk.Run(2000);
  EXPECT_THAT(desk.members.log,
              ElementsAre("apply east Namespace ml", "apply east ClusterQueue gpu",
                          "apply east LocalQueue ml/train"));
  const WorkPtr row = desk.Row("east");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->state, WorkState::kBound);
  EXPECT_EQ(row->waits, "");
  EXPECT_TRUE(row->synced_at.set());
  for (const ManifestStatus& one : row->manifests) {
    EXPECT_EQ(one.result, ManifestResult::kApplied) << MentionOf(one.ref);
    EXPECT_EQ(one.remote_uid, "uid of east " + MentionOf(one.ref));
    EXPECT_TRUE(one.since.set());
  }
}

TEST(Propagator, IsAtRestOnceEverythingIsApplied) {
  PropagatorWorld desk;
  desk.Place(PropagatorWorld::Queues());
  desk.Run(3000);
  const int commits = desk.commits;
  desk.members.TakeLog();
  desk.Run(30'000);
  EXPECT_EQ(desk.commits, commits);
  EXPECT_LE(desk.members.log.size(), 3U);
}

TEST(Propagator, BeginsAWaveWhenAllOfTheOneBeforeAreAnswered) {
  PropagatorWorld desk;
  desk.members.hold = true;
  desk.Place(PropagatorWorld::Queues());
  desk.Run(2000);
  EXPECT_THAT(desk.members.TakeLog(), ElementsAre("apply east Namespace ml"));
  desk.members.AnswerOne();
  desk.Run(2000);
  EXPECT_THAT(desk.members.TakeLog(), ElementsAre("apply east ClusterQueue gpu"));
  desk.members.AnswerOne();
  desk.Run(2000);
  EXPECT_THAT(desk.members.TakeLog(), ElementsAre("apply east LocalQueue ml/train"));
}

TEST(Propagator, TriesWhatFailedAgainEverMoreSeldomAndHoldsUpNothingForIt) {
  PropagatorWorld desk;
  ManifestStatus failed;
  failed.result = ManifestResult::kApplyFailed;
  failed.message = "it is not served";
  desk.members.outcomes["east Namespace ml"] = failed;
  desk.Place(PropagatorWorld::Queues());
  desk.Run(2000);
  EXPECT_EQ(desk.StatusOf("Namespace").result, ManifestResult::kApplyFailed);
  EXPECT_EQ(desk.StatusOf("Namespace").message, "it is not served");
  EXPECT_EQ(desk.StatusOf("LocalQueue").result, ManifestResult::kApplied);
  EXPECT_FALSE(desk.Row("east")->synced_at.set());
  const WallTime since = desk.StatusOf("Namespace").since;
  desk.members.TakeLog();
  desk.Run(35'000);  // after 5, 15 and 35 seconds
  EXPECT_EQ(desk.members.Count("apply east Namespace ml"), 3U);
  EXPECT_EQ(desk.StatusOf("Namespace").since, since) << "it is still the same";
  desk.Run(300'000);
  desk.members.TakeLog();
  desk.Run(600'000);
  const std::size_t calls = desk.members.Count("apply east Namespace ml");
  EXPECT_GE(calls, 9U);
  EXPECT_LE(calls, 11U) << "once a minute";
  desk.members.outcomes.clear();
  desk.Run(61'000);
  EXPECT_EQ(desk.StatusOf("Namespace").result, ManifestResult::kApplied);
  EXPECT_GT(desk.StatusOf("Namespace").since, since);
  EXPECT_TRUE(desk.Row("east")->synced_at.set());
}

TEST(Propagator, WaitsForAMemberThatGivesNoAnswerAndSaysSo) {
  PropagatorWorld desk;
  desk.members.errors.emplace("east Namespace ml", Unavailable("it timed out"));
  desk.Place(PropagatorWorld::Queues());
  desk.Run(2000);
  EXPECT_THAT(desk.members.TakeLog(), ElementsAre("apply east Namespace ml"));
  EXPECT_EQ(desk.Row("east")->waits, "member cluster east did not answer: it timed out");
  EXPECT_EQ(desk.StatusOf("Namespace").result, ManifestResult::kPending);
  desk.members.errors.clear();
  desk.Run(6000);
  EXPECT_EQ(desk.Row("east")->waits, "");
  EXPECT_EQ(desk.StatusOf("LocalQueue").result, ManifestResult::kApplied);
}

TEST(Propagator, AsksAgainWhenACallIsForgotten) {
  PropagatorWorld desk;
  desk.members.hold = true;
  desk.Place(PropagatorWorld::Queues());
  desk.Run(2000);
  desk.members.waiting.clear();
  desk.members.hold = false;
  desk.Run(6000);
  EXPECT_EQ(desk.StatusOf("LocalQueue").result, ManifestResult::kApplied);
  desk.members.hold = true;
  desk.Unplace("queues");
  desk.Run(2000);
  desk.members.waiting.clear();
  desk.members.hold = false;
  desk.Run(6000);
  EXPECT_EQ(desk.Row("east"), nullptr);
}

TEST(Propagator, OneObjectThatGivesNoAnswerHoldsUpLaterWavesOnlyThreeTimes) {
  PropagatorWorld desk;
  desk.members.errors.emplace("east Namespace ml", Unavailable("its webhook timed out"));
  desk.Place(PropagatorWorld::Queues());
  desk.Run(14'000);
  EXPECT_EQ(desk.members.Count("apply east ClusterQueue gpu"), 0U);
  desk.Run(4000);  // the third was after 15 seconds
  EXPECT_EQ(desk.StatusOf("LocalQueue").result, ManifestResult::kApplied);
  EXPECT_THAT(desk.Row("east")->waits, HasSubstr("webhook"));
}

TEST(Propagator, RemovesWhatARevisionLacksBeforeItAppliesTheRest) {
  PropagatorWorld desk;
  desk.Put(ObjectKind::kConfigMap, "v1", "ConfigMap", "ml", "old");
  desk.Place(PropagatorWorld::Queues());
  desk.Run(3000);
  desk.members.TakeLog();
  desk.members.hold = true;
  desk.Delete(ObjectKind::kConfigMap, "ml", "old");
  desk.ChangeQueue(R"({"cohort":"all"})");
  desk.Run(3000);
  EXPECT_THAT(desk.members.TakeLog(), ElementsAre("remove east ConfigMap ml/old"));
  desk.members.AnswerOne();
  desk.Run(2000);
  EXPECT_THAT(desk.members.TakeLog(), ElementsAre("apply east ClusterQueue gpu"));
  desk.members.hold = false;
  desk.members.AnswerAll();
  desk.Run(2000);
  EXPECT_EQ(desk.StatusOf("ConfigMap").ref.name, "") << "it is off the record";
  EXPECT_FALSE(desk.members.there.contains("east ConfigMap ml/old"));
  EXPECT_TRUE(desk.Row("east")->synced_at.set());
}

TEST(Propagator, WhatIsStillBeingDeletedDoesNotHoldUpWhatItMayWaitFor) {
  PropagatorWorld desk;
  desk.Put(ObjectKind::kResourceFlavor, "kueue.x-k8s.io/v1beta1", "ResourceFlavor", "", "old");
  Placement placement = PropagatorWorld::Queues();
  placement.selectors.push_back(placement.selectors[1]);
  placement.selectors.back().kind = "ResourceFlavor";
  desk.Place(placement);
  desk.Run(3000);
  desk.members.finalizers = {"east ResourceFlavor old"};
  desk.Delete(ObjectKind::kResourceFlavor, "", "old");
  desk.ChangeQueue(R"({"cohort":"all"})");
  desk.Run(3000);
  EXPECT_EQ(desk.StatusOf("ClusterQueue").result, ManifestResult::kApplied);
  EXPECT_EQ(desk.Row("east")->waits, "member cluster east is still removing ResourceFlavor old");
  EXPECT_FALSE(desk.Row("east")->synced_at.set());
  desk.members.finalizers.clear();
  desk.Run(11'000);
  EXPECT_EQ(desk.Row("east")->waits, "");
  EXPECT_EQ(desk.Row("east")->manifests.size(), 3U);
  EXPECT_TRUE(desk.Row("east")->synced_at.set());
}

TEST(Propagator, LooksAtEverythingNowAndThenAndSoonWhenTheMemberHasNews) {
  PropagatorWorld desk;
  desk.Place(PropagatorWorld::Queues());
  desk.Run(3000);
  desk.Run(limits::kObjectCheckS * 1000);
  desk.members.TakeLog();
  desk.members.there.erase("east ClusterQueue gpu");
  desk.Run(limits::kObjectCheckS * 1000 + 1000);
  EXPECT_EQ(desk.members.Count("apply east ClusterQueue gpu"), 1U);
  EXPECT_TRUE(desk.members.there.contains("east ClusterQueue gpu"));

  desk.members.TakeLog();
  desk.members.there.erase("east ClusterQueue gpu");
  desk.members.listener("east");
  desk.members.listener("unknown");
  desk.Run(300);
  EXPECT_TRUE(desk.members.there.contains("east ClusterQueue gpu"));
  for (int i = 0; i < 100; ++i) {
    desk.members.listener("east");
    desk.Run(50);
  }
  EXPECT_LE(desk.members.Count("apply east ClusterQueue gpu"), 5U) << "it comes too often";
}

TEST(Propagator, LeavesAMemberThatIsAwayAloneAndGoesOnWhenItIsBack) {
  PropagatorWorld desk;
  desk.Place(PropagatorWorld::Queues());
  desk.Run(3000);
  desk.SetMember("east", false);
  desk.Run(1000);
  EXPECT_EQ(desk.Row("east")->waits, "member cluster east does not answer");
  EXPECT_EQ(desk.StatusOf("ClusterQueue").result, ManifestResult::kApplied) << "it keeps that";
  desk.members.TakeLog();
  // The member is a new cluster.
  desk.members.there.clear();
  desk.Run(5000);
  EXPECT_THAT(desk.members.log, IsEmpty());
  desk.SetMember("east", true);
  desk.Run(2000);
  EXPECT_EQ(desk.members.there.size(), 3U) << "not only after the next periodic look";
  EXPECT_EQ(desk.Row("east")->waits, "");
}

TEST(Propagator, ForgetsAMemberThatIsRemovedAndLeavesItsObjects) {
  PropagatorWorld desk;
  desk.SetMember("west", true);
  desk.Place(PropagatorWorld::Queues());
  desk.Run(10'000);
  desk.members.TakeLog();
  desk.RemoveMember("west");
  desk.Run(3000);
  EXPECT_EQ(desk.Row("west"), nullptr);
  EXPECT_THAT(desk.members.log, Not(Contains(HasSubstr("west"))));
  EXPECT_TRUE(desk.members.there.contains("west ClusterQueue gpu"));
}

TEST(Propagator, TakesLeavingObjectsOffWaveByWaveFromTheEnd) {
  PropagatorWorld desk;
  desk.Place(PropagatorWorld::Queues());
  desk.Run(3000);
  desk.members.TakeLog();
  desk.members.finalizers = {"east ClusterQueue gpu"};
  desk.Unplace("queues");
  desk.Run(2000);
  EXPECT_THAT(desk.members.TakeLog(),
              ElementsAre("remove east LocalQueue ml/train", "remove east ClusterQueue gpu"));
  ASSERT_NE(desk.Row("east"), nullptr);
  EXPECT_EQ(desk.Row("east")->waits, "member cluster east is still removing ClusterQueue gpu");
  EXPECT_EQ(desk.Row("east")->manifests.size(), 2U) << "what is gone is off the record";
  desk.members.finalizers.clear();
  desk.Run(8000);
  EXPECT_THAT(desk.members.TakeLog(),
              ElementsAre("remove east ClusterQueue gpu", "remove east Namespace ml"));
  EXPECT_EQ(desk.Row("east"), nullptr);
  EXPECT_THAT(desk.members.there, IsEmpty());
}

TEST(Propagator, LeavesTheObjectsThereIfThePlacementSaysSo) {
  PropagatorWorld desk;
  Placement placement = PropagatorWorld::Queues();
  placement.abandon = true;
  desk.Place(placement);
  desk.Run(3000);
  desk.members.TakeLog();
  desk.Unplace("queues");
  desk.Run(3000);
  EXPECT_THAT(desk.members.TakeLog(),
              ElementsAre("abandon east LocalQueue ml/train", "abandon east ClusterQueue gpu",
                          "abandon east Namespace ml"));
  EXPECT_EQ(desk.Row("east"), nullptr);
  EXPECT_EQ(desk.members.there.size(), 3U);
}

TEST(Propagator, SaysWhatAMemberDoesNotLetGoAndRemovesTheRest) {
  PropagatorWorld desk;
  desk.Place(PropagatorWorld::Queues());
  desk.Run(3000);
  desk.members.errors.emplace("east LocalQueue ml/train",
                              Error{Code::kPermissionDenied, "user muster cannot delete"});
  desk.Unplace("queues");
  desk.Run(3000);
  EXPECT_EQ(desk.Row("east")->waits,
            "member cluster east does not let LocalQueue ml/train be removed: user muster cannot "
            "delete");
  EXPECT_EQ(desk.members.there.size(), 1U);
  desk.members.errors.clear();
  desk.Run(11'000);
  EXPECT_EQ(desk.Row("east"), nullptr);
}

TEST(Propagator, AnObjectIsOfThePlacementThatHasItUntilThatIsGone) {
  PropagatorWorld desk;
  desk.Place(PropagatorWorld::Queues("a"));
  desk.Place(PropagatorWorld::Queues("b"));
  desk.Run(3000);
  EXPECT_EQ(desk.StatusOf("ClusterQueue", "a").result, ManifestResult::kApplied);
  EXPECT_EQ(desk.StatusOf("ClusterQueue", "b").result, ManifestResult::kNotTakenOver);
  EXPECT_THAT(desk.StatusOf("ClusterQueue", "b").message, HasSubstr("/a"));
  desk.Unplace("a");
  desk.Run(62'000);
  EXPECT_EQ(desk.Row("east", "a"), nullptr);
  EXPECT_EQ(desk.StatusOf("ClusterQueue", "b").result, ManifestResult::kApplied);
  EXPECT_EQ(desk.members.there.at("east ClusterQueue gpu").owner, "/b");
}

TEST(Propagator, NeverHasTwoCallsForOneObjectUnderWay) {
  PropagatorWorld desk;
  desk.members.hold = true;
  desk.Place(PropagatorWorld::Queues("a"));
  desk.Place(PropagatorWorld::Queues("b"));
  desk.Run(3000);
  EXPECT_THAT(desk.members.log, ElementsAre("apply east Namespace ml"));
  desk.Unplace("a");
  desk.Run(3000);
  EXPECT_EQ(desk.members.Count("remove east Namespace ml"), 0U);
}

TEST(Propagator, AnAnswerAboutAnEarlierRevisionIsNoResultOfTheNewOne) {
  PropagatorWorld desk;
  desk.Place(PropagatorWorld::Queues());
  desk.Run(3000);
  for (const bool before_it_is_bound : {false, true}) {
    SCOPED_TRACE(before_it_is_bound);
    desk.ChangeQueue(before_it_is_bound ? R"({"cohort":"a"})" : R"({"cohort":"b"})");
    desk.members.hold = true;
    desk.Run(3000);
    const std::string late = desk.members.orders.back().hash;
    ASSERT_EQ(desk.members.waiting.size(), 1U);
    desk.ChangeQueue(before_it_is_bound ? R"({"cohort":"c"})" : R"({"cohort":"d"})");
    if (before_it_is_bound) {
      desk.hold = true;
      desk.Run(3000);  // its plan is being recorded
      desk.members.AnswerOne();
      desk.Run(1000);
      desk.hold = false;
      desk.Commit();
    } else {
      desk.Run(3000);
      desk.members.AnswerOne();
    }
    desk.Run(1000);
    EXPECT_EQ(desk.StatusOf("ClusterQueue").result, ManifestResult::kPending);
    EXPECT_EQ(desk.StatusOf("ClusterQueue").applied, late);
    desk.members.hold = false;
    desk.members.AnswerAll();
    desk.Run(1000);
    EXPECT_EQ(desk.StatusOf("ClusterQueue").result, ManifestResult::kApplied);
    EXPECT_NE(desk.StatusOf("ClusterQueue").applied, late);
  }
}

TEST(Propagator, WhatIsWantedAgainWhileItIsRemovedIsMadeAnew) {
  PropagatorWorld desk;
  desk.Put(ObjectKind::kConfigMap, "v1", "ConfigMap", "ml", "c");
  desk.Place(PropagatorWorld::Queues());
  desk.Run(3000);
  desk.members.hold = true;
  desk.Delete(ObjectKind::kConfigMap, "ml", "c");
  desk.Run(3000);
  desk.Put(ObjectKind::kConfigMap, "v1", "ConfigMap", "ml", "c");
  desk.hold = true;
  // The plan that selects it is being recorded.
  desk.Run(3000);
  desk.members.AnswerOne();
  desk.Run(1000);
  desk.hold = false;
  desk.Commit();
  desk.Run(1000);
  EXPECT_EQ(desk.StatusOf("ConfigMap").ref.name, "c");
  EXPECT_EQ(desk.StatusOf("ConfigMap").result, ManifestResult::kPending);
  EXPECT_EQ(desk.StatusOf("ConfigMap").remote_uid, "");
  desk.members.hold = false;
  desk.members.AnswerAll();
  desk.Run(1000);
  EXPECT_TRUE(desk.members.there.contains("east ConfigMap ml/c"));
  EXPECT_EQ(desk.StatusOf("ConfigMap").result, ManifestResult::kApplied);
}

TEST(Propagator, HasOnlySomeCallsOfAMemberUnderWay) {
  PropagatorWorld desk;
  for (int i = 0; i < 30; ++i)
    desk.Put(ObjectKind::kConfigMap, "v1", "ConfigMap", "ml", "c" + std::to_string(i));
  desk.SetMember("west", true);
  desk.Place(PropagatorWorld::Queues());
  Placement other = PropagatorWorld::Queues("other");
  desk.Place(other);
  desk.members.hold = true;
  std::size_t most = 0;
  for (int i = 0; i < 200; ++i) {
    desk.Run(50);
    std::map<std::string, std::size_t> of;
    most = std::max(most, desk.members.waiting.size());
    if (!desk.members.waiting.empty()) desk.members.AnswerOne();
  }
  EXPECT_EQ(most, 2 * limits::kObjectCallsPerMember);
}

TEST(Propagator, AMemberThatIsSlowGetsWhatIsNewBeforeAllElseIsLookedAtAgain) {
  PropagatorWorld desk;
  for (int i = 0; i < 30; ++i)
    desk.Put(ObjectKind::kConfigMap, "v1", "ConfigMap", "ml", "c" + std::to_string(i));
  Placement space = PropagatorWorld::Queues("a");
  space.selectors.resize(1);
  desk.Place(space);
  desk.Run(5000);
  desk.members.hold = true;
  desk.members.TakeLog();
  Placement queues = PropagatorWorld::Queues("b");
  queues.selectors.erase(queues.selectors.begin());
  for (int i = 0; i < 60; ++i) {
    desk.members.listener("east");  // it has news all the time
    desk.Run(3000);
    if (i == 5) desk.Place(queues);
    if (!desk.members.waiting.empty()) desk.members.AnswerOne();
  }
  EXPECT_GT(desk.members.Count("apply east ClusterQueue gpu"), 0U);
}

TEST(Propagator, RecordsALotInSeveralCommits) {
  PropagatorWorld desk;
  constexpr std::size_t kObjects = 900, kMembers = 60;
  for (std::size_t i = 0; i < kObjects; ++i)
    desk.Put(ObjectKind::kConfigMap, "v1", "ConfigMap", "ml", "c" + std::to_string(i));
  for (std::size_t i = 0; i < kMembers; ++i) desk.SetMember("m" + std::to_string(i), true);
  desk.hold = desk.members.hold = true;
  Placement space = PropagatorWorld::Queues();
  space.selectors.resize(1);
  desk.Place(space);
  std::size_t rows = 0;
  for (const std::size_t expected : {45U, 16U}) {  // with `east`
    desk.Run(500);
    ASSERT_EQ(desk.held.size(), 1U);
    EXPECT_EQ(desk.held.front().works.size(), expected);
    rows += desk.held.front().works.size();
    desk.Commit();
  }
  EXPECT_EQ(rows, kMembers + 1);
  desk.Run(500);
  EXPECT_THAT(desk.held, IsEmpty());
}

TEST(Propagator, AppliesAgainAtOnceWhenTheStrategyIsAnother) {
  PropagatorWorld desk;
  Placement placement = PropagatorWorld::Queues();
  desk.Place(placement);
  desk.Run(3000);
  desk.members.orders.clear();
  placement.apply.type = ApplyType::kServerSide;
  desk.Place(placement);
  desk.Run(1000);
  ASSERT_EQ(desk.members.orders.size(), 3U);
  EXPECT_EQ(desk.members.orders[0].strategy.type, ApplyType::kServerSide);
}

TEST(Propagator, OnlyReportsDifferencesAndKeepsWhenTheyBegan) {
  PropagatorWorld desk;
  Placement placement = PropagatorWorld::Queues();
  placement.apply.type = ApplyType::kReportDiff;
  ManifestStatus differs;
  differs.result = ManifestResult::kFoundDiff;
  differs.differences = {{"/spec/cohort", "a", "b"}};
  for (const char* object :
       {"east Namespace ml", "east ClusterQueue gpu", "east LocalQueue ml/train"})
    desk.members.outcomes[object] = differs;
  desk.Place(placement);
  desk.Run(3000);
  const ManifestStatus first = desk.StatusOf("ClusterQueue");
  EXPECT_EQ(first.result, ManifestResult::kFoundDiff);
  EXPECT_EQ(first.differences, differs.differences);
  EXPECT_TRUE(first.first_differed_at.set());
  EXPECT_TRUE(desk.Row("east")->synced_at.set());
  desk.members.TakeLog();
  desk.Run(120'000);
  EXPECT_LE(desk.members.log.size(), 6U) << "each once a minute, though it is never applied";
  const ManifestStatus later = desk.StatusOf("ClusterQueue");
  EXPECT_EQ(later.first_differed_at, first.first_differed_at);
  EXPECT_EQ(later.since, first.since);
  EXPECT_GT(later.observed_at, first.observed_at);
  desk.members.outcomes["east ClusterQueue gpu"].result = ManifestResult::kNoDiffFound;
  desk.members.outcomes["east ClusterQueue gpu"].differences.clear();
  desk.Run(61'000);
  EXPECT_FALSE(desk.StatusOf("ClusterQueue").first_differed_at.set());
  EXPECT_FALSE(desk.StatusOf("ClusterQueue").observed_at.set());
}

TEST(Propagator, LooksSoonerAtWhatIsNotAvailableYet) {
  PropagatorWorld desk;
  ManifestStatus not_yet;
  not_yet.result = ManifestResult::kApplied;
  not_yet.availability = ManifestAvailability::kNotYet;
  desk.members.outcomes["east ClusterQueue gpu"] = not_yet;
  desk.Place(PropagatorWorld::Queues());
  desk.Run(2000);
  desk.members.TakeLog();
  desk.members.outcomes.clear();
  desk.Run(6000);
  EXPECT_EQ(desk.members.Count("apply east ClusterQueue gpu"), 1U);
  EXPECT_EQ(desk.StatusOf("ClusterQueue").availability, ManifestAvailability::kAvailable);
}

TEST(Propagator, RecordsWhatMembersWriteAsTextThatMayBeStored) {
  PropagatorWorld desk;
  ManifestStatus failed;
  failed.result = ManifestResult::kApplyFailed;
  failed.message = "no \xff";
  desk.members.outcomes["east Namespace ml"] = failed;
  desk.members.errors.emplace("east ClusterQueue gpu",
                              Unavailable("cut \xe2\x82" + std::string(5000, 'x')));
  desk.Place(PropagatorWorld::Queues());
  desk.Run(2000);
  EXPECT_EQ(desk.StatusOf("Namespace").message, "no ?");
  EXPECT_THAT(desk.Row("east")->waits, StartsWith("member cluster east did not answer: cut ??xx"));
  EXPECT_LT(desk.Row("east")->waits.size(), 1100U);
}

TEST(Propagator, RecordsTheMoreAnswersTogetherTheLargerTheRowsAre) {
  PropagatorWorld desk;
  for (int i = 0; i < 900; ++i)
    desk.Put(ObjectKind::kConfigMap, "v1", "ConfigMap", "ml", "c" + std::to_string(i));
  desk.Place(PropagatorWorld::Queues());
  desk.members.hold = true;
  const auto answer_some = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      desk.Run(0);
      for (int calls = 0; calls < 5 && !desk.members.waiting.empty(); ++calls)
        desk.members.AnswerOne();
    }
  };
  answer_some(300);
  EXPECT_TRUE(desk.Row("east")->synced_at.set());
  EXPECT_LE(desk.commits, 52) << "not one each 100 ms";
}

TEST(Propagator, LosesNoAnswerWhenItCannotBeRecorded) {
  PropagatorWorld desk;
  desk.Place(PropagatorWorld::Queues());
  desk.Run(0);  // the plan is recorded
  desk.full = true;
  desk.Run(1000);
  ASSERT_EQ(desk.members.there.size(), 3U);
  ASSERT_EQ(desk.StatusOf("Namespace").result, ManifestResult::kPending);
  desk.full = false;
  desk.hold = true;
  desk.Run(2000);
  ASSERT_EQ(desk.held.size(), 1U);
  desk.Commit(false);
  desk.Run(2000);
  desk.Commit();
  desk.Run(500);
  EXPECT_EQ(desk.StatusOf("Namespace").result, ManifestResult::kApplied);
  EXPECT_EQ(desk.members.log.size(), 3U) << "and asks no member twice";
}

TEST(Propagator, DoesNothingWhileAnotherDaemonMayLead) {
  PropagatorWorld desk;
  desk.Place(PropagatorWorld::Queues());
  desk.SetReady(false);
  desk.Run(3000);
  EXPECT_TRUE(desk.held.empty());
  EXPECT_EQ(desk.commits, 0);
  desk.SetReady(true);
  desk.Run(3000);
  desk.members.TakeLog();
  desk.SetReady(false);
  desk.members.there.clear();
  desk.Run(200'000);
  EXPECT_THAT(desk.members.log, IsEmpty());
}

// Objects are created, changed and deleted; the daemon is killed once, after any number of steps.
TEST(Propagator, EndsAsIfNothingHadHappenedAfterAKillAtAnyPoint) {
  for (int killed_after = 0; killed_after < 60; ++killed_after) {
    SCOPED_TRACE("killed after step " + std::to_string(killed_after));
    PropagatorWorld desk;
    desk.Put(ObjectKind::kConfigMap, "v1", "ConfigMap", "ml", "old");
    desk.Place(PropagatorWorld::Queues());
    desk.Run(3000);
    desk.Delete(ObjectKind::kConfigMap, "ml", "old");
    desk.Put(ObjectKind::kConfigMap, "v1", "ConfigMap", "ml", "new");
    desk.ChangeQueue(R"({"cohort":"all"})");
    desk.hold = desk.members.hold = true;
    for (int step = 0; step < killed_after; ++step) {
      // Each of: a step, a commit, an answer of a member.
      desk.Run(50);
      if (step % 3 == 1) desk.Commit();
      if (step % 3 == 2 && !desk.members.waiting.empty()) desk.members.AnswerOne();
    }
    // A pending call may have reached the member.
    if (killed_after % 2 == 1) desk.members.AnswerAll();
    desk.Kill();
    desk.hold = desk.members.hold = false;
    desk.Run(3000);
    EXPECT_TRUE(desk.members.there.contains("east ConfigMap ml/new"));
    EXPECT_FALSE(desk.members.there.contains("east ConfigMap ml/old"));
    EXPECT_EQ(desk.members.there.at("east ClusterQueue gpu").hash,
              desk.StatusOf("ClusterQueue").applied);
    ASSERT_EQ(desk.Row("east")->manifests.size(), 4U);
    for (const ManifestStatus& one : desk.Row("east")->manifests)
      EXPECT_EQ(one.result, ManifestResult::kApplied) << MentionOf(one.ref);
    EXPECT_TRUE(desk.Row("east")->synced_at.set());
    desk.Unplace("queues");
    desk.Run(3000);
    EXPECT_THAT(desk.members.there, IsEmpty());
    EXPECT_EQ(desk.Row("east"), nullptr);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Propagator, WhatWasAppliedIsNotAllLookedAtAtOnceAfterAStart) {
  PropagatorWorld desk;
  for (int i = 0; i < 57; ++i)
    desk.Put(ObjectKind::kConfigMap, "v1", "ConfigMap", "ml", "c" + std::to_string(i));
  desk.Place(PropagatorWorld::Queues());
  desk.Run(5000);
  desk.members.TakeLog();
  const int commits = desk.commits;
  desk.SetMember("east", true, false);  // nothing is known of it right after a start
  desk.Kill();
  desk.Run(3000);
  EXPECT_THAT(desk.members.log, IsEmpty());
  EXPECT_EQ(desk.commits, commits);
  desk.SetMember("east", true);
  desk.Run(10'000);
  EXPECT_GE(desk.members.log.size(), 8U);
  EXPECT_LE(desk.members.log.size(), 15U);
}

// The plan is frozen: the rollout does not reach the member.
TEST(Propagator, AnOverrideThatIsNotRolledOutCountsForNothing) {
  PropagatorWorld desk;
  desk.Place(PropagatorWorld::Queues());
  desk.Run(3000);
  const std::string before = desk.members.there.at("east ClusterQueue gpu").hash;
  PropagatorOptions frozen;
  frozen.plan = [](const auto&, const auto&, WallTime) { return WorkPlan{}; };
  desk.Start(frozen);
  desk.Run(1000);
  ResourceOverride override;
  override.name = "cohorts";
  override.resources = {{"kueue.x-k8s.io", "v1beta1", "ClusterQueue", "", "gpu"}};
  override.rules.resize(1);
  override.rules[0].clusters.emplace();
  override.rules[0].patches = {{PatchOp::kAdd, "/spec/cohort", "\"all\""}};
  desk.Edit([&](ConfigView* config) { config->overrides[{"", "cohorts"}] = override; });
  desk.members.there.clear();
  desk.Run(limits::kObjectCheckS * 1000 + 1000);
  EXPECT_EQ(desk.members.there.at("east ClusterQueue gpu").hash, before)
      << "it is kept as it was bound";
  desk.Start(frozen);  // the rendered manifests are forgotten
  desk.members.TakeLog();
  desk.Run(limits::kObjectCheckS * 2000);
  EXPECT_THAT(desk.members.log, IsEmpty());
  desk.Start();
  desk.Run(3000);
  EXPECT_NE(desk.members.there.at("east ClusterQueue gpu").hash, before);
}

TEST(Propagator, CountsWhatItDid) {
  PropagatorWorld desk;
  desk.Place(PropagatorWorld::Queues());
  desk.Run(3000);
  const std::string metrics = desk.metrics.Expose();
  EXPECT_THAT(metrics, HasSubstr("muster_object_applies_total{result=\"Applied\"} 3"));
  EXPECT_THAT(metrics, HasSubstr("muster_works{state=\"Bound\"} 1"));
}

TEST(Propagator, RunsOnAThreadOfItsOwnUntilItIsStopped) {
  PropagatorWorld desk;
  desk.Place(PropagatorWorld::Queues());
  desk.hold = true;
  desk.propagator->Start();
  desk.propagator->Stop();
  desk.propagator->Stop();
  const std::size_t asked = desk.held.size();
  desk.members.listener("east");
  EXPECT_EQ(desk.held.size(), asked) << "news that come after the stop have no effect";
}

}  // namespace
}  // namespace muster::propagation
