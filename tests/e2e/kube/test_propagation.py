"""Configuration objects on real members: drift, take-over, reports, overrides, envelopes, removal; kills, members that come and go."""
import base64
import os
import unittest

from fleet import Bed, Fleet
from propagation import NAMESPACES, Propagation, config_map, namespace, placement, selector

bed = None
TEAM = NAMESPACES + "/team"
MAPS = TEAM + "/configmaps"
ALL = ["member-1", "member-2", "member-3"]


def setUpModule():
    global bed
    bed = Bed("--clusters", "3", "--nodes", "2", "--operators=false")
    unittest.addModuleCleanup(bed.close)


def maps(name, *names, **strategy):
    """A placement in the team's namespace of the ConfigMaps with these names."""
    selectors = [selector("", "ConfigMap", each) for each in names]
    return placement(name, selectors, "team", {"applyStrategy": strategy} if strategy else None)


def carries(name):
    """A placement of an envelope of the same name."""
    return placement(name, [selector("placement.kubernetes-fleet.io", "ResourceEnvelope", name, "v1beta1")], "team")


def of_member():
    """Gives the ConfigMap `own` the name of its member, and keeps it from member-3."""
    renames = [{"op": "replace", "path": "/data/cluster", "value": "at ${MEMBER-CLUSTER-NAME}"},
               {"op": "add", "path": "/metadata/labels", "value": {"from": "${MEMBER-CLUSTER-NAME}"}}]
    third = {"labelSelector": {"matchLabels": {"kubernetes-fleet.io/member-name": "member-3"}}}
    return {"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ResourceOverride",
            "metadata": {"name": "of-member", "namespace": "team"},
            "spec": {"placement": {"name": "own", "scope": "Namespaced"}, "resourceSelectors": [selector("", "ConfigMap", "own")],
                     "policy": {"overrideRules": [
                         {"clusterSelector": {"clusterSelectorTerms": []}, "jsonPatchOverrides": renames},
                         {"clusterSelector": {"clusterSelectorTerms": [third]}, "overrideType": "Delete"}]}}}


def envelope_of(name, **data):
    return {"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ResourceEnvelope",
            "metadata": {"name": name, "namespace": "team"}, "data": data}


def web():
    """A Role and a Deployment, which are nothing to the hub."""
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
    return envelope_of("web", role={
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}, web={
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "team"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": pod}})


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        declared = cls.declared()
        cls.fleet = Fleet(bed, declared, watched=[name for name in ALL if name not in declared])
        cls.addClassCleanup(cls.fleet.close)
        cls.server = cls.fleet.server
        cls.server.start()
        for name in declared:
            cls.fleet.wait_healthy(name)
        cls.all = Propagation(cls.fleet)
        cls.team = placement("team", [selector("", "Namespace", "team", selectionScope="NamespaceOnly")])
        cls.all.apply(namespace("team"), cls.team)
        cls.all.wait_on(TEAM, members=declared)

    @classmethod
    def declared(cls):
        return ALL

    @classmethod
    def tearDownClass(cls):
        cls.all.delete(cls.team)
        cls.all.wait_off(TEAM, members=cls.declared())

    def differences(self, manifest, member, which):
        """{path: (in the member, at the hub)} of the one object that is told."""
        found = self.all.of_cluster(manifest, member).get(f"{which}Placements", [])
        return {each["path"]: (each.get("valueInMember"), each.get("valueInHub"))
                for one in found for each in one[{"drifted": "observedDrifts", "diffed": "observedDiffs"}[which]]}


class Objects(Case):
    def test_drift_is_put_right_or_told_as_the_strategy_says(self):
        made = [maps("always", "always"), maps("if-not", "if-not", whenToApply="IfNotDrifted")]
        self.all.apply(config_map("always", "team", a="1"), config_map("if-not", "team", a="1"), *made)
        for name in ("always", "if-not"):
            self.all.wait_on(f"{MAPS}/{name}", lambda seen: seen["data"] == {"a": "1"})
            self.all.patch("member-2", f"{MAPS}/{name}", {"data": {"a": "by hand", "more": "kept"}})
        self.all.wait_on(f"{MAPS}/always", lambda seen: seen["data"] == {"a": "1", "more": "kept"}, ["member-2"])
        self.server.wait(lambda: self.differences(made[1], "member-2", "drifted") == {"/data/a": ("by hand", "1")},
                         what=f"the drift is told, was {self.all.of_cluster(made[1], 'member-2')}")
        self.assertEqual(self.all.on("member-2", f"{MAPS}/if-not")["data"]["a"], "by hand")
        self.all.wait_condition(made[1], "Applied", "False", "ApplyFailed")
        self.assertEqual(self.differences(made[1], "member-1", "drifted"), {})
        page = self.server.run("muster", "describe", "rp", "if-not", "-n", "team")
        self.assertRegex(page, r"Path: +/data/a")
        self.all.patch("member-2", f"{MAPS}/if-not", {"data": {"a": "1"}})
        self.all.wait_condition(made[1], "Applied", "True")
        self.leave(*made, paths=[f"{MAPS}/always", f"{MAPS}/if-not"])

    def leave(self, *made, paths):
        for one in made:
            self.all.delete(one)
        for path in paths:
            self.all.wait_off(path)

    def test_a_report_writes_nothing(self):
        self.all.members["member-1"].call("POST", MAPS, config_map("told", "team", a="other", own="1"))
        made = maps("report", "told", type="ReportDiff")
        self.all.apply(config_map("told", "team", a="1"), made)
        self.all.wait_condition(made, "DiffReported", "True", "DiffReportingCompleted")
        self.assertEqual(self.differences(made, "member-1", "diffed"), {"/data/a": ("other", "1")})
        self.assertEqual([*self.differences(made, "member-2", "diffed")], ["/"])
        self.assertEqual(self.all.on("member-1", f"{MAPS}/told")["data"], {"a": "other", "own": "1"})
        self.assertTrue(self.all.unmarked(self.all.on("member-1", f"{MAPS}/told")))
        self.assertIsNone(self.all.on("member-2", f"{MAPS}/told"))
        self.assertEqual([each for each in self.all.conditions(made) if each[0] in ("Applied", "Available")], [])
        self.all.delete(made)
        self.assertIsNotNone(self.all.on("member-1", f"{MAPS}/told"))

    def test_what_was_there_before_is_taken_over_as_the_strategy_says(self):
        for name in ("never", "taken", "same"):
            self.all.members["member-1"].call("POST", MAPS, config_map(name, "team", a="1" if name == "same" else "before"))
        made = [maps("never", "never", whenToTakeOver="Never"), maps("taken", "taken", whenToTakeOver="Always"),
                maps("same", "same", whenToTakeOver="IfNoDiff")]
        self.all.apply(*[config_map(name, "team", a="1") for name in ("never", "taken", "same")], *made)
        self.all.wait_on(f"{MAPS}/taken", lambda seen: seen["data"] == {"a": "1"})
        self.all.wait_on(f"{MAPS}/same", lambda seen: not self.all.unmarked(seen))
        self.all.wait_on(f"{MAPS}/never", members=["member-2", "member-3"])
        self.all.wait_condition(made[0], "Applied", "False", "ApplyFailed")
        failed = self.all.of_cluster(made[0], "member-1")["failedPlacements"]
        self.assertEqual([(each["name"], each["condition"]["reason"]) for each in failed], [("never", "NotTakenOver")])
        self.assertEqual(self.all.on("member-1", f"{MAPS}/never")["data"], {"a": "before"})
        for one in made:
            self.all.delete(one)
        self.all.wait_off(f"{MAPS}/never", ["member-2", "member-3"])
        self.all.wait_off(f"{MAPS}/taken")
        self.assertEqual(self.all.on("member-1", f"{MAPS}/never")["data"], {"a": "before"}, "it never was ours")

    def test_an_abandoned_placement_leaves_what_it_made(self):
        made = maps("abandon", "left")
        made["spec"]["strategy"]["deleteStrategy"] = {"propagationPolicy": "Abandon"}
        self.all.apply(config_map("left", "team", a="1"), made)
        self.all.wait_on(f"{MAPS}/left")
        self.all.delete(made)
        left = self.all.wait_on(f"{MAPS}/left", self.all.unmarked)
        self.assertEqual([seen["data"] for seen in left.values()], [{"a": "1"}] * 3)

    def test_an_override_makes_each_member_its_own(self):
        override = of_member()
        made = maps("own", "own")
        self.all.apply(config_map("own", "team", cluster="none"), override, made)
        for name in ("member-1", "member-2"):
            seen = self.all.wait_on(f"{MAPS}/own", members=[name])[name]
            self.assertEqual((seen["data"]["cluster"], seen["metadata"]["labels"].get("from")), (f"at {name}", name))
        self.all.wait_condition(made, "Overridden", "True", "OverriddenSucceeded")
        self.all.wait_condition(made, "Available")
        self.assertIsNone(self.all.on("member-3", f"{MAPS}/own"))
        self.all.delete(override)
        self.all.wait_on(f"{MAPS}/own", lambda seen: seen["data"] == {"cluster": "none"})
        self.leave(made, paths=[f"{MAPS}/own"])

    def test_an_envelope_carries_what_the_hub_does_not_know(self):
        envelope = web()
        made = carries("web")
        self.all.apply(envelope, made)
        path = "/apis/apps/v1/namespaces/team/deployments/web"
        role = "/apis/rbac.authorization.k8s.io/v1/namespaces/team/roles/reader"
        self.all.wait_on(path, lambda seen: seen.get("status", {}).get("availableReplicas") == 2)
        self.all.wait_on(role)
        self.all.wait_condition(made, "Available")
        self.assertIn(("Available", "True", "AllWorkAreAvailable"), self.all.conditions(made, "member-1"), "a Deployment can tell")
        del envelope["data"]["role"]
        envelope["data"]["web"]["spec"]["replicas"] = 1
        self.all.apply(envelope)
        self.all.wait_on(path, lambda seen: seen["spec"]["replicas"] == 1)
        self.all.wait_off(role)
        self.leave(made, paths=[path])

    def test_server_side_it_leaves_others_their_fields_unless_it_is_forced(self):
        apply = "/api/v1/namespaces/team/configmaps/shared?fieldManager=other&force=true"
        self.all.members["member-1"].call("PATCH", apply, config_map("shared", "team", a="theirs", b="theirs"),
                                          kind="application/apply-patch+yaml")
        made = maps("shared", "shared", type="ServerSideApply")
        self.all.apply(config_map("shared", "team", a="1"), made)
        self.all.wait_on(f"{MAPS}/shared", lambda seen: seen["data"] == {"a": "1"}, ["member-2", "member-3"])
        self.all.wait_condition(made, "Applied", "False", "ApplyFailed")
        self.assertIn('"other"', str(self.all.of_cluster(made, "member-1")["failedPlacements"]))
        made["spec"]["strategy"]["applyStrategy"]["serverSideApplyConfig"] = {"force": True}
        self.all.apply(made)
        self.all.wait_on(f"{MAPS}/shared", lambda seen: seen["data"] == {"a": "1", "b": "theirs"}, ["member-1"])
        self.all.wait_condition(made, "Applied")
        self.leave(made, paths=[f"{MAPS}/shared"])

    def test_a_secret_is_never_told(self):
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "team"},
                  "stringData": {"token": "hidden-1"}}
        made = placement("key", [selector("", "Secret", "key")], "team", {"applyStrategy": {"whenToApply": "IfNotDrifted"}})
        self.all.apply(secret, made)
        path = TEAM + "/secrets/key"
        seen = self.all.wait_on(path)["member-1"]
        self.assertEqual(base64.b64decode(seen["data"]["token"]), b"hidden-1")
        self.assertNotIn("hidden-1", str(seen["metadata"]))
        self.all.patch("member-1", path, {"stringData": {"token": "hidden-2"}})
        self.all.wait_condition(made, "Applied", "False")
        told = str(self.all.status(made)) + self.server.run("muster", "describe", "rp", "key", "-n", "team") + self.server.log()
        for word in ("hidden-1", "hidden-2", base64.b64encode(b"hidden-2").decode()):
            self.assertNotIn(word, told)
        self.assertEqual(self.differences(made, "member-1", "drifted"), {"/data/token": ("(redacted)", "(redacted)")})
        self.leave(made, paths=[path])

    def test_a_large_object_becomes_small_again(self):
        large = config_map("large", "team", **{f"part-{i}": "x" * 1000 for i in range(300)})
        made = maps("large", "large")
        self.all.apply(large, made)
        for seen in self.all.wait_on(f"{MAPS}/large").values():
            self.assertLess(len(str(seen["metadata"]["annotations"])), 1000, "no second copy")
        self.all.apply(config_map("large", "team", a="1"))
        self.all.wait_on(f"{MAPS}/large", lambda seen: seen["data"] == {"a": "1"})
        self.all.apply(config_map("large", "team", b="1"))
        self.all.wait_on(f"{MAPS}/large", lambda seen: seen["data"] == {"b": "1"})
        self.leave(made, paths=[f"{MAPS}/large"])

    def test_a_number_of_members_grows_and_shrinks(self):
        made = placement("some", [selector("", "ConfigMap", "some")], "team", placementType="PickN", numberOfClusters=1)
        self.all.apply(config_map("some", "team", a="1"), made)
        def having():
            return [name for name in ALL if self.all.on(name, f"{MAPS}/some")]
        self.server.wait(lambda: len(having()) == 1, what="one has it")
        first = having()
        for number in (3, 2):
            made["spec"]["policy"]["numberOfClusters"] = number
            self.all.apply(made)
            self.server.wait(lambda number=number: len(having()) == number, what=f"{number} have it, were {having()}")
            self.assertLessEqual(set(first), set(having()), "it stays where it was")
        made["spec"]["policy"]["numberOfClusters"] = 4
        self.all.apply(made)
        self.all.wait_condition(made, "Scheduled", "False", "SchedulingPolicyUnfulfilled")
        self.server.wait(lambda: len(having()) == 3, what="those that there are")
        made["spec"]["policy"]["numberOfClusters"] = 0
        self.all.apply(made)
        self.all.wait_off(f"{MAPS}/some")
        self.all.delete(made)

    def test_a_namespace_comes_with_all_that_is_in_it(self):
        path = NAMESPACES + "/whole"
        made = placement("whole", [selector("", "Namespace", "whole", selectionScope="NamespaceWithResources")])
        self.all.apply(namespace("whole"), config_map("first", "whole", a="1"), made)
        self.all.wait_on(path + "/configmaps/first")
        self.all.apply(config_map("second", "whole", a="1"))
        self.all.wait_on(path + "/configmaps/second")
        self.assertEqual(self.server.call("DELETE", path + "/configmaps/first")[0], 200)
        self.all.wait_off(path + "/configmaps/first")
        self.leave(made, paths=[path])

    def test_members_that_are_named_get_it_whatever_their_taints(self):
        self.server.run("muster", "cluster", "taint", "member-2", "bed=out:NoSchedule")
        made = placement("named", [selector("", "ConfigMap", "named")], "team", placementType="PickFixed",
                         clusterNames=["member-2", "nowhere"])
        self.all.apply(config_map("named", "team", a="1"), made)
        self.all.wait_on(f"{MAPS}/named", members=["member-2"])
        self.all.wait_condition(made, "Scheduled", "False", "SchedulingPolicyUnfulfilled")
        self.assertIn('Specified cluster "nowhere" is not found', self.server.run("muster", "describe", "rp", "named", "-n", "team"))
        self.assertIsNone(self.all.on("member-1", f"{MAPS}/named"))
        self.leave(made, paths=[f"{MAPS}/named"])
        self.server.run("muster", "cluster", "taint", "member-2", "bed-")

    def test_two_placements_of_one_object_are_told_apart(self):
        first, second = maps("first", "one"), maps("second", "one")
        self.all.apply(config_map("one", "team", a="1"), first)
        self.all.wait_condition(first, "Applied")
        self.all.apply(second)
        self.all.wait_condition(second, "Applied", "False", "ApplyFailed")
        self.assertIn("team/first", str(self.all.of_cluster(second, "member-1")["failedPlacements"]))
        self.all.delete(first)
        self.all.wait_condition(second, "Applied")
        self.leave(second, paths=[f"{MAPS}/one"])

    def test_what_a_member_refuses_is_told_in_its_words(self):
        envelope = envelope_of(
            "bad", a={"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "bad"}, "spec": {"replicas": -1}},
            b={"apiVersion": "no.such/v1", "kind": "Thing", "metadata": {"name": "bad"}})
        made = carries("bad")
        self.all.apply(envelope, made)
        self.all.wait_condition(made, "Applied", "False", "ApplyFailed")
        def failed():
            return self.all.of_cluster(made, "member-1").get("failedPlacements", [])
        told = self.server.wait(lambda: len(failed()) == 2 and failed(), what="both are told")
        text = {each["kind"]: each["condition"]["message"] for each in told}
        self.assertIn("spec.selector", text["Deployment"])
        self.assertIn("does not serve", text["Thing"])
        self.all.delete(made)


class Faults(Case):
    """In the order of their names; member-3 joins on the way."""

    @classmethod
    def declared(cls):
        return ["member-1", "member-2"]

    def test_1_a_kill_in_the_midst_of_a_rollout_changes_nothing(self):
        made = maps("many", *[f"part-{i}" for i in range(20)])
        self.all.apply(*[config_map(f"part-{i}", "team", a="1") for i in range(20)], made)
        members = ["member-1", "member-2"]
        self.server.wait(lambda: self.all.on("member-1", f"{MAPS}/part-0"), what="it begins")
        for value in ("2", "3", "4"):
            self.server.kill()
            self.server.start()
            self.all.apply(*[config_map(f"part-{i}", "team", a=value) for i in range(20)])
            self.server.wait(lambda value=value: any((self.all.on(name, f"{MAPS}/part-0") or {"data": {"a": ""}})["data"]["a"] == value
                                                     for name in members), what=f"{value} begins")
        for i in range(20):
            self.all.wait_on(f"{MAPS}/part-{i}", lambda seen: seen["data"] == {"a": "4"}, members)
        self.all.wait_condition(made, "Available")
        self.all.delete(made)
        self.server.kill()
        self.server.start()
        for i in range(20):
            self.all.wait_off(f"{MAPS}/part-{i}", members)

    def test_2_a_member_that_was_away_gets_what_it_missed(self):
        kept, gone = maps("kept", "kept"), maps("gone", "gone")
        self.all.apply(config_map("kept", "team", a="1"), config_map("gone", "team", a="1"), kept, gone)
        for name in ("kept", "gone"):
            self.all.wait_on(f"{MAPS}/{name}", members=["member-1", "member-2"])
        bed.call("kill", "apiserver", "--cluster", "member-2")
        try:
            self.fleet.wait_healthy("member-2", healthy=False)
            self.all.apply(config_map("kept", "team", a="2"))
            self.all.delete(gone)
            self.all.wait_on(f"{MAPS}/kept", lambda seen: seen["data"] == {"a": "2"}, ["member-1"])
            self.all.wait_off(f"{MAPS}/gone", ["member-1"])
            self.assertNotIn(("Applied", "True", "ApplySucceeded"), self.all.conditions(kept), "one member does not have it")
        finally:
            bed.call("start", "apiserver", "--cluster", "member-2")
        self.all.wait_on(f"{MAPS}/kept", lambda seen: seen["data"] == {"a": "2"}, ["member-2"])
        self.all.wait_off(f"{MAPS}/gone", ["member-2"])
        self.all.wait_condition(kept, "Available")

    def test_3_a_member_that_joins_gets_everything(self):
        self.assertIsNone(self.all.on("member-3", TEAM))
        path = os.path.join(self.server.dir, "kubeconfig")
        with open(path, "w", encoding="utf-8") as file:
            file.write(bed.inline_kubeconfig("member-3"))
        self.server.run("muster", "cluster", "add", "member-3", "--kubeconfig", path)
        self.all.wait_on(f"{MAPS}/kept", lambda seen: seen["data"] == {"a": "2"}, ["member-3"])
        self.all.wait_condition(placement("kept", [], "team"), "Available", cluster="member-3")
        self.assertIn("found 3 cluster(s)", str(self.all.status(self.team)["conditions"]))

    def test_4_a_member_that_is_removed_keeps_what_it_has(self):
        self.server.wait(lambda: self.server.call("DELETE", "/v1/memberclusters/member-3")[0] == 200, what="it goes")
        self.server.wait(lambda: not self.all.of_cluster(placement("kept", [], "team"), "member-3"), what="it is told no more")
        self.assertEqual(self.all.on("member-3", f"{MAPS}/kept")["data"], {"a": "2"})
        self.all.members["member-3"].call("DELETE", TEAM)  # the next Muster here would not touch what is another's
        self.all.wait_off(TEAM, ["member-3"])
        kept = placement("kept", [], "team")
        self.all.delete(kept)
        self.all.wait_off(f"{MAPS}/kept", ["member-1", "member-2"])


if __name__ == "__main__":
    unittest.main()
