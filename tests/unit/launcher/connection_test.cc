// Both ends of the connection between musterd and muster-launcher: what ends it, and what its end
// means.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>

#include "backends/launcher/codec.h"
#include "backends/launcher/launcher_backend.h"
#include "backends/launcher/launcher_server.h"
#include "backends/launcher/wire.h"
#include "backends/local/local_backend.h"
#include "schedd/base/limits.h"
#include "schedd/base/limits_launcher.h"
#include "tests/contract/backend/backend_fixture.h"

namespace muster::testing {
namespace {

namespace pb = launcher::pb;

/// Keeps what it is told, and answers when the test says so.
class FakeBackend final : public Backend {
 public:
  std::vector<std::string> Clusters() const override { return {"alpha"}; }
  void Ensure(const DispatchOrder& order, Callback<RemoteRef> done) override {
    if (!order.permit.Holds()) return done(NotLeading());
    std::lock_guard lock(mutex_);
    ensured_.push_back(order.key);
    if (answers) done(RemoteRef{"uid", "incarnation", false});
    changed_.notify_all();
  }
  void Remove(const DispatchKey&, const RemovePolicy&, Callback<RemovalResult> done) override {
    Count(&done);
  }
  void List(const std::string&, Callback<std::vector<Observation>> done) override { Count(&done); }
  void Start(ObservationSink& given) override { sink = &given; }
  void Stop() override {}
  void Facts(const std::string& cluster, Callback<ClusterFacts> done) override {
    ClusterFacts facts;
    facts.cluster = cluster;
    facts.incarnation = "incarnation";
    done(facts);
  }
  Result<std::vector<PodStatus>> Pods(const DispatchKey&) override { return NotFound("no pods"); }
  Result<LogChunk> ReadLog(const DispatchKey&, const LogQuery&) override { return LogChunk{}; }

  bool AwaitCalls(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return ensured_.size() + others_ >= count; });
  }
  std::size_t calls() {
    std::lock_guard lock(mutex_);
    return ensured_.size() + others_;
  }
  ObservationSink* sink = nullptr;
  bool answers = true;

 private:
  template <class T>
  void Count(Callback<T>* done) {
    std::lock_guard lock(mutex_);
    others_ += 1;
    if (answers) (*done)(T{});
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<DispatchKey> ensured_;
  std::size_t others_ = 0;
};

// Also said for a moment after the end of a connection.
constexpr char kBusy[] = "another daemon is connected to this launcher";

// Of a user who is not root, whoever runs the test.
DispatchOrder AnOrder() {
  DispatchOrder order = ShellJob(NewKey("alpha"), "true");
  order.account = 1000;
  return order;
}

class LauncherConnection : public ::testing::Test {
 protected:
  std::string path() const { return directory_.path() + "/launcher.sock"; }
  std::unique_ptr<LauncherServer> Serve(Backend& backend, std::set<std::string> roots = {}) {
    LauncherServerOptions options;
    options.socket = path();
    options.daemon = ::geteuid();
    options.root_clusters = std::move(roots);
    options.clock = &clock_;
    auto server = std::make_unique<LauncherServer>(backend, options);
    const Status started = server->Start();
    EXPECT_TRUE(started.ok()) << started.error().detail;
    return server;
  }
  /// A client that sends what it likes.
  std::unique_ptr<launcher::FrameStream> Raw() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path().c_str());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    constexpr std::size_t kPlenty = 256 << 20;
    auto stream = std::make_unique<launcher::FrameStream>(fd, kPlenty, kPlenty);
    stream->SetReadTimeout(60'000);
    return stream;
  }
  static pb::Request Hello() {
    pb::Request request;
    request.set_id(1);
    request.mutable_hello()->set_version(launcher::kProtocolVersion);
    return request;
  }
  static pb::Request Ordering(const DispatchOrder& order) {
    pb::Request request;
    request.set_id(2);
    *request.mutable_ensure()->mutable_order() = launcher::ToWire(order);
    return request;
  }
  /// Reads to the end of the connection; the last sentence of refusal, "" if there was none.
  static std::string Refusal(launcher::FrameStream& stream) {
    std::string sentence;
    while (true) {
      const Result<std::string> frame = stream.Read();
      if (!frame.ok()) return sentence;
      pb::ToDaemon said;
      EXPECT_TRUE(said.ParseFromString(*frame));
      if (said.has_refusal()) sentence = said.refusal();
    }
  }
  /// Greets, sends an order and returns the answer to it.
  pb::Answer Asked(const DispatchOrder& order) {
    const auto stream = Raw();
    stream->Send(Hello().SerializeAsString());
    stream->Send(Ordering(order).SerializeAsString());
    while (true) {
      const Result<std::string> frame = stream->Read();
      pb::ToDaemon said;
      if (!frame.ok() || !said.ParseFromString(*frame)) {
        ADD_FAILURE() << "the connection ended without an answer";
        return {};
      }
      if (said.refusal() == kBusy) return Asked(order);
      if (said.has_answer() && said.answer().id() == 2) return said.answer();
    }
  }

  TemporaryDirectory directory_;
  TestClock clock_;
  TestTimers timers_;
  TestRandom random_;
};

TEST_F(LauncherConnection, WhatIsNotOnTheListEndsTheConnection) {
  DispatchOrder order = AnOrder();
  pb::Request bad_uid = Ordering(order);
  bad_uid.mutable_ensure()->mutable_order()->mutable_key()->set_job_uid("../..");
  pb::Request wrong_version = Hello();
  wrong_version.mutable_hello()->set_version(99);
  pb::Request unknown = Ordering(order);
  unknown.GetReflection()->MutableUnknownFields(&unknown)->AddVarint(77, 1);
  pb::Request unknown_below = Ordering(order);
  pb::Order* below = unknown_below.mutable_ensure()->mutable_order();
  below->GetReflection()->MutableUnknownFields(below)->AddVarint(77, 1);
  pb::Request unset;
  unset.set_id(5);
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"no message at all", {Hello().SerializeAsString(), "\xff\xff\xff"}},
      {"a request without a call", {Hello().SerializeAsString(), unset.SerializeAsString()}},
      {"a field that nobody knows", {Hello().SerializeAsString(), unknown.SerializeAsString()}},
      {"a field of the order that nobody knows",
       {Hello().SerializeAsString(), unknown_below.SerializeAsString()}},
      {"a call before Hello", {Ordering(order).SerializeAsString()}},
      {"a second Hello", {Hello().SerializeAsString(), Hello().SerializeAsString()}},
      {"another version", {wrong_version.SerializeAsString()}},
      {"a uid that is a path", {Hello().SerializeAsString(), bad_uid.SerializeAsString()}},
  };
  FakeBackend backend;
  const auto server = Serve(backend);
  for (const auto& [what, frames] : cases) {
    std::string said = kBusy;
    while (said == kBusy) {
      const auto stream = Raw();
      for (const std::string& frame : frames) stream->Send(frame);
      said = Refusal(*stream);
    }
    EXPECT_NE(said.find("such a message"), std::string::npos) << what << ": " << said;
    EXPECT_EQ(backend.calls(), 0u) << what;
  }
  // Before another connection is taken, this one is over: so it is served.
  EXPECT_FALSE(Asked(order).has_failure());
}

TEST_F(LauncherConnection, AMessageThatIsTooLongEndsTheConnectionUnread) {
  FakeBackend backend;
  const auto server = Serve(backend);
  const auto stream = Raw();
  stream->Send(Hello().SerializeAsString());
  stream->Send(std::string(limits::kLauncherMessageBytes + 1, 'x'));
  Refusal(*stream);
  EXPECT_EQ(backend.calls(), 0u);
}

TEST_F(LauncherConnection, OneDaemonAtATime) {
  FakeBackend backend;
  const auto server = Serve(backend);
  auto first = Raw();
  first->Send(Hello().SerializeAsString());
  ASSERT_TRUE(first->Read().ok());
  EXPECT_EQ(Refusal(*Raw()), kBusy);
  EXPECT_TRUE(first->Read().ok()) << "the first one is served on: its facts come";
  first.reset();
  LauncherOptions options{path(), {"alpha"}};
  const auto second = MakeLauncherBackend(options);
  RecordingSink sink;
  second->Start(sink);
  EXPECT_TRUE(sink.AwaitGaps("alpha", 1));
  second->Stop();
}

TEST_F(LauncherConnection, TheSocketIsTheDaemonsAlone) {
  FakeBackend backend;
  const auto server = Serve(backend);
  struct stat info {};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(info.st_uid, ::geteuid());
}

TEST_F(LauncherConnection, RootsJobsNeedTheWordOfTheLauncher) {
  DispatchOrder order = AnOrder();
  order.account = 0;
  FakeBackend backend;
  {
    const auto server = Serve(backend);
    const pb::Answer answer = Asked(order);
    EXPECT_EQ(launcher::ErrorFrom(answer.failure()).code, Code::kInvalidArgument);
    EXPECT_EQ(backend.calls(), 0u);
  }
  const auto server = Serve(backend, {"alpha"});
  EXPECT_FALSE(Asked(order).has_failure());
  EXPECT_EQ(backend.calls(), 1u);
}

TEST_F(LauncherConnection, AnOrderOfAnEndedTermCreatesNothing) {
  LocalOptions options;
  options.state_dir = directory_.path() + "/state";
  options.supervisor_path = MUSTER_SUPERVISOR;
  options.clusters = {{"alpha", {}, {}}};
  options.clock = &clock_;
  options.timers = &timers_;
  options.random = &random_;
  auto local = MakeLocalBackend(options);
  ASSERT_TRUE(local.ok()) << local.error().detail;
  const auto server = Serve(**local, {"alpha"});
  DispatchOrder order = ShellJob(NewKey("alpha"), "true");
  // As if the daemon had been stopped between sending and the launcher's reading.
  order.permit = Permit::Until(clock_, clock_.Now() + -1);
  const pb::Answer answer = Asked(order);
  EXPECT_EQ(launcher::ErrorFrom(answer.failure()).code, NotLeading().code);
  EXPECT_EQ(launcher::ErrorFrom(answer.failure()).detail, NotLeading().detail);
  EXPECT_EQ(List(**local, "alpha")->size(), 0u);
  order.suspended = true;
  order.permit = Permit::Until(clock_, clock_.Now() + 600 * kNanosPerSecond);
  EXPECT_FALSE(Asked(order).has_failure()) << "the same order in time is carried out";
  EXPECT_EQ(List(**local, "alpha")->size(), 1u);
}

TEST_F(LauncherConnection, WhenItBreaksNobodyKnowsWhatHasHappened) {
  FakeBackend silent, next;  // both outlive their servers
  silent.answers = false;
  auto server = Serve(silent);
  const auto daemon = MakeLauncherBackend({path(), {"alpha"}});
  RecordingSink sink;
  daemon->Start(sink);
  ASSERT_TRUE(sink.AwaitGaps("alpha", 1));
  std::promise<Result<RemoteRef>> ensured;
  std::promise<Result<RemovalResult>> removed;
  std::promise<Result<std::vector<Observation>>> listed;
  daemon->Ensure(AnOrder(),
                 [&](Result<RemoteRef> result) { ensured.set_value(std::move(result)); });
  daemon->Remove(NewKey("alpha"), {},
                 [&](Result<RemovalResult> result) { removed.set_value(std::move(result)); });
  daemon->List("alpha", [&](auto result) { listed.set_value(std::move(result)); });
  ASSERT_TRUE(silent.AwaitCalls(3));
  server.reset();
  EXPECT_EQ(ensured.get_future().get().error().code, Code::kUnknown);
  EXPECT_EQ(removed.get_future().get().error().code, Code::kUnknown);
  EXPECT_EQ(listed.get_future().get().error().code, Code::kUnavailable);
  const ClusterFacts away =
      sink.AwaitFactsThat([](const ClusterFacts& facts) { return !facts.healthy; });
  EXPECT_EQ(away.incarnation, "incarnation") << "what was known of the member stays known";
  EXPECT_EQ(Ensure(*daemon, AnOrder()).error().code, Code::kUnavailable) << "nothing was sent";
  EXPECT_EQ(daemon->Pods(NewKey("alpha")).error().code, Code::kUnavailable);
  server = Serve(next);
  EXPECT_TRUE(sink.AwaitGaps("alpha", 2)) << "the member is listed after the next connection";
  EXPECT_TRUE(Ensure(*daemon, AnOrder()).ok());
  EXPECT_EQ(daemon->Pods(NewKey("alpha")).error().code, Code::kNotFound);
  daemon->Stop();
}

TEST_F(LauncherConnection, ALauncherThatHangsIsGivenUp) {
  FakeBackend silent;
  silent.answers = false;
  const auto server = Serve(silent);
  const auto daemon = MakeLauncherBackend({path(), {"alpha"}, 300});
  RecordingSink sink;
  daemon->Start(sink);
  ASSERT_TRUE(sink.AwaitGaps("alpha", 1));
  std::promise<Result<RemoteRef>> ensured;
  std::promise<Result<RemovalResult>> removed;
  std::future<Result<RemovalResult>> removal = removed.get_future();
  daemon->Remove(NewKey("alpha"), {},
                 [&](Result<RemovalResult> result) { removed.set_value(std::move(result)); });
  // Twice the time: a removal waits for its pods.
  EXPECT_EQ(removal.wait_for(std::chrono::milliseconds(600)), std::future_status::timeout);
  daemon->Ensure(AnOrder(),
                 [&](Result<RemoteRef> result) { ensured.set_value(std::move(result)); });
  EXPECT_EQ(ensured.get_future().get().error().code, Code::kUnknown) << "it may have happened";
  EXPECT_EQ(removal.get().error().code, Code::kUnknown);
  const ClusterFacts away =
      sink.AwaitFactsThat([](const ClusterFacts& facts) { return !facts.healthy; });
  EXPECT_NE(away.message.find("does not answer"), std::string::npos) << away.message;
  EXPECT_TRUE(sink.AwaitGaps("alpha", 2)) << "it is connected to again";
  const auto listed = List(*daemon, "alpha");
  ASSERT_FALSE(listed.ok());
  EXPECT_EQ(listed.error().code, Code::kUnavailable);
  daemon->Stop();
}

TEST_F(LauncherConnection, MembersOfALauncherThatFallsSilentAreNotHealthy_UntilItIsHeardAgain) {
  FakeBackend silent;
  silent.answers = false;
  const auto server = Serve(silent);
  const auto daemon = MakeLauncherBackend({path(), {"alpha"}, 12'000});
  RecordingSink sink;
  daemon->Start(sink);
  ASSERT_EQ(sink.AwaitFacts(1).size(), 1U);
  daemon->Ensure(AnOrder(), [](const Result<RemoteRef>&) {});
  const ClusterFacts away =
      sink.AwaitFactsThat([](const ClusterFacts& facts) { return !facts.healthy; });
  EXPECT_EQ(away.message, "muster-launcher does not answer");
  EXPECT_EQ(away.incarnation, "incarnation");
  silent.sink->OnGap("alpha");
  EXPECT_TRUE(sink.AwaitGaps("alpha", 2)) << "the connection has stayed";
  const std::vector<ClusterFacts> all = sink.AwaitFacts(3);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_TRUE(all[2].healthy);
  EXPECT_EQ(all[2].incarnation, "incarnation");
  daemon->Stop();
}

TEST_F(LauncherConnection, ReportsReachTheDaemonThatIsConnected) {
  FakeBackend backend;
  const auto server = Serve(backend);
  Observation seen;
  seen.key = NewKey("alpha");
  seen.phase = RemotePhase::kRunning;
  backend.sink->OnObservation(seen);  // nobody is there to hear it
  const auto daemon = MakeLauncherBackend({path(), {"alpha"}});
  RecordingSink sink;
  daemon->Start(sink);
  sink.AwaitFactsThat([](const ClusterFacts& facts) { return facts.healthy; });
  backend.sink->OnGap("alpha");
  EXPECT_TRUE(sink.AwaitGaps("alpha", 2));
  seen.phase = RemotePhase::kSucceeded;
  backend.sink->OnObservation(seen);
  sink.AwaitEnd(seen.key);
  EXPECT_EQ(sink.Of(seen.key).size(), 1u);
  daemon->Stop();
}

TEST_F(LauncherConnection, AListOfAnyLengthComesWhole) {
  class Many final : public Backend {
   public:
    std::vector<std::string> Clusters() const override { return {"alpha"}; }
    void Ensure(const DispatchOrder&, Callback<RemoteRef>) override {}
    void Remove(const DispatchKey&, const RemovePolicy&, Callback<RemovalResult>) override {}
    void List(const std::string&, Callback<std::vector<Observation>> done) override {
      std::vector<Observation> all(2 * limits::kLauncherListPart + 1);
      for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].key = {{1, i}, 1, "alpha"};
      }
      done(std::move(all));
    }
    void Start(ObservationSink&) override {}
    void Stop() override {}
    void Facts(const std::string&, Callback<ClusterFacts> done) override { done(ClusterFacts{}); }
    Result<std::vector<PodStatus>> Pods(const DispatchKey&) override { return NotFound(""); }
    Result<LogChunk> ReadLog(const DispatchKey&, const LogQuery&) override { return NotFound(""); }
  } many;
  const auto server = Serve(many);
  const auto daemon = MakeLauncherBackend({path(), {"alpha"}});
  RecordingSink sink;
  daemon->Start(sink);
  ASSERT_TRUE(sink.AwaitGaps("alpha", 1));
  const auto all = List(*daemon, "alpha");
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2u * limits::kLauncherListPart + 1);
  for (std::size_t i = 0; i < all->size(); ++i) EXPECT_EQ((*all)[i].key.job_uid.lo, i);
  daemon->Stop();
}

TEST_F(LauncherConnection, OtherMembersAreNotMixedUp) {
  FakeBackend backend;
  const auto server = Serve(backend);
  const auto daemon = MakeLauncherBackend({path(), {"alpha", "beta"}});
  RecordingSink sink;
  daemon->Start(sink);
  const ClusterFacts facts =
      sink.AwaitFactsThat([](const ClusterFacts& one) { return one.cluster == "beta"; });
  EXPECT_FALSE(facts.healthy);
  EXPECT_NE(facts.message.find("does not serve the member beta"), std::string::npos);
  EXPECT_EQ(Ensure(*daemon, AnOrder()).error().code, Code::kUnavailable);
  daemon->Stop();
}

TEST(FrameStream, CutsOffAPeerThatDoesNotRead) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  launcher::FrameStream stream(ends[0], 1 << 20, 4 << 20);
  EXPECT_FALSE(stream.Send(std::string((1 << 20) + 1, 'x'))) << "longer than a frame may be";
  int sent = 0;
  while (stream.Send(std::string(1 << 20, 'x'))) ASSERT_LT(++sent, 100);
  EXPECT_FALSE(stream.Read().ok()) << "the stream has ended";
  EXPECT_FALSE(stream.Send("x"));
  ::close(ends[1]);
}

TEST(FrameStream, CarriesFramesInOrderAndTellsTheirEnd) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  launcher::FrameStream there(ends[1], 3 << 20, 8 << 20);
  {
    launcher::FrameStream here(ends[0], 3 << 20, 8 << 20);
    EXPECT_EQ(here.peer(), ::geteuid());
    for (const std::size_t size : {0, 1, 64 << 10}) EXPECT_TRUE(here.Send(std::string(size, 'y')));
    here.EndAfterSending(10'000);
  }
  EXPECT_EQ(there.Read()->size(), 0u);
  EXPECT_EQ(there.Read()->size(), 1u);
  EXPECT_EQ(there.Read()->size(), std::size_t{64} << 10);
  EXPECT_FALSE(there.Read().ok());
}

}  // namespace
}  // namespace muster::testing
