// S06: every gRPC method has a row in the table of access rules, and every row of gRPC a method.
#include "api/auth/access_rules.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>

#include "muster/v1/clusters.pb.h"
#include "muster/v1/jobs.pb.h"
#include "muster/v1/queues.pb.h"
#include "muster/v1/quota.pb.h"

namespace muster::test {
namespace {

TEST(GrpcAccessRules, S06_EveryMethodHasARow_AndEveryRowAMethod) {
  std::set<std::string> methods, rows;
  for (const google::protobuf::FileDescriptor* file :
       {v1::Job::descriptor()->file(), v1::QueueObject::descriptor()->file(),
        v1::Cluster::descriptor()->file(), v1::Quota::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        methods.insert(file->service(s)->full_name() + "/" + file->service(s)->method(m)->name());
      }
    }
  }
  for (const auth::AccessRule& rule : auth::kAccessRules) {
    if (rule.way.starts_with("muster.")) rows.insert(std::string(rule.way));
  }
  EXPECT_EQ(methods, rows);
  EXPECT_FALSE(methods.empty());
  std::printf("S06: %zu gRPC methods with a row\n", rows.size());
}

}  // namespace
}  // namespace muster::test
