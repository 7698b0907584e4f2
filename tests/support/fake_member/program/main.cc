// muster-fake-member: fake members in a process of their own, for benchmarks and end-to-end tests.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/fake_member/fake_member.h"

namespace {

constexpr char kUsage[] =
    "usage: muster-fake-member --kubeconfig-dir DIR [--members N] [--nodes N] [--token T]\n"
    "         [--history N] [--seed N] [--events true|false] [--port FIRST]\n"
    "Writes DIR/member-K.kubeconfig for each member, prints their paths, serves until SIGTERM.\n";

struct Flags {
  std::string kubeconfig_dir;
  int members = 1;
  int first_port = 0;
  muster::fake::FakeMemberOptions member;
};

bool Take(Flags& flags, const std::string& name, const std::string& value) {
  if (name == "--kubeconfig-dir") {
    flags.kubeconfig_dir = value;
  } else if (name == "--members") {
    flags.members = std::stoi(value);
  } else if (name == "--nodes") {
    flags.member.nodes = std::stoi(value);
  } else if (name == "--token") {
    flags.member.token = value;
  } else if (name == "--history") {
    flags.member.history = std::stoul(value);
  } else if (name == "--seed") {
    flags.member.seed = std::stoull(value);
  } else if (name == "--events") {
    flags.member.events = value == "true";
  } else if (name == "--port") {
    flags.first_port = std::stoi(value);
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  flags.member.events = false;
  flags.member.history = 2000;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!Take(flags, argv[i], argv[i + 1])) {
      std::cerr << kUsage;
      return 2;
    }
  }
  if (flags.kubeconfig_dir.empty() || argc % 2 == 0) {
    std::cerr << kUsage;
    return 2;
  }
  // Taken before any thread starts, so that all threads leave the signals to this one.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  std::filesystem::create_directories(flags.kubeconfig_dir);
  flags.member.loop = std::make_shared<muster::fake::Loop>();
  std::vector<std::unique_ptr<muster::fake::FakeMember>> members;
  for (int k = 1; k <= flags.members; ++k) {
    muster::fake::FakeMemberOptions options = flags.member;
    options.seed += static_cast<std::uint64_t>(k);
    options.port = flags.first_port == 0 ? 0 : flags.first_port + k - 1;
    members.push_back(std::make_unique<muster::fake::FakeMember>(options));
    const std::string path = flags.kubeconfig_dir + "/member-" + std::to_string(k) + ".kubeconfig";
    std::ofstream(path) << members.back()->Kubeconfig();
    std::cout << path << std::endl;
  }
  int taken = 0;
  sigwait(&ends, &taken);
  return 0;
}
