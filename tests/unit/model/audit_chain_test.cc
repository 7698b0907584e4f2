// The chain of the audit trail: the canonical text of a row, its hash, and what the verifier finds
// (rule U31).
#include "schedd/model/audit_chain.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "schedd/base/limits.h"

namespace muster {
namespace {

AuditRow SomeRow() {
  AuditRow row;
  row.time = {1'700'000'000'000'001};
  row.user = "ada";
  row.method = "unix";
  row.verb = "create";
  row.object = "job/team-a/x";
  row.detail = "job 7";
  row.groups = {"users", "team-a"};
  row.source = "unix:1000";
  row.request_id = "r1";
  row.new_version = 12;
  return row;
}

std::vector<AuditRow> Chain(std::size_t rows, AuditHead* head) {
  std::vector<AuditRow> chain(rows, SomeRow());
  for (std::size_t i = 0; i < rows; ++i) {
    chain[i].detail = "job " + std::to_string(i);
    head->Link(&chain[i]);
  }
  return chain;
}

std::string Verify(const std::vector<AuditRow>& chain, const AuditAnchor& anchor) {
  AuditVerifier verifier(anchor);
  for (const AuditRow& row : chain) {
    const std::string problem = verifier.Check(row);
    if (!problem.empty()) return problem;
  }
  return "";
}

TEST(AuditChain, TheCanonicalTextHasEveryFieldInOneOrder) {
  AuditRow row = SomeRow();
  row.id = 3;
  EXPECT_EQ(CanonicalAuditRow(row),
            "14:muster-audit-11:316:17000000000000012:r13:ada1:25:users6:team-a4:unix0:9:unix:1000"
            "6:create12:job/team-a/x7:allowed2:OK1:02:121:15:job 7");
  EXPECT_EQ(AuditHash(AuditGenesis(), row).size(), 64U);
}

// Whoever verifies a trail with another program needs this to hold for ever.
TEST(AuditChain, TheHashIsSha256OfTheHashBeforeAndTheText) {
  AuditRow row;
  row.result = row.code = "";
  row.count = 0;
  EXPECT_EQ(AuditHash(AuditGenesis(), row),
            "1502e8259b908ff52bb73567eb1fbe0b085cf2424df80e979d46d1b7a6d8367c");
  EXPECT_NE(AuditHash(AuditGenesis(), row), AuditHash(std::string(64, '1'), row));
}

TEST(AuditChain, NoTwoRowsHaveTheSameText) {
  const std::function<void(AuditRow*)> changes[] = {
      [](AuditRow*) {},
      [](AuditRow* row) { row->user = "ada1:2", row->groups = {}; },
      [](AuditRow* row) { row->groups = {"users6:team-a"}; },
      [](AuditRow* row) {
    row->groups = {"users", "team-a", ""};
      },
      [](AuditRow* row) {
    row->groups = {"team-a", "users"};
  },
                                       [](AuditRow* row) {
    row->verb = "creat", row->object = "ejob/team-a/x";
  },
      [](AuditRow* row) { row->verb = "", row->object = "create12:job/team-a/x"; },
      [](AuditRow* row) { row->method = "", row->impersonator = "unix"; },
      [](AuditRow* row) { row->old_version = 12, row->new_version = 0; },
      [](AuditRow* row) { row->new_version = 1, row->count = 21; },
      [](AuditRow* row) { row->detail = std::string("job\0 7", 6); },
      [](AuditRow* row) { row->result = "refused"; },
      [](AuditRow* row) { row->code = "NOT_FOUND"; },
      [](AuditRow* row) { row->source = "unix:100"; }, [](AuditRow* row) { row->request_id = "r"; },
      [](AuditRow* row) { row->time = {1'700'000'000'000'002}; },
      [](AuditRow* row) { row->id = 1; },
      };
  std::set<std::string> texts;
  for (const auto& change : changes) {
    AuditRow row = SomeRow();
    change(&row);
    EXPECT_TRUE(texts.insert(CanonicalAuditRow(row)).second) << CanonicalAuditRow(row);
  }
}

TEST(AuditChain, AWholeChainIsSound) {
  AuditHead head;
  const std::vector<AuditRow> chain = Chain(5, &head);
  EXPECT_EQ(chain.front().prev, AuditGenesis());
  EXPECT_EQ(chain.back().hash, head.hash);
  EXPECT_EQ(head.id, 5);
  EXPECT_EQ(Verify(chain, {0, AuditGenesis()}), "");
}

// A row whose group failed is placed anew.
TEST(AuditChain, ThePlaceOfARowDoesNotDependOnWhereItWasBefore) {
  AuditHead first, second{7, std::string(64, 'a')};
  AuditRow row = SomeRow();
  second.Link(&row);
  EXPECT_EQ(row.id, 8);
  const AuditLink link = first.Next(row);
  EXPECT_EQ(row.id, 8) << "the row itself stays as it is";
  EXPECT_EQ(link.id, 1);
  EXPECT_EQ(link.prev, AuditGenesis());
  EXPECT_EQ(link.hash, first.hash);
  row.id = 1;
  EXPECT_EQ(link.hash, AuditHash(AuditGenesis(), row));
}

TEST(AuditChain, AChangedAMissingAndAnAddedRowAreFound) {
  AuditHead head;
  const std::vector<AuditRow> chain = Chain(5, &head);
  std::vector<AuditRow> changed = chain;
  changed[2].user = "eve";
  EXPECT_NE(Verify(changed, {0, AuditGenesis()}).find("row 3 was changed"), std::string::npos);
  changed[2].hash = AuditHash(changed[2].prev, changed[2]);  // and its hash too
  EXPECT_NE(Verify(changed, {0, AuditGenesis()}).find("row 4 does not continue"),
            std::string::npos);
  std::vector<AuditRow> missing = chain;
  missing.erase(missing.begin() + 1);
  EXPECT_NE(Verify(missing, {0, AuditGenesis()}).find("row 3 follows row 1"), std::string::npos);
  std::vector<AuditRow> added = chain;
  added.insert(added.begin() + 2, added[1]);
  EXPECT_NE(Verify(added, {0, AuditGenesis()}), "");
  EXPECT_NE(Verify({chain.begin() + 1, chain.end()}, {0, AuditGenesis()}), "")
      << "the first row is gone without an anchor";
}

TEST(AuditChain, AnAnchorStandsForTheRowsBeforeIt) {
  AuditHead head;
  const std::vector<AuditRow> chain = Chain(5, &head);
  EXPECT_EQ(Verify({chain.begin() + 2, chain.end()}, {2, chain[1].hash}), "");
  EXPECT_NE(Verify({chain.begin() + 2, chain.end()}, {2, chain[0].hash}), "");
  AuditRow old = SomeRow();  // from before the chain
  old.id = 2;
  std::vector<AuditRow> rows = {old};
  AuditHead later{2, AuditGenesis()};
  rows.push_back(SomeRow());
  later.Link(&rows.back());
  EXPECT_EQ(Verify(rows, {2, AuditGenesis()}), "");
}

TEST(AuditChain, TextsAreBoundedAndBecomeUtf8) {
  AuditRow row = SomeRow();
  row.user = "a\xff\x01z\xc3\xa9\xc3";  // é, and half of another
  row.detail = std::string(5000, 'x');
  row.object = std::string(limits::kAuditTextBytes - 1, 'x') + "\xc3\xa9";  // é does not fit
  row.groups.assign(100, "g");
  BoundAuditRow(&row);
  EXPECT_EQ(row.user, "a??z\xc3\xa9?");
  EXPECT_EQ(row.detail.size(), limits::kAuditTextBytes);
  EXPECT_EQ(row.object.size(), limits::kAuditTextBytes - 1);
  ASSERT_EQ(row.groups.size(), limits::kAuditGroups);
  EXPECT_EQ(row.groups.back(), "(69 more)");
}

}  // namespace
}  // namespace muster
