// Messages there and back, malformed ones, descriptors, PMI's own forms, lines of steps.jsonl.
#include "clients/steps/wire.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <limits>

#include "clients/steps/agent/pmi2_server.h"
#include "clients/steps/agent/step_log.h"
#include "clients/steps/messages.h"

namespace muster::steps {
namespace {

std::pair<Channel, Channel> Pair() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  return {Channel(Descriptor(ends[0])), Channel(Descriptor(ends[1]))};
}

TEST(StepWire, MessagesComeBackAsTheyWere) {
  CreateStep request;
  request.name = std::string("a\0b", 3);
  request.time_limit_s = std::numeric_limits<std::int64_t>::max();
  request.immediate = true;
  PartRequest part;
  part.tasks = 7;
  part.relative = -1;
  part.distribution = Distribution::kPlane;
  part.with_hosts = {"x", ""};
  request.parts = {part, part};
  const auto back = Decode<CreateStep>(Encode(request));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->name, request.name);
  EXPECT_EQ(back->time_limit_s, request.time_limit_s);
  EXPECT_TRUE(back->immediate);
  ASSERT_EQ(back->parts.size(), 2u);
  EXPECT_EQ(back->parts[1].relative, -1);
  EXPECT_EQ(back->parts[1].distribution, Distribution::kPlane);
  EXPECT_EQ(back->parts[1].with_hosts, part.with_hosts);
}

TEST(StepWire, WhatIsCutOrWrongIsRefused) {
  StepCreated created{3, "h", {{"a", 0, 1, {0, 1, 2}}}};
  const std::string whole = Encode(created);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(Decode<StepCreated>(whole.substr(0, size))) << size;
  EXPECT_FALSE(Decode<Words>("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"));
  // A list that claims more items than there are bytes.
  PayloadWriter writer;
  writer(std::int64_t{1} << 40);
  const std::string many = writer.Take();
  PayloadReader reader(many);
  std::vector<std::string> list;
  reader(list);
  EXPECT_FALSE(reader.ok());
  // A number that does not fit.
  PayloadWriter large;
  large(std::int64_t{1} << 40)(std::int64_t{0});
  EXPECT_FALSE(Decode<StepSignal>(large.Take()));
}

TEST(StepWire, DescriptorsArriveWithTheirFrame) {
  auto [a, b] = Pair();
  std::vector<Descriptor> many;
  for (int i = 0; i < 300; ++i) many.emplace_back(::dup(0));
  a.Send(MessageType::kNotice, Encode(Words{"first"}));
  a.Send(MessageType::kLaunch, std::string(100'000, 'x'), std::move(many));
  a.Send(MessageType::kEnded, "");
  std::vector<Frame> frames;
  for (int i = 0; i < 100 && frames.size() < 3; ++i) {
    a.Flush();
    ASSERT_TRUE(b.Receive());
    while (auto frame = b.Next()) frames.push_back(std::move(*frame));
  }
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_TRUE(frames[0].descriptors.empty());
  EXPECT_EQ(frames[1].descriptors.size(), 300u);
  EXPECT_EQ(frames[1].payload.size(), 100'000u);
  EXPECT_TRUE(frames[2].descriptors.empty());
}

// In a child that is nobody, for whom the kernel counts what is on its way: as many descriptors as
// may be open. 0, or the number of the step that went wrong.
int SendMoreThanMayBeOnTheirWay() {
  if (::geteuid() == 0 && ::setuid(65534) != 0) return 1;
  const rlimit few{64, 64};
  if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 2;
  auto [a, b] = Pair();
  for (int i = 0; i < 5; ++i) {
    std::vector<Descriptor> some;
    for (int k = 0; k < 20; ++k) some.emplace_back(::dup(2));
    a.Send(MessageType::kLaunch, "x", std::move(some));
  }
  if (!a.stalled() || a.wants_write() || a.broken()) return 3;
  std::size_t frames = 0;
  for (int i = 0; i < 100 && frames < 5; ++i) {
    if (!b.Receive()) return 4;
    while (b.Next()) ++frames;
    a.Flush();
  }
  return frames == 5 && !a.stalled() && !a.unsent() ? 0 : 5;
}

TEST(StepWire, AStalledConnectionDoesNotAskForWriting) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(SendMoreThanMayBeOnTheirWay());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << (status >> 8);
}

TEST(StepWire, TooLongAFrameBreaksTheConnection) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Descriptor raw(ends[0]);
  Channel channel{Descriptor(ends[1])};
  const std::uint32_t header[2] = {kMostPayload + 1, 1};
  ASSERT_EQ(::send(raw.get(), header, sizeof(header), 0), 8);
  EXPECT_TRUE(channel.Receive());
  EXPECT_FALSE(channel.Next());
  EXPECT_TRUE(channel.broken());
}

TEST(StepWire, WhatWasSaidBeforeTheOtherSideLeftIsHeard) {
  auto [left, right] = Pair();
  right.Send(MessageType::kPending, Encode(Words{"unread"}));
  left.Send(MessageType::kEnded, Encode(StepEnded{true, false, ""}));
  { const Channel gone = std::move(left); }
  right.Send(MessageType::kSignal, Encode(StepSignal{0, 15}));
  EXPECT_TRUE(right.broken());
  EXPECT_TRUE(right.Receive());
  const std::optional<Frame> frame = right.Next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->type, MessageType::kEnded);
}

TEST(StepPmi, Forms) {
  const PmiFields fields{{"cmd", "kvs-put"}, {"key", "a"}, {"value", "x;y=z"}};
  const std::string text = WritePmi2(fields);
  EXPECT_EQ(text, "    31cmd=kvs-put;key=a;value=x;;y=z;");
  EXPECT_EQ(ParsePmi2(text.substr(6)), fields);
  EXPECT_EQ(ParsePmi1("cmd=put kvsname=k key=a value=b c=d"),
            (PmiFields{{"cmd", "put"}, {"kvsname", "k"}, {"key", "a"}, {"value", "b c=d"}}));
}

TEST(StepLog, LinesAreReadBack) {
  StepLine line;
  line.step = 12;
  line.name = "x\",\"state\":\"COMPLETED";
  const std::string text = WriteStepLine(line);
  const StepLineState back = ReadStepLine(text.substr(0, text.size() - 1));
  EXPECT_EQ(back.step, 12);
  EXPECT_EQ(back.state, "RUNNING");
  EXPECT_EQ(ReadStepLine("{\"step\":x").step, -1);
  EXPECT_EQ(ReadStepLine("").step, -1);
}

}  // namespace
}  // namespace muster::steps
