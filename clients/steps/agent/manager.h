// The step manager, in the agent of the job's first node: gives steps their numbers and their part
// of the job's nodes, sends their tasks to the nodes' agents, gathers how they end, and writes
// steps.jsonl.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "clients/steps/agent/event_loop.h"
#include "clients/steps/agent/job_facts.h"
#include "clients/steps/agent/node_tasks.h"
#include "clients/steps/agent/step_book.h"
#include "clients/steps/agent/step_log.h"
#include "clients/steps/wire.h"

namespace muster::steps {

class Manager {
 public:
  /// `directory` is the steps directory. Steps that an earlier manager has left are ended.
  Manager(EventLoop* loop, const JobFacts& facts, int directory);
  ~Manager();

  /// The tasks of this node; set before anything is served.
  void SetOwnNode(NodeTasks* tasks, const NodeHello& hello);
  /// A connection of srun or sattach whose user is known to be the owner.
  void Serve(Descriptor socket);
  /// What this node's tasks tell.
  void OnEnded(const TasksEnded& ended);
  void OnDone(const ShareNumber& done, const std::string& host);
  void OnTerminal(std::int32_t step, Descriptor master);
  void OnFence(const KvsFence& fence);
  /// The marker cancelled.STEP has appeared.
  void OnCancelled(std::int32_t step);
  /// The marker "stopped" has appeared: the member is going to end the whole attempt.
  void OnStopped();
  bool idle() const { return steps_.empty(); }
  /// `told` is called when the last step has ended, wherever its last task ran.
  void WhenIdle(std::function<void()> told) { when_idle_ = std::move(told); }

 private:
  struct Step;
  static constexpr std::int32_t kNoStep = -1;
  struct Client {
    std::unique_ptr<Channel> channel;
    std::int32_t step = kNoStep;  // the step that it runs or waits for
  };
  struct Dealt {
    std::size_t node = 0;
    NodeLaunch launch;
    std::vector<Descriptor> descriptors;
  };
  struct NodeLink {
    std::unique_ptr<Channel> channel;
    std::int64_t give_up_at = 0;  // of connecting
    bool trying = false;
  };

  void ReadClient(int fd);
  void OnFrame(Client* client, Frame frame);
  void OnCreate(Client* client, const Frame& frame);
  void OnLaunch(Client* client, Frame frame);
  std::vector<Dealt> Deal(const Step& step, const Launch& launch,
                          std::vector<Descriptor>* descriptors);
  void OnAttach(Client* client, Frame frame);
  void DropClient(int fd);
  void Send(Client* client, MessageType type, std::string payload,
            std::vector<Descriptor> descriptors = {});
  Client* OwnerOf(const Step& step);
  void Notice(const Step& step, const std::string& text);

  void TryWaiting();
  bool TryPlace(Step* step);
  void Created(Step* step, PlacedStep placed);
  void Refuse(Step* step, const std::string& why);
  void SignalTasks(const Step& step, int signal);
  std::string StopWords() const;
  void TellCancelled(const Step& step, const std::string& why);
  void Terminate(Step* step, const std::string& why);
  void FinishStep(std::int32_t step);
  void MissingTasks(Step* step, const std::string& host);

  void AskNode(std::size_t node);
  void ConnectNode(std::size_t node);
  void ReadNode(std::size_t node);
  void LoseNode(std::size_t node);
  void SendToNode(std::size_t node, MessageType type, std::string payload,
                  std::vector<Descriptor> descriptors = {});

  EventLoop* loop_;
  JobFacts facts_;
  int directory_;
  StepBook book_;
  StepLog log_;
  std::size_t own_node_ = 0;
  NodeTasks* own_tasks_ = nullptr;
  std::vector<NodeLink> links_;
  std::map<int, Client> clients_;
  std::map<std::int32_t, std::unique_ptr<Step>> steps_;
  std::function<void()> when_idle_;
  std::int32_t next_step_ = 0;
  std::int32_t last_waiting_ = kNoStep;
};

}  // namespace muster::steps
