// Accounts of this host: found, absent, and entries larger than a first guess.
#include "schedd/base/passwd.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace muster {
namespace {

TEST(Passwd, RootIsFoundByNumberAndByName) {
  const auto by_uid = PasswdByUid(0);
  ASSERT_TRUE(by_uid.ok() && by_uid->has_value());
  EXPECT_EQ((*by_uid)->name, "root");
  const auto by_name = PasswdByName("root");
  ASSERT_TRUE(by_name.ok() && by_name->has_value());
  EXPECT_EQ((*by_name)->uid, 0U);
  EXPECT_EQ(GroupNameOf(0).value(), "root");
}

TEST(Passwd, AnAbsentAccountIsNoError) {
  EXPECT_EQ(PasswdByUid(3'999'999'999).value(), std::nullopt);
  EXPECT_EQ(PasswdByName("no-such-user-here").value(), std::nullopt);
  EXPECT_EQ(GroupNameOf(3'999'999'999).value(), std::nullopt);
}

TEST(Passwd, TheBufferGrowsUntilTheEntryFits) {
  std::size_t given = 0;
  EXPECT_EQ(WithEntryBuffer([&given](char*, std::size_t size) {
              given = size;
              return size < 200'000 ? ERANGE : 0;
            }),
            0);
  EXPECT_GE(given, 200'000U);
}

TEST(Passwd, OnlyThatThereIsNoEntryIsAnAnswer) {
  for (const int absent : {ENOENT, ESRCH, EBADF, EPERM})
    EXPECT_EQ(WithEntryBuffer([absent](char*, std::size_t) { return absent; }), 0);
  for (const int error : {EIO, EMFILE, ERANGE})
    EXPECT_EQ(WithEntryBuffer([error](char*, std::size_t) { return error; }), error);
  std::vector<int> answers = {0, EINTR};
  EXPECT_EQ(WithEntryBuffer([&answers](char*, std::size_t) {
              const int answer = answers.back();
              answers.pop_back();
              return answer;
            }),
            0);
}

}  // namespace
}  // namespace muster
