#include "tests/bench/bench_members.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/fake_member/fake_member.h"

namespace muster::bench {
namespace {

std::string FreshDirectory() {
  std::string pattern = "/tmp/muster-bench-members-XXXXXX";
  return mkdtemp(pattern.data());
}

// The standard output of a shell command; "" if it failed.
std::string Output(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string out;
  char buffer[4096];
  for (std::size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  return pclose(pipe) == 0 ? out : "";
}

class FakeMembers final : public BenchMembers {
 public:
  ~FakeMembers() override {
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }

  Status Start(int count, int nodes) {
    const std::shared_ptr<fake::Loop> loops[] = {std::make_shared<fake::Loop>(),
                                                 std::make_shared<fake::Loop>()};
    for (int i = 0; i < count; ++i) {
      fake::FakeMemberOptions options;
      options.seed = static_cast<std::uint64_t>(i) + 1;
      options.nodes = nodes;
      options.token = "bench";
      options.events = false;
      options.loop = loops[i % 2];
      members_.push_back(std::make_unique<fake::FakeMember>(std::move(options)));
      kubeconfigs_.push_back(dir_ + "/fake-" + std::to_string(i));
      std::ofstream(kubeconfigs_.back()) << members_.back()->Kubeconfig();
      auto target = LoadTarget(kubeconfigs_.back());
      if (!target.ok()) return target.error();
      targets_.push_back(*target);
    }
    return Done{};
  }

 private:
  const std::string dir_ = FreshDirectory();
  std::vector<std::unique_ptr<fake::FakeMember>> members_;
};

class RealMembers final : public BenchMembers {
 public:
  ~RealMembers() override {
    Output(program_ + " down --dir " + dir_ + " 2>&1");
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }

  Status Start(int count, int nodes) {
    program_ = Output(MUSTER_KUBEBED_BUILD);
    while (!program_.empty() && program_.back() == '\n') program_.pop_back();
    if (program_.empty()) return Unavailable(MUSTER_KUBEBED_BUILD " failed");
    std::istringstream files(Output(program_ + " up --dir " + dir_ + " --clusters " +
                                    std::to_string(count) + " --nodes " + std::to_string(nodes) +
                                    " --operators=false --owner-pid " + std::to_string(getpid())));
    for (std::string file; std::getline(files, file);) {
      auto target = LoadTarget(file);
      if (!target.ok()) return target.error();
      targets_.push_back(*target);
      kubeconfigs_.push_back(file);
    }
    if (targets_.empty()) return Unavailable("kubebed up failed");
    return Done{};
  }

 private:
  const std::string dir_ = FreshDirectory();
  std::string program_;
};

template <class Members>
Result<std::unique_ptr<BenchMembers>> Started(int count, int nodes) {
  auto members = std::make_unique<Members>();
  const Status started = members->Start(count, nodes);
  if (!started.ok()) return started.error();
  return std::unique_ptr<BenchMembers>(std::move(members));
}

}  // namespace

Result<std::unique_ptr<BenchMembers>> BenchMembers::Fake(int count, int nodes) {
  return Started<FakeMembers>(count, nodes);
}

Result<std::unique_ptr<BenchMembers>> BenchMembers::Real(int count, int nodes) {
  return Started<RealMembers>(count, nodes);
}

std::vector<std::string> BenchMembers::Flags(bool fast) const {
  std::vector<std::string> flags;
  for (std::size_t i = 0; i < kubeconfigs_.size(); ++i) {
    flags.push_back("--member-cluster=member-" + std::to_string(i + 1) + ",kubeconfig=" +
                    kubeconfigs_[i] + (fast ? ",dispatch=fast" : ",dispatch=safe"));
  }
  return flags;
}

}  // namespace muster::bench
