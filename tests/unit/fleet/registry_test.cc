// The registry against a recording target and real files: it establishes the declared members from
// any state.
#include "backends/fleet/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace muster::fleet {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class RegistryTest : public testing::Test {
 protected:
  RegistryTest() {
    std::string made = (fs::temp_directory_path() / "muster-registry-XXXXXX").string();
    root_ = ::mkdtemp(made.data());
    directory_ = root_ + "/members.d";
  }
  ~RegistryTest() override { fs::remove_all(root_); }

  Registry Make() {
    return Registry(
        directory_,
        {.add =
             [this](k8s::MemberOptions options) {
      calls_.push_back("add " + options.name + " " + options.context +
                       (options.fast ? " fast" : ""));
      EXPECT_TRUE(options.registered);
      added_ = options;
         },
         .remove = [this](const std::string& name) { calls_.push_back("remove " + name); },
         .reload = [this](const std::string& name) { calls_.push_back("reload " + name); },
         .pace =
             [this](const std::string& name, std::int64_t heartbeat_s) {
      calls_.push_back("pace " + name + " " + std::to_string(heartbeat_s));
         }});
  }
  std::vector<std::string> Take() { return std::exchange(calls_, {}); }
  std::string FileOf(const std::string& name) const {
    return directory_ + "/" + name + "/kubeconfig";
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static int ModeOf(const std::string& path) {
    struct stat seen {};
    return ::stat(path.c_str(), &seen) == 0 ? static_cast<int>(seen.st_mode & 0777) : -1;
  }

  std::string root_, directory_;
  std::vector<std::string> calls_;
  k8s::MemberOptions added_;
};

MemberDeclaration Member(const std::string& name, const std::string& kubeconfig) {
  return {.name = name, .kubeconfig = kubeconfig, .context = "c", .fast = false};
}

TEST_F(RegistryTest, AMemberIsAFileThatOnlyItsOwnerReadsAndThenABackendsMember) {
  const mode_t mask = ::umask(0);
  Registry registry = Make();
  EXPECT_TRUE(registry.Apply({Member("a", "text")}));
  ::umask(mask);
  EXPECT_THAT(Take(), ElementsAre("add a c"));
  EXPECT_EQ(added_.kubeconfig, FileOf("a"));
  EXPECT_EQ(Read(FileOf("a")), "text");
  EXPECT_EQ(ModeOf(FileOf("a")), 0600);
  EXPECT_EQ(ModeOf(directory_), 0700);
  EXPECT_EQ(ModeOf(directory_ + "/a"), 0700);
}

TEST_F(RegistryTest, AnotherHeartbeatPeriodIsToldToTheMemberAsItRuns) {
  Registry registry = Make();
  MemberDeclaration member = Member("a", "text");
  member.heartbeat_s = 5;
  EXPECT_TRUE(registry.Apply({member}));
  EXPECT_EQ(added_.heartbeat_s, 5);
  (void)Take();
  member.heartbeat_s = 600;
  EXPECT_TRUE(registry.Apply({member}));
  EXPECT_THAT(Take(), ElementsAre("pace a 600"));
  member.kubeconfig = "other";
  EXPECT_TRUE(registry.Apply({member}));
  EXPECT_THAT(Take(), ElementsAre("reload a")) << "the period is known";
}

TEST_F(RegistryTest, WhatIsDeclaredAgainChangesNothing) {
  Registry registry = Make();
  EXPECT_TRUE(registry.Apply({Member("a", "text")}));
  Take();
  EXPECT_TRUE(registry.Apply({Member("a", "text")}));
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(RegistryTest, AnotherSecretIsWrittenBeforeTheMemberLooks) {
  Registry registry = Make();
  EXPECT_TRUE(registry.Apply({Member("a", "old")}));
  Take();
  EXPECT_TRUE(registry.Apply({Member("a", "new")}));
  EXPECT_THAT(Take(), ElementsAre("reload a"));
  EXPECT_EQ(Read(FileOf("a")), "new");
}

TEST_F(RegistryTest, ASecretThatIsGoneTakesTheFileAndComesBack) {
  Registry registry = Make();
  EXPECT_TRUE(registry.Apply({Member("a", "text")}));
  EXPECT_TRUE(registry.Apply({Member("a", "")}));
  EXPECT_FALSE(fs::exists(FileOf("a")));
  EXPECT_TRUE(registry.Apply({Member("a", "text")}));
  EXPECT_EQ(Read(FileOf("a")), "text");
  EXPECT_THAT(Take(), ElementsAre("add a c", "reload a", "reload a"));
}

TEST_F(RegistryTest, AMemberWithoutASecretIsThereAllTheSame) {
  Registry registry = Make();
  EXPECT_TRUE(registry.Apply({Member("a", "")}));
  EXPECT_THAT(Take(), ElementsAre("add a c"));
  EXPECT_FALSE(fs::exists(FileOf("a")));
}

TEST_F(RegistryTest, AnotherContextOrDispatchIsAnotherMember) {
  Registry registry = Make();
  MemberDeclaration member = Member("a", "text");
  EXPECT_TRUE(registry.Apply({member}));
  member.context = "d";
  EXPECT_TRUE(registry.Apply({member}));
  member.fast = true;
  EXPECT_TRUE(registry.Apply({member}));
  EXPECT_THAT(Take(), ElementsAre("add a c", "remove a", "add a d", "remove a", "add a d fast"));
}

TEST_F(RegistryTest, WhatIsNoLongerDeclaredGoesWithItsFile) {
  Registry registry = Make();
  EXPECT_TRUE(registry.Apply({Member("a", "text"), Member("b", "text")}));
  Take();
  EXPECT_TRUE(registry.Apply({Member("b", "text")}));
  EXPECT_THAT(Take(), ElementsAre("remove a"));
  EXPECT_FALSE(fs::exists(directory_ + "/a"));
  EXPECT_TRUE(fs::exists(FileOf("b")));
}

TEST_F(RegistryTest, FilesOfAnEarlierDaemonAreTakenOverOrSwept) {
  {
    Registry before = Make();
    EXPECT_TRUE(before.Apply({Member("a", "old"), Member("gone", "secret")}));
  }
  Take();
  Registry registry = Make();
  EXPECT_TRUE(registry.Apply({Member("a", "new")}));
  EXPECT_THAT(Take(), ElementsAre("add a c"));
  EXPECT_EQ(Read(FileOf("a")), "new");
  EXPECT_FALSE(fs::exists(directory_ + "/gone"));
}

TEST_F(RegistryTest, WhatCannotBeWrittenIsTriedAgain) {
  std::ofstream(directory_) << "in the way";
  Registry registry = Make();
  EXPECT_FALSE(registry.Apply({Member("a", "text")}));
  EXPECT_THAT(Take(), IsEmpty());
  fs::remove(directory_);
  EXPECT_TRUE(registry.Apply({Member("a", "text")}));
  EXPECT_THAT(Take(), ElementsAre("add a c"));
}

}  // namespace
}  // namespace muster::fleet
