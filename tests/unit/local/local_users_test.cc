// Files, directories and volumes that a job names are accessed with the rights of the job's user.
// The tests use real users when they run as root; otherwise another user must be refused.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <thread>

#include "tests/unit/local/local_pods_fixture.h"

namespace muster::testing {
namespace {

constexpr char kNobody[] = "65534";
constexpr uid_t kStranger = 65533;

class LocalUsers : public LocalPods {
 protected:
  void SetUp() override {
    // Open to everybody, unlike the fixture's directory: only the rights of the file keep the job's
    // user out.
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-users-XXXXXX").string();
    open_ = ::mkdtemp(pattern.data());
    std::filesystem::permissions(open_, std::filesystem::perms(0755));
    LocalOptions options = Options();
    options.state_dir = open_ + "/state";
    Open(options);
  }
  void TearDown() override {
    LocalPods::TearDown();
    std::error_code ignored;
    std::filesystem::remove_all(open_, ignored);
  }
  static bool Root() { return ::geteuid() == 0; }
  std::string File(const std::string& name, const std::string& text, mode_t mode) const {
    const std::string path = open_ + "/" + name;
    std::ofstream(path) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  std::string Directory(const std::string& name, mode_t mode, bool of_nobody = false) const {
    const std::string path = open_ + "/" + name;
    EXPECT_EQ(::mkdir(path.c_str(), mode), 0);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    if (of_nobody && Root()) {
      EXPECT_EQ(::chown(path.c_str(), 65534, 65534), 0);
    }
    return path;
  }
  static std::string Text(const std::string& path) {
    const Result<std::string> text = local::ReadWholeFile(path);
    return text.ok() ? *text : "error: " + text.error().detail;
  }
  // A Job of one pod; `annotations` and `pod` are members, each with its comma before the next.
  Observation Run(const std::string& pod, const std::string& annotations = "",
                  std::vector<ManifestText> dependents = {}) {
    return RunJob(R"("backoffLimit":0,"template":{"metadata":{"annotations":{)" + annotations +
                      R"(}},"spec":{"restartPolicy":"Never",)" + pod + "}}",
                  std::move(dependents));
  }
  // The same as user nobody.
  Observation RunAsNobody(const std::string& pod, const std::string& annotations = "",
                          std::vector<ManifestText> dependents = {}) {
    return Run(R"("securityContext":{"runAsUser":)" + std::string(kNobody) + "}," + pod,
               annotations, std::move(dependents));
  }
  // True if the tests do not run as root; the other user then must have been refused.
  static bool RefusedWithoutRoot(const Observation& end) {
    if (Root()) return false;
    EXPECT_EQ(end.phase, RemotePhase::kFailed);
    EXPECT_NE(end.message.find("needs a musterd that runs as root"), std::string::npos)
        << end.message;
    return true;
  }
  static void ExpectRefused(const Observation& end, const std::string& why) {
    EXPECT_EQ(end.phase, RemotePhase::kFailed);
    EXPECT_NE(end.message.find(why), std::string::npos) << end.message;
  }
  static std::string Sh(const std::string& script, const std::string& more = "") {
    return R"("containers":[{"name":"main","command":["sh","-c",")" + script + R"("])" + more +
           "}]";
  }

  std::string open_;
};

TEST_F(LocalUsers, AnInputFileThatOnlyRootMayRead_IsNotRead) {
  const std::string secret = File("secret", "of root\n", 0600);
  const Observation end = RunAsNobody(Sh("cat"), R"("muster.io/stdin-path":")" + secret + "\"");
  if (RefusedWithoutRoot(end)) return;
  ExpectRefused(end, "the input file " + secret + " cannot be opened: Permission denied");
  EXPECT_EQ(Log().find("of root"), std::string::npos);
}

TEST_F(LocalUsers, AnOutputFileThatIsRoots_IsNeitherTruncatedNorWritten) {
  const std::string kept = File("kept", "of root\n", 0644);
  for (const char* stream : {"stdout", "stderr"}) {
    const std::string annotation = "\"muster.io/" + std::string(stream) + R"(-path":")";
    const Observation end = RunAsNobody(Sh("echo x; echo y >&2"), annotation + kept + "\"");
    EXPECT_EQ(Text(kept), "of root\n") << stream;
    if (!RefusedWithoutRoot(end)) ExpectRefused(end, kept + " cannot be opened");
  }
}

TEST_F(LocalUsers, FilesInTheUsersOwnDirectory_AreReadAndWritten_AndAreTheUsers) {
  const std::string home = Directory("home", 0700, true);
  File("home/in", "hello\n", 0644);
  const std::string annotations =
      R"("muster.io/stdin-path":"in","muster.io/stdout-path":"out","muster.io/stderr-path":"err")";
  const std::string pod = Sh("cat; echo e >&2; pwd", R"(,"workingDir":")" + home + "\"");
  const Observation end = Root() ? RunAsNobody(pod, annotations) : Run(pod, annotations);
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << end.message;
  EXPECT_EQ(Text(home + "/out"), "hello\n" + home + "\n");
  EXPECT_EQ(Text(home + "/err"), "e\n");
  struct stat info {};
  ASSERT_EQ(::stat((home + "/out").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, Root() ? 65534 : ::geteuid());
}

TEST_F(LocalUsers, AWorkingDirectoryThatTheUserMayNotEnter_IsNotEntered) {
  const std::string closed = Directory("closed", 0700);
  const Observation end = RunAsNobody(Sh("ls", R"(,"workingDir":")" + closed + "\""));
  if (RefusedWithoutRoot(end)) return;
  ExpectRefused(end, "the working directory " + closed + " cannot be entered: Permission denied");
}

TEST_F(LocalUsers, WithoutAWorkingDirectory_TheUserHasOneOfItsOwn) {
  const std::string pod = Sh("echo x > f && stat -c '%a %u' .");
  const Observation end = Root() ? RunAsNobody(pod) : Run(pod);
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << end.message << Log();
  EXPECT_EQ(Log(), Root() ? "700 65534\n" : "777 " + std::to_string(::geteuid()) + "\n");
}

TEST_F(LocalUsers, ALinkThatLeadsOutOfAVolume_IsNoPartOfIt) {
  const std::string closed = Directory("closed", 0700);
  File("closed/f", "of root\n", 0600);
  for (const std::string& to : {closed, std::string("/"), std::string("../../..")}) {
    // For every user, root included: a volume's part stays within its volume.
    const Observation end = Run(
        R"("volumes":[{"name":"v","emptyDir":{}}],"initContainers":[{"name":"link","command":["sh","-c",
        "rmdir /shared/part && ln -s )" +
        to + R"( /shared/part"],"volumeMounts":[{"name":"v","mountPath":"/shared"}]}],)" +
        Sh("cat /data/f; ls /data",
           R"(,"volumeMounts":[{"name":"v","mountPath":"/data","subPath":"part"}])"));
    ExpectRefused(end, "the subPath \"part\" leaves its volume");
    EXPECT_EQ(Log("main").find("of root"), std::string::npos) << to;
  }
}

TEST_F(LocalUsers, ALinkWithinAVolume_IsFollowed) {
  const Observation end = Run(
      R"("volumes":[{"name":"v","emptyDir":{}}],"initContainers":[{"name":"link","command":["sh","-c",
      "mkdir /shared/real && echo here > /shared/real/f && rmdir /shared/part && ln -s real /shared/part"],
      "volumeMounts":[{"name":"v","mountPath":"/shared"}]}],)" +
      Sh("cat /data/f", R"(,"volumeMounts":[{"name":"v","mountPath":"/data","subPath":"part"}])"));
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << end.message;
  EXPECT_EQ(Log("main"), "here\n");
}

TEST_F(LocalUsers, ADirectoryOfTheHost_IsFoundAndMadeAsTheUser) {
  const std::string closed = Directory("closed", 0700), home = Directory("home", 0755, true);
  ASSERT_EQ(::mkdir((closed + "/inner").c_str(), 0755), 0);
  const auto mount = [](const std::string& path, const std::string& type) {
    return R"("volumes":[{"name":"h","hostPath":{"path":")" + path + R"(","type":")" + type +
           R"("}}],)" +
           Sh("touch /host/made", R"(,"volumeMounts":[{"name":"h","mountPath":"/host"}])");
  };
  if (RefusedWithoutRoot(RunAsNobody(mount(home, "Directory")))) return;
  ExpectRefused(RunAsNobody(mount(closed + "/inner", "Directory")),
                "cannot be opened as the container's user: Permission denied");
  ExpectRefused(RunAsNobody(mount(open_ + "/new", "DirectoryOrCreate")), "Permission denied");
  EXPECT_FALSE(std::filesystem::exists(open_ + "/new"));
  const Observation end = RunAsNobody(mount(home + "/new/deep", "DirectoryOrCreate"));
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << end.message;
  struct stat info {};
  ASSERT_EQ(::stat((home + "/new/deep/made").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 65534u);
}

TEST_F(LocalUsers, AMountPointInSomebodyElsesDirectory_IsNotMadeThere) {
  const std::string roots = Directory("roots", 0755);
  File("roots/beside", "still here\n", 0644);
  const std::string pod =
      R"("volumes":[{"name":"v","emptyDir":{}}],)" +
      Sh("touch " + roots + "/point/x && cat " + roots + "/beside",
         R"(,"volumeMounts":[{"name":"v","mountPath":")" + roots + "/point\"}]");
  const Observation end = RunAsNobody(pod);
  if (RefusedWithoutRoot(end)) return;
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << end.message << Log();
  EXPECT_EQ(Log(), "still here\n");
  EXPECT_FALSE(std::filesystem::exists(roots + "/point"));
}

TEST_F(LocalUsers, NoSetUserIdProgram_GivesAnotherUserMore) {
  const Observation end = RunAsNobody(Sh("grep NoNewPrivs /proc/self/status; id -u; id -G"));
  if (RefusedWithoutRoot(end)) return;
  EXPECT_EQ(Log(), "NoNewPrivs:\t1\n65534\n65534\n") << "nor the daemon's group";
}

TEST_F(LocalUsers, SupplementaryGroups_AreThoseOfThePod) {
  if (!Root()) {
    EXPECT_TRUE(RefusedWithoutRoot(RunAsNobody(Sh("id -G"))));
    return;
  }
  const Observation end = Run(
      R"("securityContext":{"runAsUser":65534,"runAsGroup":7,"supplementalGroups":[4711],"fsGroup":4712},)" +
      Sh("id -G"));
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << end.message;
  EXPECT_EQ(Log(), "7 4711 4712\n");
}

TEST_F(LocalUsers, WhoMustNotBeRoot_IsNotRunAsRoot) {
  const Observation end = Run(R"("securityContext":{"runAsNonRoot":true},)" + Sh("id -u"));
  if (Root()) {
    ExpectRefused(end, "would run as root");
  } else {
    EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << end.message;
  }
}

TEST_F(LocalUsers, AJobRunsAsItsSubmitter_WithTheAccountsNameAndHome) {
  if (!Root()) {
    submitter_ = kStranger;
    EXPECT_TRUE(RefusedWithoutRoot(Run(Sh("true"))));
    submitter_.reset();
    EXPECT_TRUE(RefusedWithoutRoot(Run(Sh("true"))));
    return;
  }
  submitter_ = 65534;
  const Observation end = Run(Sh("id -u; id -g; echo $USER $LOGNAME $HOME"));
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << end.message << Log();
  EXPECT_EQ(Log(), "65534\n65534\nnobody nobody /\n");
  submitter_ = kStranger;
  EXPECT_EQ(Run(Sh("id -u")).phase, RemotePhase::kSucceeded);
  EXPECT_EQ(Log(), "65533\n") << "a user without an entry in passwd";
  submitter_.reset();
  EXPECT_EQ(Run(Sh("id -u")).phase, RemotePhase::kSucceeded);
  EXPECT_EQ(Log(), "65534\n") << "a submitter without an account: the member's job account";
}

TEST_F(LocalUsers, AJobThatAsksForAnotherUser_IsRefusedBeforeItRuns) {
  if (!Root()) {
    EXPECT_TRUE(RefusedWithoutRoot(RunAsNobody(Sh("true"))));
    return;
  }
  submitter_ = kStranger;
  for (const char* asked : {"0", "65534", "1"}) {
    const Observation end =
        Run(R"("securityContext":{"runAsUser":)" + std::string(asked) + "}," + Sh("id -u"));
    ExpectRefused(end, "securityContext.runAsUser " + std::string(asked));
  }
  ExpectRefused(Run(R"("securityContext":{"runAsGroup":0},)" + Sh("id -g")),
                "securityContext.runAsGroup 0");
  ExpectRefused(Run(R"("securityContext":{"supplementalGroups":[42]},)" + Sh("id -G")),
                "securityContext.supplementalGroups 42");
  ExpectRefused(Run(R"("containers":[{"name":"main","command":["id"],)"
                    R"("securityContext":{"runAsUser":0}}])"),
                "container main: securityContext.runAsUser 0");
}

TEST_F(LocalUsers, WhereRootMayNot_RootsJobsRunAsTheJobAccount) {
  if (!Root()) {
    EXPECT_TRUE(RefusedWithoutRoot(RunAsNobody(Sh("true"))));
    return;
  }
  backend_->Stop();
  backend_.reset();
  LocalOptions options = Options();
  options.state_dir = open_ + "/never";
  options.clusters.front().root_jobs = false;
  Open(options);
  EXPECT_EQ(Run(Sh("id -u")).phase, RemotePhase::kSucceeded);
  EXPECT_EQ(Log(), "65534\n");
  ExpectRefused(Run(R"("securityContext":{"runAsUser":0},)" + Sh("id -u")), "root-jobs=submitter");
}

// Rule U63.
TEST_F(LocalUsers, AUserOtherThanRoot_HasNoCapabilities_AndMayNotAskTheKernelForMore) {
  if (Root()) submitter_ = 65534;
  const Observation end =
      Run(Sh("grep -E 'Cap(Inh|Prm|Eff|Amb)' /proc/self/status | sort -u -k2 | cut -f2; "
             "grep -E 'NoNewPrivs|Seccomp:' /proc/self/status; ulimit -c; "
             "unshare --user true 2>/dev/null || echo no user namespace"));
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << end.message << Log();
  EXPECT_EQ(Log(), "0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n0\nno user namespace\n");
}

// Calls that Linux answers otherwise to a user without capabilities: only the filter refuses them
// so.
TEST_F(LocalUsers, TheFilterOfSystemCalls_RefusesWhatTheTableNames) {
  struct Call {
    const char* what;
    long number;
    std::string arguments;
    int error;
  };
  const Call calls[] = {{"a name in the user's keyring", SYS_keyctl, "0,-3,0", EPERM},
                        {"a key", SYS_add_key, "0,0,0,0,0", EPERM},
                        {"rings of requests", SYS_io_uring_setup, "1,0", EPERM},
                        {"page faults", SYS_userfaultfd, "1", EPERM},
                        {"counters", SYS_perf_event_open, "0,0,-1,-1,0", EPERM},
                        {"a tree of mounts", SYS_open_tree, "-1,0,0", EPERM},
                        {"a process whose flags no filter sees", SYS_clone3, "0,0", ENOSYS},
                        {"nothing but its own number", SYS_getpid, "", 0}};
  std::string script, expected;
  for (const Call& call : calls) {
    script += "$!=0; syscall(" + std::to_string(call.number) +
              (call.arguments.empty() ? "" : "," + call.arguments) + "); print 0+$!, qq( " +
              call.what + "\\n); ";
    expected += std::to_string(call.error) + " " + call.what + "\n";
  }
  if (Root()) submitter_ = 65534;
  const Observation end =
      Run(R"("containers":[{"name":"main","command":["perl","-e",")" + script + R"("]}])");
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << end.message << Log();
  EXPECT_EQ(Log(), expected);
}

// What a volume covers is the user's from then on, and the supervisor still works as root.
class LocalCovers : public LocalUsers {
 protected:
  void SetUp() override {
    LocalUsers::SetUp();
    inner_ = Directory("closed", 0700) + "/inner";
    Directory("closed/inner", 0755);
    File("closed/inner/f", "of root\n", 0644);
  }
  // A pod of nobody. `prepare`: a script that fills the volume v, at /w, before the main container
  // begins; `mounts`: the main container's.
  Observation RunCovered(const std::string& prepare, const std::string& script,
                         const std::string& mounts) {
    return RunAsNobody(
        R"("volumes":[{"name":"v","emptyDir":{}},{"name":"q","emptyDir":{}}],"initContainers":[{"name":"prepare","command":["sh","-ec",")" +
        prepare + R"("],"volumeMounts":[{"name":"v","mountPath":"/w"}]}],)" +
        Sh(script, R"(,"volumeMounts":[)" + mounts + "]"));
  }
  static std::string At(const std::string& volume, const std::string& path) {
    return R"({"name":")" + volume + R"(","mountPath":")" + path + "\"}";
  }
  // $at: the pod's working directory as a path in a volume that is put over the state directory;
  // what is above it is made, with all that the supervisor looks for there.
  std::string Here() const {
    return "here=`pwd`; at=/w$${here#" + open_ +
           "/state}; up=`dirname $at`; mkdir -p $up; touch $up/../../hosts; ";
  }

  std::string inner_;  // readable by everybody, in a directory that only root may enter
};

TEST_F(LocalCovers, AVolumeOverProc_DoesNotChooseWhatIsMountedAfterIt) {
  const Observation end = RunCovered(
      "mkdir -p /w/self/fd; for n in `seq 3 99`; do ln -s " + inner_ + " /w/self/fd/$n; done",
      "echo mine > /srv/mine; cat /srv/mine; cat /srv/f; true",
      At("v", "/proc") + "," + At("q", "/srv"));
  if (RefusedWithoutRoot(end)) return;
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << end.message;
  EXPECT_EQ(Log("main").find("of root"), std::string::npos) << Log("main");
  EXPECT_EQ(Log("main").find("mine\n"), 0u) << Log("main");
}

TEST_F(LocalCovers, AVolumeOverThePodsDirectory_IsEnteredAsTheUser) {
  const Observation end =
      RunCovered(Here() + "ln -s " + inner_ + " $at", "cat f", At("v", open_ + "/state"));
  if (RefusedWithoutRoot(end)) return;
  ExpectRefused(end, "the pod's directory is gone: Permission denied");
  EXPECT_EQ(Log("main").find("of root"), std::string::npos);
}

TEST_F(LocalCovers, AVolumeOverThePodsDirectory_DoesNotLeadTheSupervisorsOwnMountsElsewhere) {
  const std::string target = Directory("target", 0755), roots = Directory("those-of-root", 0755);
  const Observation end = RunCovered(Here() + "mkdir $at; ln -s " + target + " $up/mounts",
                                     "touch " + roots + "/point/x && echo done",
                                     At("v", open_ + "/state") + "," + At("q", roots + "/point"));
  if (RefusedWithoutRoot(end)) return;
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << end.message;
  EXPECT_EQ(Log("main"), "done\n");
  EXPECT_TRUE(std::filesystem::is_empty(target)) << "made as root where the user's link led";
  EXPECT_FALSE(std::filesystem::exists(roots + "/point"));
}

// The user exchanges a directory of its own with a link to one of root's as fast as it can.
TEST_F(LocalCovers, DirectoriesThatAreExchangedMeanwhile_LeaveNothingInThoseOfRoot) {
  const std::string home = Directory("home", 0755, true), roots = Directory("roots", 0755);
  Directory("home/a", 0755, true);
  std::filesystem::create_directory_symlink(roots, home + "/b");
  std::atomic<bool> over = false;
  std::thread exchanging([&] {
    while (!over) {
      ::syscall(SYS_renameat2, AT_FDCWD, (home + "/a").c_str(), AT_FDCWD, (home + "/b").c_str(),
                2U /* RENAME_EXCHANGE */);
    }
  });
  const std::string mounts = At("v", home + "/a/one/two") + "," + At("q", home + "/a/three");
  bool refused = false;
  for (int i = 0; i < 20 && !refused; ++i) {
    refused = RefusedWithoutRoot(
        RunAsNobody(R"("volumes":[{"name":"v","emptyDir":{}},{"name":"q","emptyDir":{}}],)" +
                    Sh("touch " + home + "/a/one/two/x " + home + "/a/three/x; true",
                       R"(,"volumeMounts":[)" + mounts + "]")));
  }
  over = true;
  exchanging.join();
  EXPECT_TRUE(std::filesystem::is_empty(roots));
}

class LocalSecrets : public LocalUsers {
 protected:
  static std::vector<ManifestText> Secret() {
    return {{"v1", "Secret", "default", "s",
             R"({"kind":"Secret","stringData":{"key":"hush","in":"deep"}})"}};
  }
  static std::string Volume(const std::string& more = "") {
    return R"("volumes":[{"name":"s","secret":{"secretName":"s")" + more + "}}],";
  }
  static std::string Mount() { return R"(,"volumeMounts":[{"name":"s","mountPath":"/sec"}])"; }
  // True if a user other than the job's can open it.
  static bool StrangerReads(const std::string& path) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgid(kStranger) != 0 || ::setuid(kStranger) != 0) ::_exit(0);
      ::_exit(std::ifstream(path).is_open() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status == 0;
  }
  std::vector<std::string> Found(const std::string& name) const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(open_ + "/state")) {
      if (entry.path().filename() == name) all.push_back(entry.path().string());
    }
    return all;
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
};

TEST_F(LocalSecrets, ASecret_IsTheJobsUsersAlone) {
  const std::string pod = Volume() + Sh("cat /sec/key; stat -Lc ' %a %u' /sec/key", Mount());
  const Observation end = Root() ? RunAsNobody(pod, "", Secret()) : Run(pod, "", Secret());
  ASSERT_EQ(end.phase, RemotePhase::kSucceeded) << end.message << Log();
  EXPECT_EQ(Log(), "hush 400 " + std::to_string(Root() ? 65534 : ::geteuid()) + "\n");
  ASSERT_EQ(Found("key").size(), 1u);
  const std::filesystem::path key = Found("key").front();
  EXPECT_EQ(ModeOf(key.parent_path()), Root() ? 0700u : 0755u);
  const std::filesystem::path pod_dir = key.parent_path().parent_path().parent_path();
  EXPECT_EQ(ModeOf(pod_dir), Root() ? 0711u : 0700u);
  EXPECT_EQ(ModeOf(pod_dir / "log"), 0700u);
  // The attempt's own directory lets the job's user pass, and where the file system has access
  // lists nobody else; its files are the daemon's alone.
  const std::filesystem::path attempt = pod_dir.parent_path().parent_path();
  EXPECT_EQ(ModeOf(attempt) & 0066u, 0u);
  EXPECT_EQ(ModeOf(attempt / "attempt.json"), 0600u);
  EXPECT_EQ(ModeOf(pod_dir / "status.json"), 0600u);
  for (std::filesystem::path up = attempt.parent_path(); up != open_; up = up.parent_path())
    EXPECT_EQ(ModeOf(up), 0711u) << up;
  EXPECT_FALSE(Root() && StrangerReads(key));
}

TEST_F(LocalSecrets, ASecretWithAModeOfItsOwn_StaysInsideThePod) {
  const std::string pod = Volume(R"(,"defaultMode":292,"items":[{"key":"in","path":"a/b"}])") +
                          Sh("stat -Lc %a /sec/a/b", Mount());
  const Observation end = Run(pod, "", Secret());
  ASSERT_EQ(end.phase, RemotePhase::kSucceeded) << end.message << Log();
  EXPECT_EQ(Log(), "444\n");
  EXPECT_FALSE(Root() && StrangerReads(Found("b").front()));
}

TEST_F(LocalSecrets, ContainersOfTwoUsers_HaveACopyEach_AndShareAnEmptyDirectoryByItsGroup) {
  if (!Root()) {
    EXPECT_TRUE(RefusedWithoutRoot(RunAsNobody(Sh("true"))));
    return;
  }
  const std::string mounts =
      R"("volumeMounts":[{"name":"s","mountPath":"/sec"},{"name":"e","mountPath":"/both"}])";
  const Observation end = Run(
      R"("securityContext":{"fsGroup":4712},"volumes":[{"name":"s","secret":{"secretName":"s"}},{"name":"e","emptyDir":{}}],
      "initContainers":[{"name":"one","securityContext":{"runAsUser":65533},"command":["sh","-c","cat /sec/key > /both/f"],)" +
          mounts +
          R"(}],"containers":[{"name":"main","securityContext":{"runAsUser":65534},"command":["sh","-c","cat /both/f /sec/key; rm /both/f"],)" +
          mounts + "}]",
      "", Secret());
  ASSERT_EQ(end.phase, RemotePhase::kSucceeded) << end.message << Log();
  EXPECT_EQ(Log(), "hushhush");
  EXPECT_EQ(Found("key").size(), 2u);
}

}  // namespace
}  // namespace muster::testing
