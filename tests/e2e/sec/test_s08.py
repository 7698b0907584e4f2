"""S08: a batch administrator cannot give what he has not, and cannot take quota from a cohort that is not his."""
import unittest

from teams import ADMIN, OWN, ROOT, Teams

RBAC = "rbac.authorization.k8s.io"


def cpu(spec):
    return spec["resourceGroups"][0]["flavors"][0]["resources"][0]


class Grants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.teams = Teams()

    @classmethod
    def tearDownClass(cls):
        cls.teams.close()

    def test_nothing_is_taken_and_nothing_given(self):
        tries = []

        def put(queue, edit):
            path, wanted = self.teams.quota(queue, edit)
            tries.append((f"PUT {queue}", self.teams.ask(ADMIN, "PUT", path, wanted)))
            status, told = self.teams.ask(ADMIN, "POST", "/v1/apply", [wanted])
            tries.append((f"apply {queue}", (status, told)))

        put("team-a", lambda spec: cpu(spec).update(nominalQuota="20"))
        put("team-a", lambda spec: spec.pop("cohort", None) or spec.pop("cohortName", None))
        put("team-a", lambda spec: cpu(spec).update(nominalQuota="2", borrowingLimit=None) or spec.update(cohort="other"))
        put("team-b", lambda spec: cpu(spec).update(nominalQuota="0"))
        for user in (ADMIN, OWN):
            for kind, plural, where in (("ClusterRoleBinding", "clusterrolebindings", ""), ("RoleBinding", "rolebindings", "/namespaces/team-a")):
                binding = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": {"name": "mine"},
                           "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
                           "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}]}
                if where:
                    binding["metadata"]["namespace"] = "team-a"
                tries.append((f"{kind} by {user}", self.teams.ask(user, "POST", f"/apis/{RBAC}/v1{where}/{plural}", binding)))
                tries.append((f"apply {kind} by {user}", self.teams.ask(user, "POST", "/v1/apply", [binding])))
            role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "mine", "namespace": "team-a"},
                    "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}
            tries.append((f"Role by {user}", self.teams.ask(user, "POST", f"/apis/{RBAC}/v1/namespaces/team-a/roles", role)))
        done = [(name, answer) for name, answer in tries if answer[0] != 403]
        print(f"\nS08: {len(tries)} tries to take or to give, {len(done)} succeeded")
        self.assertEqual(done, [])

    def test_less_is_allowed_and_the_owner_may_add(self):
        path, wanted = self.teams.quota("team-a", lambda spec: cpu(spec).update(nominalQuota="1"))
        self.assertEqual(self.teams.ask(ADMIN, "PUT", path, wanted)[0], 200)
        path, wanted = self.teams.quota("team-a", lambda spec: cpu(spec).update(nominalQuota="2"))
        self.assertEqual(self.teams.ask(ADMIN, "PUT", path, wanted)[0], 403, "what was given up is not his any more")
        self.assertEqual(self.teams.ask(ROOT, "PUT", path, wanted)[0], 200)


if __name__ == "__main__":
    unittest.main()
