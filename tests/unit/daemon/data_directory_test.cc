// The rights of the data directory after a start, whatever they were before (rule U64).
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "schedd/daemon/data_directory.h"

namespace muster {
namespace {

class DataDirectory : public ::testing::Test {
 protected:
  DataDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-data-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~DataDirectory() override {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string Directory(const std::string& name, mode_t mode) const {
    const std::string path = path_ + "/" + name;
    std::filesystem::create_directories(path);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  std::string File(const std::string& name, mode_t mode) const {
    const std::string path = path_ + "/" + name;
    std::ofstream(path) << "text";
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  std::string path_;
};

TEST_F(DataDirectory, WhatIsOpen_IsClosed) {
  ASSERT_EQ(::chmod(path_.c_str(), 0777), 0);
  const std::string members = Directory("members", 0775),
                    credentials = Directory("members.d", 0755),
                    one = Directory("members.d/west", 0755), database = Directory("postgres", 0755),
                    kubeconfig = File("members.d/west/kubeconfig", 0644),
                    lock = File("musterd.lock", 0666);
  const Status closed = CloseDataDirectory(path_);
  ASSERT_TRUE(closed.ok()) << closed.error().detail;
  EXPECT_EQ(ModeOf(path_), 0711u);
  EXPECT_EQ(ModeOf(members), 0711u);
  EXPECT_EQ(ModeOf(credentials), 0700u);
  EXPECT_EQ(ModeOf(one), 0700u);
  EXPECT_EQ(ModeOf(kubeconfig), 0600u);
  EXPECT_EQ(ModeOf(database), 0700u);
  EXPECT_EQ(ModeOf(lock), 0600u);
}

TEST_F(DataDirectory, WhatIsCloserAlready_StaysSo) {
  ASSERT_EQ(::chmod(path_.c_str(), 0700), 0);
  const std::string members = Directory("members", 0700);
  ASSERT_TRUE(CloseDataDirectory(path_).ok());
  EXPECT_EQ(ModeOf(path_), 0700u);
  EXPECT_EQ(ModeOf(members), 0700u);
}

TEST_F(DataDirectory, ADirectoryOfOtherThings_IsNotClosedForAWrongFlag) {
  ASSERT_EQ(::chmod(path_.c_str(), 0755), 0);
  File("somebodys", 0644);
  ASSERT_TRUE(CloseDataDirectory(path_).ok());
  EXPECT_EQ(ModeOf(path_), 0755u);
}

TEST_F(DataDirectory, ALinkIsNotFollowed) {
  const std::string target = File("target", 0644);
  Directory("members.d", 0700);
  std::filesystem::create_symlink(target, path_ + "/members.d/link");
  std::filesystem::create_symlink(target, path_ + "/postgres");
  EXPECT_TRUE(CloseDataDirectory(path_).ok()) << "the database's own start refuses it";
  EXPECT_EQ(ModeOf(target), 0644u);
}

TEST_F(DataDirectory, CredentialsBehindAStrangeLink_AreLeftAlone) {
  const std::string target = Directory("target", 0755), file = File("target/kubeconfig", 0644);
  std::filesystem::create_directory_symlink(target, path_ + "/members.d");
  EXPECT_TRUE(CloseDataDirectory(path_).ok());
  EXPECT_EQ(ModeOf(file), 0644u);
}

TEST_F(DataDirectory, ToldByALink_IsClosedAllTheSame) {
  Directory("real/members", 0755);
  const std::string real = Directory("real", 0755);
  std::filesystem::create_directory_symlink(real, path_ + "/link");
  ASSERT_TRUE(CloseDataDirectory(path_ + "/link").ok());
  EXPECT_EQ(ModeOf(real), 0711u);
}

TEST_F(DataDirectory, TheUserOfTheDatabase_IsReserved) {
  EXPECT_TRUE(UsersOfDatabase(path_).empty());
  const std::string database = Directory("postgres", 0700);
  EXPECT_TRUE(UsersOfDatabase(path_).empty()) << "it is the daemon's own user";
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(database.c_str(), 65534, 65534), 0);
  EXPECT_EQ(UsersOfDatabase(path_), (std::vector<std::int64_t>{65534}));
}

}  // namespace
}  // namespace muster
