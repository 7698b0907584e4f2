// Real pods on a local member: order, exits, signals, rendezvous, adoption after kill -9, pods that
// ignore signals and pods that fork without end.
#include "tests/unit/local/local_pods_fixture.h"

namespace muster::testing {
namespace {

TEST_F(LocalPods, ExitCodeAndSignal_AreReported) {
  Open(Options());
  const DispatchKey code = Key(), signal = Key();
  ASSERT_TRUE(Ensure(*backend_, ShellJob(code, "exit 7")).ok());
  ASSERT_TRUE(Ensure(*backend_, ShellJob(signal, "kill -SEGV $$$$")).ok());
  const Observation seven = sink_.AwaitEnd(code), segv = sink_.AwaitEnd(signal);
  EXPECT_EQ(seven.phase, RemotePhase::kFailed);
  EXPECT_EQ(seven.exit_code, 7);
  EXPECT_EQ(seven.reason, Reason::kBackoffLimitExceeded);
  EXPECT_EQ(segv.exit_signal, SIGSEGV);
  EXPECT_EQ(segv.exit_code, 128 + SIGSEGV);
}

TEST_F(LocalPods, APodThatNoOtherFollows_IsReportedAsReclaimable_AlsoAfterARestart) {
  Open(Options());
  const DispatchKey key = Key();
  const std::string go_on = directory_.path() + "/go-on";
  ASSERT_TRUE(
      Ensure(*backend_, ShellJob(key, "[ $$JOB_COMPLETION_INDEX = 0 ] || " + UntilExists(go_on), 1,
                                 R"("completions":2,"parallelism":2,"completionMode":"Indexed",)"))
          .ok());
  const std::vector<ReclaimablePods> one = {{"main", 1}};
  sink_.Await(key, [&](const Observation& seen) { return seen.reclaimable == one; });
  backend_->Stop();
  backend_.reset();
  Open(Options());
  const Result<std::vector<Observation>> listed = List(*backend_, "alpha");
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(listed->front().reclaimable, one);
  directory_.Touch("go-on");
  EXPECT_TRUE(sink_.AwaitEnd(key).reclaimable.empty());
}

TEST_F(LocalPods, InitContainers_RunInOrderBeforeTheMainOne_AndSidecarsBeside) {
  Open(Options());
  const Observation end =
      RunPod(R"("terminationGracePeriodSeconds":2,"volumes":[{"name":"v","emptyDir":{}}],
    "initContainers":[
      {"name":"one","command":["sh","-c","echo one >> /shared/f"],"volumeMounts":[{"name":"v","mountPath":"/shared"}]},
      {"name":"side","restartPolicy":"Always","command":["sh","-c","trap 'echo bye >> /shared/g; exit 0' TERM; echo side >> /shared/f; while :; do sleep 0.05; done"],
       "volumeMounts":[{"name":"v","mountPath":"/shared"}]},
      {"name":"two","command":["sh","-c","while ! grep -q side /shared/f; do sleep 0.02; done; echo two >> /shared/f"],"volumeMounts":[{"name":"v","mountPath":"/shared"}]}],
    "containers":[{"name":"main","command":["sh","-c","cat /shared/f"],"volumeMounts":[{"name":"v","mountPath":"/shared"}]}])");
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << end.message;
  EXPECT_EQ(Log("main"), "one\nside\ntwo\n");
  EXPECT_FALSE(std::filesystem::exists("/shared")) << "a mount point was left on the host";
}

TEST_F(LocalPods, AFailedInitContainer_FailsThePod_AndMainNeverRuns) {
  Open(Options());
  const Observation end =
      RunPod(R"("initContainers":[{"name":"bad","command":["sh","-c","exit 4"]}],
    "containers":[{"name":"main","command":["echo","ran"]}])");
  EXPECT_EQ(end.phase, RemotePhase::kFailed);
  EXPECT_EQ(end.exit_code, 4);
  EXPECT_EQ(Log("main"), "");
}

TEST_F(LocalPods, CommandAndEnvironment_AreExpandedAsKubernetesDoes) {
  Open(Options());
  RunPod(
      R"x("containers":[{"name":"main","command":["printf","%s|","$(A)-$(B)","$$(A)","$(NOPE)"],"args":["$(NAME)"],
    "env":[{"name":"A","value":"x"},{"name":"B","value":"$(A)y"},
           {"name":"NAME","valueFrom":{"fieldRef":{"fieldPath":"metadata.namespace"}}}]}])x");
  EXPECT_EQ(Log(), "x-xy|$(A)|$(NOPE)|default|");
}

TEST_F(LocalPods, SignalsThatTheSupervisorIgnores_ReachTheProgram) {
  Open(Options());
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(*backend_, ShellJob(key, "grep SigIgn /proc/self/status")).ok());
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kSucceeded);
  const std::string log = Log();
  ASSERT_TRUE(log.starts_with("SigIgn:")) << log;
  const unsigned long long ignored = std::stoull(log.substr(7), nullptr, 16);
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE})
    EXPECT_EQ(ignored >> (signal - 1) & 1, 0u) << "signal " << signal;
}

TEST_F(LocalPods, TheHostsFile_IsReadableByAll_WhateverTheUmask_AndNamesAPodOnce) {
  const mode_t before = ::umask(077);
  Open(Options());
  const DispatchKey key = Key();
  const std::string attempt = directory_.path() + "/state/alpha/" + key.job_uid.ToString() + "-1";
  DispatchOrder order = ShellJob(key, "true");
  order.suspended = true;
  ASSERT_TRUE(Ensure(*backend_, order).ok());
  // The pod cannot be written, and is tried again.
  std::filesystem::rename(attempt + "/pods", attempt + "/away");
  std::ofstream(attempt + "/pods") << "no directory";
  order.suspended = false;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Ensure(*backend_, order).ok());
  EXPECT_EQ(List(*backend_, "alpha")->size(), 1u);
  std::filesystem::remove(attempt + "/pods");
  std::filesystem::rename(attempt + "/away", attempt + "/pods");
  ASSERT_TRUE(Ensure(*backend_, order).ok());
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kSucceeded);
  ::umask(before);
  struct stat info {};
  // A host without namespaces has no such file.
  if (::stat((attempt + "/hosts").c_str(), &info) != 0) return;
  EXPECT_EQ(info.st_mode & 0777, 0644u);
  int named = 0;
  std::ifstream file(attempt + "/hosts");
  for (std::string line; std::getline(file, line);) named += line.starts_with("127.0.0.1 shell-");
  EXPECT_EQ(named, 1);
}

TEST_F(LocalPods, AnAttemptThatCannotBeRead_IsNotTakenForAnAbandonedOne) {
  Open(Options());
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(*backend_, ShellJob(key, "true")).ok());
  sink_.AwaitEnd(key);
  backend_->Stop();
  backend_.reset();
  const std::string attempt =
      directory_.path() + "/state/alpha/" + key.job_uid.ToString() + "-1/attempt.json";
  // What cannot be read, also by root.
  std::filesystem::rename(attempt, attempt + ".away");
  std::filesystem::create_directory(attempt);
  EXPECT_FALSE(MakeLocalBackend(Options()).ok());
  EXPECT_TRUE(std::filesystem::exists(attempt + ".away"));
  std::filesystem::remove(attempt);
  std::filesystem::rename(attempt + ".away", attempt);
  Open(Options());
  EXPECT_EQ(List(*backend_, "alpha")->size(), 1u);
}

TEST_F(LocalPods, AProgramThatDoesNotExist_IsSaidSo) {
  Open(Options());
  const Observation end =
      RunPod(R"("containers":[{"name":"main","command":["no-such-program-here"]}])");
  EXPECT_EQ(end.phase, RemotePhase::kFailed);
  EXPECT_NE(end.message.find("no-such-program-here"), std::string::npos) << end.message;
}

TEST_F(LocalPods, ABatchScript_RunsFromItsConfigMap_AndWritesToItsFile) {
  Open(Options());
  const DispatchKey key = Key();
  DispatchOrder order = OrderOf(key, "batch/v1", "Job", "b",
                                R"({"spec":{"backoffLimit":0,"template":{
    "metadata":{"annotations":{"muster.io/stdout-path":"out.txt"}},
    "spec":{"restartPolicy":"Never","volumes":[{"name":"s","configMap":{"name":"c","defaultMode":493}}],
    "containers":[{"name":"main","workingDir":")" +
                                    directory_.path() + R"(","command":["/etc/muster/script"],
    "volumeMounts":[{"name":"s","mountPath":"/etc/muster"}]}]}}}})");
  order.dependents.push_back(
      {"v1", "ConfigMap", "default", "c",
       R"({"kind":"ConfigMap","data":{"script":"#!/bin/sh\necho from $PWD\n"}})"});
  ASSERT_TRUE(Ensure(*backend_, order).ok());
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kSucceeded);
  EXPECT_EQ(*local::ReadWholeFile(directory_.path() + "/out.txt"),
            "from " + directory_.path() + "\n");
  EXPECT_EQ(Log(), "from " + directory_.path() + "\n");
}

TEST_F(LocalPods, TwoTorchWorkers_MeetOverTcp) {
  const std::string python =
      "import os,socket\\n"
      "rank=int(os.environ['RANK']); "
      "at=(os.environ['MASTER_ADDR'],int(os.environ['MASTER_PORT']))\\n"
      "if rank==0:\\n"
      "  s=socket.socket(); s.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1); s.bind(at); "
      "s.listen(); c,_=s.accept()\\n"
      "  print('met',c.recv(99).decode(),'of',os.environ['WORLD_SIZE'])\\n"
      "else:\\n"
      "  import time\\n"
      "  for i in range(1200):\\n"
      "    try: c=socket.create_connection(at); break\\n"
      "    except OSError: time.sleep(0.05)\\n"
      "  c.send(b'rank1')\\n";
  const std::string replica =
      R"({"replicas":1,"restartPolicy":"Never","template":{"spec":{"containers":[
      {"name":"pytorch","command":["/usr/bin/env","python3","-c",")" +
      python + R"("]}]}}})";
  LocalOptions options = Options();
  const char* path = std::getenv("PATH");
  if (path != nullptr) options.search_path = path;
  Open(options);
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(*backend_, OrderOf(key, "kubeflow.org/v1", "PyTorchJob", "t",
                                        R"({"spec":{"pytorchReplicaSpecs":{"Master":)" + replica +
                                            R"(,"Worker":)" + replica + "}}}"))
                  .ok());
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kSucceeded);
  EXPECT_EQ(Log("", "t-master-0"), "met rank1 of 2\n");
}

TEST_F(LocalPods, ADaemonKilledOutright_LeavesItsPods_AndTheNextOneAdoptsThem) {
  const DispatchKey key = Key();
  const std::string go = directory_.path() + "/go";
  const pid_t owner = ::fork();
  ASSERT_GE(owner, 0);
  if (owner == 0) {
    // A process of its own owns the backend and is killed without a chance to clean up.
    TestTimers timers;
    LocalOptions options = Options();
    options.timers = &timers;
    Result<std::unique_ptr<Backend>> made = MakeLocalBackend(options);
    RecordingSink sink;
    (*made)->Start(sink);
    (void)Ensure(**made, ShellJob(key, "echo started; " + UntilExists(go) + "; echo done; exit 5"));
    sink.AwaitPhase(key, RemotePhase::kRunning);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(owner, &status, 0), owner);
  ASSERT_TRUE(WIFSIGNALED(status));
  Open(Options());
  directory_.Touch("go");
  const Observation end = sink_.AwaitEnd(key);
  EXPECT_EQ(end.exit_code, 5);
  EXPECT_EQ(Log(), "started\ndone\n") << "it ran twice, or lost output";
  EXPECT_EQ(backend_->Pods(key)->size(), 1u);
}

TEST_F(LocalPods, Cancel_TermsFirst_AndKillsWhatIgnoresIt) {
  Open(Options());
  const DispatchKey polite = Key(), stubborn = Key();
  ASSERT_TRUE(
      Ensure(*backend_,
             ShellJob(polite,
                      "trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.05; done", 20))
          .ok());
  ASSERT_TRUE(
      Ensure(*backend_,
             ShellJob(stubborn,
                      "trap '' TERM; setsid sh -c \"trap '' TERM; sleep 333\" & sleep 333", 1))
          .ok());
  sink_.AwaitPhase(polite, RemotePhase::kRunning);
  sink_.AwaitPhase(stubborn, RemotePhase::kRunning);
  ASSERT_TRUE(AwaitLog(*backend_, polite, "up\n"));
  RemovePolicy policy;
  policy.keep_logs = true;
  EXPECT_TRUE(Remove(*backend_, polite, policy)->existed);
  EXPECT_TRUE(backend_->ReadLog(polite, {})->data.ends_with("asked\n"));
  EXPECT_TRUE(Remove(*backend_, stubborn, policy)->existed);
  for (const local::ProcessInfo& process : local::AllProcesses()) {
    const Result<std::string> environment =
        local::ReadWholeFile("/proc/" + std::to_string(process.pid) + "/environ");
    if (environment.ok()) {
      EXPECT_EQ(environment->find(stubborn.job_uid.ToString()), std::string::npos)
          << "left: " << process.pid;
    }
  }
}

TEST_F(LocalPods, AKilledSupervisor_FailsItsPod_AndLeavesNoProcess) {
  Open(Options());
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(*backend_, ShellJob(key, "setsid sleep 444 & echo up; sleep 444")).ok());
  sink_.AwaitPhase(key, RemotePhase::kRunning);
  ASSERT_TRUE(AwaitLog(*backend_, key, "up\n"));
  const std::string pods = directory_.path() + "/state/alpha/" + key.job_uid.ToString() + "-1/pods";
  const std::string pod = local::ListDirectory(pods).at(0);
  const std::string status = *local::ReadWholeFile(pods + "/" + pod + "/status.json");
  ::kill(std::atoi(status.c_str() + status.find("\"pid\":") + 6), SIGKILL);
  const Observation end = sink_.AwaitEnd(key);
  EXPECT_EQ(end.phase, RemotePhase::kFailed);
  EXPECT_EQ(end.exit_signal, SIGKILL);
  EXPECT_EQ(
      local::KillByEnvironment("MUSTER_POD_KEY=alpha." + key.job_uid.ToString() + "-1." + pod), 0);
}

class RunawayPods : public LocalPods, public ::testing::WithParamInterface<bool> {};

TEST_P(RunawayPods, AForkBomb_IsBounded_AndGoesWithItsPod) {
  LocalOptions options = Options();
  options.max_processes_per_pod = 40;
  options.use_cgroups = GetParam();
  Open(options);
  const DispatchKey key = Key();
  ASSERT_TRUE(
      Ensure(*backend_,
             ShellJob(key, "i=0; while [ $i -lt 2000 ]; do sleep 30 & i=$((i+1)); done; wait"))
          .ok());
  sink_.AwaitEnd(key);
  const Result<std::vector<Observation>> listed = List(*backend_, "alpha");
  EXPECT_EQ(listed->front().active_pods, 0);
  EXPECT_EQ(listed->front().phase, RemotePhase::kFailed);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutCgroups, RunawayPods, ::testing::Bool());

TEST_F(LocalPods, AHundredMegabytesOfLog_AreCut_KeepingTheEnd) {
  Open(Options());
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(*backend_, ShellJob(key, "head -c 100000000 /dev/zero; echo THE END")).ok());
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kSucceeded);
  LogQuery query;
  query.offset = -8;
  const Result<LogChunk> end = backend_->ReadLog(key, query);
  EXPECT_EQ(end->data, "THE END\n");
  EXPECT_EQ(end->next_offset, 100000008);
  EXPECT_TRUE(end->ended);
  query.offset = 0;
  EXPECT_EQ(backend_->ReadLog(key, query)->data.find("[muster: "), 0u);
  std::uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory_.path())) {
    if (file.is_regular_file()) bytes += file.file_size();
  }
  EXPECT_LE(bytes, limits::kLogBytesPerContainer + (1 << 20));
}

TEST_F(LocalPods, SixteenImagesWithoutACommand_AreHeldByStandIns_ThatStartWholeAndStop) {
  Open(Options());
  const DispatchKey key = Key();
  const Result<RemoteRef> ref =
      Ensure(*backend_, OrderOf(key, "batch/v1", "Job", "train-llm", R"({"apiVersion":"batch/v1",
        "kind":"Job","metadata":{"name":"train-llm"},"spec":{"parallelism":16,"completions":16,
        "template":{"spec":{"restartPolicy":"Never","containers":[
          {"name":"train","image":"registry.internal/train:latest"}]}}}})"));
  ASSERT_TRUE(ref.ok()) << ref.error().detail;
  const Observation all =
      sink_.Await(key, [](const Observation& seen) { return seen.ready_pods == 16; });
  EXPECT_EQ(all.phase, RemotePhase::kRunning);
  const Result<std::vector<PodStatus>> pods = backend_->Pods(key);
  ASSERT_TRUE(pods.ok());
  ASSERT_EQ(pods->size(), 16u);
  EXPECT_EQ(Log("train", pods->front().name),
            "image registry.internal/train:latest is not pulled on a local member and no command "
            "is given: a stand-in holds the container's place until it is stopped\n");
  RemovePolicy cancel;
  cancel.keep_logs = true;
  ASSERT_TRUE(Remove(*backend_, key, cancel).ok());
  const Result<std::vector<Observation>> listed = List(*backend_, "alpha");
  ASSERT_TRUE(listed.ok());
  for (const Observation& seen : *listed) EXPECT_EQ(seen.active_pods, 0);
}

TEST_F(LocalPods, AStandInBesideARunningProgram_EndsWithIt_AsASidecar) {
  Open(Options());
  const Observation end =
      RunPod(R"("initContainers":[{"name":"side","image":"proxy","restartPolicy":"Always"}],
    "containers":[{"name":"main","command":["echo","ran"]}])");
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << end.message;
  EXPECT_EQ(Log("main"), "ran\n");
  EXPECT_EQ(Log("side").find("image proxy is not pulled"), 0u);
}

TEST_F(LocalPods, AnInitContainerWithoutACommand_IsRefused) {
  Open(Options());
  const Result<RemoteRef> ref = Ensure(
      *backend_, OrderOf(Key(), "batch/v1", "Job", "j", R"({"apiVersion":"batch/v1","kind":"Job",
        "metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never",
        "initContainers":[{"name":"prepare","image":"tools"}],
        "containers":[{"name":"main","command":["true"]}]}}}})"));
  ASSERT_FALSE(ref.ok());
  EXPECT_EQ(ref.error().code, Code::kInvalidArgument);
  EXPECT_NE(ref.error().detail.find("init container prepare has no command"), std::string::npos);
}

TEST_F(LocalPods, ACommandThatIsNotThere_IsAFailureAndNoStandIn) {
  Open(Options());
  const Observation end =
      RunPod(R"("containers":[{"name":"main","image":"i","command":["no-such-program-here"]}])");
  EXPECT_EQ(end.phase, RemotePhase::kFailed);
  EXPECT_EQ(end.exit_code, 128);
}

TEST_F(LocalPods, AnotherBackend_CannotTakeTheSameState) {
  Open(Options());
  const Result<std::unique_ptr<Backend>> second = MakeLocalBackend(Options());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace muster::testing
