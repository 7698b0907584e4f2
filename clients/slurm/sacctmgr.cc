// sacctmgr: shows accounts, users, associations, QOS and clusters (rule B52). What changes them is
// refused by its name: they are Muster's objects.
#include <getopt.h>
#include <strings.h>

#include <algorithm>
#include <cstdio>

#include "clients/lib/visible_text.h"
#include "clients/slurm/accounts.h"
#include "clients/slurm/command.h"
#include "clients/slurm/environment.h"
#include "clients/slurm/managed_fields.h"
#include "clients/slurm/same_word.h"
#include "clients/slurm/slurm_time.h"

namespace muster::slurm {
namespace {

constexpr char kSacctmgr[] = "sacctmgr";

constexpr char kSacctmgrHelpText[] =
    R"(Usage: sacctmgr [-n] [-p|-P] [-s] show|list ENTITY [NAME] [where KEY=VALUE...] [format=F%W,...]
  ENTITY: account, association, user, qos, cluster, tres, config
  -n, --noheader  -p, --parsable  -P, --parsable2  -s, --associations (as withassoc)
      --help  -V, --version
Accounts are ClusterQueues and Cohorts, QOS are WorkloadPriorityClasses; `muster apply` and
`muster quota set` change them.
)";

struct SacctmgrOptions {
  bool no_header = false, parsable = false, parsable2 = false, with_associations = false;
  std::string entity, format;
  std::vector<std::string> names, users, accounts, clusters;  // filters
  std::vector<std::string> qos;
};

// A line: field names to texts. An absent field is empty.
using ManagedRecord = std::map<std::string, std::string>;

struct ManagedColumn {
  const ManagedField* field;
  int width;  // negative: left
};

// "account%30,qos%-20". Returns the text of an error, or "".
std::string ParseManagedFormat(const std::string& text, std::vector<ManagedColumn>* out) {
  for (const std::string& part : SplitList(text)) {
    const std::size_t percent = part.find('%');
    const ManagedField* field = FindManagedField(part.substr(0, percent));
    if (field == nullptr) return " Unknown field '" + part.substr(0, percent) + "'";
    int width = field->width;
    if (percent != std::string::npos) {
      const bool left = part.size() > percent + 1 && part[percent + 1] == '-';
      const auto number = ParseCount(std::string_view(part).substr(percent + (left ? 2 : 1)));
      if (!number || *number > 100'000) return " Invalid width '" + part + "'";
      width = left ? -static_cast<int>(*number) : static_cast<int>(*number);
    }
    out->push_back({field, width});
  }
  return "";
}

void AppendManagedCell(const SacctmgrOptions& options, const ManagedColumn& column,
                       std::string text, bool last, std::string* out) {
  if (!client::IsPlain(text)) text = client::VisibleText(text);
  if (options.parsable || options.parsable2) {
    *out += text;
    if (options.parsable || !last) *out += '|';
    return;
  }
  const auto width = static_cast<std::size_t>(column.width < 0 ? -column.width : column.width);
  if (text.size() > width) text = width == 0 ? "" : text.substr(0, width - 1) + "+";
  if (column.width > 0) out->append(width - text.size(), ' ');
  *out += text;
  if (column.width < 0) out->append(width - text.size(), ' ');
  *out += ' ';
}

int PrintRecords(const SacctmgrOptions& options, const std::string& default_format,
                 const std::vector<ManagedRecord>& records) {
  std::vector<ManagedColumn> columns;
  const std::string error =
      ParseManagedFormat(options.format.empty() ? default_format : options.format, &columns);
  if (!error.empty()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return ErrorExit(kExitRefused);
  }
  std::string out;
  const auto line = [&](const auto& text_of) {
    for (const ManagedColumn& column : columns)
      AppendManagedCell(options, column, text_of(column), &column == &columns.back(), &out);
    out += '\n';
  };
  if (!options.no_header) {
    line([](const ManagedColumn& column) { return std::string(column.field->header); });
    if (!options.parsable && !options.parsable2) {
      for (const ManagedColumn& column : columns) {
        out.append(static_cast<std::size_t>(column.width < 0 ? -column.width : column.width), '-');
        out += ' ';
      }
      out += '\n';
    }
  }
  // Associations on several members may look alike in the columns that are shown.
  std::set<std::string> printed;
  const std::string header = std::move(out);
  std::string all = header;
  for (const ManagedRecord& record : records) {
    out.clear();
    line([&](const ManagedColumn& column) {
      const auto found = record.find(column.field->header);
      return found == record.end() ? std::string() : found->second;
    });
    if (printed.insert(out).second) all += out;
  }
  WriteOut(all);
  return 0;
}

std::string QosList(const AccountTree& tree) {
  std::string out;
  for (const QosInfo& one : tree.qos) out += (out.empty() ? "" : ",") + one.name;
  return out;
}

// True if the list is empty or has the text in any case.
bool Wanted(const std::vector<std::string>& list, const std::string& text) {
  return list.empty() || std::any_of(list.begin(), list.end(),
                                     [&](const std::string& one) { return SameWord(one, text); });
}

// The associations: each account on each member, and its users below it.
std::vector<ManagedRecord> Associations(const SacctmgrOptions& options, const AccountTree& tree) {
  std::vector<ManagedRecord> out;
  for (const std::string& cluster : tree.clusters) {
    if (!Wanted(options.clusters, cluster)) continue;
    const auto add = [&](const AccountInfo& account, const std::string& user) {
      if (!Wanted(options.accounts, account.name)) return;
      if (!options.users.empty() && (user.empty() || !Wanted(options.users, user))) return;
      ManagedRecord record;
      record["Cluster"] = cluster;
      record["Account"] = account.name;
      record["User"] = user;
      record["Share"] = user.empty() ? account.share : "1";
      if (user.empty()) record["Par Name"] = account.name == "root" ? "" : account.parent;
      if (user.empty()) record["GrpTRES"] = account.limits;
      record["QOS"] = QosList(tree);
      record["Def QOS"] = "normal";
      out.push_back(std::move(record));
    };
    AccountInfo root;
    root.name = "root";
    add(root, "");
    add(root, "root");
    for (const AccountInfo& account : tree.accounts) {
      add(account, "");
      // root may use every account.
      if (!account.is_cohort) add(account, "root");
      for (const auto& [user, accounts] : tree.users) {
        if (user != "root" && accounts.contains(account.name)) add(account, user);
      }
    }
  }
  return out;
}

std::vector<ManagedRecord> Accounts(const SacctmgrOptions& options, const AccountTree& tree) {
  std::vector<ManagedRecord> out;
  std::vector<AccountInfo> all = tree.accounts;
  AccountInfo root;
  root.name = "root";
  all.push_back(root);
  for (const AccountInfo& account : all) {
    if (!Wanted(options.accounts, account.name) || !Wanted(options.names, account.name)) continue;
    ManagedRecord record;
    record["Account"] = record["Name"] = account.name;
    record["Descr"] = account.name == "root" ? "default root account"
                      : account.is_cohort    ? "cohort"
                                             : "clusterqueue";
    record["Org"] = account.name == "root" ? "root" : account.parent;
    if (!options.with_associations) {
      out.push_back(record);
      continue;
    }
    SacctmgrOptions own = options;
    own.accounts = {account.name};
    for (ManagedRecord& one : Associations(own, tree)) {
      one.insert(record.begin(), record.end());
      out.push_back(std::move(one));
    }
  }
  return out;
}

std::vector<ManagedRecord> Users(const SacctmgrOptions& options, const AccountTree& tree) {
  std::vector<ManagedRecord> out;
  for (const auto& [user, accounts] : tree.users) {
    if (!Wanted(options.users, user) || !Wanted(options.names, user)) continue;
    ManagedRecord record;
    record["User"] = record["Name"] = user;
    record["Def Acct"] = accounts.empty() ? "" : *accounts.begin();
    if (accounts.size() > 1 && user == "root")
      record["Def Acct"] =
          *accounts.begin() == "root" ? *std::next(accounts.begin()) : *accounts.begin();
    record["Admin"] = user == "root" ? "Administrator" : "None";
    if (!options.with_associations) {
      out.push_back(record);
      continue;
    }
    SacctmgrOptions own = options;
    own.users = {user};
    for (ManagedRecord& one : Associations(own, tree)) {
      one.insert(record.begin(), record.end());
      out.push_back(std::move(one));
    }
  }
  return out;
}

std::vector<ManagedRecord> QosRecords(const SacctmgrOptions& options, const AccountTree& tree) {
  std::vector<ManagedRecord> out;
  for (const QosInfo& one : tree.qos) {
    if (!Wanted(options.names, one.name) || !Wanted(options.qos, one.name)) continue;
    ManagedRecord record;
    record["Name"] = one.name;
    record["Priority"] = std::to_string(one.priority);
    record["GraceTime"] = "00:00:00";
    record["PreemptMode"] = "cluster";
    record["UsageFactor"] = "1.000000";
    record["Descr"] = one.description;
    out.push_back(std::move(record));
  }
  return out;
}

std::vector<ManagedRecord> ClusterRecords(const SacctmgrOptions& options, const AccountTree& tree,
                                          const client::Settings& settings) {
  std::vector<ManagedRecord> out;
  for (const std::string& cluster : tree.clusters) {
    if (!Wanted(options.names, cluster) || !Wanted(options.clusters, cluster)) continue;
    ManagedRecord record;
    record["Cluster"] = record["Name"] = cluster;
    record["ControlHost"] = settings.server.host;
    record["ControlPort"] = std::to_string(settings.server.port);
    record["RPC"] = "0";
    record["Share"] = "1";
    record["NodeCount"] = "1";
    record["NodeNames"] = cluster;
    record["QOS"] = QosList(tree);
    record["Def QOS"] = "normal";
    out.push_back(std::move(record));
  }
  return out;
}

std::vector<ManagedRecord> TresRecords() {
  static constexpr std::tuple<const char*, const char*, const char*> kTres[] = {
      {"cpu", "", "1"},  {"mem", "", "2"},     {"energy", "", "3"},
      {"node", "", "4"}, {"billing", "", "5"}, {"fs", "disk", "6"},
      {"vmem", "", "7"}, {"pages", "", "8"},   {"gres", "gpu", "1001"}};
  std::vector<ManagedRecord> out;
  for (const auto& [type, name, id] : kTres)
    out.push_back({{"Type", type}, {"Name", name}, {"ID", id}});
  return out;
}

constexpr char kAssociationFormat[] =
    "Cluster,Account,User,Partition,Share,Priority,GrpJobs,GrpTRES,GrpSubmitJobs,GrpWall,"
    "GrpTRESMins,MaxJobs,MaxTRES,MaxTRESPerNode,MaxSubmitJobs,MaxWall,MaxTRESMins,QOS,DefaultQOS,"
    "GrpTRESRunMins";
constexpr char kOwnAssociationFormat[] =
    ",Cluster,Account,Partition,Share,Priority,MaxJobs,MaxNodes,MaxCPUs,MaxSubmitJobs,MaxWall,"
    "MaxCPUMins,QOS,DefaultQOS";
constexpr char kQosFormat[] =
    "Name,Priority,GraceTime,Preempt,PreemptExemptTime,PreemptMode,Flags%40,UsageThreshold,"
    "UsageFactor,GrpTRES,GrpTRESMins,GrpTRESRunMins,GrpJobs,GrpSubmitJobs,GrpWall,MaxTRES,"
    "MaxTRESPerNode,MaxTRESMins,MaxWall,MaxTRESPerUser,MaxJobsPerUser,MaxSubmitJobsPerUser,"
    "MaxTRESPerAcct,MaxJobsPerAccount,MaxSubmitJobsPerAccount,MinTRES";
constexpr char kClusterFormat[] =
    "Cluster,ControlHost,ControlPort,RPC,Share,GrpJobs,GrpTRES,GrpSubmitJobs,MaxJobs,MaxTRES,"
    "MaxSubmitJobs,MaxWall,QOS,DefaultQOS";

// An entity may be shortened to this many characters, and stand in the plural.
bool IsManaged(const std::string& word, const char* name, std::size_t least) {
  const std::string_view whole = name;
  if (SameWord(word, name)) return true;
  if (word.size() == whole.size() + 1 && (word.back() | 0x20) == 's' &&
      SameWord(std::string_view(word).substr(0, whole.size()), whole))
    return true;
  return word.size() >= least && word.size() < whole.size() &&
         SameWord(word, whole.substr(0, word.size()));
}

// The words behind the entity. Returns the text of an error, or "".
std::string TakeManagedWord(const std::string& word, bool names_allowed, SacctmgrOptions* out) {
  if (SameWord(word, "where") || SameWord(word, "set") || SameWord(word, "tree") ||
      SameWord(word, "withdeleted") || SameWord(word, "withcoordinator") ||
      SameWord(word, "wopinfo") || SameWord(word, "wopinheritance") || SameWord(word, "wolimits"))
    return "";
  if (SameWord(word, "withassoc") || SameWord(word, "withassocs")) {
    out->with_associations = true;
    return "";
  }
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) {
    if (!names_allowed) return " Unknown condition: " + word;
    for (std::string& name : SplitList(word)) out->names.push_back(std::move(name));
    return "";
  }
  const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
  if (IsManaged(key, "format", 1)) {
    out->format = value;
    return "";
  }
  std::vector<std::string>* list = nullptr;
  if (IsManaged(key, "name", 1))
    list = &out->names;
  else if (IsManaged(key, "user", 1))
    list = &out->users;
  else if (IsManaged(key, "account", 2) || SameWord(key, "acct"))
    list = &out->accounts;
  else if (IsManaged(key, "cluster", 2))
    list = &out->clusters;
  else if (IsManaged(key, "qos", 1))
    list = &out->qos;
  if (list == nullptr) return " Unknown condition: " + word;
  for (std::string& name : SplitList(value)) {
    // "user=$USER" of a shell without the variable means nobody, not everybody.
    list->push_back(std::move(name));
  }
  if (list->empty()) list->emplace_back();
  return "";
}

int ShowManaged(SacctmgrOptions options, const std::vector<std::string>& words) {
  options.entity = words[1];
  const std::string& entity = options.entity;
  const bool association = IsManaged(entity, "association", 2) || SameWord(entity, "assocs");
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string error = TakeManagedWord(words[i], !association, &options);
    if (error.empty()) continue;
    std::fprintf(stderr, "%s\n", client::VisibleText(error).c_str());
    return ErrorExit(kExitRefused);
  }
  if (IsManaged(entity, "tres", 2)) return PrintRecords(options, "Type,Name%15,ID", TresRecords());
  const bool account = IsManaged(entity, "account", 2);
  const bool user = IsManaged(entity, "user", 1);
  const bool qos = IsManaged(entity, "qos", 1);
  const bool cluster = IsManaged(entity, "cluster", 2);
  const bool config = IsManaged(entity, "configuration", 4);
  if (!association && !account && !user && !qos && !cluster && !config) {
    for (const char* refused :
         {"coordinator", "event", "federation", "problem", "reservation", "resource", "runawayjobs",
          "stats", "transaction", "wckey", "instance"}) {
      if (IsManaged(entity, refused, 4))
        return Fail(kSacctmgr,
                    "show " + entity + " is not supported: Muster has nothing of the kind");
    }
    std::fprintf(
        stderr,
        "No valid entity in list command\nInput line must include \"Account\", "
        "\"Association\", \"Cluster\", \"Configuration\", \"QOS\", \"TRES\", or \"User\"\n");
    return ErrorExit(kExitRefused);
  }
  const std::optional<client::Settings> settings = FindServer(kSacctmgr);
  if (!settings) return ErrorExit(kExitRefused);
  if (config) {
    WriteOut("Configuration data as of " + FormatTime(WallSeconds(), "") +
             "\nAccountingStorageHost  = " + settings->server.ToString() +
             "\nAccountingStorageType  = accounting_storage/muster\nSLURM_VERSION          = "
             "25.05.0\n");
    return 0;
  }
  client::ApiClient api(*settings);
  const client::Outcome<AccountTree> tree = FetchAccounts(api);
  if (!tree.ok()) return Fail(kSacctmgr, FailureText(tree.failure()));
  const std::string own = options.with_associations ? kOwnAssociationFormat : "";
  if (association) return PrintRecords(options, kAssociationFormat, Associations(options, *tree));
  if (account) {
    return PrintRecords(options,
                        "Account,Description,Organization" +
                            (own.empty() ? own : "," + std::string(kAssociationFormat)),
                        Accounts(options, *tree));
  }
  if (user)
    return PrintRecords(options, "User,DefaultAccount,AdminLevel" + own, Users(options, *tree));
  if (qos) return PrintRecords(options, kQosFormat, QosRecords(options, *tree));
  return PrintRecords(options, kClusterFormat, ClusterRecords(options, *tree, *settings));
}

// A verb that changes something, and the way that does it here.
int RefuseManaged(const std::string& verb) {
  return Fail(kSacctmgr,
              verb +
                  " is not supported: accounts are ClusterQueues and Cohorts, QOS are "
                  "WorkloadPriorityClasses; use `muster apply`, `muster delete` and `muster "
                  "quota set`");
}

}  // namespace

int RunSacctmgr(int argc, char** argv) {
  static constexpr option kOptions[] = {{"noheader", no_argument, nullptr, 'n'},
                                        {"parsable", no_argument, nullptr, 'p'},
                                        {"parsable2", no_argument, nullptr, 'P'},
                                        {"associations", no_argument, nullptr, 's'},
                                        {"immediate", no_argument, nullptr, 'i'},
                                        {"oneliner", no_argument, nullptr, 'o'},
                                        {"quiet", no_argument, nullptr, 'Q'},
                                        {"readonly", no_argument, nullptr, 'r'},
                                        {"verbose", no_argument, nullptr, 'v'},
                                        {"help", no_argument, nullptr, 'h'},
                                        {"usage", no_argument, nullptr, 'h'},
                                        {"version", no_argument, nullptr, 'V'},
                                        {nullptr, 0, nullptr, 0}};
  SacctmgrOptions options;
  std::vector<std::string> words;
  optind = 0;
  opterr = 1;
  int id = 0;
  // '-': options may stand behind the words too; getopt_long returns each word as option 1.
  while ((id = ::getopt_long(argc, argv, "-npPsioQrvhV", kOptions, nullptr)) != -1) {
    switch (id) {
      case 1:
        words.emplace_back(optarg);
        break;
      case 'n':
        options.no_header = true;
        break;
      case 'p':
        options.parsable = true;
        break;
      case 'P':
        options.parsable2 = true;
        break;
      case 's':
        options.with_associations = true;
        break;
      case 'h':
        return WriteOut(kSacctmgrHelpText), 0;
      case 'V':
        return WriteOut(kVersionLine), 0;
      case 'i':
      case 'o':
      case 'Q':
      case 'r':
      case 'v':
        // Nothing is changed, so nothing is asked before.
        break;
      default:
        return UsageExit(kSacctmgr);
    }
  }
  for (int i = optind; i < argc; ++i) words.emplace_back(argv[i]);
  if (words.empty()) return Fail(kSacctmgr, "no command given; see sacctmgr --help");
  const std::string& verb = words[0];
  if (SameWord(verb, "version")) return WriteOut(kVersionLine), 0;
  if (SameWord(verb, "help")) return WriteOut(kSacctmgrHelpText), 0;
  if (IsManaged(verb, "show", 2) || IsManaged(verb, "list", 1)) {
    if (words.size() < 2) return Fail(kSacctmgr, "too few arguments for keyword:" + verb);
    return ShowManaged(std::move(options), words);
  }
  for (const char* refused : {"add", "create", "modify", "update", "delete", "remove", "dump",
                              "load", "archive", "clear", "reconfigure", "shutdown", "ping"}) {
    if (IsManaged(verb, refused, 3)) return RefuseManaged(verb);
  }
  std::fprintf(stderr, "invalid keyword: %s\n", client::VisibleText(verb).c_str());
  return ErrorExit(kExitRefused);
}

}  // namespace muster::slurm
