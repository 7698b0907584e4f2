// Connections of srun and sattach, and the life of a step.
#include "clients/steps/agent/manager.h"

#include <fcntl.h>

#include <algorithm>
#include <csignal>

#include "clients/steps/agent/manager_step.h"
#include "clients/steps/agent/process_facts.h"
#include "clients/steps/words.h"

namespace muster::steps {
namespace {

// Between SIGTERM and SIGKILL: Slurm's KillWait, and for a step whose srun is gone.
constexpr std::int64_t kKillWaitMs = 30'000;
constexpr std::int64_t kOrphanWaitMs = 2'000;
constexpr std::size_t kMostSteps = 10'000;
constexpr char kNotSound[] = "the request is malformed";

bool Sound(const CreateStep& request) {
  std::int64_t tasks = 0;
  for (const PartRequest& part : request.parts) {
    if (part.tasks < 1 || part.tasks > 100'000 || part.cpus_per_task < 0 || part.nodes < 0 ||
        part.memory_mb < 0 || part.memory_per_cpu_mb < 0)
      return false;
    tasks += part.tasks;
  }
  return !request.parts.empty() && tasks <= 100'000 && request.time_limit_s >= 0;
}

}  // namespace

Manager::Manager(EventLoop* loop, const JobFacts& facts, int directory)
    : loop_(loop),
      facts_(facts),
      directory_(directory),
      book_(facts.nodes),
      log_(directory),
      links_(facts.nodes.size()),
      next_step_(log_.next_step()) {
  for (const std::int32_t step : log_.unfinished()) KillProcessesOf(facts.steps_directory, step);
}

Manager::~Manager() = default;

void Manager::SetOwnNode(NodeTasks* tasks, const NodeHello& hello) {
  own_tasks_ = tasks;
  for (std::size_t i = 0; i < book_.nodes().size(); ++i) {
    if (book_.nodes()[i].host == hello.host) own_node_ = i;
  }
  book_.Learn(own_node_, hello);
}

void Manager::Serve(Descriptor socket) {
  const int fd = socket.get();
  Client client;
  client.channel = std::make_unique<Channel>(std::move(socket));
  clients_[fd] = std::move(client);
  loop_->Watch(fd, [this, fd] { ReadClient(fd); });
  ReadClient(fd);
}

void Manager::Send(Client* client, MessageType type, std::string payload,
                   std::vector<Descriptor> descriptors) {
  client->channel->Send(type, std::move(payload), std::move(descriptors));
  loop_->WantWrite(*client->channel);
}

void Manager::ReadClient(int fd) {
  auto at = clients_.find(fd);
  if (at == clients_.end()) return;
  at->second.channel->Flush();
  const bool open = at->second.channel->Receive();
  while (true) {
    at = clients_.find(fd);
    if (at == clients_.end()) return;
    std::optional<Frame> frame = at->second.channel->Next();
    if (!frame) break;
    OnFrame(&at->second, std::move(*frame));
  }
  if (!open || at->second.channel->broken()) return DropClient(fd);
  loop_->WantWrite(*at->second.channel);
}

// A step without its srun is ended: nobody hears of its tasks any more.
void Manager::DropClient(int fd) {
  const std::int32_t step = clients_[fd].step;
  loop_->Forget(fd);
  clients_.erase(fd);
  for (auto& [number, other] : steps_) std::erase(other->attached, fd);
  const auto at = steps_.find(step);
  if (at == steps_.end() || at->second->client != fd) return;
  at->second->client = -1;
  if (!at->second->launched) return FinishStep(step);
  at->second->cancelled = true;
  Terminate(at->second.get(), "");
}

void Manager::OnFrame(Client* client, Frame frame) {
  switch (frame.type) {
    case MessageType::kCreateStep:
      return OnCreate(client, frame);
    case MessageType::kLaunch:
      return OnLaunch(client, std::move(frame));
    case MessageType::kAttach:
      return OnAttach(client, std::move(frame));
    case MessageType::kSignal: {
      const auto signal = Decode<StepSignal>(frame.payload);
      const auto at = steps_.find(client->step);
      if (!signal || at == steps_.end() || !at->second->launched) return;
      if (signal->signal < kTerminate) return SignalTasks(*at->second, signal->signal);
      at->second->cancelled = true;
      at->second->few_words = signal->signal == kTerminateBadExit;
      at->second->kill_now = signal->signal == kTerminateNow;
      return Terminate(at->second.get(), "");
    }
    default:
      return;
  }
}

void Manager::OnCreate(Client* client, const Frame& frame) {
  const auto request = Decode<CreateStep>(frame.payload);
  const auto refuse = [&](const std::string& why) {
    Send(client, MessageType::kRefused, Encode(Words{why}));
  };
  if (!request || client->step != kNoStep || !Sound(*request)) return refuse(kNotSound);
  if (request->protocol != kProtocol) return refuse("the step manager is of another version");
  if (steps_.size() >= kMostSteps) return refuse("Too many job steps");
  auto step = std::make_unique<Step>();
  step->number = --last_waiting_;
  step->client = client->channel->fd();
  step->request = *request;
  client->step = step->number;
  Step* raw = step.get();
  steps_[step->number] = std::move(step);
  TryPlace(raw);
}

// In the order in which they came; one that does not fit does not hold up others.
void Manager::TryWaiting() {
  std::vector<std::int32_t> waiting;
  for (auto at = steps_.rbegin(); at != steps_.rend(); ++at) {
    if (at->second->grants.empty()) waiting.push_back(at->first);
  }
  for (const std::int32_t number : waiting) {
    const auto at = steps_.find(number);
    if (at != steps_.end()) TryPlace(at->second.get());
  }
}

bool Manager::TryPlace(Step* step) {
  PlacedStep placed = book_.Place(step->request, step->number);
  switch (placed.result) {
    case Placing::kPlaced:
      Created(step, std::move(placed));
      return true;
    case Placing::kRefused:
      Refuse(step, "Unable to create step for job " + facts_.job + ": " + placed.why);
      return false;
    case Placing::kUnknownNodes:
      for (const std::size_t node : placed.unknown) AskNode(node);
      return false;
    case Placing::kBusy:
      break;
  }
  if (step->request.immediate) {
    Refuse(step, "Unable to create step for job " + facts_.job + ": Requested nodes are busy");
  } else if (!std::exchange(step->told_busy, true)) {
    if (Client* owner = OwnerOf(*step))
      Send(owner, MessageType::kPending, Encode(Words{"Requested nodes are busy"}));
  }
  return false;
}

void Manager::Refuse(Step* step, const std::string& why) {
  if (Client* owner = OwnerOf(*step)) {
    Send(owner, MessageType::kRefused, Encode(Words{why}));
    owner->step = kNoStep;
  }
  step->client = -1;
  FinishStep(step->number);
}

Manager::Client* Manager::OwnerOf(const Step& step) {
  const auto at = clients_.find(step.client);
  return at == clients_.end() ? nullptr : &at->second;
}

void Manager::Notice(const Step& step, const std::string& text) {
  if (Client* owner = OwnerOf(step)) Send(owner, MessageType::kNotice, Encode(Words{text}));
}

void Manager::Created(Step* step, PlacedStep placed) {
  // A step gets its number when it is created, not when it is asked for.
  const std::int32_t number = next_step_++;
  auto entry = steps_.extract(step->number);
  entry.key() = number;
  steps_.insert(std::move(entry));
  book_.Rename(step->number, number);
  step->number = number;
  if (Client* owner = OwnerOf(*step)) owner->step = number;
  step->grants = std::move(placed.grants);
  StepCreated created{step->number, facts_.host, {}};
  StepLine& line = step->line;
  line.step = step->number;
  line.name = step->request.name;
  line.start_us = WallUs();
  std::vector<std::string> hosts;
  for (std::size_t i = 0; i < step->grants.size(); ++i) {
    const NodeGrant& grant = step->grants[i];
    created.shares.push_back(grant.share);
    line.tasks += static_cast<std::int32_t>(grant.share.tasks.size());
    line.cpus += grant.cpu_count;
    if (std::find(hosts.begin(), hosts.end(), grant.share.host) == hosts.end())
      hosts.push_back(grant.share.host);
    for (const std::int32_t task : grant.share.tasks)
      step->unended[task] = static_cast<std::int32_t>(i);
  }
  line.nodes = FoldHosts(hosts);
  line.node_count = static_cast<std::int32_t>(hosts.size());
  if (Client* owner = OwnerOf(*step)) Send(owner, MessageType::kCreated, Encode(created));
}

// Deals programs, plans and descriptors out to the nodes. The step is on record from here on.
void Manager::OnLaunch(Client* client, Frame frame) {
  const auto at = steps_.find(client->step);
  const auto launch = Decode<Launch>(frame.payload);
  if (at == steps_.end() || at->second->launched || at->second->grants.empty()) return;
  Step* step = at->second.get();
  const auto tasks = static_cast<std::size_t>(step->line.tasks);
  const std::size_t wanted = launch && launch->world.terminal ? 0 : 3 * tasks;
  if (!launch || launch->tasks.size() != tasks || frame.descriptors.size() != wanted)
    return Refuse(step, kNotSound);
  step->launched = true;
  log_.Append(step->line);
  if (step->request.time_limit_s > 0) {
    step->limit_timer = loop_->After(step->request.time_limit_s * 1000, [this, step] {
      step->limit_timer = 0;
      step->timed_out = true;
      Terminate(step, " DUE TO TIME LIMIT");
    });
  }
  std::string mapping;
  for (const NodeGrant& grant : step->grants) {
    step->open.emplace(grant.share.part, grant.node);
    mapping += ",(" + std::to_string(grant.share.node_id) + ",1," +
               std::to_string(grant.share.tasks.size()) + ")";
  }
  std::vector<Dealt> dealt = Deal(*step, *launch, &frame.descriptors);
  const std::int32_t number = step->number;
  for (Dealt& one : dealt) {
    one.launch.mapping = "(vector" + mapping + ")";
    if (!steps_.contains(number)) return;
    if (one.node == own_node_) {
      own_tasks_->Start(one.launch, std::move(one.descriptors));
    } else {
      SendToNode(one.node, MessageType::kNodeLaunch, Encode(one.launch),
                 std::move(one.descriptors));
    }
  }
}

// What each node gets: the plans and descriptors are in the order of the shares and their tasks.
std::vector<Manager::Dealt> Manager::Deal(const Step& step, const Launch& launch,
                                          std::vector<Descriptor>* descriptors) {
  std::vector<Dealt> out;
  std::size_t next = 0;
  for (const NodeGrant& grant : step.grants) {
    const PartRequest& part = step.request.parts[static_cast<std::size_t>(grant.share.part)];
    Dealt& dealt = out.emplace_back();
    dealt.node = grant.node;
    NodeLaunch& node = dealt.launch;
    node.step = step.number;
    node.job = facts_.job;
    node.share = grant.share;
    node.launch.world = launch.world;
    node.launch.programs = launch.programs;
    node.cpus = grant.cpus;
    node.cpu_count = grant.cpu_count;
    node.cpus_per_task = part.cpus_per_task;
    node.gpus = grant.gpus;
    node.own_gpus = grant.own_gpus;
    node.gpus_per_task = part.gpus_per_task;
    node.size = step.line.tasks;
    for (std::size_t i = 0; i < grant.share.tasks.size(); ++i, ++next) {
      node.launch.tasks.push_back(launch.tasks[next]);
      for (std::size_t k = 0; !descriptors->empty() && k < 3; ++k)
        dealt.descriptors.push_back(std::move((*descriptors)[3 * next + k]));
    }
  }
  return out;
}

// sattach: the step's srun copies its output to the descriptors that came along.
void Manager::OnAttach(Client* client, Frame frame) {
  const auto number = Decode<ShareNumber>(frame.payload);
  const auto at = number ? steps_.find(number->step) : steps_.end();
  Client* owner = at == steps_.end() ? nullptr : OwnerOf(*at->second);
  if (owner == nullptr || !at->second->launched || frame.descriptors.size() != 2) {
    return Send(client, MessageType::kRefused,
                Encode(Words{"Could not get the step's layout: Invalid job id specified"}));
  }
  at->second->attached.push_back(client->channel->fd());
  Send(owner, MessageType::kCopyOutput, {}, std::move(frame.descriptors));
  Send(client, MessageType::kCreated, Encode(StepCreated{number->step, facts_.host, {}}));
}

void Manager::OnTerminal(std::int32_t step, Descriptor master) {
  const auto at = steps_.find(step);
  Client* owner = at == steps_.end() ? nullptr : OwnerOf(*at->second);
  if (owner == nullptr) return;
  std::vector<Descriptor> one;
  one.push_back(std::move(master));
  Send(owner, MessageType::kTerminal, {}, std::move(one));
}

void Manager::OnEnded(const TasksEnded& ended) {
  const auto at = steps_.find(ended.step);
  if (at == steps_.end()) return;
  Step& step = *at->second;
  StepLine& line = step.line;
  for (const TaskEnd& end : ended.ends) {
    if (step.unended.erase(end.task) == 0) continue;
    line.user_us += end.user_us;
    line.system_us += end.system_us;
    line.max_rss = std::max(line.max_rss, end.max_rss);
    line.read_bytes += end.read_bytes;
    line.written_bytes += end.written_bytes;
    if (ExitOf(end.status) > ExitOf(step.worst_status)) step.worst_status = end.status;
    step.memory_kills += end.out_of_memory ? 1 : 0;
  }
  if (Client* owner = OwnerOf(step)) Send(owner, MessageType::kExited, Encode(ended));
}

void Manager::OnDone(const ShareNumber& done, const std::string& host) {
  const auto at = steps_.find(done.step);
  if (at == steps_.end()) return;
  for (std::size_t i = 0; i < book_.nodes().size(); ++i) {
    if (book_.nodes()[i].host == host) at->second->open.erase({done.part, i});
  }
  if (at->second->open.empty()) FinishStep(done.step);
}

// All nodes have come to the fence: each gets what all have put.
void Manager::OnFence(const KvsFence& fence) {
  const auto at = steps_.find(fence.step);
  if (at == steps_.end()) return;
  Step& step = *at->second;
  step.fence_pairs.insert(step.fence_pairs.end(), fence.pairs.begin(), fence.pairs.end());
  if (++step.came_to_fence < step.grants.size()) return;
  step.came_to_fence = 0;
  const std::vector<std::string> pairs = std::exchange(step.fence_pairs, {});
  std::vector<std::pair<std::size_t, KvsFence>> answers;
  for (const NodeGrant& grant : step.grants)
    answers.push_back({grant.node, {fence.step, grant.share.part, pairs}});
  for (const auto& [node, answer] : answers) {
    if (node == own_node_) {
      own_tasks_->Fenced(answer);
    } else {
      SendToNode(node, MessageType::kKvsFenced, Encode(answer));
    }
  }
}

void Manager::OnCancelled(std::int32_t number) {
  const auto at = steps_.find(number);
  if (at == steps_.end() || !at->second->launched) return;
  at->second->cancelled = true;
  Terminate(at->second.get(), "");
}

// The member signals the tasks itself, but one that is just being started would be missed.
void Manager::OnStopped() {
  std::vector<std::int32_t> launched;
  for (const auto& [number, step] : steps_) {
    if (step->launched) launched.push_back(number);
  }
  for (const std::int32_t number : launched) {
    const auto at = steps_.find(number);
    if (at == steps_.end()) continue;
    at->second->cancelled = true;
    Terminate(at->second.get(), "");
  }
}

// Why the member stops the attempt: " DUE TO TIME LIMIT", or "". The file is one of the user's.
std::string Manager::StopWords() const {
  const Descriptor file(::openat(directory_, "stopped", O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  char text[64];
  const ssize_t size = file ? ::read(file.get(), text, sizeof(text)) : 0;
  std::string out(text, size < 0 ? 0 : static_cast<std::size_t>(size));
  const bool plain = out.find_first_not_of(" ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos;
  return plain ? out : "";
}

void Manager::SignalTasks(const Step& step, int signal) {
  std::vector<std::size_t> told;
  for (const NodeGrant& grant : step.grants) {
    if (std::find(told.begin(), told.end(), grant.node) != told.end()) continue;
    told.push_back(grant.node);
    const StepSignal message{step.number, signal};
    if (grant.node == own_node_) {
      own_tasks_->Signal(message);
    } else {
      SendToNode(grant.node, MessageType::kNodeSignal, Encode(message));
    }
  }
}

void Manager::TellCancelled(const Step& step, const std::string& why) {
  const bool tell = !step.few_words && !step.timed_out;
  Notice(step,
         std::string(tell ? "srun: Job step aborted: Waiting up to 32 seconds for job step to "
                            "finish.\n"
                          : "") +
             "slurmstepd: error: *** STEP " + facts_.job + "." + std::to_string(step.number) +
             " ON " + step.grants.front().share.host + " CANCELLED AT " +
             LocalStamp(WallUs() / 1'000'000) + (why.empty() ? StopWords() : why) + " ***\n");
}

// SIGCONT and SIGTERM now, SIGKILL later; said once.
void Manager::Terminate(Step* step, const std::string& why) {
  if (std::exchange(step->terminating, true)) return;
  TellCancelled(*step, why);
  if (step->kill_now) return SignalTasks(*step, SIGKILL);
  SignalTasks(*step, SIGCONT);
  SignalTasks(*step, SIGTERM);
  const std::int32_t number = step->number;
  const std::int64_t wait = step->client < 0 ? kOrphanWaitMs : kKillWaitMs;
  step->kill_timer = loop_->After(wait, [this, number] {
    const auto at = steps_.find(number);
    if (at == steps_.end()) return;
    at->second->kill_timer = 0;
    SignalTasks(*at->second, SIGKILL);
  });
}

// Ends the record, gives back what the step held and lets others try.
void Manager::FinishStep(std::int32_t number) {
  const auto at = steps_.find(number);
  if (at == steps_.end()) return;
  const std::unique_ptr<Step> step = std::move(at->second);
  steps_.erase(at);
  if (step->limit_timer != 0) loop_->CancelTimer(step->limit_timer);
  if (step->kill_timer != 0) loop_->CancelTimer(step->kill_timer);
  book_.Release(number);
  if (step->launched) {
    const std::string marker = "cancelled." + std::to_string(number);
    if (::faccessat(directory_, marker.c_str(), F_OK, 0) == 0) step->cancelled = true;
    StepLine& line = step->line;
    const std::int32_t status = step->worst_status;
    const bool signalled = (status & 0x7f) != 0;
    line.end_us = WallUs();
    line.exit_code = signalled ? 0 : ExitOf(status);
    line.exit_signal = signalled ? status & 0x7f : 0;
    line.state = step->timed_out          ? "TIMEOUT"
                 : step->cancelled        ? "CANCELLED"
                 : step->memory_kills > 0 ? "OUT_OF_MEMORY"
                 : status != 0            ? "FAILED"
                                          : "COMPLETED";
    if (step->memory_kills > 0) {
      Notice(*step, "slurmstepd: error: Detected " + std::to_string(step->memory_kills) +
                        " oom_kill event" + (step->memory_kills == 1 ? "" : "s") +
                        " in StepId=" + facts_.job + "." + std::to_string(number) +
                        ". Some of the step tasks have been OOM Killed.\n");
    }
    log_.Append(line);
    const std::string ended = Encode(StepEnded{step->cancelled, step->timed_out, step->lost_host});
    if (Client* owner = OwnerOf(*step)) {
      Send(owner, MessageType::kEnded, ended);
      owner->step = kNoStep;
    }
    for (const int fd : step->attached) {
      const auto other = clients_.find(fd);
      if (other != clients_.end()) Send(&other->second, MessageType::kEnded, ended);
    }
  }
  TryWaiting();
  if (steps_.empty() && when_idle_) when_idle_();
}

}  // namespace muster::steps
