// What a batch script finds on a local member (rule B37), and what it has used (B44).
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "tests/unit/local/local_pods_fixture.h"

namespace muster::testing {
namespace {

class LocalWorld : public LocalPods {
 protected:
  void SetUp() override {
    // Others must reach what a test gives them.
    ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
    Open(Options());
  }
  // The Job of a batch script: members of its pod template's annotations, of its container, and of
  // the Job's spec, each with its comma before the next.
  DispatchOrder Batch(const DispatchKey& key, const std::string& script,
                      const std::string& annotations = "", const std::string& container = "",
                      const std::string& job_spec = "") {
    DispatchOrder order = OrderOf(
        key, "batch/v1", "Job", "job-7",
        R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"job-7"},"spec":{)" + job_spec +
            R"("backoffLimit":0,"template":{"metadata":{"annotations":{)" + annotations +
            R"("muster.io/batch":"true"}},"spec":{"restartPolicy":"Never",)"
            R"("terminationGracePeriodSeconds":5,"containers":[{)" +
            container + R"("name":"main","command":["/bin/sh","-c",")" + Escaped(script) +
            R"("]}]}}}})");
    order.job = {7};
    order.account = submitter_;
    return order;
  }
  std::string Output(const std::string& script, const std::string& annotations = "",
                     const std::string& container = "", const std::string& job_spec = "") {
    const DispatchKey key = Key();
    const auto made = Ensure(*backend_, Batch(key, script, annotations, container, job_spec));
    if (!made.ok()) return "error: " + made.error().detail;
    const Observation end = sink_.AwaitEnd(key);
    return Log() + (end.message.empty() ? "" : "(" + end.message + ")");
  }
  bool Isolated() {
    const auto facts = Wait<ClusterFacts>([&](auto done) { backend_->Facts("alpha", done); });
    return facts->message.find("mount namespaces") != std::string::npos;
  }
};

// Found when jobs of two nodes lost their output: the second pod had opened the file last.
TEST_F(LocalWorld, OnlyTheFirstNodeOpensTheFilesOfTheScript) {
  const std::string file = directory_.path() + "/two-nodes";
  Output("if [ $JOB_COMPLETION_INDEX = 0 ]; then echo first; sleep 0.3; else echo second; fi",
         R"("muster.io/stdout-path":")" + file + R"(",)", "",
         R"("completionMode":"Indexed","completions":2,"parallelism":2,)");
  std::ifstream read(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(read), {}), "first\n");
}

TEST_F(LocalWorld, UmaskAndLimitsAreTheSubmitters) {
  const std::string file = directory_.path() + "/out";
  EXPECT_EQ(Output("umask; ulimit -Sn; ulimit -Sc; ulimit -Ss",
                   R"("muster.io/umask":"0077",)"
                   R"("muster.io/limits":"{\"NOFILE\":321,\"CORE\":0,\"STACK\":4194304}",)"),
            "0077\n321\n0\n4096\n");
  // Never above the hard limit.
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const std::string hard =
      files.rlim_max == RLIM_INFINITY ? "unlimited" : std::to_string(files.rlim_max);
  EXPECT_EQ(Output("ulimit -Sn", R"("muster.io/limits":"{\"NOFILE\":-1}",)"), hard + "\n");
  EXPECT_EQ(
      Output("echo x", R"("muster.io/umask":"0027","muster.io/stdout-path":")" + file + "\","),
      "x\n");
  struct stat info {};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
}

TEST_F(LocalWorld, ABadAnnotationIsRefusedByName) {
  EXPECT_NE(Output("true", R"("muster.io/umask":"9",)").find("muster.io/umask"), std::string::npos);
}

TEST_F(LocalWorld, TheEnvironmentIsALogins) {
  const std::string out = Output(
      R"(echo "$TMPDIR:$MUSTER_STEP_AGENT:${MASTER_PORT:-none}"; stat -c %a:%u "$MUSTER_STEPS_DIR"; echo $HOSTNAME; )"
      R"(test -n "$HOME" -a "$USER" = "$LOGNAME" && echo same; tr '\0' '\n' < /proc/$$$$/environ | grep -c '^BASH_FUNC_f%%=')",
      R"("muster.io/hosts":"alpha",)",
      R"("env":[{"name":"BASH_FUNC_f%%","value":"() {  echo $$(HOME) $$$$\n}"},{"name":"HOSTNAME","value":"login"}],)");
  const std::string agent =
      std::filesystem::path(MUSTER_SUPERVISOR).parent_path().string() + "/muster-step-agent";
  EXPECT_EQ(out,
            "/tmp:" + agent + ":none\n700:" + std::to_string(::geteuid()) + "\nalpha\nsame\n1\n");
  EXPECT_EQ(Output("tr '\\0' '\\n' < /proc/$$$$/environ | sed -n '/^BASH_FUNC/,/^}/p'", "",
                   R"("env":[{"name":"BASH_FUNC_f%%","value":"() {  echo $$(HOME) $$$$\n}"}],)"),
            "BASH_FUNC_f%%=() {  echo $(HOME) $$\n}\n")
      << "a plain shell drops what is no name of a variable, so its own memory is looked at";
  EXPECT_EQ(Output("echo $TMPDIR", "", R"("env":[{"name":"TMPDIR","value":"/var/tmp"}],)"),
            "/var/tmp\n");
}

TEST_F(LocalWorld, EachNodeHasItsHostName_AndAllResolveEverywhere) {
  if (!Isolated()) return;
  const std::string script =
      "hostname; getent hosts job-7-0 job-7-1 | awk '{print $1, $2}' | sed 's/^127[^ ]*/127/'; "
      "test \"$(getent hosts job-7-0 | cut -d' ' -f1)\" != \"$(getent hosts job-7-1 | cut -d' ' "
      "-f1)\" && echo differ";
  const DispatchKey key = Key();
  ASSERT_TRUE(
      Ensure(*backend_, Batch(key, script, R"("muster.io/hosts":"job-7-0,job-7-1",)", "",
                              R"("completionMode":"Indexed","completions":2,"parallelism":2,)"))
          .ok());
  sink_.AwaitEnd(key);
  const auto pods = backend_->Pods(key);
  ASSERT_TRUE(pods.ok());
  for (const PodStatus& pod : *pods) {
    EXPECT_EQ(Log("", pod.name),
              "job-7-" + std::to_string(pod.index) + "\n127 job-7-0\n127 job-7-1\ndiffer\n");
  }
}

TEST_F(LocalWorld, TheAskedCpusAreSeen) {
  const long there = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (there < 2) return;  // nothing can be told apart
  const std::string one = R"("resources":{"limits":{"cpu":"1"}},)";
  EXPECT_EQ(Output("nproc", "", one), "1\n");
  EXPECT_EQ(Output("nproc", "", R"("resources":{"limits":{"cpu":"1000"}},)"),
            std::to_string(there) + "\n");
  // Two jobs at once have different ones.
  const std::string go = directory_.path() + "/go";
  const std::string script = "taskset -pc $$$$ | sed 's/.*: //'; " + UntilExists(go);
  const DispatchKey first = Key(), second = Key();
  ASSERT_TRUE(Ensure(*backend_, Batch(first, script, "", one)).ok());
  ASSERT_TRUE(Ensure(*backend_, Batch(second, script, "", one)).ok());
  AwaitRunning(*backend_, first, 1);
  AwaitRunning(*backend_, second, 1);
  directory_.Touch("go");
  sink_.AwaitEnd(first);
  sink_.AwaitEnd(second);
  EXPECT_NE(backend_->ReadLog(first, {})->data, backend_->ReadLog(second, {})->data);
}

TEST_F(LocalWorld, GpusAreHandedOutByIndex_AlsoAfterARestart) {
  backend_->Stop();
  LocalOptions options = Options();
  options.clusters = {{"alpha", {{"nvidia.com/gpu", 3}}, {}}};
  backend_.reset();
  Open(options);
  const std::string two = R"("resources":{"limits":{"nvidia.com/gpu":"2"}},)";
  const std::string one = R"("resources":{"limits":{"nvidia.com/gpu":"1"}},)";
  const std::string print =
      "echo $CUDA_VISIBLE_DEVICES $SLURM_JOB_GPUS $GPU_DEVICE_ORDINAL $ROCR_VISIBLE_DEVICES";
  const std::string go = directory_.path() + "/go";
  const DispatchKey first = Key();
  ASSERT_TRUE(Ensure(*backend_, Batch(first, print + "; " + UntilExists(go), "", two)).ok());
  ASSERT_TRUE(AwaitLog(*backend_, first, "0,1 0,1 0,1 0,1\n"));
  backend_->Stop();
  backend_.reset();
  Open(options);
  EXPECT_EQ(Output(print, "", one), "2 2 2 2\n");
  directory_.Touch("go");
  sink_.AwaitEnd(first);
  EXPECT_EQ(Output(print, "", two), "0,1 0,1 0,1 0,1\n");
}

TEST_F(LocalWorld, WhatAJobUsesIsMeasured) {
  const DispatchKey key = Key();
  ASSERT_TRUE(
      Ensure(*backend_, Batch(key, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")).ok());
  const Observation end = sink_.AwaitEnd(key);
  EXPECT_GT(end.use.user_cpu_us, 10'000);
  EXPECT_GT(end.use.max_rss_bytes, 100'000);
}

}  // namespace
}  // namespace muster::testing
