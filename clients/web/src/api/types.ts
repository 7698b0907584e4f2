// Made from api/openapi/muster.v1.yaml by scripts/types.mjs. Do not edit.

export type Submission = (Document | Script);
export type Script = { /** begins with a shebang; its own directives apply below the other fields */ script: string; name: string; queue: string; resources: Record<string, string>; };
export type Document = { apiVersion: string; kind: string; metadata: Record<string, unknown>; spec: Record<string, unknown>; };
export type Documents = (Array<Document> | Document);
export type DeleteOptions = { preconditions: Record<string, unknown>; dryRun: Array<string>; propagationPolicy: string; };
export type Applied = { kind: string; namespace: string; name: string; outcome: "created" | "configured" | "unchanged"; job: Job; warnings: Warnings; };
export type Warnings = Array<string>;
export type SubmittedJob = Job & { warnings: Warnings; };
export type VersionInfo = { major: string; minor: string; gitVersion: string; /** empty if it was built from an archive */ gitCommit: string; gitTreeState: "clean" | "dirty" | "archive"; /** of the commit */ buildDate: string; goVersion: "none"; compiler: string; platform: string; musterVersion: string; };
export type PlacementStatus = { /** Scheduled, RolloutStarted, Overridden, WorkSynchronized, Applied, Available (under ReportDiff DiffReported instead of the last two), each after the kind's name; in this order, up to the first that is not True */ conditions: Array<Condition>; /** the latest revision of the configuration objects */ observedResourceIndex: string; /** one for each member that is picked, by name; then, without clusterName, why others are not */ placementStatuses: Array<{ clusterName: string; conditions: Array<Condition>; /** the revision that the member was told of; absent before the first */ observedResourceIndex: string; failedPlacements: Array<PlacedResource>; driftedPlacements: Array<PlacedResource>; diffedPlacements: Array<PlacedResource>; applicableClusterResourceOverrides: Array<string>; applicableResourceOverrides: Array<{ name: string; namespace: string; }>; }>; /** configuration objects of the latest revision, then the jobs that the placement governs */ selectedResources: Array<PlacedResource>; /** an addition of Muster; revisions that are kept, the oldest first */ resourceRevisions: Array<{ index: string; hash: string; creationTimestamp: string; /** members that were told of it last */ clusters: Array<string>; }>; };
export type PlacedResource = { /** absent for the core group */ group: string; version: string; kind: string; name: string; /** absent if it has none */ namespace: string; /** that it came in */ envelope: { name: string; namespace: string; type: "ClusterResourceEnvelope" | "ResourceEnvelope"; }; condition: Condition; observationTime: string; firstDriftedObservedTime: string; firstDiffedObservedTime: string; /** of the object on the member; absent if there is none */ targetClusterObservedGeneration: number; observedDrifts: Array<PlacedDifference>; observedDiffs: Array<PlacedDifference>; };
export type PlacedDifference = { /** JSON pointer; / is the whole object */ path: string; /** absent where the member has nothing; values of Secrets are not shown */ valueInMember: string; /** absent where the manifest has nothing */ valueInHub: string; };
export type Condition = { type: string; status: "True" | "False" | "Unknown"; observedGeneration: number; lastTransitionTime: string; reason: string; message: string; };
export type MemberFacts = { name: string; backend: string; healthy: boolean; /** also true of a member that takes no jobs because its user lacks a permission there */ answers: boolean; message: string; /** absent if it tells nothing by itself */ observedAt: string; ageSeconds: number; /** facts are told at least that often; absent if it tells nothing by itself */ heartbeatPeriodSeconds: number; /** the next heartbeat is 30 seconds overdue */ stale: boolean; cordoned: boolean; version: string; nodeCount: number; labels: Record<string, string>; taints: Array<{ key: string; value: string; effect: string; }>; /** what placements may ask for and sort by */ properties: Record<string, string>; datasets: Array<string>; /** of jobs that it serves; absent if not told */ kinds: Array<string>; capacity: Record<string, string>; allocatable: Record<string, string>; usedByOthers: Record<string, string>; free: Record<string, string>; /** absent if not told */ machines: { ready: number; /** the most of each resource that is free on one machine */ largestFree: Record<string, string>; /** how many machines have how much free, in powers of two */ freeSlots: Record<string, Array<{ atLeast: string; machines: number; }>>; }; };
export type Explanation = { job: JobMention; /** the moment that all of this is true of */ time: string; state: string; reason: string; /** one sentence */ summary: string; /** the scheduler's own sentence, if it says more */ message: string; /** since when, until when, what it holds */ facts: Array<string>; /** among those of its ClusterQueue that wait and may be tried, from 1; 0 if it is none of them */ position: number; waiting: number; localPosition: number; localWaiting: number; /** the first of those before it */ ahead: Array<JobMention>; /** none of its ClusterQueue starts before this job */ blockedBy: JobMention | null; blocked: string; flavors: Array<{ podSet: string; flavor: string; /** "" if the flavor itself cannot be used; then there are no amounts */ resource: string; reason: string; message: string; /** what the job holds or would get */ chosen: boolean; requested: string; available: string; potential: string; used: string; nominal: string; /** what must become free for it */ missing: string; /** where in the cohort tree the limit binds */ limit: string; }>; clusters: Array<{ cluster: string; /** could hold it if it were empty */ eligible: boolean; fitsNow: boolean; message: string; /** what turns the job away: TaintToleration, ClusterAffinity, Capacity, ...; "" if nothing does */ filter: string; affinityScore: number; spreadScore: number; /** of a job that a placement governs */ terms: Array<{ term: string; /** 0: of a spread constraint */ weight: number; score: number; }>; }>; /** null unless quota that others use is what it lacks */ preemption: { policies: string; outcome: string; victims: Array<JobMention>; heldBy: Array<{ clusterQueue: string; own: boolean; workloads: number; /** those whose priority the policy gives away */ allowed: number; amounts: Record<string, string>; jobs: Array<JobMention>; /** whether they may be preempted for it, and why not */ verdict: string; }>; moreQueues: number; /** what would have to be otherwise, and whom it would preempt then */ wouldAllow: Array<string>; } | null; wouldHelp: Array<string>; /** null unless it waits */ estimatedStart: { /** an upper bound under the assumptions; null if it is unknown */ latest: string | null; text: string; /** jobs it depends on that declare no time limit */ withoutLimit: Array<JobMention>; assumptions: Array<string>; } | null; };
export type Quota = { clusterQueue: string; flavor: string; resource: string; nominal: string; /** null: none */ borrowingLimit: string | null; /** null: none */ lendingLimit: string | null; /** by admitted jobs */ used: string; /** `used`, and what jobs hold whose admission checks are not ready */ reserved: string; /** what it uses beyond its own quota */ borrowed: string; /** what another job could get now */ available: string; /** changes with the ClusterQueue */ etag: string; };
export type QueueLine = { /** jobs in the order, seen or not */ waiting: number; items: Array<{ /** from 1 */ position: number; id: number; namespace: string; name: string; displayName: string; queue: string; clusterQueue: string; user: string; priority: number; state: string; submitTime: string; reason: string; /** why it waits */ message: string; }>; };
export type JobMention = { id: number; namespace: string; name: string; queue: string; clusterQueue: string; priority: number; state: string; reason: string; message: string; };
export type Job = { id: number; uid: string; name: string; /** the --job-name of a batch script, else its name */ displayName: string; namespace: string; kind: string; apiVersion: string; user: string; queue: string; clusterQueue: string; priorityClass: string; priority: number; /** 0: none */ timeLimitSeconds: number; state: "Held" | "Pending" | "Admitted" | "Running" | "Succeeded" | "Failed" | "Cancelled"; reason: string; message: string; cluster: string; /** its hosts as a host list, "east" or "job-7-[0-1]"; empty before it has a member */ nodeList: string; attempt: number; /** how often it was put back into its queue */ requeues: number; /** its attempt is being ended: cancelled, or to run again */ stopping: boolean; submitTime: string; admitTime: string | null; startTime: string | null; endTime: string | null; /** Before which a waiting job is not tried: it was requeued or evicted */ requeueAt: string | null; exitCode: number | null; /** 0: none */ exitSignal: number; podSets: Array<{ name: string; count: number; flavors: Record<string, unknown>; requests: Record<string, unknown>; }>; conditions: Array<Record<string, unknown>>; batch: Batch; };
export type Batch = { /** 0: no array */ arrayJobId: number; /** -1: no task, or the record of an array's waiting tasks */ arrayTaskId: number; arraySpec: string; /** of the record of an array: "0-3,7" */ waitingTasks: string; /** tasks that may run at once; 0: any number */ taskThrottle: number; workDir: string; command: string; input: string; /** with its pattern expanded, like error and input */ output: string; error: string; comment: string; submitLine: string; nodes: number; maxNodes: number; tasks: number; /** 0: not given */ tasksPerNode: number; cpusPerTask: number; memoryPerNodeMb: number; /** 0: not given */ memoryPerCpuMb: number; gres: string; features: string; requiredNodes: string; excludedNodes: string; licenses: string; reservation: string; exclusive: boolean; /** an allocation without a script */ allocationOnly: boolean; /** of a heterogeneous job, beyond the first */ components: Array<Record<string, unknown>>; /** options that change no amount, by their long names */ how: Record<string, string>; wckey: string; mailUser: string; /** bits: 1 BEGIN, 2 END, 4 FAIL, 8 REQUEUE, 16 INVALID_DEPEND, 32 TIME_LIMIT, 64, 128, 256 TIME_LIMIT_90, 80, 50, 512 STAGE_OUT, 1024 ARRAY_TASKS */ mailEvents: number; /** --signal; 0: none */ signal: number; /** seconds before the end */ signalBefore: number; signalBatch: boolean; timeMinS: number; requeue: boolean; /** what it still waits for: "afterok:7(unfulfilled)" */ dependency: string; /** RFC 3339, or empty */ begin: string; /** RFC 3339, or empty */ deadline: string; nice: number; ownPriority: number | null; heldByAdmin: boolean; /** held while it runs: it waits, held, once it is requeued */ holdAtRequeue: boolean; specialExit: boolean; /** RFC 3339; empty while it is not suspended */ suspendedSince: string; /** seconds that it was suspended before */ suspendedS: number; /** which limit of its partition keeps it waiting */ partitionProblem: string; } | null;
export type Step = { job: number; attempt: number; /** 0, 1, 2 ... */ step: number; /** of the program */ name: string; /** job-7-[0-1] */ nodes: string; nodeCount: number; tasks: number; cpus: number; state: "RUNNING" | "COMPLETED" | "FAILED" | "CANCELLED" | "TIMEOUT" | "OUT_OF_MEMORY"; startTime: string | null; endTime: string | null; /** the highest of its tasks */ exitCode: number; exitSignal: number; use: MeasuredUse; };
export type MeasuredUse = { userCpuUs: number; systemCpuUs: number; /** of the largest task of a step; of a job, the peak of a node */ maxRssBytes: number; readBytes: number; writtenBytes: number; };
export type Event = { seq: number; time: string; type: string; /** 0 for events of objects */ job: number; object: string; reason: string; message: string; };
export type AuditEntry = { /** without gaps */ id: number; time: string; requestId: string; /** empty: not known */ user: string; groups: Array<string>; /** how the user was known: unix, loopback, certificate, jwt, token, munge, internal */ method: string; /** who acted as the user */ impersonator: string; /** unix:UID, or an address */ source: string; /** create, update, delete, cancel, hold, get, ... */ verb: string; /** clusterqueue/team-a, job/default/train, or a path */ object: string; result: "allowed" | "refused" | "failed"; /** OK, PERMISSION_DENIED, NOT_FOUND, ... */ code: string; /** 0: none */ oldResourceVersion: number; /** 0: none */ newResourceVersion: number; /** how many equal requests the row stands for */ count: number; /** of a ClusterQueue: the quotas that changed, from and to */ detail: string; /** the hash of the row before; empty in rows older than the chain */ prev: string; /** SHA-256 over prev and the row */ hash: string; };
export type Problem = { type: string; title: string; status: number; detail: string; errors: Array<{ field: string; message: string; }>; };
export type Status = { kind: string; apiVersion: string; status: string; message: string; reason: string; code: number; };

/** Method, path, verb and resource of each operation. */
export const ways = {
  listPaths: ["GET", "/", "get", "paths"],
  livez: ["GET", "/livez", "get", "health"],
  healthz: ["GET", "/healthz", "get", "health"],
  readyz: ["GET", "/readyz", "get", "health"],
  metrics: ["GET", "/metrics", "get", "metrics"],
  version: ["GET", "/version", "get", "version"],
  status: ["GET", "/v1/status", "get", "status"],
  submitJob: ["POST", "/v1/namespaces/{namespace}/jobs", "create", "{job}"],
  submitJobs: ["POST", "/v1/namespaces/{namespace}/jobs:batch", "create", "{job}"],
  apply: ["POST", "/v1/apply", "update", "{document}"],
  listJobs: ["GET", "/v1/jobs", "list", "{job}"],
  countJobs: ["GET", "/v1/jobcounts", "list", "{job}"],
  getJob: ["GET", "/v1/jobs/{id}", "get", "{job}"],
  cancelJob: ["DELETE", "/v1/jobs/{id}", "delete", "{job}"],
  holdJob: ["POST", "/v1/jobs/{id}:hold", "update", "{job}"],
  releaseJob: ["POST", "/v1/jobs/{id}:release", "update", "{job}"],
  requeueJob: ["POST", "/v1/jobs/{id}:requeue", "update", "{job}"],
  suspendJob: ["POST", "/v1/jobs/{id}:suspend", "update", "{job}"],
  resumeJob: ["POST", "/v1/jobs/{id}:resume", "update", "{job}"],
  keepJob: ["POST", "/v1/jobs/{id}:keep", "update", "{job}"],
  updateJob: ["POST", "/v1/jobs/{id}:update", "update", "{job}"],
  nominateClusters: ["POST", "/v1/jobs/{id}:nominate", "update", "{job}"],
  signalJob: ["POST", "/v1/jobs/{id}:signal", "delete", "{job}"],
  notifyJob: ["POST", "/v1/jobs/{id}:notify", "update", "{job}"],
  explainJob: ["GET", "/v1/jobs/{id}/explain", "get", "{job}"],
  jobEvents: ["GET", "/v1/jobs/{id}/events", "get", "{job}"],
  jobScript: ["GET", "/v1/jobs/{id}/script", "get", "{job}/log"],
  jobManifest: ["GET", "/v1/jobs/{id}/manifest", "get", "{job}"],
  jobPods: ["GET", "/v1/jobs/{id}/pods", "get", "{job}"],
  jobSteps: ["GET", "/v1/jobs/{id}/steps", "get", "{job}"],
  jobMemberEvents: ["GET", "/v1/jobs/{id}/member-events", "get", "{job}"],
  jobLogs: ["GET", "/v1/jobs/{id}/logs", "get", "{job}/log"],
  followEvents: ["GET", "/v1/events", "list", "muster.io/events"],
  listSteps: ["GET", "/v1/steps", "get", "{job}"],
  accounting: ["GET", "/v1/accounting", "list", "muster.io/accounting"],
  listAudit: ["GET", "/v1/audit", "list", "muster.io/audit"],
  listQuotas: ["GET", "/v1/quotas", "get", "kueue.x-k8s.io/clusterqueues"],
  editQuota: ["POST", "/v1/quotas", "update", "kueue.x-k8s.io/clusterqueues"],
  addCluster: ["POST", "/v1/memberclusters", "create", "cluster.kubernetes-fleet.io/memberclusters"],
  removeCluster: ["DELETE", "/v1/memberclusters/{name}", "delete", "cluster.kubernetes-fleet.io/memberclusters"],
  queueOrder: ["GET", "/v1/clusterqueues/{name}/order", "get", "kueue.x-k8s.io/clusterqueues"],
  clusterFacts: ["GET", "/v1/memberclusters/{name}/facts", "get", "cluster.kubernetes-fleet.io/memberclusters"],
  cordonCluster: ["POST", "/v1/memberclusters/{name}:cordon", "update", "cluster.kubernetes-fleet.io/memberclusters"],
  uncordonCluster: ["POST", "/v1/memberclusters/{name}:uncordon", "update", "cluster.kubernetes-fleet.io/memberclusters"],
  fenceCluster: ["POST", "/v1/memberclusters/{name}:fence", "update", "cluster.kubernetes-fleet.io/memberclusters"],
  collectCluster: ["POST", "/v1/memberclusters/{name}:collect", "update", "cluster.kubernetes-fleet.io/memberclusters"],
  drainCluster: ["POST", "/v1/memberclusters/{name}:drain", "update", "cluster.kubernetes-fleet.io/memberclusters"],
  whoAmI: ["GET", "/v1/whoami", "get", "selfsubjectreviews"],
  createToken: ["POST", "/v1/tokens", "create", "muster.io/accesstokens"],
  simulate: ["POST", "/v1/simulate", "create", "muster.io/simulations"],
  coreVersions: ["GET", "/api", "get", "discovery"],
  groups: ["GET", "/apis", "get", "discovery"],
  group: ["GET", "/apis/{group}", "get", "discovery"],
  coreResources: ["GET", "/api/v1", "get", "discovery"],
  resources: ["GET", "/apis/{group}/{version}", "get", "discovery"],
  reviewSelf: ["POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "create", "authentication.k8s.io/selfsubjectreviews"],
  reviewToken: ["POST", "/apis/authentication.k8s.io/v1/tokenreviews", "create", "authentication.k8s.io/tokenreviews"],
  reviewSelfAccess: ["POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "create", "authorization.k8s.io/selfsubjectaccessreviews"],
  reviewSelfRules: ["POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", "create", "authorization.k8s.io/selfsubjectrulesreviews"],
  reviewAccess: ["POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "create", "authorization.k8s.io/subjectaccessreviews"],
  reviewLocalAccess: ["POST", "/apis/authorization.k8s.io/v1/namespaces/{namespace}/localsubjectaccessreviews", "create", "authorization.k8s.io/localsubjectaccessreviews"],
  listCoreCluster: ["GET", "/api/v1/{plural}", "list", "{object}"],
  createCoreCluster: ["POST", "/api/v1/{plural}", "create", "{object}"],
  getCoreCluster: ["GET", "/api/v1/{plural}/{name}", "get", "{object}"],
  replaceCoreCluster: ["PUT", "/api/v1/{plural}/{name}", "update", "{object}"],
  patchCoreCluster: ["PATCH", "/api/v1/{plural}/{name}", "patch", "{object}"],
  deleteCoreCluster: ["DELETE", "/api/v1/{plural}/{name}", "delete", "{object}"],
  getStatusCoreCluster: ["GET", "/api/v1/{plural}/{name}/status", "get", "{object}/status"],
  replaceStatusCoreCluster: ["PUT", "/api/v1/{plural}/{name}/status", "update", "{object}/status"],
  patchStatusCoreCluster: ["PATCH", "/api/v1/{plural}/{name}/status", "patch", "{object}/status"],
  listCoreNamespaced: ["GET", "/api/v1/namespaces/{namespace}/{plural}", "list", "{object}"],
  createCoreNamespaced: ["POST", "/api/v1/namespaces/{namespace}/{plural}", "create", "{object}"],
  getCoreNamespaced: ["GET", "/api/v1/namespaces/{namespace}/{plural}/{name}", "get", "{object}"],
  replaceCoreNamespaced: ["PUT", "/api/v1/namespaces/{namespace}/{plural}/{name}", "update", "{object}"],
  patchCoreNamespaced: ["PATCH", "/api/v1/namespaces/{namespace}/{plural}/{name}", "patch", "{object}"],
  deleteCoreNamespaced: ["DELETE", "/api/v1/namespaces/{namespace}/{plural}/{name}", "delete", "{object}"],
  getStatusCoreNamespaced: ["GET", "/api/v1/namespaces/{namespace}/{plural}/{name}/status", "get", "{object}/status"],
  replaceStatusCoreNamespaced: ["PUT", "/api/v1/namespaces/{namespace}/{plural}/{name}/status", "update", "{object}/status"],
  patchStatusCoreNamespaced: ["PATCH", "/api/v1/namespaces/{namespace}/{plural}/{name}/status", "patch", "{object}/status"],
  listGroupCluster: ["GET", "/apis/{group}/{version}/{plural}", "list", "{object}"],
  createGroupCluster: ["POST", "/apis/{group}/{version}/{plural}", "create", "{object}"],
  getGroupCluster: ["GET", "/apis/{group}/{version}/{plural}/{name}", "get", "{object}"],
  replaceGroupCluster: ["PUT", "/apis/{group}/{version}/{plural}/{name}", "update", "{object}"],
  patchGroupCluster: ["PATCH", "/apis/{group}/{version}/{plural}/{name}", "patch", "{object}"],
  deleteGroupCluster: ["DELETE", "/apis/{group}/{version}/{plural}/{name}", "delete", "{object}"],
  getStatusGroupCluster: ["GET", "/apis/{group}/{version}/{plural}/{name}/status", "get", "{object}/status"],
  replaceStatusGroupCluster: ["PUT", "/apis/{group}/{version}/{plural}/{name}/status", "update", "{object}/status"],
  patchStatusGroupCluster: ["PATCH", "/apis/{group}/{version}/{plural}/{name}/status", "patch", "{object}/status"],
  listGroupNamespaced: ["GET", "/apis/{group}/{version}/namespaces/{namespace}/{plural}", "list", "{object}"],
  createGroupNamespaced: ["POST", "/apis/{group}/{version}/namespaces/{namespace}/{plural}", "create", "{object}"],
  getGroupNamespaced: ["GET", "/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}", "get", "{object}"],
  replaceGroupNamespaced: ["PUT", "/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}", "update", "{object}"],
  patchGroupNamespaced: ["PATCH", "/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}", "patch", "{object}"],
  deleteGroupNamespaced: ["DELETE", "/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}", "delete", "{object}"],
  getStatusGroupNamespaced: ["GET", "/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}/status", "get", "{object}/status"],
  replaceStatusGroupNamespaced: ["PUT", "/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}/status", "update", "{object}/status"],
  patchStatusGroupNamespaced: ["PATCH", "/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}/status", "patch", "{object}/status"],
} as const;

export interface Queries {
  listPaths: {  };
  livez: {  };
  healthz: {  };
  readyz: {  };
  metrics: {  };
  version: {  };
  status: {  };
  submitJob: { dryRun?: boolean; };
  submitJobs: {  };
  apply: { namespace?: string; dryRun?: boolean; };
  listJobs: { id?: string; since?: string; namespace?: string; queue?: string; state?: string; user?: string; name?: string; kind?: string; array?: number; fields?: string; limit?: number; page_token?: string; search?: string; sort?: string; offset?: number; };
  countJobs: { by?: string; since?: string; namespace?: string; queue?: string; state?: string; user?: string; name?: string; kind?: string; array?: number; search?: string; };
  getJob: {  };
  cancelJob: {  };
  holdJob: {  };
  releaseJob: {  };
  requeueJob: {  };
  suspendJob: {  };
  resumeJob: {  };
  keepJob: {  };
  updateJob: {  };
  nominateClusters: {  };
  signalJob: {  };
  notifyJob: {  };
  explainJob: {  };
  jobEvents: {  };
  jobScript: {  };
  jobManifest: {  };
  jobPods: {  };
  jobSteps: { limit?: number; page_token?: string; };
  jobMemberEvents: {  };
  jobLogs: { pod?: string; container?: string; follow?: boolean; tail?: number; timestamps?: boolean; offset?: string; };
  followEvents: { since?: number; };
  listSteps: { job?: string; limit?: number; page_token?: string; };
  accounting: { ids?: string; since?: string; namespace?: string; queue?: string; state?: string; user?: string; kind?: string; array?: number; limit?: number; page_token?: string; };
  listAudit: { since?: string; until?: string; user?: string; verb?: string; object?: string; limit?: number; page_token?: string; format?: "json" | "jsonl"; };
  listQuotas: { clusterQueue?: string; };
  editQuota: { dryRun?: boolean; };
  addCluster: {  };
  removeCluster: { force?: boolean; };
  queueOrder: { offset?: number; limit?: number; };
  clusterFacts: {  };
  cordonCluster: {  };
  uncordonCluster: {  };
  fenceCluster: {  };
  collectCluster: {  };
  drainCluster: { force?: boolean; };
  whoAmI: {  };
  createToken: { dryRun?: string; };
  simulate: {  };
  coreVersions: {  };
  groups: {  };
  group: {  };
  coreResources: {  };
  resources: {  };
  reviewSelf: {  };
  reviewToken: {  };
  reviewSelfAccess: {  };
  reviewSelfRules: {  };
  reviewAccess: {  };
  reviewLocalAccess: {  };
  listCoreCluster: { labelSelector?: string; fieldSelector?: string; limit?: number; continue?: string; };
  createCoreCluster: { dryRun?: string; fieldValidation?: "Ignore" | "Warn" | "Strict"; };
  getCoreCluster: {  };
  replaceCoreCluster: { dryRun?: string; fieldValidation?: "Ignore" | "Warn" | "Strict"; };
  patchCoreCluster: { dryRun?: string; fieldValidation?: "Ignore" | "Warn" | "Strict"; };
  deleteCoreCluster: { dryRun?: string; };
  getStatusCoreCluster: {  };
  replaceStatusCoreCluster: {  };
  patchStatusCoreCluster: {  };
  listCoreNamespaced: { labelSelector?: string; fieldSelector?: string; limit?: number; continue?: string; };
  createCoreNamespaced: { dryRun?: string; fieldValidation?: "Ignore" | "Warn" | "Strict"; };
  getCoreNamespaced: {  };
  replaceCoreNamespaced: { dryRun?: string; fieldValidation?: "Ignore" | "Warn" | "Strict"; };
  patchCoreNamespaced: { dryRun?: string; fieldValidation?: "Ignore" | "Warn" | "Strict"; };
  deleteCoreNamespaced: { dryRun?: string; };
  getStatusCoreNamespaced: {  };
  replaceStatusCoreNamespaced: {  };
  patchStatusCoreNamespaced: {  };
  listGroupCluster: { labelSelector?: string; fieldSelector?: string; limit?: number; continue?: string; };
  createGroupCluster: { dryRun?: string; fieldValidation?: "Ignore" | "Warn" | "Strict"; };
  getGroupCluster: {  };
  replaceGroupCluster: { dryRun?: string; fieldValidation?: "Ignore" | "Warn" | "Strict"; };
  patchGroupCluster: { dryRun?: string; fieldValidation?: "Ignore" | "Warn" | "Strict"; };
  deleteGroupCluster: { dryRun?: string; };
  getStatusGroupCluster: {  };
  replaceStatusGroupCluster: {  };
  patchStatusGroupCluster: {  };
  listGroupNamespaced: { labelSelector?: string; fieldSelector?: string; limit?: number; continue?: string; };
  createGroupNamespaced: { dryRun?: string; fieldValidation?: "Ignore" | "Warn" | "Strict"; };
  getGroupNamespaced: {  };
  replaceGroupNamespaced: { dryRun?: string; fieldValidation?: "Ignore" | "Warn" | "Strict"; };
  patchGroupNamespaced: { dryRun?: string; fieldValidation?: "Ignore" | "Warn" | "Strict"; };
  deleteGroupNamespaced: { dryRun?: string; };
  getStatusGroupNamespaced: {  };
  replaceStatusGroupNamespaced: {  };
  patchStatusGroupNamespaced: {  };
}

export interface Answers {
  listPaths: unknown;
  livez: string;
  healthz: string;
  readyz: string;
  metrics: string;
  version: VersionInfo;
  status: { version: string; /** it leads, and its recovery is done */ ready: boolean; /** why it is not ready */ reasons: Array<string>; lastEvent: number; /** none: nobody is known to lead */ role: "leader" | "standby" | "none"; /** of the copy from which a standby answers reads */ copyAgeSeconds: number; /** as this daemon knows it */ leader: { /** of its REST API */ address: string; host: string; /** by the database's clock */ since: string; epoch: number; /** how long it may be silent before another daemon leads */ leaseSeconds: number; }; /** what an acknowledged write survives, as the database told this daemon last; docs/guide/high-availability.md */ database: { /** missing until the database was asked */ promise: "none" | "crash" | "server-loss"; /** the promise as a sentence, with what is wrong */ message: string; /** of the session that writes */ synchronousCommit: string; fsync: boolean; fullPageWrites: boolean; /** synchronous standbys that each commit waits for */ standbysRequired: number; /** synchronous standbys that stream now; missing if the daemon's role may not see them */ standbysStreaming: number; /** a commit waits for a synchronous standby now */ awaitsStandby: boolean; /** why nothing can be made durable now; missing if writes work */ problem: string; }; warnings: Array<{ /** stable, such as JobsRunAsRoot */ type: string; message: string; }>; };
  submitJob: { /** the number that the next job gets */ id: number; /** RFC 3339; empty if there is no bound */ startTime: string; text: string; queue: string; nodeList: string; cpus: number; };
  submitJobs: Array<(SubmittedJob | Problem)>;
  apply: { items: Array<Applied>; };
  listJobs: { items: Array<Job>; next_page_token: string; /** of all that match; with search, sort or offset */ total: number; };
  countJobs: { total: number; groups: Array<{ value: string; count: number; states: Record<string, number>; }>; };
  getJob: Job;
  cancelJob: Job;
  holdJob: Job;
  releaseJob: Job;
  requeueJob: Job;
  suspendJob: Job;
  resumeJob: Job;
  keepJob: Job;
  updateJob: Job;
  nominateClusters: Job;
  signalJob: Job;
  notifyJob: Job;
  explainJob: Explanation;
  jobEvents: { items: Array<Event>; next_page_token: string; };
  jobScript: { script: string; environment: Record<string, string>; };
  jobManifest: { submitted: Record<string, unknown>; /** the job's object, then what goes with it; null while it holds no quota */ sent: Array<Record<string, unknown>> | null; };
  jobPods: unknown;
  jobSteps: { items: Array<Step>; next_page_token: string; };
  jobMemberEvents: unknown;
  jobLogs: string;
  followEvents: string;
  listSteps: { items: Array<Step>; next_page_token: string; };
  accounting: { items: Array<{ job: Job; attempts: Array<{ use: MeasuredUse; clusterQueue: string; held: Array<{ flavor: string; resource: string; amount: string; }>; }>; }>; next_page_token: string; };
  listAudit: { items: Array<AuditEntry>; next_page_token: string; /** the row after which the chain of hashes begins */ chain: { after: number; hash: string; }; };
  listQuotas: { items: Array<Quota>; };
  editQuota: { quota: Quota; wouldAdmit: Array<JobMention>; wouldPreempt: Array<JobMention>; };
  addCluster: { name: string; version: string; nodes: number; /** kinds of jobs that it has */ serves: Array<string>; /** kinds that are not installed there */ lacks: Array<string>; /** with force: what is wrong */ problems: Array<string>; /** with force: what its user needs, if it lacks permissions */ clusterRole: string; };
  removeCluster: unknown;
  queueOrder: QueueLine;
  clusterFacts: MemberFacts;
  cordonCluster: unknown;
  uncordonCluster: unknown;
  fenceCluster: unknown;
  collectCluster: unknown;
  drainCluster: unknown;
  whoAmI: { user: string; groups: Array<string>; /** unix, loopback, certificate, jwt, token or munge */ method: string; /** unix:UID or the client's address */ source: string; /** names the credential: a token's name, a certificate's serial number */ credential: string; encrypted: boolean; /** the account of this host, if one is known */ uid: number; expires: string; /** who acts as `user` */ impersonator: string; /** the credentials that the server takes */ accepts: Array<string>; };
  createToken: { name: string; user: string; /** for the header `Authorization: Bearer TOKEN` */ token: string; expires: string; };
  simulate: { decisions: Array<Record<string, unknown>>; summary: Record<string, unknown>; asIs: Record<string, unknown>; waiting: Array<Record<string, unknown>>; };
  coreVersions: unknown;
  groups: unknown;
  group: unknown;
  coreResources: unknown;
  resources: unknown;
  reviewSelf: Record<string, unknown>;
  reviewToken: Record<string, unknown>;
  reviewSelfAccess: Record<string, unknown>;
  reviewSelfRules: Record<string, unknown>;
  reviewAccess: Record<string, unknown>;
  reviewLocalAccess: Record<string, unknown>;
  listCoreCluster: unknown;
  createCoreCluster: unknown;
  getCoreCluster: unknown;
  replaceCoreCluster: unknown;
  patchCoreCluster: unknown;
  deleteCoreCluster: unknown;
  getStatusCoreCluster: unknown;
  replaceStatusCoreCluster: unknown;
  patchStatusCoreCluster: unknown;
  listCoreNamespaced: unknown;
  createCoreNamespaced: unknown;
  getCoreNamespaced: unknown;
  replaceCoreNamespaced: unknown;
  patchCoreNamespaced: unknown;
  deleteCoreNamespaced: unknown;
  getStatusCoreNamespaced: unknown;
  replaceStatusCoreNamespaced: unknown;
  patchStatusCoreNamespaced: unknown;
  listGroupCluster: unknown;
  createGroupCluster: unknown;
  getGroupCluster: unknown;
  replaceGroupCluster: unknown;
  patchGroupCluster: unknown;
  deleteGroupCluster: unknown;
  getStatusGroupCluster: unknown;
  replaceStatusGroupCluster: unknown;
  patchStatusGroupCluster: unknown;
  listGroupNamespaced: unknown;
  createGroupNamespaced: unknown;
  getGroupNamespaced: unknown;
  replaceGroupNamespaced: unknown;
  patchGroupNamespaced: unknown;
  deleteGroupNamespaced: unknown;
  getStatusGroupNamespaced: unknown;
  replaceStatusGroupNamespaced: unknown;
  patchStatusGroupNamespaced: unknown;
}
