// Everything but Commit and Load passes through. A commit is sealed on the caller's thread, which
// is the engine's: objects with secrets are rare and small, and all others are left as they are.
#include "schedd/store/seal/sealing_store.h"

#include <algorithm>
#include <future>
#include <iterator>
#include <string>
#include <utility>

#include "schedd/telemetry/log.h"

namespace muster::seal {
namespace {

// Kinds whose manifests hold secrets, or may: an envelope carries objects of any kind.
constexpr ObjectKind kSecretKinds[] = {ObjectKind::kSecret, ObjectKind::kResourceEnvelope,
                                       ObjectKind::kClusterResourceEnvelope};
bool HoldsSecrets(ObjectKind kind) {
  return std::find(std::begin(kSecretKinds), std::end(kSecretKinds), kind) !=
         std::end(kSecretKinds);
}
bool HoldsSecrets(const SelectedResource& resource) {
  return !resource.envelope.empty() || resource.ref.kind == "Secret" ||
         resource.ref.kind.ends_with("Envelope");
}

// What a sealed text is bound to. The first line is for people; names have no line ends.
std::string NameOf(const StoredObject& object) {
  return "object " + object.ns + "/" + object.name + "\nkind " +
         std::to_string(static_cast<int>(object.kind)) + "\nuid " + object.uid.ToString();
}
std::string NameOf(const ResourceSnapshot& snapshot, const SelectedResource& resource) {
  return "snapshot " + snapshot.ns + "/" + snapshot.placement + "\nindex " +
         std::to_string(snapshot.index) + "\n" + resource.ref.group + "\n" + resource.ref.kind +
         "\n" + resource.ref.ns + "\n" + resource.ref.name + "\n" + resource.envelope;
}

ObjectPtr Sealed(const Sealer& sealer, const ObjectPtr& object) {
  if (!HoldsSecrets(object->kind)) return object;
  auto sealed = std::make_shared<StoredObject>(*object);
  sealed->manifest = sealer.Seal(object->manifest, NameOf(*object));
  return sealed;
}

SnapshotPtr Sealed(const Sealer& sealer, const SnapshotPtr& snapshot) {
  std::shared_ptr<ResourceSnapshot> sealed;
  for (std::size_t i = 0; i < snapshot->resources.size(); ++i) {
    const SelectedResource& resource = snapshot->resources[i];
    if (!HoldsSecrets(resource)) continue;
    if (sealed == nullptr) sealed = std::make_shared<ResourceSnapshot>(*snapshot);
    sealed->resources[i].manifest = sealer.Seal(resource.manifest, NameOf(*snapshot, resource));
  }
  return sealed == nullptr ? snapshot : sealed;
}

// Opens what is loaded, and collects what is not sealed with the current key.
class Opening {
 public:
  explicit Opening(const Sealer& sealer) : sealer_(sealer) {}

  Status Open(ObjectPtr* object) {
    if (!HoldsSecrets((*object)->kind)) return Done{};
    const bool current = sealer_.IsCurrent((*object)->manifest);
    if (Sealer::IsSealed((*object)->manifest)) {
      Result<std::string> text = sealer_.Open((*object)->manifest, NameOf(**object));
      if (!text.ok()) return text.error();
      auto opened = std::make_shared<StoredObject>(**object);
      opened->manifest = std::move(text).value();
      *object = std::move(opened);
    }
    if (!current) stale_.objects.push_back({Sealed(sealer_, *object), false});
    return Done{};
  }

  Status Open(SnapshotPtr* snapshot) {
    auto opened = std::make_shared<ResourceSnapshot>(**snapshot);
    bool changed = false, current = true;
    for (SelectedResource& resource : opened->resources) {
      if (!HoldsSecrets(resource)) continue;
      current = current && sealer_.IsCurrent(resource.manifest);
      if (!Sealer::IsSealed(resource.manifest)) continue;
      Result<std::string> text = sealer_.Open(resource.manifest, NameOf(*opened, resource));
      if (!text.ok()) return text.error();
      resource.manifest = std::move(text).value();
      changed = true;
    }
    if (changed) *snapshot = std::move(opened);
    if (!current) stale_.snapshots.push_back(Sealed(sealer_, *snapshot));
    return Done{};
  }

  PlanCommit TakeStale() { return std::move(stale_); }

 private:
  const Sealer& sealer_;
  PlanCommit stale_;
};

class SealingStore final : public Store {
 public:
  SealingStore(std::unique_ptr<Store> below, Sealer sealer)
      : below_(std::move(below)), sealer_(std::move(sealer)) {}

  Result<Lease> Lead(const std::string& holder, std::chrono::milliseconds wait) override {
    return below_->Lead(holder, wait);
  }
  Result<StoredWorld> Load(Epoch epoch, WallTime finished_since) override;
  void Accept(Epoch epoch, std::vector<NewJob> batch, std::vector<AuditRow> audit,
              Callback<std::vector<Result<AcceptedJob>>> done) override {
    below_->Accept(epoch, std::move(batch), std::move(audit), std::move(done));
  }
  void Commit(Epoch epoch, PlanCommit commit, Callback<CommitVersion> done) override {
    for (ObjectWrite& write : commit.objects)
      if (!write.remove) write.object = Sealed(sealer_, write.object);
    for (SnapshotPtr& snapshot : commit.snapshots) snapshot = Sealed(sealer_, snapshot);
    below_->Commit(epoch, std::move(commit), std::move(done));
  }
  Result<std::vector<std::string>> ReadManifests(const std::vector<JobId>& ids) override {
    return below_->ReadManifests(ids);
  }
  Result<std::vector<ArrayEnds>> ReadArrayEnds(const std::vector<JobId>& arrays) override {
    return below_->ReadArrayEnds(arrays);
  }
  Result<std::vector<JobPtr>> ReadJobs(const JobQuery& query) override {
    return below_->ReadJobs(query);
  }
  Result<JobPtr> ReadJob(JobId id) override { return below_->ReadJob(id); }
  Result<JobId> FindJob(const std::string& ns, ShapeKind shape, const std::string& name) override {
    return below_->FindJob(ns, shape, name);
  }
  Result<JobId> FindJob(Uid uid) override { return below_->FindJob(uid); }
  Result<std::vector<Event>> ReadEvents(std::int64_t since, JobId job, std::size_t limit) override {
    return below_->ReadEvents(since, job, limit);
  }
  Result<std::vector<AttemptRecord>> ReadAttempts(const std::vector<JobId>& ids) override {
    return below_->ReadAttempts(ids);
  }
  Result<std::vector<StepRecord>> ReadSteps(const StepQuery& query) override {
    return below_->ReadSteps(query);
  }
  Result<std::vector<AuditRow>> ReadAudit(const AuditQuery& query) override {
    return below_->ReadAudit(query);
  }
  Result<AuditAnchor> ReadAuditAnchor() override { return below_->ReadAuditAnchor(); }
  Result<std::vector<ObjectPtr>> ReadObjects(ObjectKind kind) override {
    Result<std::vector<ObjectPtr>> objects = below_->ReadObjects(kind);
    if (!objects.ok()) return objects;
    Opening opening(sealer_);
    for (ObjectPtr& object : *objects)
      if (const Status opened = opening.Open(&object); !opened.ok()) return opened.error();
    return objects;
  }
  Result<std::string> InstanceId() override { return below_->InstanceId(); }
  Status Ping() override { return below_->Ping(); }

 private:
  const std::unique_ptr<Store> below_;
  const Sealer sealer_;
};

// What is stale is written in one commit of this lead, before the engine writes anything. A copy
// (epoch 0) writes nothing.
Result<StoredWorld> SealingStore::Load(Epoch epoch, WallTime finished_since) {
  Result<StoredWorld> world = below_->Load(epoch, finished_since);
  if (!world.ok()) return world;
  Opening opening(sealer_);
  for (ObjectPtr& object : world->objects)
    if (const Status opened = opening.Open(&object); !opened.ok()) return opened.error();
  for (SnapshotPtr& snapshot : world->snapshots)
    if (const Status opened = opening.Open(&snapshot); !opened.ok()) return opened.error();
  PlanCommit stale = opening.TakeStale();
  const std::size_t count = stale.objects.size() + stale.snapshots.size();
  if (count == 0 || epoch.value == 0) return world;
  std::promise<Status> sealed;
  below_->Commit(epoch, std::move(stale), [&sealed](Result<CommitVersion> done) {
    sealed.set_value(done.ok() ? Status(Done{}) : Status(done.error()));
  });
  if (const Status done = sealed.get_future().get(); !done.ok()) return done.error();
  Log(LogLevel::kInfo, "store", "secrets_sealed", {{"objects", static_cast<std::int64_t>(count)}});
  return world;
}

}  // namespace

Status CheckKeys(Store& store) {
  for (const ObjectKind kind : kSecretKinds) {
    const Result<std::vector<ObjectPtr>> opened = store.ReadObjects(kind);
    if (!opened.ok()) return opened.error();
  }
  return Done{};
}

std::unique_ptr<Store> MakeSealingStore(std::unique_ptr<Store> below, Sealer sealer) {
  return std::make_unique<SealingStore>(std::move(below), std::move(sealer));
}

}  // namespace muster::seal
