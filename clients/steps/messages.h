// The messages that srun, the step manager and the agents exchange. Plain values; Fields() names
// the members for writing and reading (wire.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::steps {

/// Raised when a message changes: both sides are of one build.
inline constexpr std::int32_t kProtocol = 2;

enum class Distribution : std::uint8_t { kBlock = 0, kCyclic, kPlane, kArbitrary };

/// What one component of a step asks for.
struct PartRequest {
  std::int32_t het_group = 0;  // the component of the job whose nodes it uses
  std::int32_t tasks = 1;
  std::int32_t nodes = 0;  // 0: as few as there may be tasks
  std::int32_t cpus_per_task = 1;
  std::int32_t tasks_per_node = 0;  // at most; 0: no limit
  bool exact = false, overlap = false, overcommit = false;
  Distribution distribution = Distribution::kBlock;
  std::int32_t plane = 1;
  std::vector<std::string> with_hosts;     // -w: at least these; arbitrary: the host of each task
  std::vector<std::string> without_hosts;  // -x
  std::int32_t relative = -1;              // -r: begin at this node of the job
  std::int64_t memory_mb = 0;              // per node; 0: not counted
  std::int64_t memory_per_cpu_mb = 0;
  std::int32_t gpus = -1;  // of the whole part; -1: not asked for
  std::int32_t gpus_per_node = -1;
  std::int32_t gpus_per_task = -1;
  template <class A>
  void Fields(A& a) {
    a(het_group)(tasks)(nodes)(cpus_per_task)(tasks_per_node)(exact)(overlap)(overcommit);
    a(distribution)(plane)(with_hosts)(without_hosts)(relative)(memory_mb)(memory_per_cpu_mb);
    a(gpus)(gpus_per_node)(gpus_per_task);
  }
};

struct CreateStep {
  std::int32_t protocol = kProtocol;
  std::string name;
  std::vector<PartRequest> parts;
  std::int64_t time_limit_s = 0;  // 0: none
  bool immediate = false;         // refuse instead of waiting
  template <class A>
  void Fields(A& a) {
    a(protocol)(name)(parts)(time_limit_s)(immediate);
  }
};

/// The tasks of one part on one node.
struct NodeShare {
  std::string host;
  std::int32_t part = 0;
  std::int32_t node_id = 0;  // of the step, over all parts
  std::vector<std::int32_t> tasks;
  template <class A>
  void Fields(A& a) {
    a(host)(part)(node_id)(tasks);
  }
};

struct StepCreated {
  std::int32_t step = 0;
  std::string manager_host;
  std::vector<NodeShare> shares;
  template <class A>
  void Fields(A& a) {
    a(step)(manager_host)(shares);
  }
};

/// kPending, kRefused and kNotice; a notice is shown on stderr as it is.
struct Words {
  std::string text;
  template <class A>
  void Fields(A& a) {
    a(text);
  }
};

/// A program with what its tasks find, but for what each node and task adds.
struct Program {
  std::vector<std::string> arguments;    // the first one is looked up in the environment's PATH
  std::vector<std::string> environment;  // NAME=value
  template <class A>
  void Fields(A& a) {
    a(arguments)(environment);
  }
};

struct TaskPlan {
  std::int32_t task = 0;
  std::int32_t program = 0;
  template <class A>
  void Fields(A& a) {
    a(task)(program);
  }
};

/// How tasks are bound to CPUs of their node.
enum class CpuBind : std::uint8_t { kDefault = 0, kNone, kTasks, kMap, kMask };

/// What is the same for all tasks of a step.
struct TaskWorld {
  std::string directory;
  std::int32_t umask = 022;
  std::vector<std::int64_t> limits;  // pairs: resource of setrlimit and soft limit, -1 unlimited
  CpuBind bind = CpuBind::kDefault;
  bool bind_verbose = false;
  std::vector<std::string> bind_list;  // CPU numbers, or masks in hexadecimal
  bool terminal = false;               // the first task gets a pseudo terminal
  std::int32_t rows = 0, columns = 0;
  std::int32_t pmi = 0;  // 2: a PMI-2 server serves the tasks
  template <class A>
  void Fields(A& a) {
    a(directory)(umask)(limits)(bind)(bind_verbose)(bind_list)(terminal)(rows)(columns)(pmi);
  }
};

/// With three descriptors for each task, in the order of the shares and their tasks: stdin, stdout
/// and stderr. A task with a terminal has none.
struct Launch {
  TaskWorld world;
  std::vector<Program> programs;
  std::vector<TaskPlan> tasks;
  template <class A>
  void Fields(A& a) {
    a(world)(programs)(tasks);
  }
};

/// A signal for all tasks; kTerminate is the whole sequence of SIGCONT, SIGTERM and SIGKILL.
inline constexpr std::int32_t kTerminate = 1000;
/// The same for a task's bad exit (-K), which Slurm tells in fewer words; and SIGKILL at once (-W).
inline constexpr std::int32_t kTerminateBadExit = 1001;
inline constexpr std::int32_t kTerminateNow = 1002;
/// kRelinquish: `signal` is the status with which the job ends; with `step` kDetach the job goes
/// on without its client (salloc --no-shell).
inline constexpr std::int32_t kDetach = 1;
struct StepSignal {
  std::int32_t step = 0;  // of kNodeSignal; srun's own step otherwise
  std::int32_t signal = 0;
  template <class A>
  void Fields(A& a) {
    a(step)(signal);
  }
};

/// The end of one task. `status` is that of wait().
struct TaskEnd {
  std::int32_t task = 0;
  std::int32_t status = 0;
  std::int64_t user_us = 0, system_us = 0, max_rss = 0;
  std::int64_t read_bytes = 0, written_bytes = 0;
  bool out_of_memory = false;  // the kernel has killed it, or a child that it waited for
  template <class A>
  void Fields(A& a) {
    a(task)(status)(user_us)(system_us)(max_rss)(read_bytes)(written_bytes)(out_of_memory);
  }
};

struct TasksEnded {
  std::int32_t step = 0;
  std::string host;
  std::vector<TaskEnd> ends;
  template <class A>
  void Fields(A& a) {
    a(step)(host)(ends);
  }
};

/// kNodeDone: one node's share of a step has ended.
struct ShareNumber {
  std::int32_t step = 0, part = 0;
  template <class A>
  void Fields(A& a) {
    a(step)(part);
  }
};

/// kEnded: why the step ended, for srun's last words.
struct StepEnded {
  bool cancelled = false, timed_out = false;
  std::string lost_host;  // a node whose agent is gone
  template <class A>
  void Fields(A& a) {
    a(cancelled)(timed_out)(lost_host);
  }
};

struct NodeHello {
  std::int32_t protocol = kProtocol;
  std::string host;
  std::vector<std::int32_t> cpus;  // this process's affinity
  std::vector<std::string> gpus;   // as CUDA_VISIBLE_DEVICES names them
  template <class A>
  void Fields(A& a) {
    a(protocol)(host)(cpus)(gpus);
  }
};

struct NodeLaunch {
  std::int32_t step = 0;
  std::string job;
  NodeShare share;
  Launch launch;                   // its tasks are those of the share
  std::vector<std::int32_t> cpus;  // of this part on this node; empty: all
  std::int32_t cpu_count = 0;
  std::int32_t cpus_per_task = 1;
  std::vector<std::string> gpus;
  bool own_gpus = false;  // `gpus` replaces what the node shows
  std::int32_t gpus_per_task = -1;
  std::int32_t size = 0;  // tasks of the step
  std::string mapping;    // of ranks to nodes, as PMI writes it
  template <class A>
  void Fields(A& a) {
    a(step)(job)(share)(launch)(cpus)(cpu_count)(cpus_per_task)(gpus)(own_gpus);
    a(gpus_per_task)(size)(mapping);
  }
};

/// What the tasks of a node have put into the key-value space since the last fence, and what all
/// have put, in the answer.
struct KvsFence {
  std::int32_t step = 0, part = 0;
  std::vector<std::string> pairs;  // key, value, key, value ...
  template <class A>
  void Fields(A& a) {
    a(step)(part)(pairs);
  }
};

/// An allocation's first node tells the client that waits for it.
struct AllocationReady {
  std::string steps_directory;
  std::string agent;                     // the program's path
  std::vector<std::string> environment;  // SLURM_* of the job
  template <class A>
  void Fields(A& a) {
    a(steps_directory)(agent)(environment);
  }
};

}  // namespace muster::steps
