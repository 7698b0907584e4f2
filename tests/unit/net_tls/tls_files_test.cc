#include "api/net/tls/tls_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/k8s_client/test_certificates.h"

namespace muster::net {
namespace {

using k8s::test::Authority;

class TlsFilesTest : public ::testing::Test {
 protected:
  TlsFilesTest() {
    std::string pattern = ::testing::TempDir() + "muster-tls-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    WritePair("first");
  }
  ~TlsFilesTest() override {
    for (const char* name : {"cert", "key"}) ::unlink(Path(name).c_str());
    ::rmdir(folder_.c_str());
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  // Replaced as certificate managers do it: a new file under the old name.
  void Write(const std::string& name, const std::string& text, mode_t mode) {
    std::ofstream(Path(name + ".new")) << text;
    ::chmod(Path(name + ".new").c_str(), mode);
    ::rename(Path(name + ".new").c_str(), Path(name).c_str());
  }
  void WritePair(const std::string& name) {
    const k8s::test::Identity made = authority_.Issue(name, "DNS:" + name);
    Write("cert", made.certificate_pem, 0644);
    Write("key", made.key_pem, 0600);
  }
  Result<std::shared_ptr<TlsFiles>> Load() {
    return TlsFiles::Load({Path("cert"), Path("key"), "", "", {}},
                          [this](const Result<TlsContextPtr>& changed) {
      reports_.push_back(changed.ok() ? "taken" : changed.error().detail);
    });
  }
  const Authority authority_{"site"};
  std::string folder_;
  std::vector<std::string> reports_;
};

TEST_F(TlsFilesTest, ReplacedFilesAreTakenAndBadOnesAreNot) {
  auto files = Load();
  ASSERT_TRUE(files.ok()) << files.error().detail;
  const TlsContextPtr first = (*files)->Current();
  EXPECT_EQ(first->names(), std::vector<std::string>{"first"});
  (*files)->Refresh();
  EXPECT_TRUE(reports_.empty());
  WritePair("second");
  (*files)->Refresh();
  EXPECT_EQ((*files)->Current()->names(), std::vector<std::string>{"second"});
  EXPECT_NE((*files)->Current()->serial(), first->serial());
  // A certificate without its key, and a key that others may read, are kept out and told once.
  Write("cert", authority_.Issue("third", "DNS:third").certificate_pem, 0644);
  (*files)->Refresh();
  (*files)->Refresh();
  WritePair("fourth");
  ::chmod(Path("key").c_str(), 0640);
  (*files)->Refresh();
  EXPECT_EQ((*files)->Current()->names(), std::vector<std::string>{"second"});
  ASSERT_EQ(reports_.size(), 3u);
  EXPECT_EQ(reports_[0], "taken");
  EXPECT_EQ(reports_[1].find("tls-key is not"), 0u) << reports_[1];
  EXPECT_NE(reports_[2].find("chmod 600"), std::string::npos) << reports_[2];
  ::chmod(Path("key").c_str(), 0600);
  (*files)->Refresh();
  EXPECT_EQ((*files)->Current()->names(), std::vector<std::string>{"fourth"});
}

TEST_F(TlsFilesTest, AKeyThatOthersMayReadRefusesTheStart) {
  for (const mode_t mode : {0640, 0604, 0660, 0644}) {
    ::chmod(Path("key").c_str(), mode);
    const auto files = Load();
    ASSERT_FALSE(files.ok()) << mode;
    EXPECT_EQ(files.error().detail.find("tls-key: "), 0u) << files.error().detail;
  }
}

TEST_F(TlsFilesTest, WhatCouldNotBeReadForAMoment_IsReadAgain_ThoughNoFileHasChangedSince) {
  auto files = Load();
  ASSERT_TRUE(files.ok());
  WritePair("second");
  // A process without a free descriptor.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  (*files)->Refresh();
  (*files)->Refresh();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ((*files)->Current()->names(), std::vector<std::string>{"first"});
  ASSERT_EQ(reports_.size(), 1u) << "told once";
  (*files)->Refresh();
  EXPECT_EQ((*files)->Current()->names(), std::vector<std::string>{"second"});
  (*files)->Refresh();
  ASSERT_EQ(reports_.size(), 2u);
  EXPECT_EQ(reports_[1], "taken");
}

TEST_F(TlsFilesTest, AMissingOrEmptyFileRefusesTheStart) {
  Write("cert", "", 0644);
  EXPECT_NE(Load().error().detail.find("is empty"), std::string::npos);
  ::unlink(Path("cert").c_str());
  EXPECT_NE(Load().error().detail.find("cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace muster::net
