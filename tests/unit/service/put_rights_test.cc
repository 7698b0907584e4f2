// What a put asks for (rules U20, U22): only what it turns out to do, bound to the right that the
// caller has. And who may point a LocalQueue at a ClusterQueue (rule U27).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Allows bob what `granted` lists as "VERB RESOURCE" or "VERB RESOURCE NAME", and everybody else
// everything. Writes down what Authorize refuses, as the audit trail does.
class NotingAuthorizer final : public auth::Authorizer {
 public:
  bool Allows(const auth::Principal& who, auth::Verb verb,
              const auth::ResourceRef& what) const override {
    const std::string asked = Text(verb, what);
    return who.user != "bob" || granted.contains(asked) ||
           granted.contains(asked + " " + std::string(what.name));
  }
  bool AllowsPath(const auth::Principal& who, auth::Verb, std::string_view) const override {
    return who.user != "bob";
  }
  Status Authorize(const auth::Principal& who, auth::Verb verb,
                   const auth::ResourceRef& what) const override {
    Status allowed = Authorizer::Authorize(who, verb, what);
    if (!allowed.ok()) refused.push_back(Text(verb, what));
    return allowed;
  }
  std::set<std::string> granted;
  mutable std::vector<std::string> refused;

 private:
  static std::string Text(auth::Verb verb, const auth::ResourceRef& what) {
    std::string text = std::string(auth::VerbName(verb)) + " " + std::string(what.resource);
    if (!what.subresource.empty()) text += "/" + std::string(what.subresource);
    return text;
  }
};

class PutRights : public ::testing::Test {
 protected:
  PutRights()
      : service(*w.world.engine, w.world.store, w.world.random, authorizer,
                [](const std::string&) { return nullptr; }) {
    bob.groups = {"system:authenticated"};
  }

  using Applied = std::optional<Result<std::vector<AppliedObject>>>;
  // Without waiting for the engine.
  void Begin(const auth::Principal& who, ObjectChange change, Applied* answer) {
    service.ChangeObjects(
        who, {std::move(change)}, false,
        [answer](Result<std::vector<AppliedObject>> result) { *answer = std::move(result); });
  }
  Code Put(const auth::Principal& who, ObjectChange change) {
    Applied answer;
    Begin(who, std::move(change), &answer);
    w.world.Settle();
    MUSTER_CHECK(answer.has_value());
    last = answer->ok() ? "" : answer->error().detail;
    return answer->ok() ? Code::kOk : answer->error().code;
  }
  Code Apply(const auth::Principal& who, std::vector<json::value> documents) {
    std::optional<Result<std::vector<DocumentOutcome>>> answer;
    service.Apply(
        who, "default", std::move(documents), false,
        [&answer](Result<std::vector<DocumentOutcome>> result) { answer = std::move(result); });
    w.world.Settle();
    MUSTER_CHECK(answer.has_value());
    last = answer->ok() ? "" : answer->error().detail;
    return answer->ok() ? Code::kOk : answer->error().code;
  }
  std::vector<std::string> Refused() { return std::exchange(authorizer.refused, {}); }

  ServiceWorld w;
  NotingAuthorizer authorizer;
  SchedulerService service;
  auth::Principal alice = Tester("alice"), bob = Tester("bob");
  std::string last;  // the sentence of the last refusal
};

json::value NewFlavor(const std::string& name) { return Json(FlavorObject(name).manifest); }

TEST_F(PutRights, WhatIsPermittedLeavesNoRefusal) {
  authorizer.granted = {"create resourceflavors", "create jobs"};
  EXPECT_EQ(Put(bob, FlavorObject("a")), Code::kOk) << last;
  EXPECT_EQ(Apply(bob, {NewFlavor("b"), JobManifest("one")}), Code::kOk) << last;
  EXPECT_THAT(Refused(), IsEmpty());

  authorizer.granted = {"update resourceflavors", "update jobs/own"};
  EXPECT_EQ(Put(bob, FlavorObject("a")), Code::kOk) << last;
  EXPECT_EQ(Apply(bob, {NewFlavor("b"), JobManifest("one")}), Code::kOk) << last;
  EXPECT_THAT(Refused(), IsEmpty());
}

TEST_F(PutRights, WhatIsRefusedIsWhatItWouldHaveDone) {
  ASSERT_EQ(Apply(alice, {NewFlavor("old"), JobManifest("old")}), Code::kOk) << last;
  authorizer.granted = {"create resourceflavors", "create jobs"};
  EXPECT_EQ(Put(bob, FlavorObject("old")), Code::kPermissionDenied);
  EXPECT_THAT(Refused(), ElementsAre("update resourceflavors"));
  EXPECT_EQ(Apply(bob, {NewFlavor("old")}), Code::kPermissionDenied);
  EXPECT_THAT(Refused(), ElementsAre("update resourceflavors"));
  EXPECT_EQ(Apply(bob, {JobManifest("old")}), Code::kAlreadyExists);
  EXPECT_THAT(Refused(), ElementsAre("update jobs"));

  authorizer.granted = {"update resourceflavors", "update jobs"};
  EXPECT_EQ(Put(bob, FlavorObject("new")), Code::kPermissionDenied);
  EXPECT_THAT(Refused(), ElementsAre("create resourceflavors"));
  EXPECT_EQ(Apply(bob, {JobManifest("new")}), Code::kPermissionDenied);
  EXPECT_THAT(Refused(), ElementsAre("create jobs"));

  authorizer.granted = {};
  EXPECT_EQ(Put(bob, FlavorObject("old")), Code::kPermissionDenied);
  EXPECT_THAT(Refused(), ElementsAre("create resourceflavors")) << "he does not learn that it is";
  EXPECT_EQ(Apply(bob, {JobManifest("old")}), Code::kPermissionDenied);
  EXPECT_THAT(Refused(), ElementsAre("create jobs"));
}

// The engine carries out both changes in one turn, after both were permitted.
TEST_F(PutRights, WhoMayOnlyCreateNeverOverwritesWhatCameMeanwhile) {
  authorizer.granted = {"create resourceflavors"};
  Applied hers, his;
  Begin(alice, FlavorObject("raced"), &hers);
  Begin(bob, FlavorObject("raced"), &his);
  w.world.Settle();
  ASSERT_TRUE(hers && hers->ok());
  ASSERT_TRUE(his && !his->ok());
  EXPECT_EQ(his->error().code, Code::kAlreadyExists);
}

TEST_F(PutRights, WhoMayOnlyUpdateNeverMakesAgainWhatWentMeanwhile) {
  ASSERT_EQ(Put(alice, FlavorObject("raced")), Code::kOk) << last;
  authorizer.granted = {"update resourceflavors"};
  Applied hers, his;
  Begin(alice, Removal(ObjectKind::kResourceFlavor, "", "raced"), &hers);
  Begin(bob, FlavorObject("raced"), &his);
  w.world.Settle();
  ASSERT_TRUE(hers && hers->ok());
  ASSERT_TRUE(his && !his->ok());
  EXPECT_EQ(his->error().code, Code::kNotFound);
}

TEST_F(PutRights, ALocalQueueNeedsARightOnTheClusterQueueThatItPointsAt) {
  ASSERT_EQ(Put(alice, ClusterQueueObject({.name = "gpu"})), Code::kOk) << last;
  ASSERT_EQ(Put(alice, LocalQueueObject("theirs", "gpu")), Code::kOk) << last;
  const std::set<std::string> admin = {"create localqueues", "update localqueues"};
  authorizer.granted = admin;
  EXPECT_EQ(Put(bob, LocalQueueObject("mine", "gpu")), Code::kPermissionDenied);
  EXPECT_THAT(last, HasSubstr("LocalQueue default/mine cannot point at ClusterQueue gpu"));
  EXPECT_THAT(last, HasSubstr("cannot use resource \"clusterqueues\""));
  EXPECT_THAT(Refused(), ElementsAre("use clusterqueues"));
  EXPECT_EQ(Apply(bob, {Json(LocalQueueObject("mine", "gpu").manifest)}), Code::kPermissionDenied);
  EXPECT_EQ(Put(bob, LocalQueueObject("theirs", "gpu")), Code::kOk)
      << "it points there already: " << last;
  for (const char* right : {"use clusterqueues gpu", "update clusterqueues gpu"}) {
    authorizer.granted = admin;
    authorizer.granted.insert(right);
    const std::string name = std::string("by-") + right[1];
    EXPECT_EQ(Put(bob, LocalQueueObject(name, "gpu")), Code::kOk) << right << ": " << last;
    EXPECT_EQ(Put(bob, LocalQueueObject(name + "-other", "cq")), Code::kPermissionDenied) << right;
  }
}

}  // namespace
}  // namespace muster::test
