// muster: the command for users and administrators. This file alone sees CLI11: it declares every
// command with its options, lets CLI11 fill the plain structs of commands.h and calls the command.
//
// Each subcommand's callback only stores what to run in CommandLine::run. It runs after the parser
// is done, because the session needs the global options, which may stand behind the subcommand.
// Commands that need no server are stored in run_alone and get no session, so that they work
// without a configuration.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>

#include "clients/cli/commands.h"
#include "clients/cli/completion.h"
#include "clients/cli/kinds.h"
#include "clients/cli/main/unknown_command.h"
#include "schedd/credentials/private_memory.h"

namespace muster::cli {
namespace {

// The options of all commands, filled by the parser, and the command that it chose.
struct CommandLine {
  client::SettingFlags flags;
  bool all_namespaces = false;
  std::function<int(Session&)> run;
  std::function<int()> run_alone;  // commands that need no server

  ApplyOptions apply;
  SubmitOptions submit;
  GetOptions get;
  NamedOptions named;
  WaitOptions wait;
  LogOptions logs;
  AuditOptions audit;
  QuotaKey quota_key;
  QuotaEdit quota_edit;
  TaintOptions taint;
  DrainOptions drain;
  ClusterAddOptions cluster_add;
  bool force = false;
  SimulateOptions simulate;
  TokenOptions token;
  CanIOptions can_i;
  LoginOptions login;
  DoctorOptions doctor;
  std::vector<std::string> jobs;
  std::string name, output, shell;
  bool once = false, client_only = false;
};

// A check for whole numbers. CLI11's own range check prints the largest double with all its digits.
CLI::Validator AtLeast(std::int64_t least, const std::string& what) {
  return CLI::Validator(
      [least, what](const std::string& text) {
    std::int64_t number = 0;
    if (CLI::detail::lexical_cast(text, number) && number >= least) return std::string();
    return "must be " + what + ", a whole number from " + std::to_string(least) + " on, not " +
           text;
      },
      "");
}

// apply, submit, wait, hold, release, requeue, logs, explain.
void AddJobCommands(CLI::App& app, CommandLine& line) {
  auto* apply = app.add_subcommand("apply", "Create or change objects and submit jobs from files");
  apply->add_option("-f,--filename", line.apply.files, "File, directory or - for standard input")
      ->required();
  apply->add_flag("--dry-run", line.apply.dry_run, "Check everything, change nothing");
  apply->callback([&line] { line.run = [&line](Session& s) { return Apply(s, line.apply); }; });

  auto* submit = app.add_subcommand("submit", "Submit a manifest or a batch script");
  submit->add_option("FILE", line.submit.file, "File, or - for a manifest on standard input")
      ->required();
  submit->add_option("-q,--queue", line.submit.queue, "LocalQueue");
  auto* wait_flag = submit->add_flag("--wait", line.submit.wait,
                                     "Until it has ended: 0 succeeded, 1 failed, 2 cancelled");
  submit
      ->add_option("--wait-timeout", line.submit.wait_timeout,
                   "Give up waiting after this long (status 124)")
      ->needs(wait_flag);
  submit->callback([&line] { line.run = [&line](Session& s) { return Submit(s, line.submit); }; });

  auto* wait = app.add_subcommand("wait", "Wait for jobs");
  wait->add_option("JOB", line.wait.jobs, "Number, uid or name")->required();
  wait->add_option("--for", line.wait.condition,
                   "finished (default), started, a state, or condition=TYPE");
  wait->add_option("--timeout", line.wait.timeout, "Give up after this long (status 124)");
  wait->callback([&line] { line.run = [&line](Session& s) { return Wait(s, line.wait); }; });

  for (const char* verb : {"hold", "release", "requeue"}) {
    auto* change = app.add_subcommand(verb, std::string(verb) + " jobs");
    change->add_option("JOB", line.jobs, "Number, uid or name")->required();
    change->callback([&line, verb] {
      line.run = [&line, verb](Session& s) { return ChangeJobs(s, verb, line.jobs); };
    });
  }

  auto* logs = app.add_subcommand("logs", "Print the output of a job's pods and containers");
  logs->add_option("JOB", line.logs.job, "Number, uid or name")->required();
  logs->add_flag("-f,--follow", line.logs.follow, "Go on as it comes");
  logs->add_option("--tail", line.logs.tail, "Only the last lines of each log")
      ->check(AtLeast(0, "how many lines"));
  logs->add_flag("--timestamps", line.logs.timestamps, "Before each line when it was printed");
  logs->add_option("-c,--container", line.logs.container, "Container (default: all)");
  logs->add_option("--pod", line.logs.pod, "Pod (default: all)");
  logs->footer("Where several logs are printed, each line begins with [POD/CONTAINER].");
  logs->callback([&line] { line.run = [&line](Session& s) { return Logs(s, line.logs); }; });

  auto* explain = app.add_subcommand("explain", "Why a job waits, or runs where it runs");
  explain->add_option("JOB", line.name, "Number, uid or name")->required();
  explain->add_option("-o,--output", line.output, "json or yaml");
  explain->callback(
      [&line] { line.run = [&line](Session& s) { return Explain(s, line.name, line.output); }; });
}

// get, describe, delete, top.
void AddObjectCommands(CLI::App& app, CommandLine& line) {
  auto* get = app.add_subcommand("get", "List objects or show one");
  get->footer("Kinds: " + KindList());
  get->add_option("KIND", line.get.kind, "Kind or its short name")->required();
  get->add_option("NAME", line.get.name, "Name; for a job its number, uid or name");
  get->add_option("-o,--output", line.get.output, "wide, json, yaml or name");
  get->add_flag("-w,--watch", line.get.watch, "Go on printing changes");
  for (const JobListOption& one : kJobListOptions)
    get->add_option("--" + std::string(one.name), line.get.*one.value, one.help);
  get->callback([&line] { line.run = [&line](Session& s) { return Get(s, line.get); }; });

  auto* describe = app.add_subcommand("describe", "Show everything about an object");
  describe->footer("Kinds: " + KindList());
  describe->add_option("KIND", line.named.kind, "Kind or its short name")->required();
  describe->add_option("NAME", line.named.names, "Names")->required();
  describe->callback(
      [&line] { line.run = [&line](Session& s) { return Describe(s, line.named); }; });

  auto* remove = app.add_subcommand("delete", "Delete objects; a job is cancelled");
  remove->footer("Kinds: " + KindList());
  remove->add_option("KIND", line.named.kind, "Kind or its short name")->required();
  remove->add_option("NAME", line.named.names, "Names")->required();
  remove->callback([&line] { line.run = [&line](Session& s) { return Delete(s, line.named); }; });

  auto* top = app.add_subcommand("top", "Use of clusters and queues");
  top->add_flag("--once", line.once, "Print once, also on a terminal");
  top->callback([&line] { line.run = [&line](Session& s) { return Top(s, line.once); }; });
}

// quota get, quota set.
void AddAdminCommands(CLI::App& app, CommandLine& line) {
  auto* quota = app.add_subcommand("quota", "Read and set quotas (gRPC)");
  quota->require_subcommand(1);
  auto* get = quota->add_subcommand("get", "Show quotas with their use");
  get->add_option("CLUSTERQUEUE", line.quota_key.cluster_queue, "Only of this ClusterQueue");
  get->add_option("FLAVOR", line.quota_key.flavor, "Only of this flavor");
  get->add_option("RESOURCE", line.quota_key.resource, "Only of this resource");
  get->callback(
      [&line] { line.run = [&line](Session& s) { return QuotaGet(s, line.quota_key); }; });
  auto* set = quota->add_subcommand("set", "Change one quota; effective at once");
  set->add_option("CLUSTERQUEUE", line.quota_edit.key.cluster_queue)->required();
  set->add_option("FLAVOR", line.quota_edit.key.flavor)->required();
  set->add_option("RESOURCE", line.quota_edit.key.resource)->required();
  set->add_option("--nominal", line.quota_edit.nominal, "Own share");
  set->add_option("--borrowing-limit", line.quota_edit.borrowing_limit,
                  "Most it may borrow, or none");
  set->add_option("--lending-limit", line.quota_edit.lending_limit, "Most it lends, or none");
  set->add_flag("--dry-run", line.quota_edit.dry_run,
                "Show what it would admit and preempt; change nothing");
  set->callback(
      [&line] { line.run = [&line](Session& s) { return QuotaSet(s, line.quota_edit); }; });
}

// audit.
void AddAudit(CLI::App& app, CommandLine& line) {
  auto* audit = app.add_subcommand("audit", "Who asked for what, and what came of it");
  audit->add_option("--since", line.audit.since,
                    "From this time on (RFC 3339), or from so long ago (2h)");
  audit->add_option("--until", line.audit.until, "Before this time, or before so long ago");
  audit->add_option("--user", line.audit.user, "Of this user");
  audit->add_option("--verb", line.audit.verb, "create, update, delete, cancel, get, ...");
  audit->add_option("--object", line.audit.object,
                    "job/NAMESPACE/NAME, clusterqueue/NAME, ...; everything below it with a / at "
                    "its end");
  audit->add_flag("--verify", line.audit.verify,
                  "Check that no row was changed or removed; prints the first that was");
  audit->add_option("--export", line.audit.export_file,
                    "Write all rows that match to this file (- for the output) as JSON lines");
  audit->add_option("--limit", line.audit.limit, "At most so many, the last ones (200)")
      ->check(AtLeast(1, "how many entries"));
  audit->add_option("-o,--output", line.audit.output, "wide, json or yaml");
  audit->callback([&line] { line.run = [&line](Session& s) { return Audit(s, line.audit); }; });
}

// cluster list, add, remove, describe, taint, drain, cordon, uncordon, fence, collect.
void AddClusterCommands(CLI::App& app, CommandLine& line) {
  auto* cluster = app.add_subcommand("cluster", "Member clusters");
  cluster->require_subcommand(1);
  auto* list = cluster->add_subcommand("list", "List them");
  list->add_option("-o,--output", line.output, "wide, json, yaml or name");
  list->callback(
      [&line] { line.run = [&line](Session& s) { return ClusterList(s, line.output); }; });
  auto* join = cluster->add_subcommand("add", "Add a Kubernetes cluster as a member");
  join->add_option("NAME", line.cluster_add.name)->required();
  join->add_option("--kubeconfig", line.cluster_add.kubeconfig, "How it is reached: a file")
      ->required();
  join->add_option("--context", line.cluster_add.context, "Of the kubeconfig; default: its own");
  join->add_option("--label", line.cluster_add.labels, "KEY=VALUE; may be repeated");
  join->add_flag("--fast", line.cluster_add.fast, "Create jobs there in one step");
  join->add_flag("--force", line.cluster_add.force, "Whatever the cluster answers");
  join->callback(
      [&line] { line.run = [&line](Session& s) { return ClusterAdd(s, line.cluster_add); }; });
  auto* remove = cluster->add_subcommand("remove", "Remove one that was added and runs nothing");
  remove->add_option("NAME", line.name)->required();
  remove->add_flag("--force", line.force,
                   "Give up what it runs if it does not answer, and leave what it holds");
  remove->callback([&line] {
    line.run = [&line](Session& s) { return ClusterRemove(s, line.name, line.force); };
  });
  auto* describe = cluster->add_subcommand("describe", "Show one's facts");
  describe->add_option("NAME", line.name)->required();
  describe->add_option("-o,--output", line.output, "json or yaml");
  describe->callback([&line] {
    line.run = [&line](Session& s) { return ClusterDescribe(s, line.name, line.output); };
  });
  auto* taint = cluster->add_subcommand("taint", "Keep jobs off it that do not tolerate a taint");
  taint->add_option("NAME", line.taint.cluster)->required();
  taint->add_option("TAINT", line.taint.edits, "key=value:Effect; key:Effect- or key- removes")
      ->required();
  taint->add_flag("--overwrite", line.taint.overwrite, "Change the value of one that is there");
  taint->callback(
      [&line] { line.run = [&line](Session& s) { return ClusterTaint(s, line.taint); }; });
  auto* drain = cluster->add_subcommand("drain", "Cordon it and send its jobs elsewhere");
  drain->add_option("NAME", line.drain.cluster)->required();
  drain->add_flag("--force", line.drain.force, "Cancel jobs that may not be requeued");
  drain->add_flag("--wait", line.drain.wait, "Until nothing is left on it");
  drain->callback(
      [&line] { line.run = [&line](Session& s) { return ClusterDrain(s, line.drain); }; });
  for (const bool cordon : {true, false}) {
    auto* command =
        cluster->add_subcommand(cordon ? "cordon" : "uncordon",
                                cordon ? "Place no new jobs on it" : "Place jobs on it again");
    command->add_option("NAME", line.name)->required();
    command->callback([&line, cordon] {
      line.run = [&line, cordon](Session& s) { return ClusterCordon(s, line.name, cordon); };
    });
  }
  const auto add =
      [&](const char* verb, const char* help, int (*run)(Session&, const std::string&)) {
    auto* command = cluster->add_subcommand(verb, help);
    command->add_option("NAME", line.name)->required();
    command->callback(
        [&line, run] { line.run = [&line, run](Session& s) { return run(s, line.name); }; });
  };
  add("fence", "It does not answer, and nothing runs on it any more: run its jobs elsewhere",
      ClusterFence);
  add("collect", "Release what is quarantined on it", ClusterCollect);
}

// simulate. It needs no server, but takes the namespace of the global option -n for documents
// without one.
void AddSimulate(CLI::App& app, CommandLine& line) {
  SimulateOptions& o = line.simulate;
  auto* simulate = app.add_subcommand(
      "simulate", "Play jobs against queues on a virtual clock; no server is asked");
  simulate->add_option("FILE", o.files, "Queues, members and jobs: file, directory or -")
      ->required();
  simulate->add_option("--settings", o.settings,
                       "The daemon's configuration file: its `admission:` counts");
  simulate->add_option("--until", o.until, "Stop then, such as 24h");
  simulate->add_option("--run-time", o.run_time, "Of jobs that do not say it (muster.io/run-time)");
  simulate->add_option("--arrival", o.arrival, "Of jobs that do not say it (muster.io/arrival)");
  simulate->add_option("--stop-time", o.stop_time, "What an evicted job's pods take to be gone");
  simulate->add_option("--set", o.edits, "clusterqueue/NAME:FLAVOR/RESOURCE=+8, and so on")
      ->take_all();
  simulate->add_flag("--compare", o.compare, "Summaries without and with --set side by side");
  simulate->add_option("-o,--output", o.output, "text, json or yaml");
  simulate->add_flag("--summary-only", o.summary_only, "No line for each decision");
  simulate->add_option("--swf", o.swf, "Jobs of a trace in the Standard Workload Format");
  simulate->add_option("--swf-queue-by", o.swf_by, "queue, user, group or partition");
  simulate->add_option("--swf-map", o.swf_map, "NUMBER=NAMESPACE/LOCALQUEUE")->take_all();
  simulate->add_option("--swf-queue", o.swf_queue, "NAMESPACE/LOCALQUEUE of all others");
  simulate->add_option("--swf-resource", o.swf_resource, "That a processor is one of (cpu)");
  simulate->add_flag("--swf-used-processors", o.swf_used, "Instead of the requested ones");
  simulate->add_flag("--swf-memory", o.swf_memory, "Memory counts too");
  simulate->add_flag("--swf-no-time-limit", o.swf_no_limit, "The requested time ends no job");
  simulate->callback([&line] {
    line.run_alone = [&line] {
      line.simulate.ns = line.flags.ns;
      return Simulate(line.simulate);
    };
  });
}

// The keys by which `musterd` knows its database.
void AddDatabaseKeys(CLI::App* command, DatabaseOptions* options) {
  command->add_option("--config", options->config, "The daemon's configuration file");
  command->add_option("--data-dir", options->data_dir, "The daemon's directory");
  command->add_option("--postgres", options->postgres, "Address of the daemon's PostgreSQL");
  command->add_option("--postgres-owner", options->postgres_owner, "The same as the owner");
}

// backup, restore.
void AddBackups(CLI::App& app, CommandLine& line) {
  auto* backup = app.add_subcommand("backup", "Write the database into a file; the daemon goes on");
  backup->add_option("FILE", line.name, "Must not exist")->required();
  AddDatabaseKeys(backup, &line.doctor.database);
  backup->callback(
      [&line] { line.run_alone = [&line] { return Backup(line.name, line.doctor.database); }; });
  auto* restore = app.add_subcommand("restore", "Read a backup into an empty database");
  restore->add_option("FILE", line.name, "Of muster backup")->required();
  AddDatabaseKeys(restore, &line.doctor.database);
  restore->callback(
      [&line] { line.run_alone = [&line] { return Restore(line.name, line.doctor.database); }; });
}

// whoami, token, auth, doctor.
void AddAccess(CLI::App& app, CommandLine& line) {
  auto* whoami = app.add_subcommand("whoami", "Who you are for the server, and by which method");
  whoami->add_option("-o,--output", line.output, "json or yaml");
  whoami->callback([&line] { line.run = [&line](Session& s) { return WhoAmI(s, line.output); }; });

  auto* token = app.add_subcommand("token", "Access tokens");
  token->require_subcommand(1);
  auto* create = token->add_subcommand("create", "Make one and print it, this once");
  create->add_option("--for", line.token.user, "User that it stands for (default: you)");
  create->add_option("--group", line.token.groups, "Group of that user")
      ->allow_extra_args(false)
      ->take_all();
  create->add_option("--ttl", line.token.ttl, "How long it is valid, such as 12h (default 24h)");
  create->add_option("--description", line.token.description, "What it is for");
  create->callback(
      [&line] { line.run = [&line](Session& s) { return TokenCreate(s, line.token); }; });
  auto* list = token->add_subcommand("list", "List them");
  list->callback([&line] { line.run = [](Session& s) { return TokenList(s); }; });
  auto* revoke = token->add_subcommand("revoke", "End them now");
  revoke->add_option("NAME", line.jobs, "Names")->required();
  revoke->callback(
      [&line] { line.run = [&line](Session& s) { return TokenRevoke(s, line.jobs); }; });

  auto* auth = app.add_subcommand("auth", "Rights");
  auth->require_subcommand(1);
  auto* can_i = auth->add_subcommand("can-i", "Whether you may do something");
  can_i->add_option("VERB", line.can_i.verb, "get, list, create, update, delete, ...");
  can_i->add_option("RESOURCE", line.can_i.resource,
                    "Kind, PLURAL.GROUP or a path such as /metrics");
  can_i->add_option("NAME", line.can_i.name, "One object");
  can_i->add_option("--subresource", line.can_i.subresource, "Such as log or own");
  can_i->add_flag("--list", line.can_i.list, "All that you may do in the namespace");
  can_i->callback([&line] { line.run = [&line](Session& s) { return CanI(s, line.can_i); }; });

  auto* doctor = app.add_subcommand("doctor", "What is off, and how to mend it");
  doctor->require_subcommand(0, 1);
  AddDatabaseKeys(doctor, &line.doctor.database);
  doctor->add_option("-o,--output", line.doctor.output, "json")->check(CLI::IsMember({"json"}));
  // Before the callback of `auth`, which takes its place.
  doctor->parse_complete_callback(
      [&line] { line.run = [&line](Session& s) { return Doctor(s, line.doctor); }; });
  auto* doctor_auth = doctor->add_subcommand("auth", "Who you are and why something is refused");
  doctor_auth->callback([&line] { line.run = [](Session& s) { return DoctorAuth(s); }; });
}

// login, logout.
void AddLogin(CLI::App& app, CommandLine& line) {
  auto* login = app.add_subcommand("login", "Log in at an OpenID Connect provider");
  login->add_option("--issuer", line.login.issuer, "The provider's URL (oidc.issuer)");
  login->add_option("--client-id", line.login.client_id,
                    "The name by which the provider knows muster (oidc.client-id)");
  login->add_option("--scopes", line.login.scopes, "Separated by blanks (oidc.scopes)");
  login->add_flag("--renew", line.login.renew, "Renew the tokens that are kept; other commands do");
  login->callback([&line] { line.run = [&line](Session& s) { return Login(s, line.login); }; });

  auto* logout = app.add_subcommand("logout", "Forget the tokens of muster login");
  logout->callback([&line] { line.run_alone = [] { return Logout(); }; });
}

// The parser's tree of commands as plain data, for the completion script.
CommandNode TreeOf(const CLI::App& app) {
  CommandNode node{app.get_name(), app.get_description(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) node.options.push_back("--" + name);
    for (const std::string& name : option->get_snames()) node.options.push_back("-" + name);
    if (option->get_name() == "KIND") {
      for (const Kind& kind : AllKinds()) node.words.emplace_back(kind.plural);
    }
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    node.commands.push_back(TreeOf(*command));
  }
  return node;
}

// version, status, completion.
void AddOwnCommands(CLI::App& app, CommandLine& line) {
  auto* version = app.add_subcommand("version", "Versions of client and server");
  version->add_flag("--client", line.client_only, "Only the client's");
  version->callback(
      [&line] { line.run = [&line](Session& s) { return Version(s, line.client_only); }; });

  auto* status =
      app.add_subcommand("status", "Where the server is, whether it serves, its warnings");
  status->add_option("-o,--output", line.output, "json or yaml")
      ->check(CLI::IsMember({"json", "yaml"}));
  status->callback(
      [&line] { line.run = [&line](Session& s) { return ServerStatus(s, line.output); }; });

  auto* completion = app.add_subcommand("completion", "Completion script for bash, zsh or fish");
  completion->add_option("SHELL", line.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([&app, &line] {
    line.run_alone = [&app, &line] {
      std::fputs(CompletionScript(TreeOf(app), line.shell).c_str(), stdout);
      return 0;
    };
  });
}

// The global options may stand behind each command too, so the help of each command lists them.
constexpr char kGlobalHelp[] =
    "Options of every command:\n"
    "  --server TEXT               Server address (MUSTER_URL; default: the local socket)\n"
    "  --ca, --cert, --key TEXT    PEM files for https (MUSTER_CA, MUSTER_CERT, MUSTER_KEY)\n"
    "  -n,--namespace TEXT         Namespace (MUSTER_NAMESPACE; default: default)\n"
    "  -A,--all-namespaces         All namespaces\n"
    "  --as TEXT                   User to act as (MUSTER_AS)\n"
    "  --as-group TEXT ...         Groups to act as";

void ShowGlobalOptions(CLI::App* app) {
  for (CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; })) {
    const std::string own = command->get_footer();
    command->footer(own.empty() ? kGlobalHelp : own + "\n\n" + kGlobalHelp);
    ShowGlobalOptions(command);
  }
}

// Every error of the parser exits with 2 (rule C2); --help and --version exit with 0.
int Run(int argc, char** argv) {
  CommandLine line;
  CLI::App app("Muster: a batch scheduler for a fleet of clusters", "muster");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", std::string(kVersion), "Print the version of this program");
  app.add_option("--server", line.flags.server,
                 "Server address (MUSTER_URL; default: the local socket)");
  app.add_option("--ca", line.flags.ca,
                 "PEM file: authorities of the server's certificate (MUSTER_CA; default: the "
                 "system's)");
  app.add_option("--cert", line.flags.certificate, "PEM file: client certificate (MUSTER_CERT)");
  app.add_option("--key", line.flags.key, "PEM file: key of the client certificate (MUSTER_KEY)");
  app.add_option("-n,--namespace", line.flags.ns, "Namespace (MUSTER_NAMESPACE; default: default)");
  app.add_flag("-A,--all-namespaces", line.all_namespaces, "All namespaces");
  app.add_option("--as", line.flags.as_user, "User to act as (MUSTER_AS); it needs a right");
  app.add_option("--as-group", line.flags.as_groups, "Group to act as")
      ->allow_extra_args(false)
      ->take_all();
  AddJobCommands(app, line);
  AddObjectCommands(app, line);
  AddAdminCommands(app, line);
  AddAudit(app, line);
  AddClusterCommands(app, line);
  AddSimulate(app, line);
  AddAccess(app, line);
  AddBackups(app, line);
  AddLogin(app, line);
  AddOwnCommands(app, line);
  ShowGlobalOptions(&app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    const std::string unknown = UnknownCommand(app);
    if (unknown.empty()) return app.exit(error) == 0 ? 0 : kBadUsage;
    PrintError("there is no command \"" + unknown + "\"; --help lists them");
    return kBadUsage;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  }
  if (line.run_alone) return line.run_alone();
  Result<client::Settings> settings = client::LoadSettings(
      line.flags, client::ProcessEnv, client::DefaultConfigFile(client::ProcessEnv));
  if (!settings.ok()) return PrintError(settings.error().detail), kBadUsage;
  if (!settings->warning.empty())
    std::fprintf(stderr, "muster: warning: %s\n", settings->warning.c_str());
  settings->warn = [](const std::string& text) {
    std::fprintf(stderr, "muster: warning: %s\n", text.c_str());
  };
  Session session(std::move(settings).value(), line.all_namespaces);
  return line.run(session);
}

}  // namespace
}  // namespace muster::cli

int main(int argc, char** argv) {
  muster::KeepMemoryPrivate();
  // When the reader of a pipe is gone (muster get | head), writes fail instead of killing the
  // process by a signal.
  std::signal(SIGPIPE, SIG_IGN);
  return muster::cli::Run(argc, argv);
}
